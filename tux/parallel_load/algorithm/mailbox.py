"""Messages between loaders of one machine, as files of a folder that they share: what does not fit
into memory lies on the disk, and is mapped where it is read.

The file of a round and a sender holds its messages to all, behind a table of them. It appears under
its name when it is whole. The sender removes it when everybody has come to the next round.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from math import prod
from pathlib import Path

import msgspec
import numpy as np

from tux.base.disk import writing
from tux.base.errors import DataError, DeadlinePassed, TuxError
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.inactivity import Inactivity
from tux.parallel_load.algorithm.rounds import Message, Messages, Result, Rounds

DEADLINE = 3600.0
"""Seconds in which no loader shows that it works, after which one that waits gives up."""
LONGEST_NAP, ALIGNED = 0.02, 64
DTYPE = re.compile(r"[<>|][biuf]\d{1,2}")
MOST_TABLE = 1 << 24
"""Bytes of the largest table of a message that is read."""
DAMAGE = (
    OSError,
    msgspec.DecodeError,
    LookupError,
    ValueError,
    TypeError,  # numpy knows no such type
    OverflowError,
)


class ArrayEntry(msgspec.Struct, array_like=True):
    """One array of a message in the table: its type as numpy names it, and where it begins."""

    dtype: str
    shape: list[int]
    begin: int


class Mailbox:
    """The messages of loader `me` of `loaders`; `folder` is the same for all."""

    def __init__(
        self,
        folder: Path,
        loaders: int,
        me: int,
        deadline: float = DEADLINE,
    ) -> None:
        self.folder, self.loaders, self.me = folder, loaders, me
        self.deadline = deadline

    def carry(self, loader: Rounds[Result]) -> Result:
        """Run a loader to its end. Raise DiskError; DeadlinePassed if another does not come to a
        round; the error of `_refusal_error` if another tells what does not fit. Its messages are
        emptied as soon as they are on the disk.
        """
        number, inbox = 0, None
        while True:
            try:
                outbox = next(loader) if inbox is None else loader.send(inbox)
            except StopIteration as ended:
                return ended.value  # type: ignore[no-any-return]
            except BadColumns as bad:
                raise self._refusal_error(number - 1, bad) from None
            self._send(number, outbox)
            for message in outbox:
                message.clear()
            inbox = [self._receive(number, sender) for sender in range(self.loaders)]
            if number:
                with suppress(OSError):
                    self.path(number - 1, self.me).unlink()
            number += 1

    def _refusal_error(self, number: int, bad: BadColumns) -> TuxError:
        """Return the error for what was told in a round."""
        return DataError(
            f"what loader {bad.sender} tells in round {number} does not fit: {bad.why}", do=bad.do
        )

    def path(self, number: int, sender: int) -> Path:
        """Return the file of a round."""
        return self.folder / f"round-{number}.{sender}"

    def _send(self, number: int, outbox: Messages) -> None:
        self._write(self.path(number, self.me), outbox)

    @staticmethod
    def _write(path: Path, outbox: Messages) -> None:
        """Write messages, by receiver, to a file that appears when it is whole. Raise DiskError if
        it cannot be written.
        """
        at, table = 0, []
        for message in outbox:
            entries = []
            for array in message:
                entries.append(ArrayEntry(array.dtype.str, [*array.shape], at))
                at += -(-array.nbytes // ALIGNED) * ALIGNED
            table.append(entries)
        part = path.with_name(f"{path.name}.part")
        with writing(path), open(part, "wb") as file:
            head = msgspec.json.encode(table)
            file.write(len(head).to_bytes(8, "little") + head)
            base = Mailbox._base(len(head))
            for message, entries in zip(outbox, table, strict=True):
                for array, entry in zip(message, entries, strict=True):
                    file.seek(base + entry.begin)
                    file.write(np.ascontiguousarray(array).data)
            file.truncate(base + at)
            file.close()
            os.replace(part, path)

    def _receive(self, number: int, sender: int) -> Message:
        path = self.path(number, sender)
        self._wait(path, number, sender)
        try:
            with open(path, "rb") as file:
                size = int.from_bytes(file.read(8), "little")
                total = os.fstat(file.fileno()).st_size
                head = file.read(size if size <= min(total, MOST_TABLE) else 0)
            table = msgspec.json.decode(head, type=list[list[ArrayEntry]])
            base = self._base(size)
            return [self._map_array(path, entry, base, total) for entry in table[self.me]]
        except DAMAGE as error:
            raise self._damage_error(number, sender, error) from None

    def _damage_error(self, number: int, sender: int, error: Exception) -> TuxError:
        """Return the error for a message that cannot be read."""
        return DataError(
            f"a message between loaders is damaged: {error}",
            where=str(self.path(number, sender)),
            do="load again; if that repeats, look at the disk",
        )

    @staticmethod
    def _map_array(path: Path, entry: ArrayEntry, base: int, total: int) -> np.ndarray:
        if not DTYPE.fullmatch(entry.dtype):
            raise ValueError(f"an array of {entry.dtype!r}")
        dtype, shape = np.dtype(entry.dtype), tuple(entry.shape)
        end = base + entry.begin + prod(shape) * dtype.itemsize
        if min((entry.begin, *shape)) < 0 or end > total:
            raise ValueError(f"{dtype} of shape {shape} at {entry.begin}")
        if not prod(shape):
            return np.empty(shape, dtype)
        return np.asarray(np.memmap(path, dtype, "r", base + entry.begin, shape))

    @staticmethod
    def _base(head: int) -> int:
        """Return the byte at which the arrays begin behind a table of so many bytes."""
        return -(-(8 + head) // ALIGNED) * ALIGNED

    def _wait(self, path: Path, number: int, sender: int) -> None:
        """Wait until a file is there. Raise DeadlinePassed if it does not come. Another loader may
        read for hours, and tells how far it is by files in the same folder.
        """
        others, nap = Inactivity(self.folder, self.deadline), 0.0005
        while not path.exists():
            if others.left <= 0:
                raise self._late(number, sender)
            time.sleep(nap)
            others.count_wait(nap)
            nap = min(2 * nap, LONGEST_NAP)

    def _late(self, number: int, sender: int) -> DeadlinePassed:
        """Return the error of a loader that does not come to a round."""
        return DeadlinePassed(
            f"loader {sender} has not come to round {number}, and no loader was at work for "
            f"{self.deadline:.0f} s",
            where=f"loader {self.me}",
            do="look whether its machine or its disk stands still, and load again",
        )
