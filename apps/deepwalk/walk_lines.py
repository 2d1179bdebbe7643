"""Lists of ids as lines of text, a list a line, the ids with a blank between: what gensim's
LineSentence and word2vec read.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.errors import DataError

BLANK, NEWLINE = 32, 10


def check_words(ids, do=""):
    """Refuse an id that is empty or has a blank or a newline in it, and so would be another or none
    when it is read. DataError.
    """
    for word in () if ids.dtype.kind in "iu" else ids.tolist():
        if len(word.split()) != 1 or word != word.strip():
            raise DataError(
                f"the id {word!r} has a blank in it or is empty, which a line of ids cannot hold",
                do=do,
            )


class Lines:
    """Writes lists of numbers (m, width), full of -1 behind their ends, as lines of `ids` (n,)."""

    def __init__(self, ids):
        words = [str(word).encode() for word in ids.tolist()]
        self._bounds = np.concatenate(
            [[0], np.cumsum([len(word) for word in words], dtype=np.int64)]
        )
        self._letters = np.frombuffer(b"".join(words), np.uint8)

    def of(self, lists):
        """Return the lines, uint8 (bytes,)."""
        return _lines(lists, self._letters, self._bounds)


@cached_njit
def _lines(lists, letters, bounds):
    """Write the lines; `letters` holds the ids one after the other, cut at `bounds` (n + 1,)."""
    size = 0
    for i in range(lists.shape[0]):
        size += 1
        for v in lists[i]:
            if v < 0:
                break
            size += bounds[v + 1] - bounds[v] + 1
    out, at = np.empty(size, np.uint8), 0
    for i in range(lists.shape[0]):
        for j in range(lists.shape[1]):
            v = lists[i, j]
            if v < 0:
                break
            if j > 0:
                out[at] = BLANK
                at += 1
            for k in range(bounds[v], bounds[v + 1]):
                out[at] = letters[k]
                at += 1
        out[at] = NEWLINE
        at += 1
    return out[:at]
