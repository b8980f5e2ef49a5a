"""A text with topics, which generated text has not: every document draws from the words of two of them."""

import random
from itertools import accumulate

WORDS = 200_000
TOPIC_WORDS = 2_000
# The commonest words belong to no topic.
COMMON_WORDS = 100
# The shares of a document's words that come from all words, and from its second topic.
SHARES = (0.55, 0.1)


def write_text(target, documents, topics, seed):
    """Writes `id<TAB>words`; an id begins with the document's topic, and documents come in any order."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(WORDS)]
    of_all = list(accumulate(1 / (rank + 2.7) for rank in range(WORDS)))
    of_topic = list(accumulate(1 / (rank + 5) for rank in range(TOPIC_WORDS)))
    of_topics = list(accumulate(1 / (rank + 10) for rank in range(topics)))
    own = [rng.sample(words[COMMON_WORDS:], TOPIC_WORDS) for _ in range(topics)]
    with open(target, "w", encoding="ascii") as out:
        for number in range(documents):
            length = int(min(max(rng.lognormvariate(4.6, 0.6), 10), 2000))
            first, second = rng.choices(range(topics), cum_weights=of_topics, k=2)
            common, others = (int(share * length) for share in SHARES)
            text = rng.choices(words, cum_weights=of_all, k=common)
            text += rng.choices(own[first], cum_weights=of_topic, k=length - common - others)
            text += rng.choices(own[second], cum_weights=of_topic, k=others)
            rng.shuffle(text)
            out.write(f"d{first:04d}-{number:08d}\t{' '.join(text)}\n")
