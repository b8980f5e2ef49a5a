"""What contestants answered, compared."""


def read_documents(path):
    with open(path) as lines:
        return [{pair.partition(":")[0] for pair in line.split("\t")[1].split()} for line in lines]


def overlap(path, reference):
    """The share of the reference's documents that are among those of `path`, a mean of queries."""
    pairs = [pair for pair in zip(read_documents(path), read_documents(reference)) if pair[1]]
    return sum(len(ours & theirs) / len(theirs) for ours, theirs in pairs) / max(len(pairs), 1)
