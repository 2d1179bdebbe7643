"""What happens in a run and when, in `timeline.jsonl` of its folder: what its workers do
(`tux.engine.timeline`), what it tells, when workers were started again, and how it has ended.

The file is for people who look at a run, as by `tux watch`. No run reads it, and none fails for it:
where it cannot be written, it ends. It is never cut: what a run did before it went on from a
checkpoint stays. A run that goes on adds to it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from tux.base.errors import Interrupted, TuxError
from tux.base.processes import this
from tux.engine.timeline import Sample
from tux.runs.watcher import Watcher

FILE = "timeline.jsonl"

MOST_BYTES = 64 << 20
"""Of the file; then nothing more is written but how the run has ended."""

SPANS_BYTES = 48 << 20
"""From which size on samples have no spans."""

EARLY = 1_000
"""Entries that are kept before the file may be there."""

EPOCH = "epoch "
"""How the phase of an epoch begins. The records tell of epochs."""


class Begins(msgspec.Struct, tag="begins"):
    """A command begins the run, or goes on with it."""

    at: float  # seconds since 1970
    process: int
    host: str


class Says(msgspec.Struct, tag="says"):
    """What the run tells: `as_` is "phase" for what goes on from now, "line" or "warning"."""

    at: float
    as_: str = msgspec.field(name="as")
    text: str


class Works(msgspec.Struct, tag="works"):
    """A sample of a worker."""

    worker: int
    sample: Sample


class Restarts(msgspec.Struct, tag="restarts"):
    """All workers are started again."""

    at: float
    why: str
    start: str  # from where they go on


class Ends(msgspec.Struct, tag="ends"):
    """The command ends: `how` is "done", "interrupted" or "failed", and `text` the error."""

    at: float
    how: str
    text: str = ""


Entry: TypeAlias = Begins | Says | Works | Restarts | Ends
_decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


class Journal:
    """The file of one run's folder. It is made when the run has begun (`open`), since a folder that
    holds nothing else is removed again; what happens before it is kept until then.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._file: int | None = None
        self._early: list[bytes] = []
        self._size = 0
        self._over = False
        self._lock = threading.Lock()
        process = this()
        self._add(Begins(time.time(), process.number, process.host))

    def open(self) -> None:
        """From now on the file is written."""
        with self._lock:
            if self._file is not None or self._over:
                return
            try:
                how = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._file = os.open(self.path, how, 0o644)
                self._size = os.fstat(self._file).st_size
                # what a process that was killed has left of a line stays a line of its own
                if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":
                    self._write(b"\n")
                self._write(b"".join(self._early))
            except OSError:
                self._stop()
            self._early.clear()

    def says(self, how: str, text: str) -> None:
        """The run tells something: see `Says`."""
        self._add(Says(time.time(), how, text))

    def sample(self, worker: int, sample: Sample) -> None:
        """A worker has told what it has done."""
        if self._size > SPANS_BYTES:
            sample = msgspec.structs.replace(sample, lanes={})
        self._add(Works(worker, sample))

    def restarts(self, why: str, start: str) -> None:
        """All workers go on from `start`, and why."""
        self._add(Restarts(time.time(), why, start))

    def end(self, error: BaseException | None) -> None:
        """The command ends, by an error if it is one."""
        how, text = "done", ""
        if error is not None:
            interrupted = isinstance(error, Interrupted | KeyboardInterrupt)
            how = "interrupted" if interrupted else "failed"
            name = type(error).__name__
            text = str(error) if isinstance(error, TuxError) else f"{name}: {error}"
        self._add(Ends(time.time(), how, text), always=True)
        with self._lock:
            self._stop()

    def _add(self, entry: Entry, *, always: bool = False) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        with self._lock:
            if self._over:
                return
            if self._file is None:
                if len(self._early) < EARLY:
                    self._early.append(line)
            elif always or self._size + len(line) <= MOST_BYTES:
                try:
                    self._write(line)
                except OSError:
                    self._stop()

    def _write(self, content: bytes) -> None:
        assert self._file is not None
        self._size += os.write(self._file, content)

    def _stop(self) -> None:
        self._over = True
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None


class Noting:
    """A watcher that notes what it is told in a journal, and tells another watcher."""

    def __init__(self, watch: Watcher, journal: Journal) -> None:
        self._watch, self._journal = watch, journal

    def phase(self, name: str) -> None:
        """What goes on from now."""
        if not name.startswith(EPOCH):
            self._journal.says("phase", name)
        self._watch.phase(name)

    def share(self, done: float) -> None:
        """How much of it is done; this is not noted."""
        self._watch.share(done)

    def say(self, text: str) -> None:
        """One line about the run."""
        self._journal.says("line", text)
        self._watch.say(text)

    def warn(self, text: str) -> None:
        """One line about what is odd."""
        self._journal.says("warning", text)
        self._watch.warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """An epoch is done; its record is in `metrics.jsonl`."""
        self._watch.epoch(record, most)


def entries(lines: Iterable[bytes]) -> list[Entry | None]:
    """The entries of lines; None for one that is not what a journal writes, as a killed process may
    leave it.
    """
    return [_entry(line) for line in lines]


def _entry(line: bytes) -> Entry | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
