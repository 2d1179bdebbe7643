"""Records of all that the clocks of a worker do, in a file (`tux run --trace-clocks`): the writer
and the reader.

A file is the head and then records, each of 24 bytes, little-endian, in the order in which things
happened: what is sent is recorded before it leaves, what comes in after it is used. The reader
takes a file that was cut, as by the end of its process, up to the cut. `ClockEvent` says what the
numbers of a record mean. `tux.run_folder.trace_rules` compares the records with the rules of SSP.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import BinaryIO, NamedTuple

import numpy as np

from tux.base.disk import make_folder, writing
from tux.base.errors import DataError, DiskError

MAGIC = b"tuxclk02"
HEAD = Struct("<8siiii16s")
"""The magic, the worker, the number of all workers, their slack, 0, and the id of the run."""
RECORD = np.dtype(
    [
        ("event", "u1"),
        ("kind", "u1"),
        ("segment", "<u2"),
        ("peer", "<i4"),
        ("sync", "<i4"),
        ("value", "<i4"),
        ("clock", "<i8"),
    ]
)
"""A record: a `ClockEvent`, the kind of a message (`tux.messages.message.Kind`), a segment of the
clock, another worker, a synchronisation, a number, and a clock, counted over the whole run.
"""
PACKED = Struct("<BBHiiiq")
HELD = 4096
"""Bytes of records that are held before they are written."""


MOST_WORKERS = 1 << 16
"""More workers than a run has."""


class ClockEvent:
    """The events of records. Numbers that `EVENT_NUMBERS` does not name are 0.

    They are plain numbers, as to look up a member of an Enum takes as long as to note a record.
    """

    PASS = 1
    """A pass over stages begins with `clock`, at the slack `value`."""
    START = 2
    """A `segment` of a clock begins, of `sync` segments that the clock has; `value` clocks up to
    this one are not finished."""
    RAN = 3
    """The stages of the segment have run."""
    SENT = 4
    """The worker sends a message of a `kind` to the server of `peer`, for `sync`."""
    PASSED = 5
    """The server adds its share to the totals of its worker, and sends them on to worker 0."""
    FOLDED = 6
    """The server folds a message of a `kind` that `peer` has sent for `sync`."""
    ANSWERED = 7
    """The server answers `peer`, by a message of a `kind`."""
    INSTALLED = 8
    """The worker has put the answer of the server of `peer` in place."""
    KEPT = 9
    """The state before `clock` is kept, or would be if the disk took it."""
    END = 10
    """The worker has ended its last clock. Its server may still answer others."""


_MESSAGE = ("kind", "peer", "sync", "clock")
EVENT_NUMBERS = {
    ClockEvent.PASS: ("value", "clock"),
    ClockEvent.START: ("segment", "sync", "value", "clock"),
    ClockEvent.RAN: ("segment", "clock"),
    ClockEvent.SENT: _MESSAGE,
    ClockEvent.PASSED: ("kind", "sync", "clock"),
    ClockEvent.FOLDED: _MESSAGE,
    ClockEvent.ANSWERED: _MESSAGE,
    ClockEvent.INSTALLED: _MESSAGE,
    ClockEvent.KEPT: ("clock",),
    ClockEvent.END: (),
}
"""The numbers of each event's records; the others are 0."""


class Trace:
    """A writer of the records of one worker. The file is made at once, or made anew.

    Each thread of the worker may call `note`, its main thread alone the others, which raise
    DiskError.
    """

    def __init__(self, path: Path, rank: int, workers: int, slack: int, run: bytes = b"") -> None:
        """Make the file. `run`: the id of the run, 16 bytes; b"" stands for zeros."""
        self.path = path
        # never replaced: several threads extend it
        self._held = bytearray(HEAD.pack(MAGIC, rank, workers, slack, 0, run))
        with writing(path):
            make_folder(path.parent)
            self._file: BinaryIO = open(path, "wb", buffering=0)
        self.flush()

    def note(
        self,
        event: int,
        clock: int,
        peer: int = 0,
        sync: int = 0,
        kind: int = 0,
        *,
        segment: int = 0,
        value: int = 0,
    ) -> None:
        """Note that something has happened."""
        self._held.extend(PACKED.pack(event, kind, segment, peer, sync, value, clock))

    def look(self) -> None:
        """Write the records if there are many."""
        if len(self._held) >= HELD:
            self.flush()

    def flush(self) -> None:
        """Write all records so far. What a disk has taken before it was full stays taken."""
        while held := bytes(self._held):
            with writing(self.path):
                written = self._file.write(held)
            del self._held[:written]

    def end(self) -> None:
        """Note that the last clock has ended."""
        self.note(ClockEvent.END, 0)
        self.flush()

    def close(self) -> None:
        """Write what is left, if the disk takes it, and close the file."""
        with suppress(DiskError):
            self.flush()
        self._file.close()


class WorkerTrace(NamedTuple):
    """The records of one worker, as its file has them."""

    path: Path
    rank: int
    workers: int
    slack: int
    run: bytes  # the id of the run
    records: np.ndarray  # (n,) RECORD

    @property
    def is_whole(self) -> bool:
        """True if the worker has ended its last clock."""
        return bool((self.records["event"] == ClockEvent.END).any())


class TracePlan(NamedTuple):
    """The folder in which the traces of a run lie in the end, "" if none are written there; the
    number of this start of the workers; and the id of the run, 16 bytes, b"" if it is not known.
    """

    folder: str = ""
    attempt: int = 1
    run: bytes = b""


def trace_name(attempt: int, rank: int) -> str:
    """Return the name of the file of one worker, of the start number `attempt` of all workers."""
    return f"{attempt}-{rank}.clocks"


def read_trace(path: Path) -> WorkerTrace:
    """Read the records of a worker. DataError if it is no such file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror}", do="look at the disk and at who may read it"
        ) from None
    head = HEAD.unpack_from(content) if len(content) >= HEAD.size else (b"", 0, 0, 0, 0, b"")
    magic, rank, workers, slack, _, run = head
    if magic != MAGIC or not 0 <= rank < workers <= MOST_WORKERS:
        raise DataError(
            "not a trace of clocks",
            where=str(path),
            do="put back the file that tux run --trace-clocks has written",
        )
    count = (len(content) - HEAD.size) // RECORD.itemsize
    records = np.frombuffer(content, RECORD, count, HEAD.size)
    return WorkerTrace(path, rank, workers, slack, run, records)
