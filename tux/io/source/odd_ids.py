"""Ids that are read as they are written, though the user may not expect it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from tux.arrays import arrow
from tux.arrays.ids import Ids
from tux.base.text import plural_noun
from tux.io.source.cells import DECIMAL
from tux.io.source.row_one import GAPS
from tux.io.source.text import NUMBER, WHOLE, quote_word

ODD = 3  # words among ids that are whole numbers, at most
LONGEST_GAP = max(map(len, GAPS))
SUMS = frozenset(("total", "totals", "grand total", "subtotal", "sum", "summe", "gesamt"))
LONGEST_SUM = max(map(len, SUMS))
SHOWN = 3  # of the ids of one kind
COMMENT = re.compile(r"(//(?!\S+\.\S)|/\*|--|[;!@*'\\]\s|REM\s)")
QUOTE = re.compile(r"""['"‘’‚“„`«»].*['"’“”`«»]|[^'"‘‚“„`«]*['"’”»]|['"][^'"]*""", re.DOTALL)
NO_WORD = re.compile(r"[\W_]+")
LETTERS = ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x1FFF), (0x3040, 0xFFFF))
"""Ranges of characters with which ids begin that have no sign before them."""
SIGNS = (
    (COMMENT.match, "that begin as comments do elsewhere", "only # and % begin comments here"),
    (QUOTE.fullmatch, "with a quote before or behind them", "it is a part of them"),
    (NO_WORD.fullmatch, "without a letter and a digit", "they are ids as any others"),
)
"""Tests of odd ids, words for them, and the rest of the sentence about them."""


def odd_ids(ids: Mapping[str, Ids]) -> list[str]:
    """Return sentences about ids that are words among whole numbers, or words such as NA, or
    numbers that are written in several ways, or that seem to be no ids; one for each kind of these
    in a vertex type.
    """
    notes = []
    for name, own in ids.items():
        kinds = plural_noun(name)
        values = own.values
        if values.dtype != arrow.STRING:
            continue
        brief = {*values[np.strings.str_len(values) <= LONGEST_GAP].tolist()}
        found = [gap for gap in GAPS if gap in brief]
        others = islice((word for word in values if not WHOLE.fullmatch(word)), ODD + 1)
        words = [quote_word(word) for word in others]
        few = 0 < len(words) <= ODD and 2 * len(words) <= len(values)
        if words and all(map(_is_number, values)):
            notes.append(f"ids of {kinds} such as {words[0]} are words: 1 and 1.0 are two of them")
        elif few:
            what = f"{', '.join(words)} among {kinds} that are whole numbers"
            notes.append(f"{what}, and an id as these; leave the cell empty if the id is missing")
        elif found:
            notes.append(f"{', '.join(found)} among {kinds}, and an id as any other")
        notes += _signs_of(kinds, values, found)
        if not few:
            why = "they are ids as any others"
            notes += _note(kinds, _sums(values), "that may be sums of other rows", why)
    return notes


def _sums(values: np.ndarray) -> list[str]:
    """Return the ids (n,) that programs give to a row of sums."""
    length = np.strings.str_len(values)
    brief = values[(length > 2) & (length <= LONGEST_SUM)]
    first = brief.astype("U1")
    likely = brief[np.isin(first, [*"TtGgSs"])].tolist()
    return [word for word in likely if word.lower() in SUMS]


def _signs_of(kinds: str, values: np.ndarray, told: Sequence[str]) -> list[str]:
    """Return sentences about ids (n,) by the signs in them, except for the ids `told`, about which
    there is a sentence already.
    """
    first = values.astype("U1").view(np.uint32)
    looked_at = np.ones(len(values), np.bool_)
    for begin, end in LETTERS:
        looked_at &= (first < begin) | (first > end)
    looked_at |= np.strings.startswith(values, "REM ")
    for quote in ("'", '"'):
        looked_at |= np.strings.endswith(values, quote)
    odd = [word for word in values[looked_at].tolist() if word not in told]
    notes = []
    for fits, such, why in SIGNS:
        found, odd = [word for word in odd if fits(word)], [word for word in odd if not fits(word)]
        notes += _note(kinds, found, such, why)
    commas = values[np.strings.find(values, ",") > 0].tolist()
    found = [word for word in commas if DECIMAL.fullmatch(word)]
    return notes + _note(kinds, found, "with a comma", "words; numbers have a decimal point")


def _note(kinds: str, found: Sequence[str], such: str, why: str) -> list[str]:
    """Return a sentence about some ids of a type, none if there are no ids."""
    shown = ", ".join(map(quote_word, sorted(found)[:SHOWN]))
    count = f" ({len(found):,})" * (len(found) > SHOWN)
    return [f"ids of {kinds} {such}, {shown}{count}: {why}"] if found else []


def _is_number(word: str) -> bool:
    """Return whether a word is a number with digits. nan and 007 are none."""
    return NUMBER.fullmatch(word) is not None and word[-1:].isdigit() and word[:1] != "0"
