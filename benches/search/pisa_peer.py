"""PISA as a peer, by the extension module of pyterrier-pisa.

The module is loaded without the package around it, which would need PyTerrier. Its call takes an
iterable of queries and fetches the next one when it is done with the last: the clock is read at
each fetch. A query's time is then PISA's own (looking up the terms, the search, sorting the
results) and some 0.2 microseconds of Python. The call also makes a Python string of the name of
every result; in the index that is timed all names are "0", of which Python keeps one.
"""

import importlib.machinery
import importlib.util
import os
import sysconfig
import time
from pathlib import Path

import numpy

from python_peer import read_queries, run

ENCODING = "block_simdbp"
# PISA's algorithms for each kind; the one whose whole round is fastest counts.
ALGORITHMS = {
    "or": ["maxscore", "block_max_maxscore", "wand", "block_max_wand"],
    "and": ["ranked_and", "block_max_ranked_and"],
}
BATCH_DOCUMENTS = 100_000
# What indexing leaves behind and searching does not need.
INTERMEDIATE = ["fwd", "fwd.documents", "fwd.terms", "inv.docs", "inv.freqs", "inv.sizes"]


def load_module():
    folder = Path(sysconfig.get_path("platlib")) / "pyterrier_pisa"
    path = next(folder.glob("_pisathon*.so"))
    loader = importlib.machinery.ExtensionFileLoader("_pisathon", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_pisathon", loader))
    loader.exec_module(module)
    return module


pisa = load_module()


def open_index(folder):
    """The index in `folder`, compressed the first time."""
    context = pisa.RetrievalContext()
    pisa.prepare_index(context, str(folder), ENCODING, "bm25", "", bm25_k1=1.2, bm25_b=0.75)
    return context


def build(text, index):
    start = time.perf_counter()
    pisa.index(str(text), str(index), "", BATCH_DOCUMENTS, os.cpu_count())
    open_index(index)
    seconds = time.perf_counter() - start

    documents = sum(1 for _ in open(index / "fwd.documents"))
    for name in INTERMEDIATE:
        (index / name).unlink()
    files = {path.name: path.stat().st_size for path in index.iterdir()}
    postings = next(size for name, size in files.items() if name.endswith(ENCODING))
    make_nameless(index, documents)
    return {"seconds": seconds, "bytes": sum(files.values()), "postings_bytes": postings}


def make_nameless(index, documents):
    """The same index again, by links, with "0" for the name of every document."""
    nameless = index / "nameless"
    nameless.mkdir()
    for path in index.iterdir():
        if path.is_file() and path.name != "fwd.doclex":
            os.link(path, nameless / path.name)
    names = nameless / "names"
    names.write_text("0\n" * documents)
    pisa.build_binlex(str(names), str(nameless / "fwd.doclex"))
    names.unlink()


class Clocked:
    """Hands out queries and notes when each was asked for."""

    def __init__(self, queries):
        self.queries = queries
        self.stamps = []

    def __len__(self):
        return len(self.queries)

    def __iter__(self):
        for query in self.queries:
            self.stamps.append(time.perf_counter_ns())
            yield query
        self.stamps.append(time.perf_counter_ns())

    def each_ns(self):
        return [end - start for start, end in zip(self.stamps, self.stamps[1:])]


class Searcher:
    def __init__(self, context, k, room):
        self.context = context
        self.k = k
        self.numbers, self.ranks = numpy.empty((2, room * k), dtype=numpy.int32)
        self.names = numpy.empty(room * k, dtype=object)
        self.scores = numpy.empty(room * k, dtype=numpy.float32)

    def search(self, algorithm, queries, threads=1):
        """Runs the queries, and says how many results they have in all."""
        return pisa.retrieve(
            self.context, algorithm, queries, k=self.k, threads=threads, pretokenised=1,
            query_weighted=0, result_qidxs=self.numbers, result_docnos=self.names,
            result_ranks=self.ranks, result_scores=self.scores)


def known_terms(context, queries):
    """The terms that occur at all: PISA drops others, and would answer `and` without them."""
    terms = sorted({term for _, terms in queries for term in terms})
    searcher = Searcher(context, 1, len(terms))
    found = searcher.search("ranked_or", [(at, {term: 1.0}) for at, term in enumerate(terms)])
    return {terms[at] for at in searcher.numbers[:found]}


def write_answers(searcher, algorithm, queries, path):
    found = searcher.search(algorithm, queries)
    answers = {number: [] for number, _ in queries}
    for at in range(found):
        answers[searcher.numbers[at]].append(f"{searcher.names[at]}:{searcher.scores[at]}")
    with open(path, "w") as out:
        for number, documents in answers.items():
            out.write(f"{number}\t{' '.join(documents)}\n")


def search(arguments):
    queries, kinds = read_queries(arguments.queries)
    if arguments.task == "count":
        return {"unsupported": "the binding has no query that only counts"}
    if "mix" in kinds:
        return {"unsupported": "PISA has no query with required and optional terms"}
    [kind] = kinds
    k = int(arguments.task.removeprefix("top"))
    context = open_index(arguments.index)
    known = known_terms(context, queries)
    asked = []
    for number, terms in queries:
        hopeless = kind == "and" and not known.issuperset(terms)
        asked.append((number, {} if hopeless else {term: 1.0 for term in terms}))
    nameless = Searcher(open_index(arguments.index / "nameless"), k, len(asked))
    best = {"wall_ns": float("inf")}
    for algorithm in ALGORITHMS[kind]:
        run = time_rounds(nameless, algorithm, asked, arguments)
        if run["wall_ns"] < best["wall_ns"]:
            best = {**run, "note": algorithm}
    write_answers(Searcher(context, k, len(asked)), best["note"], asked, arguments.answers)
    return best


def time_rounds(searcher, algorithm, queries, arguments):
    searcher.search(algorithm, queries, arguments.threads)
    rounds, walls = [], []
    for _ in range(arguments.repeat):
        clocked = Clocked(queries)
        start = time.perf_counter_ns()
        searcher.search(algorithm, clocked, arguments.threads)
        walls.append(time.perf_counter_ns() - start)
        rounds.append(clocked.each_ns())
    each = [min(times) for times in zip(*rounds)] if arguments.threads == 1 else []
    return {"ns": each, "wall_ns": min(walls)}


run(build, search)
