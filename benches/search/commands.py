"""Commands that print JSON, and Tokapi's own: its indexes under some options, timed."""

import json
import shutil
import subprocess
import sys

from contestants import TOKAPI


def say(message):
    print(message, file=sys.stderr)


def run_json(command):
    """The last line that `command` prints; what it says on standard error shows if it fails.

    PISA logs to standard output before.
    """
    command = [str(part) for part in command]
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0:
        say(done.stderr.decode(errors="replace"))
        done.check_returncode()
    try:
        return json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        sys.exit(f"`{' '.join(command)}` printed no JSON")


def build_own(text, index, *options):
    """Tokapi's index of a text, in the place of an earlier one: its seconds and bytes, and postings."""
    shutil.rmtree(index, ignore_errors=True)
    built = run_json([TOKAPI, "index", text, "--analyzer", "plain", "-o", index, "--json", *options])
    info = run_json([TOKAPI, "info", index, "--json"])
    return {"seconds": built["seconds"], "bytes": built["index_bytes"],
            "postings": info["postings"], "files": info["files"]}


def search_own(index, queries, task, repeat, *options):
    """The nanoseconds that Tokapi takes for each query on one thread."""
    return run_json([TOKAPI, "--threads", "1", "bench", "search", index, queries, "--task", task,
                     "--repeat", str(repeat), *options])["ns"]


def mean_us(nanoseconds):
    return sum(nanoseconds) / len(nanoseconds) / 1000
