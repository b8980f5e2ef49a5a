#!/usr/bin/env python3
"""Has the package bm25s load what the program exports, and compares it with bm25s's own index.

    bm25s_back.py TOKAPI COLLECTION FOLDER

COLLECTION holds docs.jsonl.zst and queries.tsv; FOLDER is empty. For every formula that both have,
bm25s indexes the same tokens itself: scores of all documents must be the same within 1e-5, the
best ten the same but for ties. Where terms add nothing to documents without them and the formulas
are the same, the program's own search must find these ten too. Exits with 1 when a check fails.
"""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import bm25s
import numpy as np
import pyarrow as pa

FORMULAS = {
    "lucene": ("lucene", []),
    "robertson": ("robertson", []),
    "atire": ("atire", []),
    "bm25l": ("bm25l", ["--delta", "0.7"]),
    "bm25plus": ("bm25+", ["--delta", "0.7"]),
}
SAME_IN_SEARCH = ["lucene", "atire"]
CLOSE = 1e-5


def tokens(text):
    return re.findall(r"\w+", text.lower())


def read_documents(path):
    with pa.input_stream(str(path), compression="zstd") as file:
        lines = file.read().decode().splitlines()
    for line in lines:
        document = json.loads(line)
        yield document["id"], tokens(document["contents"])


def read_run(lines):
    """Ids and scores by query."""
    run = {}
    for line in lines.splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, []).append((document, float(score)))
    return run


def check_best(name, found, scores):
    """The best of `found`, (document, score) pairs, are those of `scores`, but for ties."""
    best = sorted(scores, reverse=True)[: len(found)]
    for (document, score), expected in zip(found, best):
        assert abs(score - expected) < CLOSE, f"{name}: {score} is not {expected}"
        own = scores[document]
        assert abs(score - own) < CLOSE, f"{name}: document {document} has {own}, not {score}"


def main(tokapi, collection, folder):
    def run(*arguments):
        return subprocess.run([tokapi, *map(str, arguments)], check=True, capture_output=True).stdout.decode()

    logging.disable(logging.DEBUG)
    ids, texts = zip(*read_documents(collection / "docs.jsonl.zst"))
    number = {id: place for place, id in enumerate(ids)}
    queries = [line.split("\t") for line in (collection / "queries.tsv").read_text().splitlines()]
    index = folder / "index"
    run("index", collection / "docs.jsonl.zst", "-o", index, "--analyzer", "python", "--json")
    for formula, (method, options) in FORMULAS.items():
        options = ["--formula", formula, "--k1", "0.9", "--b", "0.4", *options]
        run("export", index, "--to", "bm25s", "-o", folder / formula, *options)
        loaded = bm25s.BM25.load(folder / formula, load_corpus=True)
        mapped = bm25s.BM25.load(folder / formula, load_corpus=True, mmap=True)
        alone = bm25s.BM25.load(folder / formula)
        own = bm25s.BM25(method=method, k1=0.9, b=0.4, delta=0.7)
        own.index(list(texts), show_progress=False)
        searched = {}
        if formula in SAME_IN_SEARCH:
            searched = read_run(run("search", index, "--queries", collection / "queries.tsv", *options))
        for query, text in queries:
            terms = tokens(text)
            expected = own.get_scores(terms)
            worst = np.abs(loaded.get_scores(terms) - expected).max()
            assert worst < CLOSE, f"{formula}, query {query}: scores differ by {worst}"
            best = alone.retrieve([terms], k=10, show_progress=False)
            pairs = list(zip(best.documents[0], best.scores[0]))
            check_best(f"{formula}, query {query}", pairs, expected)
            for one in (loaded, mapped):
                named = one.retrieve([terms], k=10, show_progress=False)
                named = [(document["text"], document["id"]) for document in named.documents[0]]
                assert named == [(ids[place], place) for place in best.documents[0]], query
            found = [(number[id], score) for id, score in searched.get(query, [])]
            check_best(f"{formula}, search for {query}", found, expected)
        nothing = alone.retrieve([[""]], k=1, show_progress=False)
        assert nothing.scores[0][0] == 0, "a query without terms"
        print(f"ok      bm25s loads {formula}: {len(queries)} queries, {len(searched)} of search")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])))
