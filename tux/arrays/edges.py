"""Edges as loaded, before any partition: dense indices of both ends, data fields, and the ids
that the indices stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.given import common_type
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST, index_dtype
from tux.base.errors import DataError

CHECKED = 1 << 22
"""Numbers that are looked at at a time."""

TOGETHER = "together"
"""The vertex field, one whole number a vertex, that says which vertices of a type are one group:
these are neighbours in its order.
"""


@dataclass(frozen=True, eq=False)
class EdgeData:
    """m edges between vertices of the two types `ends`, which may be one type
    (``("page", "page")``).
    """

    ends: tuple[str, str]
    # by vertex type; len(ids[t]) is its number of vertices, some perhaps without an edge here
    ids: Mapping[str, Ids]
    src: np.ndarray  # (m,) int32, or int64 by `index_dtype`: index into ids[ends[0]]
    dst: np.ndarray  # the same, into ids[ends[1]]
    fields: Mapping[str, np.ndarray]  # each (m,)
    # by what was wanted, the name of the column of the file that was taken for it, where that is
    # not plain
    columns: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # sentences of the reader that the user should know
    rows: int | None = None  # of the file that were read; None: as many as edges
    skipped: int = 0  # bad rows left out while reading
    first_skipped: str = ""  # "file:line: reason" of the first of them
    # by vertex type: ids that the given maps did not have
    unseen: Mapping[str, int] = field(default_factory=dict)
    # by vertex type, each (len(ids), ...)
    vertex_fields: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    classes: tuple[str, ...] = ()  # the meaning of labels -1 and +1, or from 0 on
    # how the numbers that are ids begin: of a matrix or a graph at both ends, "matrix from 0", else
    # at the second, "libsvm from 1"; "": by names, or not known (`tux.io.bags.numbering`)
    numbered: str = ""
    # by vertex type and field: the words that the field's numbers from 0 stand for, (k,)
    categories: Mapping[str, Mapping[str, np.ndarray]] = field(default_factory=dict)
    # by vertex type, the type in which its ids were given, where it is not plain: see
    # `tux.arrays.given`
    id_types: Mapping[str, str] = field(default_factory=dict)
    # edges of other types by name, whose `ids` are these
    others: Mapping[str, EdgeData] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ends: tuple[str, str],
        src: Any,
        dst: Any,
        fields: Mapping[str, Any],
        *,
        against: Mapping[str, Ids] | None = None,
        vertices: Mapping[str, Any] | None = None,
        vertex_fields: Mapping[str, Mapping[str, Any]] | None = None,
        **counts: Any,
    ) -> EdgeData:
        """Make edges of two columns of ids (see `Ids.of`) and columns of numbers, all of m rows.

        With `against`, the ids of other edges, those vertices keep their indices and new ones
        follow; `unseen` counts them. `vertices` adds vertices that may have no edge.
        `vertex_fields` are data of each vertex, by its index. Raises `DataError` if columns differ
        in length or a number is not finite.
        """
        columns: dict[str, list[Any]] = {}
        for end, column in zip(ends, (src, dst), strict=True):
            columns.setdefault(end, []).append(column)
        ids: dict[str, Ids] = dict(against or {})
        codes: dict[str, list[np.ndarray]] = {}
        for end, given in columns.items():
            extra = [vertices[end]] if vertices and end in vertices else []
            ids[end], codes[end] = Ids.over(given + extra, ids.get(end))
        unseen = (
            {end: len(ids[end]) - len(against[end]) for end in columns if end in against}
            if against
            else {}
        )
        edges = cls(
            ends=ends,
            ids=ids,
            src=codes[ends[0]][0],
            # the second column of its type if both ends have one
            dst=codes[ends[1]][ends[0] == ends[1]],
            fields={name: np.asarray(values) for name, values in fields.items()},
            unseen=unseen,
            vertex_fields={
                of: {name: np.asarray(values) for name, values in each.items()}
                for of, each in (vertex_fields or {}).items()
            },
            **counts,
        )
        edges._check()
        return edges

    def _check(self) -> None:
        for name, values in {self.ends[1]: self.dst, **self.fields}.items():
            if values.shape != self.src.shape:
                raise DataError(
                    f"{name} has shape {values.shape}, but there are {len(self.src)} edges"
                )
        for name, values in self.fields.items():
            _check_finite(name, "edge", values)
        for kind, fields in self.vertex_fields.items():
            for name, values in fields.items():
                if len(values) != len(self.ids[kind]):
                    raise DataError(
                        f"{kind}.{name} has {len(values)} rows, but there are "
                        f"{len(self.ids[kind])} vertices of that type"
                    )
                _check_finite(name, kind, values)

    def bare(self) -> EdgeData:
        """Return these data without the edges: only what is known of the vertices, and of the
        reading of the file.
        """
        none = np.empty(0, np.int32)
        fields = {
            name: np.empty((0, *each.shape[1:]), each.dtype) for name, each in self.fields.items()
        }
        others = {name: each.bare() for name, each in self.others.items()}
        return replace(self, src=none, dst=none, fields=fields, others=others)

    def columns_of_edges(self) -> list[np.ndarray]:
        """List the columns of edges of all types: ends and fields."""
        own = [self.src, self.dst, *self.fields.values()]
        return sum((each.columns_of_edges() for each in self.others.values()), own)

    def replace_columns(self, change: Callable[[np.ndarray], np.ndarray]) -> EdgeData:
        """Return these edges with what `change` makes of each column of edges."""
        fields = {name: change(each) for name, each in self.fields.items()}
        others = {name: each.replace_columns(change) for name, each in self.others.items()}
        src, dst = change(self.src), change(self.dst)
        return replace(self, src=src, dst=dst, fields=fields, others=others)

    @property
    def by_type(self) -> dict[str, EdgeData]:
        """These edges as "", and the others by the name of their type."""
        return {"": self, **self.others}

    @property
    def vertex_types(self) -> list[str]:
        """The vertex types at the ends of edges, of these first, in the order in which the ends
        name them.
        """
        return [*dict.fromkeys(end for each in self.by_type.values() for end in each.ends)]

    def join(self, others: Mapping[str, EdgeData]) -> EdgeData:
        """Add edges of other types by name. The ids of each extend those of the one before it; data
        of vertices are those of all. DataError where two give the same field, or one gives data of
        a part of the vertices.
        """
        ids = {**self.ids}
        known: dict[str, dict[str, np.ndarray]] = {}
        words: dict[str, dict[str, np.ndarray]] = {}
        for each in others.values():
            ids |= each.ids
        for each in (self, *others.values()):
            for kind, fields in each.vertex_fields.items():
                _check_joined(kind, fields, known.setdefault(kind, {}), len(ids[kind]))
                known[kind] |= fields
            for kind, named in each.categories.items():
                words.setdefault(kind, {}).update(named)
        rows = {
            name: replace(each, ids=ids, unseen={}, vertex_fields={}, categories={})
            for name, each in others.items()
        }
        id_types = _join_id_types([self, *others.values()])
        return replace(
            self, ids=ids, others=rows, id_types=id_types, vertex_fields=known, categories=words
        )

    def behind(self, kind: str, known: Ids) -> EdgeData:
        """Return these edges with the vertices of type `kind` numbered as new ones after the
        `known`: their indices, and new ids, follow those of `known`.

        For files whose rows are vertices: the third sample of a test file is not the third sample
        of the training file. Where none are known, the vertices keep their ids.
        """
        count = len(self.ids[kind])
        if not len(known):
            return replace(self, unseen={**self.unseen, kind: 0})
        if known.values.dtype.kind == "i" and int(known.values.max(initial=0)) <= LAST - count:
            ids = Ids(
                np.concatenate([known.values, known.values.max(initial=0) + 1 + np.arange(count)])
            )
        else:
            ids = Ids(
                np.concatenate(
                    [
                        known.values.astype(STRING),
                        np.array([f"row {n} behind" for n in range(count)], STRING),
                    ]
                )
            )
        at = dict(zip(("src", "dst"), self.ends, strict=True))
        moved: dict[str, Any] = {
            end: np.add(getattr(self, end), len(known), dtype=index_dtype(len(ids)))
            for end, of in at.items()
            if of == kind
        }
        return replace(self, ids={**self.ids, kind: ids}, unseen={**self.unseen, kind: 0}, **moved)

    def against(self, known: Mapping[str, Ids]) -> EdgeData:
        """Return these edges with the indices of the `known` ids, by vertex type. Ids that are not
        known follow them, as in `of`, so that indices mean the same in both. Edges that already
        have these indices are not changed. Ids of known types at no end of these edges are kept.

        Where indices change, `vertex_fields` of the type are left out if they do not tell of all
        that are known.
        """
        at = dict(zip(("src", "dst"), self.ends, strict=True))
        changed: dict[str, Any] = {
            "ids": {**known, **self.ids},
            "unseen": {**self.unseen},
            "vertex_fields": {**self.vertex_fields},
        }
        for kind in dict.fromkeys(self.ends):
            if kind not in known or self.ids[kind].begin_with(known[kind]):
                continue
            changed["ids"][kind], place = known[kind].extend(self.ids[kind].values)
            changed["unseen"][kind] = len(changed["ids"][kind]) - len(known[kind])
            fields = changed["vertex_fields"].pop(kind, {})
            if len(changed["ids"][kind]) == len(self.ids[kind]):
                moved = np.argsort(place)
                changed["vertex_fields"][kind] = {
                    name: each[moved] for name, each in fields.items()
                }
            changed |= {end: place[getattr(self, end)] for end, of in at.items() if of == kind}
        return replace(self, **changed)

    def beside(self, known: Mapping[str, Ids]) -> EdgeData:
        """Return these edges with the indices of the `known` ids, of edges of another type.
        DataError where they tell data of some of the vertices of a type only.
        """
        moved = self.against(known)
        for kind, fields in self.vertex_fields.items():
            if fields and kind not in moved.vertex_fields:
                raise DataError(
                    f"{', '.join(fields)} is given for {len(self.ids[kind])} of "
                    f"{len(moved.ids[kind])} vertices of type {kind}",
                    do="give the data of all vertices as a table",
                )
        return moved

    def __len__(self) -> int:
        return len(self.src)

    @cached_property
    def duplicates(self) -> int:
        """The number of edges that repeat the (src, dst) of an earlier one. It is counted once,
        with 8 bytes of memory an edge.
        """
        keys = self.src.astype(np.int64)
        keys *= len(self.ids[self.ends[1]])
        keys += self.dst
        keys.sort()
        return int(np.count_nonzero(keys[1:] == keys[:-1]))

    def digest(self) -> str:
        """Return 32 hexadecimal digits that stand for ids, edges in their order, and fields,
        whatever file they came from.
        """
        state = blake2b(digest_size=16)
        for end in self.vertex_types:
            digest_ids(state, end, len(self.ids[end]), [self.ids[end]])
        self._digest_columns(state)
        for kind, each in self.others.items():
            digest_edge_type(state, kind, each.ends)
            each._digest_columns(state)
        for kind, fields in sorted(self.vertex_fields.items()):
            for name, array in sorted(fields.items()):
                digest_data(state, kind, name, array.shape, [array])
        for kind, named in sorted(self.categories.items()):
            for name, words in sorted(named.items()):
                digest_words(state, kind, name, words)
        return state.hexdigest()

    def _digest_columns(self, state: blake2b) -> None:
        """Add to a digest the columns of these edges."""
        for name, array in {
            "src": self.src,
            "dst": self.dst,
            **{f".{name}": self.fields[name] for name in sorted(self.fields)},
        }.items():
            digest_column(state, name, len(array), [array])


def digest_ids(state: blake2b, kind: str, count: int, pieces: Iterable[Ids]) -> None:
    """Add to a digest the ids of a vertex type, `count` in all, piece by piece in their order."""
    state.update(f"{kind} {count} ".encode())
    for at, piece in enumerate(pieces):
        chunks = piece.chunks()
        first = next(chunks)  # the kind of the ids, which is digested once
        for chunk in chunks if at else (first, *chunks):
            state.update(chunk)


def digest_edge_type(state: blake2b, name: str, ends: tuple[str, str]) -> None:
    """Add to a digest that the columns of another edge type follow."""
    state.update(f"{name} {' '.join(ends)} ".encode())


def digest_column(state: blake2b, name: str, count: int, pieces: Iterable[np.ndarray]) -> None:
    """Add to a digest a column of edges, of `count` rows in all, piece by piece in their order."""
    for at, piece in enumerate(pieces):
        if not at:
            state.update(f"{name} {piece.dtype.str} {count} ".encode())
        state.update(np.ascontiguousarray(piece).data)


def digest_data(
    state: blake2b, kind: str, name: str, shape: tuple[int, ...], pieces: Iterable[np.ndarray]
) -> None:
    """Add to a digest a field of the vertices of a type, of this shape in all, piece by piece."""
    for at, piece in enumerate(pieces):
        if not at:
            state.update(f"{kind}.{name} {piece.dtype.str} {shape} ".encode())
        state.update(np.ascontiguousarray(piece).data)


def digest_words(state: blake2b, kind: str, name: str, words: np.ndarray) -> None:
    """Add to a digest the words (k,) that the numbers of a field of vertices stand for."""
    state.update(f"{kind}.{name} ".encode())
    for chunk in Ids(words).chunks():
        state.update(chunk)


def _join_id_types(edges: Iterable[EdgeData]) -> dict[str, str]:
    """Return by vertex type the type in which its ids are given back, where edges of several types
    have them in types of their own.
    """
    joined: dict[str, str] = {}
    for each in edges:
        for kind in dict.fromkeys(each.ends):
            own = each.id_types.get(kind, "")
            joined[kind] = common_type(joined.get(kind, own), own)
    return {kind: given for kind, given in joined.items() if given}


def _check_joined(
    kind: str, fields: Mapping[str, np.ndarray], known: Mapping[str, np.ndarray], count: int
) -> None:
    """Raise DataError unless `fields` are data of all vertices of a type, `count`, and none of them
    is `known` with other values.
    """
    for name, values in fields.items():
        if name in known and not np.array_equal(known[name], values):
            raise DataError(
                f"edges of two types come with {kind}.{name}, and do not agree",
                do="give it with the edges of one type, or as a table",
            )
        if len(values) != count:
            raise DataError(
                f"edges of another type have {count - len(values)} more vertices of type {kind}, "
                f"of which {name} is not given",
                do="give the data of all vertices as a table",
            )


def _check_finite(name: str, what: str, values: np.ndarray) -> None:
    """Raise DataError unless `values`, one of each `what`, are finite numbers."""
    if values.dtype.kind not in "iufb":
        raise DataError(f"{name} holds {values.dtype}, not numbers")
    if values.dtype.kind != "f":
        return
    for first in range(0, len(values), CHECKED):
        piece = values[first : first + CHECKED]
        if not np.isfinite(piece).all():
            at = tuple(np.argwhere(~np.isfinite(piece))[0].tolist())
            raise DataError(
                f"{name} of {what} {first + at[0]} is {piece[at]}", do="Give finite numbers only."
            )
