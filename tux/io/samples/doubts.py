"""Columns of words in tables of samples that may have been meant as numbers."""

from __future__ import annotations

import re

from tux.io.source.cells import DATE
from tux.io.source.row_one import GAPS
from tux.io.source.text import NUMBER, quote_word

SIGNED = re.compile(
    r"[^\w\s=\"'#/@]{0,3}\s?((USD|EUR|GBP|CHF|JPY|INR|CNY|Rs\.?|kr\.?|[A-Z]{1,2}\$)\s?)?"
    r"(\d{1,3}([_'’ \u00a0\u202f]\d{3})+|\d[\d,]*)(\.[\d,]*)?([dD][+-]?\d+|\s?[^\d.=\"_]{0,3})"
)
"""Numbers with a sign or a unit, such as $1.50, 10%, 1_000 and Fortran's 1D-3, but no ids such as
u-1 and 10.0.0.1."""


FEWEST = 3  # values of a column, to say that all differ
AMOUNT = re.compile(r"[\s\d]")  # in texts, times and other words that are no names of a kind


def column_doubt(name: str, cells: list[str]) -> str:
    """Return a sentence about a column of words that may be meant as something else: some are
    numbers, or all have a sign or a unit, or are dates, or are texts that all differ. "" for other
    columns.
    """
    known = [cell for cell in cells if cell not in GAPS]
    others = [cell for cell in known if not NUMBER.fullmatch(cell)]
    if not others:
        return ""
    what = f"column {name} is read as words, one feature each"
    signed = all(map(SIGNED.fullmatch, others))
    if len(others) == len(known) and all(map(DATE.fullmatch, others)) and len(set(others)) > 1:
        return (
            f"{what}, such as {quote_word(others[0])}: dates are no numbers; write days, or years"
        )
    if len(others) == len(known):
        several = len(set(others)) > 1
        if signed and several:
            return f"{what}, such as {quote_word(others[0])}; write numbers without signs"
        alone = len(others) >= FEWEST and len(set(others)) == len(others)
        if alone and any(map(AMOUNT.search, others)):
            return f"{what}, and all of its first {len(others):,} values differ"
        return ""
    do = "leave the cell empty if it stands for a missing number"
    do = "write numbers without signs" if signed else do
    return (
        f"{what}: {len(known) - len(others):,} of its first {len(known):,} values are numbers, but "
        f"{quote_word(others[0])} is not; {do}"
    )


def gap_words_note(name: str, cells: list[str]) -> str:
    """Return a sentence about words such as NA in a column of words; "" if there are none."""
    found = list(dict.fromkeys(cell for cell in cells if cell and cell in GAPS))
    if not found:
        return ""
    what = f"column {name} holds {', '.join(found)}, as words like any other"
    return f"{what}; leave a cell empty if its value is missing"
