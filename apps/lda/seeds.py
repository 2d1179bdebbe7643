"""Seed words: words of which a topic is to be about, so that its number and label are known before.

The prior of word w in topic k is beta + `seed_weight` where w is a seed of k, and beta elsewhere
(Lu, Ott, Cardie and Tsou, ICDM Workshops 2011; Wallach, Mimno and McCallum, NIPS 2009, on uneven
priors). As if the word had been there so often before, the counts n_wk and n_k begin with these
occurrences, which no document has and which are never drawn: so each sampler draws as it does
without seeds.
"""

from __future__ import annotations

from collections import Counter

import msgspec
import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import DataError, UsageError
from tux.base.random import listed_values
from tux.program.params import INLINE


def check_numbers(program, words, tokens):
    """Raise DataError if the seeds' numbers are of no topic or of none of `words` words, UsageError
    if the counts of a topic or a word could pass 32 bits.
    """
    lines = seeds_of(program)
    numbers = [number for _, own in lines for number in own]
    if len(lines) > program.topics or any(not 0 <= number < words for number in numbers):
        raise DataError(
            "the parameter seeds does not fit the model's topics and words",
            do="name the file of seeds",
        )
    most = max([*(len(own) for _, own in lines), *Counter(numbers).values()], default=0)
    if program.seed_weight * most + tokens >= 2**31:
        raise UsageError(
            f"{most:,} seeds of one topic or word that weigh {program.seed_weight:,} each are more "
            "than 2,147,483,647 occurrences",
            do="a smaller seed_weight",
        )


def seeds_of(p):
    """Return label and numbers of words of each topic that has a line, by the parameters. DataError
    for a text that is not of this form.
    """
    if not p.seeds.startswith(INLINE):
        return []
    try:
        return msgspec.json.decode(p.seeds.removeprefix(INLINE), type=list[tuple[str, list[int]]])
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(
            f"the parameter seeds cannot be read: {error}", do="name the file of seeds"
        ) from None


def seeded_words(p):
    """Return how often each word has each topic before the first is drawn."""
    lines = enumerate(seeds_of(p))
    return listed_values({(w, k): p.seed_weight for k, (_, words) in lines for w in words})


def seeded_occurrences(p):
    """Return how often each word is there before."""
    topics = Counter(w for _, own in seeds_of(p) for w in own)
    return listed_values({(w, 0): p.seed_weight * count for w, count in topics.items()})


def seeded_topics(p):
    """Return how often each topic is there before."""
    lines = enumerate(seeds_of(p))
    return listed_values({(0, k): p.seed_weight * len(words) for k, (_, words) in lines if words})


def labels_of(program):
    """Return the label of each topic (K,), "" of those without; None if no topic has one."""
    labels = [label for label, _ in seeds_of(program)]
    labels += [""] * (program.topics - len(labels))
    return np.array(labels, STRING) if any(labels) else None


def drawn_counts(program, counts):
    """Return how often the topics have each word in training, (V, K), of `counts` that begin with
    the seeds.
    """
    out = np.array(counts)
    check_numbers(program, len(out), 0)
    for k, (_, words) in enumerate(seeds_of(program)):
        out[words, k] -= program.seed_weight
    return out
