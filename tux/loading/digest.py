"""The digest of all edges, from what the loaders keep on disk: what `EdgeData.digest` says of the
same edges in one process.

Every column is hashed from its first row to its last, so this cannot be shared out. It is done
beside the loaders, as soon as they have left a column.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import digest_column, digest_ids
from tux.arrays.ids import Ids
from tux.arrays.npy import map_npy, npy_pieces
from tux.arrays.pieced import Pieced
from tux.base.errors import DataError
from tux.loading.kinds import unpacked
from tux.loading.plan import Plan

STRINGS = ("lengths", "bytes")
"""The files that ids are in that are strings."""

NAP = 0.02
"""Seconds between two looks whether a file is there."""


def joined(spools: Sequence[Path], name: str) -> Pieced:
    """The ranges of a row of numbers that the loaders have kept, one after the other."""
    return Pieced.joined([npy_pieces(spool / f"{name}.npy") for spool in spools])


def kept_ids(spools: Sequence[Path], name: str) -> Iterator[np.ndarray]:
    """The ids of one type, ascending, a loader's range at a time."""
    for spool in spools:
        if (spool / f"ids.{name}.npy").exists():
            yield np.asarray(map_npy(spool / f"ids.{name}.npy"))
        else:
            columns = (map_npy(spool / f"ids.{name}.{kind}.npy") for kind in STRINGS)
            yield unpacked(columns, STRING)


def count_ids(spools: Sequence[Path], name: str) -> int:
    """How many ids of one type there are."""
    counts = []
    for spool in spools:
        numbers, lengths = spool / f"ids.{name}.npy", spool / f"ids.{name}.{STRINGS[0]}.npy"
        counts.append(len(map_npy(numbers if numbers.exists() else lengths)))
    return sum(counts)


class Digesting:
    """A context in which the digest is computed, by a thread, while loaders fill their `spools`;
    `names` are those of the edges' fields.
    """

    def __init__(self, spools: Sequence[Path], plan: Plan, names: Sequence[str]) -> None:
        self._spools, self._plan, self._names = spools, plan, names
        self._all_there, self._stop = threading.Event(), threading.Event()
        self._digest = ""
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="tux-digest", daemon=True)

    def __enter__(self) -> Digesting:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._all_there.set()
        self._thread.join()

    def result(self) -> str:
        """The digest; to be asked for when the loaders have ended. Raises DataError and
        DiskError.
        """
        self._all_there.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._digest

    def _run(self) -> None:
        try:
            self._digest = self._computed()
        except Exception as error:
            self._error = error

    def _computed(self) -> str:
        state = blake2b(digest_size=16)
        for name in self._plan.types:
            self._wait(f"ids.{name}", f"ids.{name}.{STRINGS[-1]}")
            pieces = map(Ids, kept_ids(self._spools, name))
            digest_ids(state, name, count_ids(self._spools, name), pieces)
        fields = {f".{name}": f"fields.{name}" for name in sorted(self._names)}
        for name, file in {"src": "src", "dst": "dst", **fields}.items():
            self._wait(file)
            column = joined(self._spools, file)
            digest_column(state, name, column.rows, self._until_stopped(column))
        return state.hexdigest()

    def _wait(self, *names: str) -> None:
        """Until each loader has left a file of one of these names."""
        for spool in self._spools:
            files = [spool / f"{name}.npy" for name in names]
            while not any(file.exists() for file in files):
                if self._all_there.wait(NAP) and not any(file.exists() for file in files):
                    raise DataError("a loader has not left its rows", where=str(files[0]))

    def _until_stopped(self, column: Pieced) -> Iterator[np.ndarray]:
        for piece in column.pieces:
            if self._stop.is_set():
                return
            yield piece
