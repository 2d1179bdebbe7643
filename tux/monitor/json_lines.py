"""The progress of a run, as lines of JSON: ``tux run --json`` writes them, and the process that has
started it reads them, as the driver of a run on other machines does::

    {"told":"phase","name":"load"}
    {"told":"share","done":0.5}
    {"told":"line","text":"data: ratings.csv: 200 users, 100 items, 5,000 ratings"}
    {"told":"warning","text":"560 rows of ratings.csv repeat a (user, item) pair"}
    {"told":"epoch","record":{"epoch":1,"clock":5,"seconds":0.15,"train_rmse":1.8},"most":5}
    {"told":"end","results":{"epochs":5,"seconds":0.19}}
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from tux.options.watcher import Watcher
from tux.run_folder.folder import drop_nonfinite

PAUSE = 0.25  # seconds between two shares


class PhaseLine(msgspec.Struct, tag_field="told", tag="phase", frozen=True):
    """The name of the work that begins now."""

    name: str


class ShareLine(msgspec.Struct, tag_field="told", tag="share", frozen=True):
    """The share of the work that is done, from 0 to 1."""

    done: float


class TextLine(msgspec.Struct, tag_field="told", tag="line", frozen=True):
    """One line about the run."""

    text: str


class WarningLine(msgspec.Struct, tag_field="told", tag="warning", frozen=True):
    """One line about something odd."""

    text: str


class EpochLine(msgspec.Struct, tag_field="told", tag="epoch", frozen=True):
    """The record of an epoch, as in `metrics.jsonl`, and the number of epochs at most."""

    record: dict[str, Any]
    most: int


class EndLine(msgspec.Struct, tag_field="told", tag="end", frozen=True):
    """The results of a run that has ended well, as in `run.json`."""

    results: dict[str, Any]


Told: TypeAlias = PhaseLine | ShareLine | TextLine | WarningLine | EpochLine | EndLine
_decoder: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)


class JsonLines:
    """A watcher that writes each line by `write`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write, self._shown = write, float("-inf")

    def phase(self, name: str) -> None:
        """Write the name of the work that begins now."""
        self._shown = float("-inf")
        self._tell(PhaseLine(name))

    def share(self, done: float) -> None:
        """Write how much of it is done; a few times a second."""
        if (now := time.monotonic()) - self._shown >= PAUSE:
            self._shown = now
            self._tell(ShareLine(float(done)))

    def say(self, text: str) -> None:
        """Write one line about the run."""
        self._tell(TextLine(text))

    def warn(self, text: str) -> None:
        """Write one line about something odd."""
        self._tell(WarningLine(text))

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Write the record of an epoch."""
        self._tell(EpochLine(drop_nonfinite(record), most))

    def end(self, results: dict[str, Any]) -> None:
        """Write the results of a run that has ended well."""
        self._tell(EndLine(drop_nonfinite(results)))

    def pass_on(self, line: str) -> None:
        """Write a line of another run's `JsonLines` as it is; say any other line."""
        if _parse_line(line) is None:
            self.say(line)
        else:
            self._write(line)

    def _tell(self, told: Told) -> None:
        self._write(msgspec.json.encode(told).decode())


def tell(line: str, watch: Watcher) -> None:
    """Pass a line on to a watcher. A line in another form, such as a program's own output, is said
    as it is.
    """
    match _parse_line(line):
        case None:
            watch.say(line)
        case PhaseLine(name):
            watch.phase(name)
        case ShareLine(done):
            watch.share(done)
        case TextLine(text):
            watch.say(text)
        case WarningLine(text):
            watch.warn(text)
        case EpochLine(record, most) if isinstance(record.get("epoch"), int):
            watch.epoch(record, most)


def _parse_line(line: str) -> Told | None:
    """Parse a line; None if it is none of these."""
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
