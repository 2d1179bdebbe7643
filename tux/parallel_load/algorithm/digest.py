"""The digest of all edges, from what the loaders keep: what `EdgeData.digest` says of the same
edges in one process.

Every column is hashed from its first row to its last, so this cannot be shared out. On one machine
it is done beside the loaders, as soon as they have left a column.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from tux.arrays.edges import digest_column, digest_ids
from tux.arrays.ids import Ids
from tux.arrays.pieced import ArrayPieces
from tux.base.errors import DataError
from tux.parallel_load.algorithm.kept import (
    STRINGS,
    Kept,
    SpooledArrays,
    count_ids,
    join_ranges,
    kept_ids,
)
from tux.parallel_load.algorithm.plan import LoadingPlan

NAP = 0.02
"""Seconds between two looks whether a file is there."""


def columns_of(names: Sequence[str]) -> list[str]:
    """Return the columns of edges as loaders keep them, in the order in which they are digested;
    `names` of the fields.
    """
    return ["src", "dst", *(f"fields.{name}" for name in sorted(names))]


class EdgesDigest:
    """The digest of all edges together, as `EdgeData.digest` computes it; columns are added in the
    order of `columns_of`. It begins with the ids that loaders have `kept`; `sizes`: how many there
    are, by type.
    """

    def __init__(self, sizes: Mapping[str, int], edges: int, kept: Sequence[Kept]) -> None:
        self._state, self._edges = blake2b(digest_size=16), edges
        for name, count in sizes.items():
            digest_ids(self._state, name, count, map(Ids, kept_ids(kept, name)))

    def add(self, column: str, piece: np.ndarray, *, first: bool) -> None:
        """Add the next piece of a column, which may be its `first`."""
        if first:
            digest_column(self._state, column.removeprefix("fields"), self._edges, [piece])
        else:
            self._state.update(np.ascontiguousarray(piece).data)

    @property
    def text(self) -> str:
        """The digest of all that was added, in hexadecimal digits."""
        return self._state.hexdigest()


class DigestThread:
    """A context in which the digest is computed, by a thread, while loaders fill their `spools`;
    `names` are those of the edges' fields.
    """

    def __init__(self, spools: Sequence[Path], plan: LoadingPlan, names: Sequence[str]) -> None:
        self._kept = [SpooledArrays(spool) for spool in spools]
        self._plan, self._names = plan, names
        self._all_there, self._stop = threading.Event(), threading.Event()
        self._digest = ""
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="tux-digest", daemon=True)

    def __enter__(self) -> DigestThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._all_there.set()
        self._thread.join()

    def result(self) -> str:
        """Return the digest; to be asked for when the loaders have ended. Raise DataError or
        DiskError if it could not be computed.
        """
        self._all_there.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._digest

    def _run(self) -> None:
        try:
            self._digest = self._compute()
        except Exception as error:
            self._error = error

    def _compute(self) -> str:
        for name in self._plan.types:
            self._wait(f"ids.{name}", f"ids.{name}.{STRINGS[-1]}")
        self._wait("src")
        sizes = {name: count_ids(self._kept, name) for name in self._plan.types}
        digest = EdgesDigest(sizes, join_ranges(self._kept, "src").rows, self._kept)
        for name in columns_of(self._names):
            self._wait(name)
            for at, piece in enumerate(self._until_stopped(join_ranges(self._kept, name))):
                digest.add(name, piece, first=at == 0)
        return digest.text

    def _wait(self, *names: str) -> None:
        """Wait until each loader has left a file of one of these names."""
        for kept in self._kept:
            while not any(name in kept for name in names):
                if self._all_there.wait(NAP) and not any(name in kept for name in names):
                    raise DataError(
                        "a loader has not left its rows", where=str(kept.path(names[0]))
                    )

    def _until_stopped(self, column: ArrayPieces) -> Iterator[np.ndarray]:
        for piece in column.pieces:
            if self._stop.is_set():
                return
            yield piece
