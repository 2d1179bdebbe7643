"""Watchers that show the progress of a run in Python: by a bar in a notebook, one line on a
terminal, plain lines elsewhere; or not at all.

Lines go to standard error, so that the output of a script is its own. Odd things become warnings of
the logger "tux", which Python shows unless the user has set it up otherwise.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

from tux.base.errors import UsageError
from tux.base.text import flags_to_arguments
from tux.engine.records import metrics
from tux.options.watcher import NullWatcher, Watcher

PAUSE = 0.2  # seconds between two pictures
BETWEEN = 1.0  # seconds between two plain lines about epochs
WIDTH = 100  # characters of a plain line
CLEAR = "\r\x1b[K"  # empties the line on a terminal


class WarningsOnly(NullWatcher):
    """A watcher that shows warnings alone."""

    def warn(self, text: str) -> None:
        """Log one line about something odd."""
        logging.getLogger("tux").warning(flags_to_arguments(text))

    def close(self) -> None:
        """Do nothing at the end of a run."""


class ProgressLines(WarningsOnly):
    """A watcher that writes plain lines: the work that begins, messages of the run, and epochs,
    about one a second.
    """

    def __init__(self) -> None:
        self._last, self._waiting = 0.0, ""

    def phase(self, name: str) -> None:
        """Write the name of the work that begins now; epochs are written when they are over."""
        if not name.startswith("epoch"):
            self.say(f"{name} ...")

    def say(self, text: str) -> None:
        """Write one line about the run, after that of the last epoch."""
        self._flush()
        self._write(flags_to_arguments(text))

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Write a line about the epoch, unless one has just been written."""
        self._waiting = epoch_line(record, most)
        if time.monotonic() - self._last >= BETWEEN:
            self._flush()
            self._last = time.monotonic()

    def close(self) -> None:
        """Write the last epoch's line."""
        self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._write(self._waiting)
        self._waiting = ""

    def _write(self, text: str) -> None:
        sys.stderr.write(f"{text[:WIDTH]}\n")
        sys.stderr.flush()


class LiveDisplay(WarningsOnly):
    """A watcher that shows the present work, anew a few times a second."""

    def __init__(self) -> None:
        self._now, self._epoch, self._share, self._shown = "", "", 0.0, 0.0
        self._trained = 0.0  # the share of epochs that are done

    def phase(self, name: str) -> None:
        """Show the name of the work that begins now."""
        is_epoch = name.startswith("epoch")
        self._now = "" if is_epoch else name
        if not is_epoch:
            self._share = 0.0
            self._show(at_once=True)

    def share(self, done: float) -> None:
        """Show how much of it is done."""
        self._share = done
        self._show()

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Show the record of an epoch, of at most `most` epochs."""
        self._epoch, self._trained = epoch_line(record, most), record["epoch"] / max(most, 1)
        self._share = self._trained
        self._show()

    def _show(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if at_once or now - self._shown >= PAUSE:
            self._shown = now
            self._draw()

    @property
    def _line(self) -> str:
        """The text that is shown: the phase, or the last epoch."""
        return f"{self._now} ..." if self._now else self._epoch

    def _draw(self) -> None:
        """Show the line and the share."""


class OneLine(LiveDisplay):
    """A watcher that shows one line on a terminal. Each text replaces the one before, and the line
    is empty at the end.
    """

    def warn(self, text: str) -> None:
        """Log one line about something odd, which stays."""
        self._write(CLEAR)
        super().warn(text)

    def close(self) -> None:
        """Empty the line."""
        self._write(CLEAR)

    def _draw(self) -> None:
        room = shutil.get_terminal_size((WIDTH, 24)).columns - 1
        done = f"{self._share:4.0%} " if self._share else ""
        self._write(f"{CLEAR}{f'{done}{self._line}'[:room]}")

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class Notebook(LiveDisplay):
    """A watcher that shows a bar below the cell, with the phase or the last epoch beside it. The
    bar stays.
    """

    def __init__(self) -> None:
        super().__init__()
        self._display: Any = import_module("IPython.display").display
        self._handle: Any = None

    def close(self) -> None:
        """Show the last epoch and how many epochs are done; this stays."""
        self._now, self._share = "", self._trained
        self._draw()

    def _draw(self) -> None:
        bar = f'<progress value="{self._share:.3f}" max="1"></progress>'
        shown = {"text/plain": self._line, "text/html": f"{bar} {escape(self._line)}"}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def epoch_line(record: dict[str, Any], most: int) -> str:
    """Write an epoch in one line: its number, its metrics, seconds of training."""
    found = ", ".join(f"{name} {value:.5g}" for name, value in metrics(record).items())
    epoch = f"epoch {record['epoch']} of {most}"
    return f"{epoch}: {found}{', ' if found else ''}{record['seconds']:.2f} s"


@contextmanager
def watching(progress: bool | Watcher | None) -> Iterator[Watcher]:
    """Yield the watcher of the run in the body: for None or True, the one that fits the place; for
    False, one that shows only warnings; or a watcher of the caller's own
    (`tux.options.watcher.Watcher`). UsageError for anything else.
    """
    if progress is None or isinstance(progress, bool):
        watch = WarningsOnly() if progress is False else _default_watcher()
        try:
            yield watch
        finally:
            watch.close()
    elif hasattr(progress, "phase") and hasattr(progress, "epoch"):
        yield progress
    else:
        raise UsageError(
            f"progress is {progress!r}", do="True shows how the run goes on, False does not"
        )


def _default_watcher() -> WarningsOnly:
    """Return the watcher for a notebook, a terminal, or neither."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is not None and hasattr(shell, "kernel"):
        return Notebook()
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        return OneLine()
    return ProgressLines()
