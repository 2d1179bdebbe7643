"""The output of a run: one live table on a terminal, plain lines elsewhere. No other file imports
rich; the command line writes here.

Results go to standard output; warnings and errors to standard error, so that
``tux predict DIR --pairs FILE > scores.csv`` is clean. On a terminal no line takes more columns
than it has, nor more than `tux.cli.widths.MAX_COLUMNS`. Files and pipes get each line as it is.
"""

from __future__ import annotations

import csv
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from tux.base.errors import DiskError, TuxError
from tux.cli import streams
from tux.cli.columns import Precision, RecordLines, number, sentence
from tux.cli.widths import MAX_COLUMNS, align_rows, cut, hanging, room, width, wrap_text

__all__ = [
    "BEAT",
    "LiveTable",
    "PlainLines",
    "show_progress",
    "fail",
    "grid",
    "line",
    "number",
    "pairs",
    "phase",
    "say",
    "table",
    "warn",
    "watcher",
]

BEAT = 5.0  # seconds after which a silent run says what it is doing
SURE = 0.02  # how much must be done before it can be told how long the rest takes


def say(text: str) -> None:
    """Print one line of results. A command that prints one is no longer silent: see `phase`."""
    phase("")
    with streams.results():
        sys.stdout.write(f"{_fit_lines(text, sys.stdout)}\n")
        sys.stdout.flush()


def line(text: str) -> None:
    """Print one line for other programs, the same on a terminal as elsewhere."""
    phase("")
    with streams.results():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


def warn(text: str) -> None:
    """Print one line about what is odd."""
    streams.tell(f"{_fit_lines(f'warning: {text}', sys.stderr)}\n")


def fail(error: TuxError, *, debug: bool = False) -> None:
    """Print what happened, where, and what to do; with `debug` the traceback before it."""
    if debug:
        streams.tell("".join(traceback.format_exception(error)))
    streams.tell(f"{_fit_lines(f'error: {error}', sys.stderr)}\n")


def _fit_lines(text: str, stream: TextIO) -> str:
    """Return a text as it is written to a stream: on a terminal, in lines that fit."""
    return wrap_text(text, room()) if stream.isatty() else text


NAMES = 12  # columns of a name, where pairs are shown one after the other


def pairs(rows: dict[str, Any]) -> None:
    """Print names and values in two columns."""
    longest = max((width(name) for name in rows), default=0)
    for name, value in rows.items():
        if sys.stdout.isatty():
            for line in hanging(name, str(value), longest + 2, room()):
                say(line)
        else:
            say(f"{name:<{longest}}  {value}")


def table(columns: dict[str, Any], *, header: bool = True) -> None:
    """Print arrays (n,) as lines of text with commas and, unless they follow others, a header; on a
    terminal, as much of each line as fits.
    """
    file = _CutOutput() if sys.stdout.isatty() else sys.stdout
    write = csv.writer(file, lineterminator="\n").writerows
    with streams.results():
        write([list(columns)] * header)
        write(zip(*(column.tolist() for column in columns.values()), strict=True))
        sys.stdout.flush()
    if isinstance(file, _CutOutput) and file.has_cut:
        warn(f"lines are cut after {room()} columns; a pipe or --out FILE gets them whole")


class _CutOutput:
    """Standard output that takes as much of each line as fits."""

    def __init__(self) -> None:
        self.has_cut = False

    def write(self, line: str) -> None:
        """Write a line with its end."""
        text = line.rstrip("\n")
        fitting = cut(text, room())
        self.has_cut = self.has_cut or fitting != text
        sys.stdout.write(f"{fitting}\n")


def grid(
    header: Sequence[str], rows: Sequence[Sequence[str]], marks: Sequence[str] | None = None
) -> None:
    """Print rows of text under a header, the first column to the left and the others to the right.
    Each may have a mark before it; a row with "*" stands out. Where a terminal has no room for all
    columns, the last ones follow in another table.
    """
    marks = marks or [""] * len(rows)
    marked = [("", *header), *((mark, *row) for mark, row in zip(marks, rows, strict=True))]
    most = room() if sys.stdout.isatty() else None
    bare = 2 if most and not any(marks) else 0  # on a terminal, no place is kept for marks
    styles = ["bold", *("bold green" if mark == "*" else "" for mark in marks)]
    write = _style_writer() if _rich(sys.stdout) else lambda line, style: say(line)
    for lines in align_rows(marked, most and most + bare):
        for row, style in zip(lines, styles, strict=True):
            for line in row:
                write(line[bare:], style)


def _style_writer() -> Callable[[str, str], None]:
    """Return a function that writes lines with styles on a terminal."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False)
    return lambda line, style: console.print(line, style=style, markup=False, soft_wrap=True)


class PlainLines:
    """One line an epoch, and one every `beat` seconds in which there is none. A context, as a
    thread keeps the time. Lines go to `tell`; `clock` gives the time in seconds.
    """

    def __init__(
        self,
        beat: float = BEAT,
        tell: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._beat, self._tell, self._clock = beat, tell, clock
        self._now, self._since, self._last, self._share = "", 0.0, 0.0, 0.0
        self._missing: set[str] = set()
        self._precision = Precision()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> PlainLines:
        phase("")  # what goes on is told here from now on
        self._last = self._clock()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _keep(self) -> None:
        """Keep the time."""
        while not self._done.wait(max(self._last + self._beat - self._clock(), 0.01)):
            self.tick()

    def tick(self) -> None:
        """Say what goes on if nothing has been said for a while."""
        if not self._now:
            self._last = self._clock()  # so that the thread sleeps
        elif self._clock() - self._last >= self._beat:
            done = f" {self._share:.0%}," if self._share else ""
            with suppress(OSError, DiskError):  # the next line of the run itself tells it
                self.say(f"... {self._now},{done} {self._seconds()}")

    def _seconds(self) -> str:
        """Return the seconds of what goes on and, where it is known how much is done, those that
        are left.
        """
        seconds, share = self._clock() - self._since, self._share
        left = f", about {seconds * (1 - share) / share:.0f} s left" if SURE < share < 1 else ""
        return f"{seconds:.0f} s{left}"

    def phase(self, name: str) -> None:
        """Set what goes on from now; "": nothing that takes long."""
        now = self._clock()
        if not self._now:
            self._last = now
        self._now, self._since, self._share = name, now, 0.0

    def share(self, done: float) -> None:
        """Set how much of it is done, from 0 to 1."""
        self._share = done

    def say(self, text: str) -> None:
        """Print one line."""
        self._last = self._clock()
        self._tell(text)

    def warn(self, text: str) -> None:
        """Print one line on standard error."""
        warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Print one line: the epoch, seconds, metrics, speed; as much as fits."""
        line, missing = sentence(record, most, room(), self._missing, self._precision)
        self.say(line)
        self._left_out(missing)

    def _left_out(self, names: Sequence[str]) -> None:
        """Say once what lines have no room for."""
        if new := [name for name in names if name not in self._missing]:
            self._missing.update(new)
            self.say(f"(no room for {', '.join(new)}; metrics.jsonl in --out DIR has all)")


class LiveTable(PlainLines):
    """A table that grows by a row an epoch, and below it what goes on now. Rows are printed
    once, so that the terminal keeps them all.
    """

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live as Screen

        self._lines = RecordLines()
        self._console = Console(highlight=False, emoji=False)
        self._screen = Screen(
            get_renderable=self._render, console=self._console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> LiveTable:
        phase("")
        self._screen.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._now = ""
        self._screen.stop()

    @property
    def _room(self) -> int:
        """The columns that a line may take."""
        return min(self._console.width, MAX_COLUMNS)

    def _print(self, text: str, style: str = "") -> None:
        """Print lines above what goes on."""
        fitting = wrap_text(text, self._room)
        self._console.print(fitting, style=style, markup=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """Print one line above what goes on."""
        self._print(text)

    def warn(self, text: str) -> None:
        """Print one line above what goes on, marked."""
        if sys.stderr.isatty():
            self._print(f"warning: {text}", "yellow")
        else:
            warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Print one row more, below the header if the columns are new or have changed."""
        header, row, missing = self._lines.add(record, most, self._room)
        if header:
            self._left_out(missing)
            self._console.print(header, style="bold", markup=False, soft_wrap=True)
        self._console.print(row, markup=False, soft_wrap=True)

    def _render(self) -> Any:
        """Return the line of what goes on, cut where it has no more room."""
        from rich.text import Text

        text = f"{self._now}, {self._seconds()}" if self._now else ""
        if not self._now or not self._share:
            return Text(cut(text, self._room), style="dim", no_wrap=True)
        from rich.columns import Columns
        from rich.progress_bar import ProgressBar

        bar = min(30, self._room // 3)
        busy = Text(cut(text, self._room - bar - 1), style="dim", no_wrap=True)
        return Columns([ProgressBar(total=1, completed=min(self._share, 1), width=bar), busy])


def watcher() -> PlainLines:
    """Return the live table on a terminal that can show it, plain lines elsewhere."""
    return LiveTable() if _rich(sys.stdout) else PlainLines()


_beside: PlainLines | None = None  # what tells on standard error what a command does


@contextmanager
def show_progress(name: str) -> Iterator[PlainLines]:
    """Show what a command does, so that it is not silent for long: at first `name`, on standard
    error every `BEAT` seconds, until it has a `watcher`. A context.
    """
    global _beside
    with PlainLines(
        BEAT, lambda line: streams.tell(f"{_fit_lines(line, sys.stderr)}\n")
    ) as telling:
        before, _beside = _beside, telling
        telling.phase(name)
        try:
            yield telling
        finally:
            _beside = before


def phase(name: str) -> None:
    """Set what a command without a `watcher` does from now on; "": nothing that takes long, or
    nothing that its results do not show.
    """
    if _beside is not None:
        _beside.phase(name)


def _rich(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that can do more than lines."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def listing(entries: Mapping[str, str]) -> str:
    """Return names and their texts, a line each, for a text of help."""
    longest = max(map(width, entries), default=0)
    return "\n".join(
        f"  {name}{' ' * (longest - width(name))}  {text}" for name, text in entries.items()
    )
