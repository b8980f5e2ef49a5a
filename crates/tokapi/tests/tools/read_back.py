#!/usr/bin/env python3
"""Reads weights of one collection back from every format and checks that all say the same.

    read_back.py FOLDER [--pruned]

FOLDER holds what the program wrote for one collection under one formula: weights.parquet,
weights.tsv, weights.tsv.gz, weights.npz with weights.docs.tsv and weights.terms.tsv, and
weights.jsonl. Each is opened with the tool its users open it with. Weights are compared bit by
bit, as float32. Frequencies must add up to lengths and postings to df, or with --pruned to no
more than these. Needs numpy, scipy and pyarrow. Exits with 1 when a check fails.
"""

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse

ESCAPES = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}


def bits(weight):
    """The bits of a weight as float32: equal for equal weights only, also for -0 and NaN."""
    return int(np.float32(weight).view(np.uint32))


def unescape(field):
    """The text that an escaped field of tab-separated text stands for."""
    out, rest = [], iter(field)
    for character in rest:
        out.append(ESCAPES[next(rest)] if character == "\\" else character)
    return "".join(out)


def fields(path, count, opener=open):
    """The fields of every line, exactly `count` of them."""
    with opener(path, "rb") as file:
        text = file.read().decode()
    assert text == "" or text.endswith("\n"), f"{path}: the last line does not end"
    for number, line in enumerate(text.split("\n")[:-1], 1):
        row = line.split("\t")
        assert len(row) == count, f"{path}, line {number}: {len(row)} fields, not {count}"
        yield row


def read_tsv(path, opener=open):
    rows = fields(path, 4, opener)
    return [(unescape(t), unescape(d), int(tf), bits(np.float32(w))) for t, d, tf, w in rows]


def read_parquet(path):
    table = pq.read_table(path)
    columns = {"term": pa.string(), "doc": pa.string(), "tf": pa.uint32(), "weight": pa.float32()}
    found = dict(zip(table.schema.names, table.schema.types))
    assert found == columns, f"{path}: the columns are {found}, not {columns}"
    weights = table["weight"].to_numpy().view(np.uint32).tolist()
    return list(zip(*(table[name].to_pylist() for name in ("term", "doc", "tf")), weights))


def read_table(path):
    """The names and the numbers of a table beside weights."""
    rows = [(unescape(name), int(number)) for name, number in fields(path, 2)]
    return [name for name, _ in rows], [number for _, number in rows]


def read_npz(path, terms, docs):
    """Every entry by row and column; entries of weight zero are entries too."""
    matrix = scipy.sparse.load_npz(path)
    assert isinstance(matrix, scipy.sparse.csr_matrix), f"{path}: a {type(matrix)}"
    assert matrix.dtype == np.float32, f"{path}: of {matrix.dtype}"
    assert matrix.shape == (len(docs), len(terms)), f"{path}: of shape {matrix.shape}"
    matrix.check_format(full_check=True)
    assert matrix.has_canonical_format, f"{path}: columns do not ascend within a row"
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)).tolist()
    weights = matrix.data.view(np.uint32).tolist()
    entries = zip(rows, matrix.indices.tolist(), weights)
    return [(terms[column], docs[row], weight) for row, column, weight in entries]


def read_jsonl(path, terms):
    """Every entry, and the ids in their order."""
    entries, ids = [], []
    with open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            vector = json.loads(line)
            place = f"{path}, line {number}"
            assert list(vector) == ["id", "indices", "values"], f"{place}: {list(vector)}"
            doc, indices, values = vector.values()
            assert len(indices) == len(values), f"{place}: the lists differ in length"
            assert indices == sorted(set(indices)), f"{place}: indices do not ascend"
            # An absent weight stands for one that is not a number.
            weights = [bits(np.nan if value is None else value) for value in values]
            entries += [(terms[i], doc, weight) for i, weight in zip(indices, weights)]
            ids.append(doc)
    return entries, ids


def check_same(one, other):
    """Equal lists; the first difference where not."""
    for place, (a, b) in enumerate(zip(one, other)):
        assert a == b, f"entry {place}: {a!r} is not {b!r}"
    assert len(one) == len(other), f"{len(one)} entries, not {len(other)}"


def check_ascending(rows, rank):
    """Terms ascend by their bytes, documents within a term in input order; no pair twice."""
    keys = [(term.encode(), rank[doc]) for term, doc, _, _ in rows]
    for before, after in zip(keys, keys[1:]):
        assert before < after, f"{after} follows {before}"


def check_sums(names, sums, numbers, pruned):
    """What was summed up for each name is its number in the table; less where pruned."""
    for name, number in zip(names, numbers):
        good = sums[name] <= number if pruned else sums[name] == number
        assert good, f"{name!r}: {sums[name]} in the weights, {number} in the table"


def check_lengths(rows, docs, lengths, pruned):
    """A document's frequencies add up to its length."""
    total = dict.fromkeys(docs, 0)
    for _, doc, tf, _ in rows:
        assert tf > 0, f"{doc!r} has a term 0 times"
        total[doc] += tf
    check_sums(docs, total, lengths, pruned)


def check_df(rows, terms, df, pruned):
    """A term has as many postings as its df says."""
    count = dict.fromkeys(terms, 0)
    for term, _, _, _ in rows:
        count[term] += 1
    check_sums(terms, count, df, pruned)


def main(folder, pruned):
    docs, lengths = read_table(folder / "weights.docs.tsv")
    terms, df = read_table(folder / "weights.terms.tsv")
    rank = {doc: place for place, doc in enumerate(docs)}
    plain = read_tsv(folder / "weights.tsv")
    triples = sorted((term, doc, weight) for term, doc, _, weight in plain)

    def parquet():
        rows = read_parquet(folder / "weights.parquet")
        check_same(rows, plain)
        check_ascending(rows, rank)

    def npz():
        check_same(sorted(read_npz(folder / "weights.npz", terms, docs)), triples)

    def jsonl():
        entries, ids = read_jsonl(folder / "weights.jsonl", terms)
        check_same(sorted(entries), triples)
        check_same(ids, docs)

    checks = {
        "ids are distinct": lambda: check_same(sorted(rank), sorted(docs)),
        "terms ascend by bytes": lambda: check_same(sorted(set(terms), key=str.encode), terms),
        "tsv ascends": lambda: check_ascending(plain, rank),
        "tsv agrees with the lengths": lambda: check_lengths(plain, docs, lengths, pruned),
        "tsv agrees with df": lambda: check_df(plain, terms, df, pruned),
        "tsv.gz is tsv": lambda: check_same(
            read_tsv(folder / "weights.tsv.gz", gzip.open), plain
        ),
        "parquet says what tsv says, in order": parquet,
        "npz says what tsv says": npz,
        "jsonl says what tsv says": jsonl,
    }
    failed = 0
    for name, check in checks.items():
        try:
            check()
            print(f"ok      {name}")
        except Exception as error:  # A file that cannot be opened fails its check alone.
            failed += 1
            print(f"FAILED  {name}: {type(error).__name__}: {error}")
    print(f"{len(plain)} postings of {len(terms)} terms in {len(docs)} documents")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    arguments = sys.argv[1:]
    pruned = "--pruned" in arguments
    folders = [argument for argument in arguments if argument != "--pruned"]
    if len(folders) != 1:
        sys.exit(__doc__)
    sys.exit(main(Path(folders[0]), pruned))
