"""The events of a run and their times, in `timeline.jsonl` of its folder: the work of its workers
(`tux.engine.timeline`), its messages, when workers were started again, and how it has ended.

The file is for people who look at a run, as by `tux watch`. No run reads it, and no run fails
because of it: when it cannot be written, the journal stops. It is never cut: the events before a
run went on from a checkpoint stay. A run that goes on adds to it.
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
from tux.base.processes import this_process
from tux.engine.timeline import Sample
from tux.options.watcher import Watcher

FILE = "timeline.jsonl"

MOST_BYTES = 64 << 20
"""Bytes of the file at most; then only the end of the run is still written."""

SPANS_BYTES = 48 << 20
"""Bytes of the file from which on samples have no spans."""

EARLY = 1_000
"""Entries that are kept before the file may be there."""

EPOCH = "epoch "
"""The beginning of an epoch's phase. Such phases are not noted, as the records have the epochs."""


class BeginEntry(msgspec.Struct, tag="begins"):
    """The entry for a command that begins the run, or goes on with it."""

    at: float  # seconds since 1970
    process: int
    host: str


class MessageEntry(msgspec.Struct, tag="says"):
    """A message of the run: `as_` is "phase" for the work that begins now, "line" or "warning"."""

    at: float
    as_: str = msgspec.field(name="as")
    text: str


class SampleEntry(msgspec.Struct, tag="works"):
    """The entry for a sample of a worker."""

    worker: int
    sample: Sample


class RestartEntry(msgspec.Struct, tag="restarts"):
    """The entry for a restart of all workers."""

    at: float
    why: str
    start: str  # from where they go on


class EndEntry(msgspec.Struct, tag="ends"):
    """The entry for the end of a command: `how` is "done", "interrupted" or "failed", and `text`
    the error.
    """

    at: float
    how: str
    text: str = ""


Entry: TypeAlias = BeginEntry | MessageEntry | SampleEntry | RestartEntry | EndEntry
_decoder: msgspec.json.Decoder[Entry] = msgspec.json.Decoder(Entry)


class Journal:
    """The file of one run's folder. It is made when the run has begun (`open`), since a folder that
    holds nothing else is removed again; earlier entries are kept in memory until then.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._file: int | None = None
        self._early: list[bytes] = []
        self._size = 0
        self._over = False
        self._lock = threading.Lock()
        process = this_process()
        self._add(BeginEntry(time.time(), process.number, process.host))

    def open(self) -> None:
        """Open the file; from now on it is written."""
        with self._lock:
            if self._file is not None or self._over:
                return
            try:
                how = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
                self._file = os.open(self.path, how, 0o644)
                self._size = os.fstat(self._file).st_size
                # part of a line that a killed process has left stays a line of its own
                if self._size and os.pread(self._file, 1, self._size - 1) != b"\n":
                    self._write(b"\n")
                self._write(b"".join(self._early))
            except OSError:
                self._stop()
            self._early.clear()

    def note_message(self, how: str, text: str) -> None:
        """Note a message of the run: see `MessageEntry`."""
        self._add(MessageEntry(time.time(), how, text))

    def note_sample(self, worker: int, sample: Sample) -> None:
        """Note a sample of a worker."""
        if self._size > SPANS_BYTES:
            sample = msgspec.structs.replace(sample, lanes={})
        self._add(SampleEntry(worker, sample))

    def note_restart(self, why: str, start: str) -> None:
        """Note that all workers go on from `start`, and why."""
        self._add(RestartEntry(time.time(), why, start))

    def end(self, error: BaseException | None) -> None:
        """Note that the command ends, by an error if there is one, and close the file."""
        how, text = "done", ""
        if error is not None:
            interrupted = isinstance(error, Interrupted | KeyboardInterrupt)
            how = "interrupted" if interrupted else "failed"
            name = type(error).__name__
            text = str(error) if isinstance(error, TuxError) else f"{name}: {error}"
        self._add(EndEntry(time.time(), how, text), always=True)
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


class JournalWatcher:
    """A watcher that notes each message in a journal, and passes it to another watcher."""

    def __init__(self, watch: Watcher, journal: Journal) -> None:
        self._watch, self._journal = watch, journal

    def phase(self, name: str) -> None:
        """Note and pass on the name of the work that begins now."""
        if not name.startswith(EPOCH):
            self._journal.note_message("phase", name)
        self._watch.phase(name)

    def share(self, done: float) -> None:
        """Pass on how much of it is done; this is not noted."""
        self._watch.share(done)

    def say(self, text: str) -> None:
        """Note and pass on one line about the run."""
        self._journal.note_message("line", text)
        self._watch.say(text)

    def warn(self, text: str) -> None:
        """Note and pass on one line about something odd."""
        self._journal.note_message("warning", text)
        self._watch.warn(text)

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Pass on the record of an epoch; it is also in `metrics.jsonl`."""
        self._watch.epoch(record, most)


def parse_entries(lines: Iterable[bytes]) -> list[Entry | None]:
    """Parse lines as entries; None for a line that no journal writes, as a killed process may leave
    it.
    """
    return [_entry(line) for line in lines]


def _entry(line: bytes) -> Entry | None:
    try:
        return _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
