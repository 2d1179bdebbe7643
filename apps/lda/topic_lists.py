"""A document's list of its topics, and how often it has each: `topics` and `times`, of which the
first `size` count, in any order.
"""

from __future__ import annotations

import numpy as np


def count_tokens(document):
    """Return how many occurrences a document has."""
    length = np.float64(0)
    for i in range(document.size):
        length += document.times[i]
    return length


def drop(document, i):
    """Drop one occurrence of the topic at place i."""
    document.times[i] -= 1
    if document.times[i] == 0:
        document.size -= 1
        document.topics[i], document.times[i] = (
            document.topics[document.size],
            document.times[document.size],
        )


def add(document, k, i=-1):
    """Add one occurrence of topic k, which is at place i; -1: it is to be looked for, and may not
    be there.
    """
    if i < 0:
        i = 0
        while i < document.size and document.topics[i] != k:
            i += 1
        if i == document.size:
            document.topics[i], document.times[i] = k, 0
            document.size += 1
    document.times[i] += 1


def move(document, i, k, j):
    """Move one occurrence from the topic at place i to topic k, which is at place j; -1 as for
    `add`: then the list may be full before.
    """
    if j >= 0:
        add(document, k, j)
        drop(document, i)
    else:
        drop(document, i)
        add(document, k)
