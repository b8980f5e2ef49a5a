"""The command line that peers in Python share: `build TEXT INDEX` and `search INDEX QUERIES`."""

import argparse
import json
from pathlib import Path


def read_queries(path):
    """Numbers and terms of the queries, and their kinds."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    return [(int(number), terms.split()) for number, _, terms in lines], {line[1] for line in lines}


def run(build, search):
    """Calls `build(text, index)` or `search(arguments)` and prints as JSON what it returns."""
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("build")
    verb.add_argument("text", type=Path)
    verb.add_argument("index", type=Path)
    verb = verbs.add_parser("search")
    verb.add_argument("index", type=Path)
    verb.add_argument("queries", type=Path)
    verb.add_argument("--task", required=True)
    verb.add_argument("--threads", type=int, required=True)
    verb.add_argument("--repeat", type=int, required=True)
    verb.add_argument("--answers", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.verb == "build":
        print(json.dumps(build(arguments.text, arguments.index)))
    else:
        print(json.dumps(search(arguments)))
