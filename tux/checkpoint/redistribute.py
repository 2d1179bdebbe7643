"""The states of the workers of one cut as states of the workers of another cut, which may be more
or fewer.

What is known of a vertex or an edge is joined over the workers of the old cut, and dealt to those
of the new cut:

    masters, rows with one copy    by the position of the vertex; mirrors start from their master
    deltas, changes of sums        what was not sent yet, of all replicas, goes to the replica on
                                   the worker with the lowest rank
    mirror fields                  to all replicas; those of the old cut must hold the same
    fields of edges                by the name of the edge
    context                        from its master; totals that were not taken yet go to worker 0
    counts                         their sums go to worker 0

Fields of vertices are joined a range of positions at a time (`tux.checkpoint.old_states`), while
the file of a new worker is written. Of fields of edges, memory holds one of the new worker and of
one old worker at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from tux.arrays.pieced import ArrayPieces
from tux.arrays.ragged import take_lists
from tux.base.errors import Refused
from tux.base.text import plural
from tux.checkpoint.model_copy import fields_to_copy
from tux.checkpoint.old_states import OldState, OldStates, find_range, list_bounds
from tux.checkpoint.snapshot import Counts, StateHead, other_program
from tux.graph.links import among
from tux.graph.share import EdgeNames, Share, copy_range
from tux.program.base_program import along
from tux.program.fields import Field
from tux.program.merging import combine_values
from tux.program.program import Program
from tux.rows.table import RowTable

AGREED = ("epoch", "turns", "over", "clock", "all_clocks", "best", "best_epoch", "repetitions")
"""Numbers of a state that all workers have in common."""


class NewState(NamedTuple):
    """A state that is made as it is written: its numbers, and its arrays by name."""

    head: StateHead
    arrays: dict[str, np.ndarray | ArrayPieces]


class Redistribution:
    """The states of the workers that have the shares `before`, for workers that have the shares
    `after`, both by rank. `seed` is that of the run.

    Refused, with the name of the field, if a field does not determine its values on another number
    of workers.
    """

    def __init__(
        self,
        program: Program,
        seed: int,
        before: Sequence[Share],
        states: Sequence[OldState],
        after: Sequence[Share],
    ) -> None:
        self._program = program
        self._before, self._states, self._after = before, states, after
        self._fields = {
            name: _state_fields(vertex.fields, program) for name, vertex in program.vertices.items()
        }
        self._context = _state_fields(program.context.fields, program)
        self._old = OldStates(seed, before, states, self._fields)
        self._check_heads()
        self._check_shapes()
        self._check_fields()

    def state(self, rank: int) -> NewState:
        """Make the state of a worker of the new cut. Its arrays are made when they are gone
        through, which they can be once.
        """
        arrays: dict[str, np.ndarray | ArrayPieces] = {**self._context_of(rank)}
        for name, fields in self._fields.items():
            for f, declared in fields.items():
                arrays |= self._of_type(name, f, declared, rank)
        for prefix in self._after[rank].edges:
            for f, declared in self._edge_fields(prefix).items():
                at = f"{prefix}/{f}"
                arrays[at] = self._of_edges(at, prefix, declared, rank)
        return NewState(self._head(rank), arrays | self._best(rank))

    # ---- states that are refused

    def _check_heads(self) -> None:
        """Raise Refused if the states are not of one moment, or have lists on disk."""
        heads = [state.head for state in self._states]
        for f in AGREED:
            if any(getattr(head, f) != getattr(heads[0], f) for head in heads):
                raise other_program(f"its workers differ in {f}")
        if any(head.lists for head in heads):
            raise self._refusal("lists on disk stay with the worker that wrote them")

    def _check_shapes(self) -> None:
        """Raise Refused where a field is not there, or is another array, as in another version."""
        for name, fields in {"tau": self._context, **self._fields}.items():
            for f, declared in fields.items():
                at = f"rows/{name}/{f}"
                expected = declared.dtype, () if declared.is_ragged else declared.lengths
                for state in self._states:
                    if at not in state.arrays:
                        raise other_program(f"{at} is not in it")
                    array = state.arrays[at]
                    if (array.dtype, array.shape[1:]) != expected:
                        raise other_program(f"{at} is {array.dtype} with other lengths")

    def _check_fields(self) -> None:
        """Raise Refused where a field of a cut type cannot be given to other replicas."""
        for name, fields in self._fields.items():
            cut = [
                share[0].types[name].masters is not None for share in (self._before, self._after)
            ]
            for f, declared in fields.items():
                if declared.is_ragged and any(cut):
                    raise self._refusal(
                        f"{name}.{f} has an entry for each edge, and the edges of a {name} lie on "
                        "several workers"
                    )
                if declared.kind == "mirror" and cut[0] and not declared.is_ragged:
                    self._check_mirror(name, f)
                elif (
                    declared.kind == "shared"
                    and declared.combine != "sum"
                    and self._old.changers(name, f)
                ):
                    raise self._refusal(
                        f"changes of {name}.{f} were not sent yet, and it is combined by "
                        f'"{declared.combine}", which depends on the workers'
                    )

    def _check_mirror(self, name: str, f: str) -> None:
        for lo, hi in self._old.ranges(name, f):
            joined = self._old.values(name, f, lo, hi)
            for run in self._old.trained_rows(name, f):
                at, values = run.within(lo, hi)
                if not _are_equal(joined[at], values):
                    raise self._refusal(
                        f"{name}.{f} is a mirror field, and replicas of one {name} hold different "
                        "values of it"
                    )

    def _refusal(self, why: str) -> Refused:
        """Make the error of a state that another number of workers cannot have."""
        return Refused(
            f"the run cannot go on on {plural(len(self._after), 'worker')}: {why}",
            do=f"resume on as many workers as before: {len(self._states)} in all",
        )

    # ---- vertices

    def _of_type(self, name: str, f: str, declared: Field, rank: int) -> dict[str, ArrayPieces]:
        """Make a field of a vertex type on a new worker: in its rows, bases and masters."""
        share, at = self._after[rank].types[name], f"{name}/{f}"
        if declared.is_ragged:
            return {f"rows/{at}": self._lists(f"rows/{at}", name, f, rank)}
        out = {f"rows/{at}": self._of_rows(name, f, rank)}
        if share.masters is not None:
            masters = self._masters(name, f, rank)
            out[f"masters/{at}"] = _pieces(declared, len(share.masters), masters)
            if declared.kind == "shared" and not self._program.vertices[name].remote:
                out[f"base/{at}"] = self._of_rows(name, f, rank, unsent=False)
        return out

    def _of_rows(self, name: str, f: str, rank: int, *, unsent: bool = True) -> ArrayPieces:
        """Make a field in the rows of a new worker, with what is `unsent` or without."""
        of, declared = self._after[rank].types[name], self._fields[name][f]
        pieces = self._trained_rows(name, f, rank, unsent=unsent)
        others = self._held_out_rows(name, f, rank)
        both = (piece for each in (pieces, others) for piece in each)
        return _pieces(declared, len(of.rows), both)

    def _trained_rows(self, name: str, f: str, rank: int, *, unsent: bool) -> Iterator[np.ndarray]:
        of, declared, old = self._after[rank].types[name], self._fields[name][f], self._old
        for lo, hi in old.ranges(name, f):
            first, end = find_range(of.rows, lo, hi, 0, of.n_train)
            if end == first:
                continue
            at = copy_range(of.rows, first, end) - lo
            here = self._counts_before(name, rank, lo, hi)[at] == 0
            if declared.kind == "delta":
                rows = old.deltas(name, f, lo, hi)[at]
                rows[~here] = declared.identity
            else:
                rows = old.values(name, f, lo, hi)[at]
                changes = old.unsent_changes(name, f, lo, hi) if unsent else None
                if changes is not None:
                    rows[here] += changes[at[here]]
            yield rows

    def _held_out_rows(self, name: str, f: str, rank: int) -> Iterator[np.ndarray]:
        """Yield the rows that are there for held-out edges only."""
        of, declared = self._after[rank].types[name], self._fields[name][f]
        if len(of.rows) == of.n_train:
            return
        for lo, hi in self._old.ranges(name, f):
            first, end = find_range(of.rows, lo, hi, of.n_train, len(of.rows))
            if declared.kind == "delta":
                yield np.full((end - first, *declared.lengths), declared.identity, declared.dtype)
            elif end > first:
                at = copy_range(of.rows, first, end) - lo
                yield self._old.values(name, f, lo, hi)[at]

    def _masters(self, name: str, f: str, rank: int) -> Iterator[np.ndarray]:
        """Yield a field of the masters of a cut type at a new worker."""
        masters, declared = self._after[rank].types[name].masters, self._fields[name][f]
        assert masters is not None
        for lo, hi in self._old.ranges(name, f):
            first, end = find_range(masters, lo, hi, 0, len(masters))
            if end == first:
                continue
            at = copy_range(masters, first, end) - lo
            if declared.kind == "delta":
                rows = self._old.deltas(name, f, lo, hi)[at]
                rows[self._counts_before(name, len(self._after), lo, hi)[at] > 0] = (
                    declared.identity
                )
                yield rows
            else:
                yield self._old.values(name, f, lo, hi)[at]

    def _counts_before(self, name: str, rank: int, lo: int, hi: int) -> np.ndarray:
        """Count, for each vertex of a range, its trained rows on the new workers before `rank`."""
        counts = np.zeros(hi - lo, np.int16)
        for share in self._after[:rank]:
            of = share.types[name]
            first, end = find_range(of.rows, lo, hi, 0, of.n_train)
            counts[copy_range(of.rows, first, end) - lo] += 1
        return counts

    def _lists(self, at: str, name: str, f: str, rank: int) -> ArrayPieces:
        """Make a ragged field in the rows of a new worker."""
        of = self._after[rank].types[name]
        assert of.bounds is not None
        return ArrayPieces(
            self._fields[name][f].dtype, int(of.bounds[-1]), self._list_pieces(at, name, f, rank)
        )

    def _list_pieces(self, at: str, name: str, f: str, rank: int) -> Iterator[np.ndarray]:
        of = self._after[rank].types[name]
        for lo, hi in self._old.ranges(name, f):
            first, end = find_range(of.rows, lo, hi, 0, of.n_train)
            lists, here = self._old.lists(at, name, lo, hi), copy_range(of.rows, first, end) - lo
            counts = lists.counts[here]
            if not np.array_equal(counts, np.diff(list_bounds(of, first, end))):
                raise other_program(f"{at} has other numbers of edges")
            yield take_lists(lists.values, lists.bounds[here], counts).values

    # ---- the model of the best epoch

    def _best(self, rank: int) -> dict[str, np.ndarray | ArrayPieces]:
        """Make the copy of the best model at a new worker, if the old workers have one."""
        if not any(name.startswith("best/") for name in self._states[0].arrays):
            return {}
        out: dict[str, np.ndarray | ArrayPieces] = {}
        for _ in fields_to_copy("tau", self._context):
            out[f"best/{len(out)}"] = self._states[0].arrays[f"best/{len(out)}"][:]
        for name, fields in self._fields.items():
            for f in fields_to_copy(name, fields):
                at = f"best/{len(out)}"
                if fields[f].is_ragged:
                    out[at] = self._lists(at, name, f, rank)
                    continue
                new = self._after[rank].types[name]
                count = len(new.rows if new.masters is None else new.masters)
                out[at] = _pieces(fields[f], count, self._best_of(at, name, f, rank))
        for prefix in self._after[rank].edges:
            for declared in self._edge_fields(prefix).values():
                if declared.kept and prefix != "held_out":
                    at = f"best/{len(out)}"
                    out[at] = self._of_edges(at, prefix, declared, rank)
        return out

    def _best_of(self, at: str, name: str, f: str, rank: int) -> Iterator[np.ndarray]:
        """Yield a field of the best model at a new worker: that of its masters."""
        new = self._after[rank].types[name]
        ids = new.rows if new.masters is None else new.masters
        ends = [new.n_train, len(ids)] if new.masters is None else [len(ids)]
        for begin, last in zip([0, *ends], ends, strict=False):
            for lo, hi in self._old.ranges(name, f) if last > begin else ():
                first, end = find_range(ids, lo, hi, begin, last)
                if end > first:
                    known = self._old.best(at, name, f, lo, hi)
                    yield known[copy_range(ids, first, end) - lo]

    # ---- edges and context

    def _edge_fields(self, prefix: str) -> dict[str, Field]:
        """Return the fields of a set of edges, such as "edges" or "edges.TYPE"."""
        _, _, name = prefix.partition(".")
        return _state_fields(along(self._program, name).edge.fields, self._program)

    def _of_edges(self, at: str, prefix: str, declared: Field, rank: int) -> ArrayPieces:
        """Make the field of a set of edges of a new worker that states have under the name `at`."""
        own = self._after[rank].edges[prefix]

        def whole() -> Iterator[np.ndarray]:
            out = np.empty((len(own.names), *declared.lengths), declared.dtype)
            out[...] = declared.init.a  # type: ignore[union-attr]
            for share, state in zip(self._before, self._states, strict=True):
                here, there = _match(own, share.edges[prefix])
                if len(here) != len(there):
                    raise other_program(f"{at} has other numbers of edges")
                out[here] = state.arrays[at][:][there]
            yield out

        return _pieces(declared, len(own.names), whole())

    def _context_of(self, rank: int) -> dict[str, np.ndarray]:
        """Make the context at a new worker, at its server, and its master."""
        out, table = dict[str, np.ndarray](), RowTable.allocate("tau", self._context, 1)
        for f, declared in self._context.items():
            if declared.kind == "delta":
                none = np.full((1, *declared.lengths), declared.identity, declared.dtype)
                known, rows = none, none if rank else self._totals(f, declared)
            else:
                several = len(self._states) > 1
                at = f"masters/special/{f}" if several else f"rows/tau/{f}"
                known = rows = self._states[0].arrays[at][:]
                table.arrays[f][...] = known
            if declared.kind == "shared" and rank == 0:
                rows = known + self._context_changes(f)
            out |= {f"rows/tau/{f}": rows}
            out |= {f"masters/{at}/{f}": known for at in ("tau", "special")}
        if len(self._after) > 1:
            # fields that are alike lie side by side
            out |= {f"base/tau/{f}": joint for f, joint, _ in table.columns(("shared",))}
        return out

    def _context_changes(self, f: str) -> np.ndarray:
        """Add up the changes of a field of the context that workers have made and not sent."""
        table = RowTable.allocate("tau", self._context, 1)
        change = np.zeros_like(table.arrays[f])
        for state in self._states if len(self._states) > 1 else ():
            for joined, joint, _ in table.columns(("shared",)):
                joint[...] = state.arrays[f"base/tau/{joined}"][:]
            change += state.arrays[f"rows/tau/{f}"][:] - table.arrays[f]
        return change

    def _totals(self, f: str, declared: Field) -> np.ndarray:
        """Combine all that workers and servers have added to a total that was not taken yet."""
        total = np.full((1, *declared.lengths), declared.identity, declared.dtype)
        for state in self._states:
            for name in state.arrays:
                kind, *_, field = name.split("/")
                if field == f and (
                    kind == "totals" or name in (f"rows/tau/{f}", f"masters/tau/{f}")
                ):
                    total = combine_values(declared, total, state.arrays[name][:])
        return total

    # ---- numbers

    def _head(self, rank: int) -> StateHead:
        """Make the numbers of a new worker's state."""
        heads = [state.head for state in self._states]
        begun, alone = [head.begun for head in heads if head.begun], len(self._after) == 1
        return msgspec.structs.replace(
            heads[0],
            most_stale=max(head.most_stale for head in heads),
            counts=Counts.sum_for_worker([head.counts for head in heads], rank, alone=alone),
            begun=Counts.sum_for_worker(begun, rank, alone=alone) if begun else None,
        )


def _state_fields(fields: Mapping[str, Field], program: Program) -> dict[str, Field]:
    """Select the fields of a state, sized: those that are no data."""
    return {f: d.resolve(program.parameters) for f, d in fields.items() if d.kind != "data"}


def _are_equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether values are equal; NaN is equal to NaN."""
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _pieces(declared: Field, rows: int, pieces: Iterator[np.ndarray]) -> ArrayPieces:
    """Return an array of a sized field as its pieces."""
    return ArrayPieces(declared.dtype, rows, pieces, declared.lengths)


def _match(own: EdgeNames, others: EdgeNames) -> tuple[np.ndarray, np.ndarray]:
    """Find the edges that both have: their places with either, in the same order."""
    names, known = (copy_range(each.names, 0, len(each.names)) for each in (own, others))
    places = (
        copy_range(each.places, 0, len(each.places))[among(one, other)]
        for each, one, other in ((own, names, known), (others, known, names))
    )
    return next(places), next(places)
