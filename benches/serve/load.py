"""The two generators of load: tokapi-lab, and wrk of Debian."""

import json
import re
import shutil
import subprocess
import sys

from commands import run_json
from servers import LAB


def in_lab(queries, server=None, index=None, rates=(), closed=False, connections=64, seconds=10, warm_up=2, pause=0.5):
    """What tokapi-lab measures: a list of loads, those of the library before those of the server."""
    command = [LAB, "serve", "--queries", queries, "--json", "--seconds", seconds, "--warm-up", warm_up, "--pause", pause,
               "--connections", connections]
    if server:
        command += [server.url, "--pid", server.pid]
        command += ["--body", server.body] if server.body else []
        for header in server.headers:
            command += ["--header", header]
    if index:
        command += ["--index", index]
    for rate in rates:
        command += ["--rate", rate]
    command += ["--closed"] if closed else []
    return run_json(command)["loads"]


UNITS = {"us": 1, "ms": 1e3, "s": 1e6, "m": 60e6}


def microseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * UNITS[unit]


def in_wrk(queries, server, connections, seconds):
    """Requests a second, the median and the 99th percentile in microseconds, as wrk measures them: closed loop."""
    if not shutil.which("wrk"):
        sys.exit("wrk is not installed: apt-get install wrk")
    requests = queries.with_suffix(".requests")
    with open(requests, "w", encoding="utf-8") as out:
        for line in queries.read_text(encoding="utf-8").splitlines():
            method, path, headers, body = server.request(line.split("\t")[1])
            columns = [method, path, body or "", *(f"{name}: {value}" for name, value in headers.items())]
            out.write("\t".join(columns) + "\n")
    script = __file__.replace("load.py", "requests.lua")
    text = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", script,
                           f"http://127.0.0.1:{server.port}", "--", str(requests)],
                          check=True, capture_output=True, text=True).stdout
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.*)", text)
    if wrong:
        sys.exit(f"wrk: {server.url}: {wrong.group(0)}")
    return {"per_second": float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
            "p50": microseconds(re.search(r"50%\s+(\S+)", text).group(1)),
            "p99": microseconds(re.search(r"99%\s+(\S+)", text).group(1))}


def dump(value, path):
    path.write_text(json.dumps(value, indent=2) + "\n")
