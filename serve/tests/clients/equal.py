"""Answers through elasticsearch-py equal those of `tokapi search`: ids, order, and scores to the last bit.

Usage: equal.py URL NAME TOKAPI INDEX QUERIES, where the server serves the folder INDEX as NAME.
"""

import itertools
import json
import struct
import subprocess
import sys
import warnings

from elasticsearch import Elasticsearch

URL, NAME, TOKAPI, INDEX, QUERIES = sys.argv[1:]
K = 20
warnings.simplefilter("ignore")
client = Elasticsearch(URL)
with open(QUERIES) as lines:
    queries = [line.rstrip("\n").split("\t", 1)[1] for line in itertools.islice(lines, 60)]


def bits(score):
    return struct.pack("f", score)


def by_program(text, *options):
    command = [TOKAPI, "search", INDEX, "-k", str(K), "--json", *options, "--", text]
    hits = json.loads(subprocess.check_output(command))["hits"]
    return [(hit["id"], bits(hit["score"])) for hit in hits]


def by_client(query):
    hits = client.search(index=NAME, query=query, size=K, source=False)["hits"]["hits"]
    return [(hit["_id"], bits(hit["_score"])) for hit in hits]


def paged(query):
    hits, after = [], None
    while True:
        page = client.search(
            index=NAME, query=query, size=7, sort=["_score", {"_doc": "asc"}], search_after=after, source=False
        )["hits"]["hits"]
        hits += [(hit["_id"], bits(hit["_score"])) for hit in page]
        if not page or len(hits) >= K:
            return hits[:K]
        after = page[-1]["sort"]


compared = 0
for text in queries:
    words = "".join(c if c.isalnum() else " " for c in text).split()
    text = " ".join(words)
    two = " ".join(words[:2])
    for query, program in [
        ({"match": {"contents": text}}, by_program(text)),
        ({"multi_match": {"query": text, "fields": ["contents"]}}, by_program(text)),
        ({"match": {"contents": {"query": two, "operator": "and"}}}, by_program(two, "--mode", "and")),
        ({"match_phrase": {"contents": two}}, by_program(two, "--mode", "phrase")),
        ({"bool": {"must": {"match": {"contents": text}}, "must_not": {"match": {"contents": words[0]}}}},
         by_program(f"{text} -{words[0]}")),
    ]:
        assert by_client(query) == program, query
        assert paged(query) == program, query
        compared += 1
print(f"ok      {compared} answers equal those of tokapi search")
