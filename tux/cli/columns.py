"""The columns of an epoch's record that fit into a line, and their widths: the text that a run
prints, without the printing.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from typing import Any

from tux.engine.records import metrics, time_and_traffic

GAP = 2  # blanks between columns
SPEED = "M edges/s"
DIGITS = 5  # significant digits of a number
MOST_DIGITS = 15  # what a double holds of every decimal number


def number(x: float, digits: int = DIGITS) -> str:
    """Write a number in about `digits` significant digits; whole ones in full, with thousands
    separators.
    """
    return f"{x:,.0f}" if _whole(x) else _round_number(x, digits)


def _whole(x: float) -> bool:
    return abs(x) < 1e15 and x == int(x)


def _round_number(x: float, digits: int) -> str:
    """Write a number with so many digits. All digits before the point are shown; a number below 1
    has a digit less.
    """
    if not 1e-3 <= abs(x) < 1e9:
        return f"{x:.{digits}g}"
    before = max(math.floor(math.log10(abs(x))), 0) + 1
    return f"{x:.{max(digits - before, 0)}f}"


class Precision:
    """The number of digits of each metric on the screen. If a metric has changed since the last
    record and its text has not, it gets more digits from then on, up to those of a double.
    """

    def __init__(self) -> None:
        self._last: dict[str, float] = {}
        self._digits: dict[str, int] = {}

    def text(self, name: str, x: float) -> str:
        """Return the text of a metric's value in the next record."""
        last, digits = self._last.get(name, x), self._digits.get(name, DIGITS)
        if x != last and not _whole(x):
            tell = (
                d
                for d in range(digits, MOST_DIGITS + 1)
                if _round_number(x, d) != _round_number(last, d)
            )
            digits = next(tell, digits)
        self._last[name], self._digits[name] = x, digits
        return number(x, digits)


def values(record: Mapping[str, Any], precision: Precision | None = None) -> dict[str, str]:
    """Return a record's columns: seconds of training, metrics, what a worker's time went to and
    what was sent, edges a second. `precision` is that of the records before, if there are any.
    """
    text = (precision or Precision()).text
    shown = {name: text(name, value) for name, value in metrics(dict(record)).items()}
    shown |= {name: f"{value:.1f}" for name, value in time_and_traffic(dict(record)).items()}
    return {
        "seconds": f"{record['seconds']:.2f}",
        **shown,
        SPEED: f"{record['edges_per_second'] / 1e6:.1f}",
    }


def rank_names(names: Iterable[str], costs: Iterable[str]) -> list[str]:
    """Sort the names, the most important first: epoch, seconds, metrics of held-out data, other
    metrics, speed, costs; else in their order.
    """
    last = set(costs)
    first = ("epoch", "seconds")

    def rank(name: str) -> int:
        if name in first:
            return first.index(name)
        return 5 if name in last else 4 if name == SPEED else 2 if name.startswith("test_") else 3

    return sorted(names, key=rank)


def columns_that_fit(widths: Mapping[str, int], costs: Iterable[str], room: int) -> list[str]:
    """Return the most important columns, as many as fit into `room` characters and at least one, in
    the order of `widths`.
    """
    taken: set[str] = set()
    left = room + GAP
    for name in rank_names(widths, costs):
        left -= widths[name] + GAP
        if taken and left < 0:
            break
        taken.add(name)
    return [name for name in widths if name in taken]


class RecordLines:
    """The lines of a table that grows by one record at a time, on a screen of changing width.

    Columns only get wider. The header is repeated when the columns change.
    """

    def __init__(self) -> None:
        self._widths: dict[str, int] = {}
        self._header = ""
        self._told: set[str] = set()
        self._precision = Precision()

    def add(self, record: Mapping[str, Any], most: int, room: int) -> tuple[str, str, list[str]]:
        """Add a record. Return the header, if it is to be written (else ""), the row, and the
        columns that are left out for the first time.
        """
        cells = {"epoch": f"{record['epoch']}/{most}", **values(record, self._precision)}
        metric_names = metrics(dict(record))
        for name, cell in cells.items():
            least = (
                len(f"{most}/{most}")
                if name == "epoch"
                else 8
                if name in metric_names or name == "seconds"
                else 0
            )
            self._widths[name] = max(self._widths.get(name, 0), len(name), len(cell), least)
        costs = [name for name in cells if name in time_and_traffic(dict(record))]
        self._widths = {name: self._widths[name] for name in _order_names(self._widths, cells)}
        names = columns_that_fit(self._widths, costs, room)
        header = _line(names, {name: name for name in names}, self._widths)
        first, self._header = header != self._header, header
        missing = [name for name in self._widths if name not in names and name not in self._told]
        self._told |= set(missing)
        return header if first else "", _line(names, cells, self._widths), missing


def sentence(
    record: Mapping[str, Any],
    most: int,
    room: int,
    without: Container[str] = (),
    precision: Precision | None = None,
) -> tuple[str, list[str]]:
    """Return one line for a log, in which each value has its name, and the names of what does not
    fit into `room` characters.

    `without`: what is left out in any case, as it was before. `precision`: see `values`.
    """
    cells = values(record, precision)
    head = f"epoch {record['epoch']:>{len(str(most))}}/{most}  {cells.pop('seconds'):>7} s"
    texts = {
        name: f"{cell} {name}" if name == SPEED else f"{name} {cell}"
        for name, cell in cells.items()
        if name not in without
    }
    names = columns_that_fit(
        {name: len(text) for name, text in texts.items()},
        time_and_traffic(dict(record)),
        room - len(head) - GAP,
    )
    return "  ".join([head, *(texts[name] for name in names)]), [
        name for name in texts if name not in names
    ]


def _order_names(known: Mapping[str, int], cells: Mapping[str, str]) -> list[str]:
    """Return all names so far: those of the record in its order, the others before the speed."""
    others = [name for name in known if name not in cells]
    at = list(cells).index(SPEED)
    return [*list(cells)[:at], *others, *list(cells)[at:]]


def _line(names: list[str], cells: Mapping[str, str], widths: Mapping[str, int]) -> str:
    return (" " * GAP).join(f"{cells.get(name, ''):>{widths[name]}}" for name in names).rstrip()
