"""bm25s as a peer: Lucene's BM25 as a matrix of scores, searched by its numba backend.

bm25s adds up the scores of all documents and takes the best: it does not skip.
"""

import time

import bm25s

from python_peer import read_queries, run

POSTINGS = ["data.csc.index.npy", "indices.csc.index.npy", "indptr.csc.index.npy"]


def build(text, index):
    start = time.perf_counter()
    with open(text, encoding="ascii") as lines:
        documents = [line.partition("\t")[2] for line in lines]
    tokens = bm25s.tokenize(documents, token_pattern=r"\S+", stopwords=None, show_progress=False)
    # Scipy's way to build the matrix is the fastest: see benches/weigh/bm25s_peer.py.
    matrix = bm25s.BM25(method="lucene", k1=1.2, b=0.75, csc_backend="scipy")
    matrix.index(tokens, show_progress=False)
    matrix.save(index, show_progress=False)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "bytes": sum(path.stat().st_size for path in index.iterdir()),
        "postings_bytes": sum((index / name).stat().st_size for name in POSTINGS),
    }


def search(arguments):
    queries, kinds = read_queries(arguments.queries)
    if arguments.task == "count":
        return {"unsupported": "bm25s does not count"}
    if kinds != {"or"}:
        return {"unsupported": "bm25s has no required terms"}
    matrix = bm25s.BM25.load(arguments.index)
    matrix.backend = "numba"
    matrix.activate_numba_scorer()
    k = min(int(arguments.task.removeprefix("top")), matrix.scores["num_docs"])
    terms = [query_terms for _, query_terms in queries]

    def retrieve(terms, threads):
        return matrix.retrieve(terms, k=k, n_threads=threads, show_progress=False)

    with open(arguments.answers, "w") as out:
        for number, query_terms in queries:
            documents, scores = retrieve([query_terms], 1)
            # Where fewer match, it fills up with documents that do not.
            found = [pair for pair in zip(documents[0], scores[0]) if pair[1] > 0]
            answer = " ".join(f"{document}:{score}" for document, score in found)
            out.write(f"{number}\t{answer}\n")
    retrieve(terms, arguments.threads)

    rounds, walls = [], []
    for _ in range(arguments.repeat):
        start = time.perf_counter_ns()
        if arguments.threads == 1:
            rounds.append([time_one(retrieve, query_terms) for query_terms in terms])
        else:
            retrieve(terms, arguments.threads)
        walls.append(time.perf_counter_ns() - start)
    return {"ns": [min(times) for times in zip(*rounds)], "wall_ns": min(walls)}


def time_one(retrieve, terms):
    start = time.perf_counter_ns()
    retrieve([terms], 1)
    return time.perf_counter_ns() - start


run(build, search)
