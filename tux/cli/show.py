"""What a run looks like: one live table on a terminal, plain lines elsewhere. No other file imports
rich; the command line writes here.

Results go to standard output; warnings and errors to standard error, so that
``tux predict DIR --pairs FILE > scores.csv`` is clean.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any

from tux.base.errors import DiskError, TuxError
from tux.cli import streams
from tux.cli.columns import Lines, Precision, number, sentence

__all__ = [
    "BEAT",
    "Live",
    "Plain",
    "fail",
    "grid",
    "number",
    "pairs",
    "say",
    "table",
    "warn",
    "watcher",
]

LOG = 120  # columns of a line in a file or a pipe, unless $COLUMNS says otherwise
BEAT = 5.0  # seconds after which a silent run says what it is doing
SURE = 0.02  # how much must be done before it can be told how long the rest takes


def say(text: str) -> None:
    """One line of results."""
    with streams.results():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def warn(text: str) -> None:
    """One line about what is odd."""
    streams.tell(f"warning: {text}\n")


def fail(error: TuxError, *, debug: bool = False) -> None:
    """What happened, where, and what to do; with `debug` the traceback before it."""
    if debug:
        streams.tell("".join(traceback.format_exception(error)))
    streams.tell(f"error: {error}\n")


def pairs(rows: dict[str, Any]) -> None:
    """Names and values in two columns."""
    width = max((len(name) for name in rows), default=0)
    for name, value in rows.items():
        say(f"{name:<{width}}  {value}")


def table(columns: dict[str, Any], *, header: bool = True) -> None:
    """Arrays (n,) as lines of text with commas and, unless they follow others, a header."""
    write = csv.writer(sys.stdout, lineterminator="\n").writerows
    with streams.results():
        write([list(columns)] * header)
        write(zip(*(column.tolist() for column in columns.values()), strict=True))
        sys.stdout.flush()


def grid(
    header: Sequence[str], rows: Sequence[Sequence[str]], marks: Sequence[str] | None = None
) -> None:
    """Rows of text under a header, the first column to the left and the others to the right. Each
    may have a mark before it; a row with "*" stands out.
    """
    marks = marks or [""] * len(rows)
    if _rich():
        from rich.console import Console
        from rich.table import Table

        first = [""] * any(marks)
        shown = Table(*first, *header, box=None, header_style="bold", pad_edge=False)
        for column in shown.columns[len(first) + 1 :]:
            column.justify = "right"
        for column in shown.columns:
            column.no_wrap = True
        for mark, row in zip(marks, rows, strict=True):
            cells = [mark, *row] if first else row
            shown.add_row(*cells, style="bold green" if mark == "*" else None)
        return Console(highlight=False).print(shown)
    marked = [("", *header), *((mark, *row) for mark, row in zip(marks, rows, strict=True))]
    widths = [max(map(len, column)) for column in zip(*marked, strict=True)]
    for row in marked:
        cells = [
            f"{cell:<{width}}" if at < 2 else f"{cell:>{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        say(f"{cells[0]:<1} {'  '.join(cells[1:])}".rstrip())


class Plain:
    """One line an epoch, and one every `beat` seconds in which there is none. A context, as a
    thread keeps the time.
    """

    def __init__(self, beat: float = BEAT) -> None:
        self._beat, self._now, self._since, self._last, self._share = beat, "", 0.0, 0.0, 0.0
        self._missing: set[str] = set()
        self._precision = Precision()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> Plain:
        self._last = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _keep(self) -> None:
        """Say what goes on whenever nothing has been said for a while."""
        while not self._done.wait(max(self._last + self._beat - time.monotonic(), 0.01)):
            if time.monotonic() - self._last >= self._beat and self._now:
                done = f" {self._share:.0%}," if self._share else ""
                with suppress(OSError, DiskError):  # the next line of the run itself tells it
                    self.say(f"... {self._now},{done} {self._seconds()}")

    def _seconds(self) -> str:
        """Seconds of what goes on and, where it is known how much is done, those that are left."""
        seconds, share = time.monotonic() - self._since, self._share
        left = f", about {seconds * (1 - share) / share:.0f} s left" if SURE < share < 1 else ""
        return f"{seconds:.0f} s{left}"

    def phase(self, name: str) -> None:
        """What goes on from now."""
        self._now, self._since, self._share = name, time.monotonic(), 0.0

    def share(self, done: float) -> None:
        """How much of it is done, from 0 to 1."""
        self._share = done

    def say(self, text: str) -> None:
        """One line."""
        self._last = time.monotonic()
        say(text)

    def warn(self, text: str) -> None:
        """One line on standard error."""
        warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """One line: the epoch, seconds, metrics, speed; as much as fits."""
        room = shutil.get_terminal_size((LOG, 24)).columns
        line, missing = sentence(record, most, room, self._missing, self._precision)
        self.say(line)
        self._left_out(missing)

    def _left_out(self, names: Sequence[str]) -> None:
        """Say once what lines have no room for."""
        if new := [name for name in names if name not in self._missing]:
            self._missing.update(new)
            self.say(f"(no room for {', '.join(new)}; metrics.jsonl in --out DIR has all)")


class Live(Plain):
    """A table that grows by a row an epoch, and below it what goes on now. Rows are printed
    once, so that the terminal keeps them all.
    """

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live as Screen

        self._lines = Lines()
        self._console = Console(highlight=False)
        self._screen = Screen(
            get_renderable=self._render, console=self._console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Live:
        self._screen.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._now = ""
        self._screen.stop()

    def say(self, text: str) -> None:
        """One line above what goes on."""
        self._console.print(text, markup=False, soft_wrap=True)

    def warn(self, text: str) -> None:
        """One line above what goes on, marked."""
        if sys.stderr.isatty():
            self._console.print(f"warning: {text}", style="yellow", markup=False, soft_wrap=True)
        else:
            warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """One row more, below the header if the columns are new or have changed."""
        header, row, missing = self._lines.add(record, most, self._console.width)
        if header:
            self._left_out(missing)
            self._console.print(header, style="bold", markup=False, soft_wrap=True)
        self._console.print(row, markup=False, soft_wrap=True)

    def _render(self) -> Any:
        """The line of what goes on, cut where the terminal ends."""
        from rich.text import Text

        busy: Any = Text(
            f"{self._now}, {self._seconds()}" if self._now else "",
            style="dim",
            no_wrap=True,
        )
        if self._now and self._share:
            from rich.columns import Columns
            from rich.progress_bar import ProgressBar

            busy = Columns([ProgressBar(total=1, completed=min(self._share, 1), width=30), busy])
        return busy


def watcher() -> Plain:
    """The live table on a terminal that can show it, plain lines elsewhere."""
    return Live() if _rich() else Plain()


def _rich() -> bool:
    """Whether standard output is a terminal that can do more than lines."""
    return sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def listing(entries: Mapping[str, str]) -> str:
    """Names and what they are, a line each, for a text of help."""
    return "\n".join(f"  {name:<10}{text}" for name, text in entries.items())
