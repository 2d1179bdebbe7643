"""Seed words: words of which a topic is to be about, so that its number and label are known before.

The prior of word w in topic k is beta + `seed_weight` where w is a seed of k, and beta elsewhere
(Lu, Ott, Cardie and Tsou, ICDM Workshops 2011; Wallach, Mimno and McCallum, NIPS 2009, on uneven
priors). As if the word had been there so often before, the counts n_wk and n_k begin with these
occurrences, which no document has and which are never drawn: so each sampler draws as it does
without seeds.
"""

from __future__ import annotations

import json
import re
import warnings

import numpy as np

from tux.base.errors import DataError, UsageError
from tux.base.random import listed_values
from tux.base.text import plural
from tux.io.source.text import read_words
from tux.program.params import INLINE

LINE = re.compile(r"(?:([^:]*[^:\s])\s*:(?=\s|$))?(.*)")  # a label and a colon, or none; words
PART = 50  # of a topic of mean size: what a seed word weighs by default
SHOWN = 10  # unknown words that are named


def with_seeds(program, ids, tokens):
    """Return the program with the numbers of its seed words, by the `ids` of words, in place of the
    name of their file, and with their weight, by how many `tokens` there are (0: not known). It
    warns of words that are not there. Raises UsageError for more lines than topics, DataError if no
    word is known.
    """
    path = program.seeds
    if not path or path.startswith(INLINE):
        return program
    lines = read_words(path)
    if len(lines) > program.topics:
        raise UsageError(
            f"{path} has {len(lines)} lines, of a topic each, and topics are {program.topics}",
            do=f"--topics {len(lines)}, or more",
        )
    found, unknown = _find_words(lines, ids)
    if not any(numbers for _, numbers in found):
        raise DataError(f"{path} has no word of the data", do="Give words as the data have them.")
    if unknown:
        more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
        words = plural(len(unknown), "seed word")
        are = "is" if len(unknown) == 1 else "are"
        warnings.warn(
            f"{words} of {path} {are} not in the data: {', '.join(unknown[:SHOWN])}{more}",
            stacklevel=2,
        )
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    if not program.seed_weight and not tokens:
        raise UsageError(
            "seed words weigh by the size of the data, which is not known of a partitioned folder",
            do="--seed-weight 100, or another number",
        )
    weight = program.seed_weight or max(tokens // (PART * program.topics), 1)
    return type(program)(**program.parameters | {"seeds": INLINE + text, "seed_weight": weight})


def _find_words(lines, ids):
    """Return the label of each line and the numbers of its words, and the words without a
    number.
    """
    found, unknown = [], []
    for line in lines:
        label, words = LINE.fullmatch(line).groups()
        numbers = {word: ids.index_of(word) for word in re.split(r"[\s,]+", words) if word}
        unknown += [word for word, number in numbers.items() if number < 0]
        found.append((label or "", sorted(n for n in set(numbers.values()) if n >= 0)))
    return found, unknown


def seeds_of(p):
    """Return label and numbers of words of each topic that has a line, by the parameters."""
    return json.loads(p.seeds.removeprefix(INLINE)) if p.seeds.startswith(INLINE) else []


def seeded_words(p):
    """Return how often each word has each topic before the first is drawn."""
    lines = enumerate(seeds_of(p))
    return listed_values({(w, k): p.seed_weight for k, (_, words) in lines for w in words})


def seeded_occurrences(p):
    """Return how often each word is there before."""
    words = [w for _, own in seeds_of(p) for w in own]
    return listed_values({(w, 0): p.seed_weight * words.count(w) for w in set(words)})


def seeded_topics(p):
    """Return how often each topic is there before."""
    lines = enumerate(seeds_of(p))
    return listed_values({(0, k): p.seed_weight * len(words) for k, (_, words) in lines if words})


def labels_of(program):
    """Return the label of each topic (K,), "" of those without; None if no topic has one."""
    labels = [label for label, _ in seeds_of(program)]
    return np.array(labels + [""] * (program.topics - len(labels))) if any(labels) else None


def drawn_counts(program, counts):
    """Return how often the topics have each word in training, (V, K), of `counts` that begin with
    the seeds.
    """
    out = np.array(counts)
    for k, (_, words) in enumerate(seeds_of(program)):
        out[words, k] -= program.seed_weight
    return out
