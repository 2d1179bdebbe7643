"""Ids that are read as they are written, and of which their user may not know."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np

from tux.arrays import arrow
from tux.arrays.ids import Ids
from tux.io.row_one import GAPS
from tux.io.text import NUMBER, WHOLE, short

ODD = 3  # words among ids that are whole numbers, at most


def odd_ids(ids: Mapping[str, Ids]) -> list[str]:
    """What a user should know of ids that are words among whole numbers, or words such as NA, or
    numbers that are written in several ways; a sentence for each vertex type.
    """
    notes = []
    for kind, own in ids.items():
        values = own.values
        if values.dtype != arrow.STRING:
            continue
        gaps = np.array([gap for gap in GAPS if gap], arrow.STRING)
        found = gaps[arrow.places_of(gaps, values) >= 0].tolist()
        others = islice((x for x in values.tolist() if not WHOLE.fullmatch(x)), ODD + 1)
        words = [short(word) for word in others]
        if words and all(map(_is_number, values.tolist())):
            notes.append(f"ids of {kind}s such as {words[0]} are words: 1 and 1.0 are two of them")
        elif 0 < len(words) <= ODD and 2 * len(words) <= len(values):
            what = f"{', '.join(words)} among {kind}s that are whole numbers"
            notes.append(f"{what}, and an id as these; leave the cell empty if the id is missing")
        elif found:
            notes.append(f"{', '.join(found)} among {kind}s, and an id as any other")
    return notes


def _is_number(word: str) -> bool:
    """Whether a word is a number with digits, which nan is not, nor 007."""
    return NUMBER.fullmatch(word) is not None and word[-1:].isdigit() and word[:1] != "0"
