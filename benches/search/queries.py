"""The text as all contestants read it, and queries drawn from it."""

import random
import re
import subprocess
from array import array

from commands import say
from contestants import DATA, ROOT, TOKAPI, cargo

KINDS = ["and", "or", "mix"]
TERM_COUNTS = range(1, 7)
QUERIES_PER_CELL = 50
PHRASE_TERM_COUNTS = range(2, 6)
PHRASES_PER_LENGTH = 100
# Documents by which the share of documents that have a term is estimated.
SAMPLED_DOCUMENTS = 2000
# Terms of a larger share of the documents are not drawn.
LARGEST_SHARE = 0.5
TERM = re.compile(rb"[a-z0-9]+")


def write_text(source, target):
    """Writes `id<TAB>terms`: ids are line numbers, terms lower-case letters and digits."""
    with open(source, "rb") as lines, open(target, "wb") as out:
        number = 0
        for line in lines:
            terms = TERM.findall(line.partition(b"\t")[2].lower())
            if terms:  # Peers do not agree on whether an empty document is one.
                out.write(b"%d\t%s\n" % (number, b" ".join(terms)))
                number += 1


def generated(size, folder):
    path = folder / "generated.tsv"
    if not TOKAPI.exists():
        cargo(ROOT, "tokapi-cli")
    subprocess.run([TOKAPI, "generate", "-o", path, "--size", size, "--seed", "1"], check=True)
    return path


def prepare_text(size, source=None, reuse=False, folder=DATA):
    """The text that all contestants read, of `source` where there is one; a generated one is made once."""
    name = source.stem if source else f"generated-{size}"
    folder = folder / name
    text = folder / "text.tsv"
    stale = source and not reuse
    if stale or not text.exists():
        say(f"writing {text.relative_to(ROOT)}")
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = folder / "unfinished.tsv"
        made = source or generated(size, folder)
        write_text(made, unfinished)
        unfinished.rename(text)
        if not source:
            made.unlink()
    return text


class Documents:
    """The documents of a text, to draw from."""

    def __init__(self, path):
        self.file = open(path, "rb")
        self.starts = array("Q", [0])
        for line in self.file:
            self.starts.append(self.starts[-1] + len(line))
        self.starts.pop()

    def draw_text(self, rng):
        """The terms of any document as they occur."""
        self.file.seek(self.starts[rng.randrange(len(self.starts))])
        return self.file.readline().partition(b"\t")[2].decode("ascii").split()

    def draw(self, rng):
        """The distinct terms of any document, in the order in which they occur."""
        return list(dict.fromkeys(self.draw_text(rng)))


def frequent_terms(documents, rng):
    counts = {}
    for _ in range(SAMPLED_DOCUMENTS):
        for term in documents.draw(rng):
            counts[term] = counts.get(term, 0) + 1
    return {term for term, count in counts.items() if count > LARGEST_SHARE * SAMPLED_DOCUMENTS}


def draw_terms(documents, frequent, count, together, rng):
    """`count` distinct terms, all of one document if `together`, else of one each."""
    terms = []
    while len(terms) < count:
        drawn = [term for term in documents.draw(rng) if term not in frequent]
        if together:
            terms = rng.sample(drawn, count) if len(drawn) >= count else []
        elif drawn and (term := rng.choice(drawn)) not in terms:
            terms.append(term)
    return terms


def drawn_queries(text, seed):
    """Lists of terms for each kind: half of them with terms of one document."""
    rng = random.Random(seed)
    documents = Documents(text)
    frequent = frequent_terms(documents, rng)
    queries = {kind: [] for kind in KINDS}
    for kind in KINDS:
        for count in TERM_COUNTS:
            if kind == "mix" and count == 1:
                continue
            for number in range(QUERIES_PER_CELL):
                together = number % 2 == 0
                queries[kind].append(draw_terms(documents, frequent, count, together, rng))
    return queries


def drawn_phrases(text, seed):
    """Terms that stand one after the other in some document, as many of each length."""
    rng = random.Random(seed)
    documents = Documents(text)
    phrases = []
    for count in PHRASE_TERM_COUNTS:
        while len(phrases) < PHRASES_PER_LENGTH * (count - PHRASE_TERM_COUNTS[0] + 1):
            terms = documents.draw_text(rng)
            if len(terms) >= count:
                first = rng.randrange(len(terms) - count + 1)
                phrases.append(terms[first:first + count])
    return phrases


def read_queries(path):
    """Lists of terms for each kind; a plain line without kind is a query of every kind."""
    queries = {kind: [] for kind in KINDS}
    for line in path.read_text(encoding="utf-8").splitlines():
        columns = line.split("\t")
        kinds = [columns[1]] if len(columns) == 3 else KINDS
        terms = [term.decode() for term in TERM.findall(columns[-1].lower().encode())]
        terms = list(dict.fromkeys(terms))
        for kind in kinds:
            if len(terms) > (kind == "mix"):
                queries[kind].append(terms)
    return queries


def write_queries(queries, kind, path):
    with open(path, "w", encoding="ascii") as out:
        for number, terms in enumerate(queries):
            out.write(f"{number}\t{kind}\t{' '.join(terms)}\n")


def write_drawn(text, folder, seed):
    """Draws queries from a text, and writes a file of them for every kind."""
    files = {}
    for kind, drawn in drawn_queries(text, seed).items():
        files[kind] = folder / f"queries-{kind}.tsv"
        write_queries(drawn, kind, files[kind])
    return files
