"""The states of the workers of one cut, of which a range of vertices is read at a time.

Positions are those of the seeded order of a vertex type, which all cuts have in common. The rows
and the masters of a worker ascend in it, so each holds those of a range one after the other, and
states are read from the beginning to the end. Memory holds the values of one range.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.ragged import Lists
from tux.base.random import key
from tux.checkpoint.snapshot import StateHead
from tux.graph.share import RangedRows, Share, TypeShare, copy_range
from tux.program.fields import Field
from tux.program.merging import combine_values

RANGE_BYTES = 1 << 24
"""Bytes of one field in a range of positions."""

LIST_BYTES = 1 << 10
"""Bytes that a list is taken to have, where ranges are chosen."""


class OldState(NamedTuple):
    """A state that is read a range at a time: its numbers, and its arrays by name."""

    head: StateHead
    arrays: Mapping[str, RangedRows]


class AscendingRows(NamedTuple):
    """Ascending `positions` `first` to `end`, and the values there."""

    positions: Sequence[int] | np.ndarray
    first: int
    end: int
    values: RangedRows

    def within(self, lo: int, hi: int) -> Piece:
        """Return the positions from `lo` to `hi`, less `lo`, and the values there."""
        first, end = find_range(self.positions, lo, hi, self.first, self.end)
        return copy_range(self.positions, first, end) - lo, self.values[first:end]


Piece = tuple[np.ndarray, np.ndarray]
"""Positions in a range (n,), and the values (n, *shape) there."""


class OldStates:
    """The states of the workers that have the `shares`, both by rank; `fields` of each vertex type
    are sized, and `seed` is that of the run.
    """

    def __init__(
        self,
        seed: int,
        shares: Sequence[Share],
        states: Sequence[OldState],
        fields: Mapping[str, Mapping[str, Field]],
    ) -> None:
        self.seed, self.shares, self.states, self.fields = seed, shares, states, fields
        self._unsent: dict[tuple[str, str], list[int]] = {}

    def ranges(self, name: str, f: str) -> Iterator[tuple[int, int]]:
        """Yield ranges of the positions of a vertex type, in which a field has few bytes."""
        declared, n = self.fields[name][f], len(self.shares[0].types[name].order)
        row = LIST_BYTES if declared.is_ragged else declared.dtype.itemsize
        row *= 1 if declared.is_ragged else math.prod(declared.lengths)
        step = max(1, RANGE_BYTES // max(row, 1))
        return ((lo, min(lo + step, n)) for lo in range(0, n, step))

    def values(self, name: str, f: str, lo: int, hi: int) -> np.ndarray:
        """Collect the value of each vertex of a range: that of its master, or for a mirror field
        that of its first replica; its initial value if no worker knows it.
        """
        rows, trained = self._runs(name, f), self.trained_rows(name, f)
        masters = self._masters(name, f)
        # later pieces replace earlier ones; each trained vertex of a cut type has a master
        runs = [*rows, *trained, *masters] if not masters else [*rows, *masters]
        if self.fields[name][f].kind == "mirror":
            runs = [*masters, *rows, *reversed(trained)]
        return self._join(name, f, lo, hi, runs)

    def best(self, at: str, name: str, f: str, lo: int, hi: int) -> np.ndarray:
        """Collect a field of the best model, which states have under the name `at`."""
        runs, trained = [], []
        for share, state in zip(self.shares, self.states, strict=True):
            of, values = share.types[name], state.arrays[at]
            if of.masters is None:
                runs.append(AscendingRows(of.rows, of.n_train, len(of.rows), values))
                trained.append(AscendingRows(of.rows, 0, of.n_train, values))
            else:
                runs.append(AscendingRows(of.masters, 0, len(of.masters), values))
        return self._join(name, f, lo, hi, [*runs, *trained])

    def _join(
        self, name: str, f: str, lo: int, hi: int, runs: Iterable[AscendingRows]
    ) -> np.ndarray:
        """Join the values of a range. Later ones replace earlier ones."""
        declared, known = self.fields[name][f], np.zeros(hi - lo, np.bool_)
        out = np.empty((hi - lo, *declared.lengths), declared.dtype)
        for run in runs:
            at, values = run.within(lo, hi)
            out[at], known[at] = values, True
        unknown = np.flatnonzero(~known)
        if len(unknown):
            initial = np.empty((len(unknown), *declared.lengths), declared.dtype)
            ids = copy_range(self.shares[0].types[name].order, lo, hi)[unknown]
            declared.init.fill(  # type: ignore[union-attr]
                initial, key(self.seed, "initial", name, f), ids
            )
            out[unknown] = initial
        return out

    def trained_rows(self, name: str, f: str, table: str = "rows") -> list[AscendingRows]:
        """List the trained rows of each old worker, in a `table` that has all its rows."""
        pairs = self._of_type(name)
        return [
            AscendingRows(of.rows, 0, of.n_train, all_of[f"{table}/{name}/{f}"])
            for of, all_of in pairs
        ]

    def _runs(self, name: str, f: str) -> list[AscendingRows]:
        """List the rows of each old worker that are there for held-out edges."""
        return [
            AscendingRows(of.rows, of.n_train, len(of.rows), arrays[f"rows/{name}/{f}"])
            for of, arrays in self._of_type(name)
        ]

    def _masters(self, name: str, f: str) -> list[AscendingRows]:
        """List the masters of a cut type at each old worker."""
        return [
            AscendingRows(of.masters, 0, len(of.masters), arrays[f"masters/{name}/{f}"])
            for of, arrays in self._of_type(name)
            if of.masters is not None
        ]

    def _of_type(self, name: str) -> list[tuple[TypeShare, Mapping[str, RangedRows]]]:
        """List each old worker's share of a vertex type, and the arrays of its state."""
        pairs = zip(self.shares, self.states, strict=True)
        return [(share.types[name], state.arrays) for share, state in pairs]

    # ---- what was not sent

    def changers(self, name: str, f: str) -> list[int]:
        """List the old workers with changes of a field of a cut type that were not sent."""
        if (name, f) not in self._unsent:
            ranks = {
                rank
                for lo, hi in self.ranges(name, f)
                for rank in self._with_base(name, f)
                if self._change(name, f, rank, lo, hi)[1].any()
            }
            self._unsent[name, f] = sorted(ranks)
        return self._unsent[name, f]

    def _with_base(self, name: str, f: str) -> list[int]:
        """List the old workers that know what their replicas show without changes."""
        at = f"base/{name}/{f}"
        return [rank for rank, state in enumerate(self.states) if at in state.arrays]

    def _change(self, name: str, f: str, rank: int, lo: int, hi: int) -> Piece:
        """Return the changes of the replicas of an old worker that were not sent."""
        at, values = self.trained_rows(name, f)[rank].within(lo, hi)
        of = self.shares[rank].types[name]
        base = AscendingRows(of.rows, 0, of.n_train, self.states[rank].arrays[f"base/{name}/{f}"])
        return at, values - base.within(lo, hi)[1]

    def unsent_changes(self, name: str, f: str, lo: int, hi: int) -> np.ndarray | None:
        """Add up, for each vertex of a range, the changes of its replicas that were not sent; None:
        there are none, in whatever range.
        """
        total = None
        for rank in self.changers(name, f):
            at, change = self._change(name, f, rank, lo, hi)
            if total is None:
                total = np.zeros((hi - lo, *change.shape[1:]), change.dtype)
            total[at] += change
        return total

    def deltas(self, name: str, f: str, lo: int, hi: int) -> np.ndarray:
        """Combine, for each vertex of a range, the deltas that its replicas have gathered and not
        sent.
        """
        declared = self.fields[name][f]
        out = np.full((hi - lo, *declared.lengths), declared.identity, declared.dtype)
        for run in (*self._masters(name, f), *self.trained_rows(name, f)):
            at, values = run.within(lo, hi)
            given = (values != declared.identity).any(axis=tuple(range(1, values.ndim)))
            at, values = at[given], values[given]
            out[at] = combine_values(declared, out[at], values)
        return out

    # ---- lists

    def lists(self, at: str, name: str, lo: int, hi: int) -> Lists:
        """Collect the lists of a range, of a ragged field that states have under the name `at`."""
        pieces = []
        for of, arrays in self._of_type(name):
            first, end = find_range(of.rows, lo, hi, 0, of.n_train)
            bounds = list_bounds(of, first, end)
            values = arrays[at][int(bounds[0]) : int(bounds[-1])]
            pieces.append((copy_range(of.rows, first, end) - lo, np.diff(bounds), values))
        return Lists.from_pieces(pieces, hi - lo, pieces[0][2].dtype)


def find_range(
    positions: Sequence[int] | np.ndarray, lo: int, hi: int, first: int, end: int
) -> tuple[int, int]:
    """Find the places of the positions from `lo` to `hi` among those from `first` to `end`, which
    ascend.
    """
    begin = bisect_left(positions, lo, first, end)
    return begin, bisect_left(positions, hi, begin, end)


def list_bounds(of: TypeShare, first: int, end: int) -> np.ndarray:
    """Return the bounds of the lists of some rows."""
    assert of.bounds is not None
    return copy_range(of.bounds, first, end + 1)
