"""Coherence of the words of a topic by its rules, in plain Python: windows one after the other."""

import math
from itertools import combinations

TINY = 1e-12


def slide(texts, size):
    """Return the words (a set) of each window of `size` words, as gensim counts them: where a word
    leaves a window it is no more there, until it enters again. A shorter text is one window.
    """
    found = []
    for text in texts:
        inside = set(text[:size])
        found.append(set(inside))
        for new in range(size, len(text)):
            inside.discard(text[new - size])
            inside.add(text[new])
            found.append(set(inside))
    return found


def shares(windows):
    """Return the function that gives the share of windows that have all of some words."""
    return lambda *words: sum(all(w in each for w in words) for each in windows) / len(windows)


def slow_npmi(words, windows):
    """Return the mean of log(p(i,j) / p(i) p(j)) / -log p(i,j) over pairs of words."""
    p, found = shares(windows), []
    for i, j in combinations(words, 2):
        if p(i, j) == 0:
            found.append(-1.0)
        elif p(i, j) == 1:
            found.append(1.0)
        else:
            found.append(math.log(p(i, j) / (p(i) * p(j))) / -math.log(p(i, j)))
    return sum(found) / len(found)


def slow_u_mass(words, windows):
    """Return the mean of log((p(i,j) + e) / p(j)) over words i and those before them, j."""
    p = shares(windows)
    found = [math.log((p(i, j) + TINY) / p(j)) for j, i in combinations(words, 2)]
    return sum(found) / len(found)


def slow_c_v(words, windows):
    """Return the mean over words of the cosine of their vectors with the sum of all of them."""
    p = shares(windows)
    vectors = [
        [math.log((p(i, j) + TINY) / (p(i) * p(j))) / -math.log(p(i, j) + TINY) for j in words]
        for i in words
    ]
    whole = [sum(column) for column in zip(*vectors, strict=True)]
    dot = lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))  # noqa: E731
    cosines = [dot(v, whole) / math.sqrt(dot(v, v) * dot(whole, whole)) for v in vectors]
    return sum(cosines) / len(cosines)
