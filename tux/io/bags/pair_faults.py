"""The faults of a line of ``column:number`` pairs, and of the number of an entry, in words."""

from __future__ import annotations

import re

import numpy as np

from tux.base.text import plural, plural_noun
from tux.io.bags.entries import WHOLE, BagSpec
from tux.io.bags.pair_lines import COUNT, LABEL, MAX_QUERY, NOTHING, WEIGHTED, Rules
from tux.io.source.text import NUMBER, is_plain_number, not_number, quote_word

QUERY = re.compile(r"qid:\d+", re.ASCII)


def line_fault(line: str, rules: Rules, asked: BagSpec) -> str:
    """Return the fault of a line that was marked as bad, in words."""
    words = re.findall(r"[^ \t\r]+", line.split("#")[0] if rules.comments else line)
    head = words[0] if words and rules.head != NOTHING else ""
    pairs = words[rules.head != NOTHING :]
    if rules.head == LABEL and ":" in head:
        return f"a {asked.row} without a label, but the first one has one"
    if rules.head == WEIGHTED:
        head, _, weight = head.partition(":")
        if not NUMBER.fullmatch(weight) or not 0 <= float(weight) <= rules.heaviest:
            return f"the weight {quote_word(weight)} of the {asked.row} is no finite number from 0"
    if (
        rules.comments
        and pairs
        and QUERY.fullmatch(pairs[0])
        and (why := _query_fault(pairs.pop(0)))
    ):
        return why
    if rules.head in (LABEL, WEIGHTED) and not head.isascii() or not head.isprintable():
        return f"{quote_word(head)} is no label: it is not plain text"
    if rules.head == COUNT and not is_plain_number(head):
        return (
            f"{quote_word(head)} is no number of {plural_noun(asked.column)}: a line begins with it"
        )
    for pair in pairs:
        if why := _pair_fault(pair, rules, asked):
            return why
    if rules.head == COUNT and int(head) != len(pairs):
        return f"the line announces {plural(int(head), asked.column)}, but has {len(pairs):,}"
    sums: dict[int, float] = {}
    for pair in pairs:
        column, _, number = pair.partition(":")
        sums[_whole(column)] = sums.get(_whole(column), 0.0) + float(number)
    wrong = next((at for at, each in sums.items() if not rules.least <= each <= rules.most), None)
    if wrong is None:
        same = (
            f"the numbers of {plural_noun(asked.column)} with the same hash" if asked.bits else ""
        )
        return f"{same} add up beyond {asked.dtype}" if same else ""
    return f"the numbers of {asked.column} {wrong} add up to {sums[wrong]:g}, beyond {asked.dtype}"


def _query_fault(word: str) -> str:
    number = word.removeprefix("qid:").lstrip("0")
    if len(number) > 20 or int(number or "0") > MAX_QUERY:
        return f"the query {quote_word(number)} is too large a number"
    return ""


def _pair_fault(pair: str, rules: Rules, asked: BagSpec) -> str:
    column, colon, number = pair.partition(":")
    if not (colon and column.isascii() and column.isdigit()):
        return f"{quote_word(pair)} is no {asked.column}:{asked.field}"
    if len(column.lstrip("0")) > 20:
        return f"{asked.column} {quote_word(column)} is too large a number"
    if why := asked.outside(_whole(column)):
        return why
    return number_fault(
        number,
        f"{asked.field} of {asked.column} {_whole(column)}",
        rules.whole,
        rules.least,
        rules.most,
        asked.dtype,
    )


def _whole(digits: str) -> int:
    """Return the number that digits write; int() refuses very many zeros before it."""
    return int(digits.lstrip("0") or "0")


def number_fault(
    number: str, name: str, whole: bool, least: float, most: float, dtype: np.dtype
) -> str:
    """Return the fault of the number of an entry in words, "" if it has none."""
    if whole and not re.fullmatch(r"[+-]?\d+", number, re.ASCII) or not NUMBER.fullmatch(number):
        return f"{name} is {not_number(number, whole=whole)}"
    if (
        not np.isfinite(value := float(number))
        or dtype.kind == "f"
        and not whole
        and not least <= value <= most
    ):
        return f"{name} is {quote_word(number)}, not finite"
    if value < least == 1:
        return f"{name} is {quote_word(number)}, but a count is at least 1"
    if not least <= value <= most or whole and abs(value) > WHOLE:
        return f"{name} is {quote_word(number)}, beyond {dtype}"
    return ""
