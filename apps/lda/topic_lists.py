"""A document's list of its topics, and how often it has each: `topics` and `times`, of which the
first `size` count, in any order.
"""

from __future__ import annotations


def drop(document, k):
    """One occurrence less of topic k, which is in the document's list."""
    i = 0
    while document.topics[i] != k and i < document.size - 1:
        i += 1
    document.times[i] -= 1
    if document.times[i] == 0:
        document.size -= 1
        document.topics[i], document.times[i] = (
            document.topics[document.size],
            document.times[document.size],
        )


def add(document, k):
    """One occurrence more of topic k."""
    i = 0
    while i < document.size and document.topics[i] != k:
        i += 1
    if i == document.size:
        document.topics[i], document.times[i] = k, 0
        document.size += 1
    document.times[i] += 1
