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
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import (
    digest_column,
    digest_data,
    digest_edge_type,
    digest_ids,
    digest_words,
)
from tux.arrays.ids import Ids
from tux.arrays.pieced import ArrayPieces
from tux.base.errors import DataError
from tux.graph.store import edges_prefix
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


class EdgeColumn(NamedTuple):
    """A column of the edges of a type, as loaders keep it: ``src``, ``dst`` or ``fields.NAME``."""

    edges: str
    name: str

    @property
    def key(self) -> str:
        """The name under which it is kept."""
        return f"{edges_prefix(self.edges)}{self.name}"


def columns_of(fields: Mapping[str, Sequence[str]]) -> list[EdgeColumn]:
    """Return the columns of all edges in the order in which they are digested; names of the
    `fields` of each edge type.
    """
    return [
        EdgeColumn(edges, name)
        for edges, names in fields.items()
        for name in ("src", "dst", *(f"fields.{own}" for own in sorted(names)))
    ]


class EdgesDigest:
    """The digest of all edges together, as `EdgeData.digest` computes it; columns are added in the
    order of `columns_of`. It begins with the ids that loaders have `kept`; `sizes`: how many there
    are, by vertex type; `edges`: how many of these there are, by type.
    """

    def __init__(
        self,
        plan: LoadingPlan,
        sizes: Mapping[str, int],
        edges: Mapping[str, int],
        kept: Sequence[Kept],
    ) -> None:
        self._state, self._plan, self._edges = blake2b(digest_size=16), plan, edges
        for name, count in sizes.items():
            ids = kept_ids(kept, name, len(plan.groups_of(name)))
            digest_ids(self._state, name, count, map(Ids, ids))

    def add(self, column: EdgeColumn, piece: np.ndarray, *, first: bool) -> None:
        """Add the next piece of a column, which may be its `first`."""
        if not first:
            self._state.update(np.ascontiguousarray(piece).data)
            return
        if column.edges and column.name == "src":
            digest_edge_type(self._state, column.edges, self._plan.others[column.edges])
        name, count = column.name.removeprefix("fields"), self._edges[column.edges]
        digest_column(self._state, name, count, [piece])

    def add_data(self, kept: Sequence[Kept]) -> None:
        """Add the fields of vertices that the loaders have `kept`, when all columns are added."""
        for kind in sorted(self._plan.types):
            for name in sorted(self._plan.data_of(kind)):
                row = join_ranges(kept, f"data.{kind}.{name}")
                digest_data(self._state, kind, name, row.shape, row.pieces)

    def add_categories(self, categories: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        """Add the words that numbers of fields stand for, when all fields are added."""
        for kind, named in sorted(categories.items()):
            for name, words in sorted(named.items()):
                digest_words(self._state, kind, name, np.array(words, STRING))

    @property
    def text(self) -> str:
        """The digest of all that was added, in hexadecimal digits."""
        return self._state.hexdigest()


class DigestThread:
    """A context in which the digest is computed, by a thread, while loaders fill their `spools`;
    names of the `fields` of each edge type.
    """

    def __init__(
        self, spools: Sequence[Path], plan: LoadingPlan, fields: Mapping[str, Sequence[str]]
    ) -> None:
        self._kept = [SpooledArrays(spool) for spool in spools]
        self._plan, self._fields = plan, fields
        self._all_there, self._stop = threading.Event(), threading.Event()
        self._digest: EdgesDigest | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="tux-digest", daemon=True)

    def __enter__(self) -> DigestThread:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._all_there.set()
        self._thread.join()

    def result(self, categories: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
        """Return the digest; to be asked for when the loaders have ended. `categories`: see
        `EdgesDigest.add_categories`. Raise DataError or DiskError if it could not be computed.
        """
        self._all_there.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._digest
        self._digest.add_categories(categories)
        return self._digest.text

    def _run(self) -> None:
        try:
            self._digest = self._compute()
        except Exception as error:
            self._error = error

    def _compute(self) -> EdgesDigest:
        sizes, edges = {}, {}
        for name in self._plan.types:
            groups = len(self._plan.groups_of(name))
            for group in range(groups):
                self._wait(f"ids.{name}.{group}", f"ids.{name}.{group}.{STRINGS[-1]}")
            sizes[name] = count_ids(self._kept, name, groups)
        for name in self._plan.by_type:
            src = EdgeColumn(name, "src").key
            self._wait(src)
            edges[name] = join_ranges(self._kept, src).rows
        digest = EdgesDigest(self._plan, sizes, edges, self._kept)
        for column in columns_of(self._fields):
            self._wait(column.key)
            row = join_ranges(self._kept, column.key)
            for at, piece in enumerate(self._until_stopped(row)):
                digest.add(column, piece, first=at == 0)
        self._wait_for_data()
        digest.add_data(self._kept)
        return digest

    def _wait_for_data(self) -> None:
        """Wait until each loader has left the data of its vertices."""
        for kind in self._plan.types:
            for name in self._plan.data_of(kind):
                self._wait(f"data.{kind}.{name}")

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
