"""The states of the workers of one cut as states of the workers of another cut, which may be more
or fewer. A pure function on arrays.

What is known of a vertex or an edge is joined over the workers of the old cut, and dealt to those
of the new cut:

    masters, rows with one copy    by the dense index of the vertex; mirrors start from their master
    deltas, changes of sums        what was not sent yet, of all replicas, goes to the replica on
                                   the worker with the lowest rank
    mirror fields                  to all replicas; those of the old cut must hold the same
    fields of edges                by the number of the edge in the data
    context                        from its master; totals that were not taken yet go to worker 0
    counts                         their sums go to worker 0

One field is joined at a time, so memory holds the state of one new worker and the values of one
field of all vertices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np

from tux.arrays.ragged import Lists, take_lists
from tux.base.errors import Refused
from tux.base.random import key
from tux.base.text import plural
from tux.checkpoint.model_copy import fields_to_copy
from tux.checkpoint.snapshot import Counts, State, StateHead, other_program
from tux.graph.share import Share
from tux.program.base_program import along
from tux.program.fields import Field
from tux.program.merging import combine_values
from tux.program.program import Program
from tux.rows.table import RowTable

AGREED = ("epoch", "turns", "over", "clock", "all_clocks", "best", "best_epoch", "repetitions")
"""Numbers of a state that all workers have in common."""


Piece = tuple[np.ndarray, np.ndarray]
"""Dense indices or numbers (n,), and the values (n, *shape) there."""


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
        states: Sequence[State],
        after: Sequence[Share],
    ) -> None:
        self._program, self._seed = program, seed
        self._before, self._states, self._after = before, states, after
        self._fields = {
            name: _state_fields(vertex.fields, program) for name, vertex in program.vertices.items()
        }
        self._context = _state_fields(program.context.fields, program)
        self._check_heads()
        self._check_fields()

    def state(self, rank: int) -> State:
        """Make the state of a worker of the new cut."""
        arrays = self._context_of(rank)
        for name, fields in self._fields.items():
            for f, declared in fields.items():
                arrays |= self._of_type(name, f, declared, rank)
        for prefix in self._after[rank].numbers:
            for f, declared in self._edge_fields(prefix).items():
                at = f"{prefix}/{f}"
                arrays[at] = self._by_number(at, prefix, declared, rank)
        return State(self._head(rank), arrays | self._best(rank))

    # ---- states that are refused

    def _check_heads(self) -> None:
        """Raise Refused if the states are not of one moment, or have lists on disk."""
        heads = [state.head for state in self._states]
        for f in AGREED:
            if any(getattr(head, f) != getattr(heads[0], f) for head in heads):
                raise other_program(f"its workers differ in {f}")
        if any(head.lists for head in heads):
            raise self._refusal("lists on disk stay with the worker that wrote them")

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
                    and any(change.any() for _, change in self._changes(name, f))
                ):
                    raise self._refusal(
                        f"changes of {name}.{f} were not sent yet, and it is combined by "
                        f'"{declared.combine}", which depends on the workers'
                    )

    def _check_mirror(self, name: str, f: str) -> None:
        joined = self._master_values(name, f)
        for ids, values in self._trained_rows(name, f):
            if not _are_equal(joined[ids], values):
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

    def _of_type(self, name: str, f: str, declared: Field, rank: int) -> dict[str, np.ndarray]:
        """Make a field of a vertex type on a new worker: in its rows, bases and masters."""
        share, at = self._after[rank].types[name], f"{name}/{f}"
        if declared.is_ragged:
            return {f"rows/{at}": self._lists(f"rows/{at}", name, rank)}
        first = self._holder[name][share.rows] == rank  # of all replicas
        first[share.n_train :] = False
        if declared.kind == "delta":
            unsent = self._deltas(name, f, declared)
            rows = unsent[share.rows]
            rows[~first] = declared.identity
            out = {f"rows/{at}": rows}
            if share.masters is not None:
                out[f"masters/{at}"] = masters = unsent[share.masters]
                masters[self._holder[name][share.masters] >= 0] = declared.identity
            return out
        known = self._master_values(name, f)
        rows = known[share.rows]
        out = {f"rows/{at}": rows}
        if share.masters is not None:
            out[f"masters/{at}"] = known[share.masters]
            if declared.kind == "shared" and not self._program.vertices[name].remote:
                out[f"base/{at}"] = rows.copy()
        unsent_changes = self._unsent_changes(name, f)
        if unsent_changes is not None:
            rows[first] += unsent_changes[share.rows[first]]
        return out

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """The number of vertices of each type in the shares of all workers, old and new."""
        shares = [share.types for share in (*self._before, *self._after)]
        held = lambda of: (of.rows, of.masters if of.masters is not None else of.rows)  # noqa: E731
        return {
            name: 1 + max(int(ids.max(initial=-1)) for share in shares for ids in held(share[name]))
            for name in self._fields
        }

    @cached_property
    def _holder(self) -> dict[str, np.ndarray]:
        """By type, for each vertex, the first new worker that has a trained row of it, or -1."""
        out = {name: np.full(size, -1, np.int16) for name, size in self._sizes.items()}
        for rank in reversed(range(len(self._after))):
            for name, share in self._after[rank].types.items():
                out[name][share.trained_rows] = rank
        return out

    def _master_values(self, name: str, f: str) -> np.ndarray:
        """Collect the value of each vertex: that of its master, or for a mirror field that of its
        first replica.
        """
        rows, masters = self._pieces(f"rows/{name}/{f}", name), self._masters(name, f)
        trained = [*self._trained_rows(name, f)][::-1]
        # later pieces replace earlier ones
        pieces = (
            [*masters, *rows, *trained]
            if self._fields[name][f].kind == "mirror"
            else [*rows, *trained, *masters]
        )
        return self._join_pieces(name, f, pieces)

    def _join_pieces(self, name: str, f: str, pieces: Iterable[Piece]) -> np.ndarray:
        """Join pieces to the values of all vertices. Later pieces replace earlier ones; a vertex in
        none of them gets its initial value.
        """
        declared, known = self._fields[name][f], np.zeros(self._sizes[name], np.bool_)
        out = np.empty((len(known), *declared.lengths), declared.dtype)
        for ids, values in pieces:
            out[ids], known[ids] = values, True
        unknown = np.flatnonzero(~known)
        if len(unknown):
            initial = np.empty((len(unknown), *declared.lengths), declared.dtype)
            declared.init.fill(  # type: ignore[union-attr]
                initial, key(self._seed, "initial", name, f), unknown
            )
            out[unknown] = initial
        return out

    def _pieces(self, at: str, name: str) -> list[Piece]:
        """List all rows of the old workers, those for held-out edges included."""
        states = zip(self._before, self._states, strict=True)
        return [(share.types[name].rows, state.arrays[at]) for share, state in states]

    def _trained_rows(self, name: str, f: str) -> Iterator[Piece]:
        """Yield the trained rows of each old worker."""
        for share, (ids, values) in zip(
            self._before, self._pieces(f"rows/{name}/{f}", name), strict=True
        ):
            n_train = share.types[name].n_train
            yield ids[:n_train], values[:n_train]

    def _masters(self, name: str, f: str) -> Iterator[Piece]:
        """Yield the masters of a cut type at each old worker."""
        for share, state in zip(self._before, self._states, strict=True):
            masters = share.types[name].masters
            if masters is not None:
                yield masters, state.arrays[f"masters/{name}/{f}"]

    def _changes(self, name: str, f: str) -> Iterator[Piece]:
        """Yield the changes of replicas of a cut type that were not sent."""
        for share, state in zip(self._before, self._states, strict=True):
            base, trained = state.arrays.get(f"base/{name}/{f}"), share.types[name].trained_rows
            if base is not None:
                n = len(trained)
                yield trained, state.arrays[f"rows/{name}/{f}"][:n] - base[:n]

    def _unsent_changes(self, name: str, f: str) -> np.ndarray | None:
        """Add up, for each vertex, the changes of its replicas that were not sent; None: there are
        none.
        """
        total = None
        for ids, change in self._changes(name, f):
            if change.any():
                if total is None:
                    total = np.zeros((self._sizes[name], *change.shape[1:]), change.dtype)
                total[ids] += change
        return total

    def _deltas(self, name: str, f: str, declared: Field) -> np.ndarray:
        """Combine, for each vertex, the deltas that its replicas have gathered and not sent."""
        shape = (self._sizes[name], *declared.lengths)
        out = np.full(shape, declared.identity, declared.dtype)
        for ids, values in (*self._masters(name, f), *self._trained_rows(name, f)):
            given = (values != declared.identity).any(axis=tuple(range(1, values.ndim)))
            ids, values = ids[given], values[given]
            out[ids] = combine_values(declared, out[ids], values)
        return out

    def _lists(self, at: str, name: str, rank: int) -> np.ndarray:
        """Make a ragged field in the rows of a new worker."""
        pieces = []
        for share, (_, values) in zip(self._before, self._pieces(at, name), strict=True):
            of = share.types[name]
            assert of.entries is not None
            pieces.append((of.trained_rows, of.entries[: of.n_train], values))
        lists = Lists.from_pieces(pieces, self._sizes[name], pieces[0][2].dtype)
        of = self._after[rank].types[name]
        counts = lists.counts[of.rows]
        counts[of.n_train :] = 0
        if not np.array_equal(counts, of.entries):  # type: ignore[arg-type]
            raise other_program(f"{at} has other numbers of edges")
        return take_lists(lists.values, lists.bounds[of.rows], counts).values

    # ---- the model of the best epoch

    def _best(self, rank: int) -> dict[str, np.ndarray]:
        """Make the copy of the best model at a new worker, if the old workers have one."""
        if not any(name.startswith("best/") for name in self._states[0].arrays):
            return {}
        out: dict[str, np.ndarray] = {}
        for _ in fields_to_copy("tau", self._context):
            out[f"best/{len(out)}"] = self._states[0].arrays[f"best/{len(out)}"]
        for name, fields in self._fields.items():
            for f in fields_to_copy(name, fields):
                at = f"best/{len(out)}"
                out[at] = self._best_of(at, name, f, rank)
        for prefix in self._after[rank].numbers:
            for declared in self._edge_fields(prefix).values():
                if declared.kept and prefix != "held_out":
                    at = f"best/{len(out)}"
                    out[at] = self._by_number(at, prefix, declared, rank)
        return out

    def _best_of(self, at: str, name: str, f: str, rank: int) -> np.ndarray:
        """Make a field of the best model at a new worker: that of its masters."""
        if self._fields[name][f].is_ragged:
            return self._lists(at, name, rank)
        pieces, trained = [], []
        for share, state in zip(self._before, self._states, strict=True):
            of, values = share.types[name], state.arrays[at]
            pieces.append((of.rows if of.masters is None else of.masters, values))
            if of.masters is None:
                trained.append((of.trained_rows, values[: of.n_train]))
        new = self._after[rank].types[name]
        ids = new.rows if new.masters is None else new.masters
        return self._join_pieces(name, f, [*pieces, *trained])[ids]

    # ---- edges and context

    def _edge_fields(self, prefix: str) -> dict[str, Field]:
        """Return the fields of a set of edges, such as "edges" or "edges.TYPE"."""
        _, _, name = prefix.partition(".")
        return _state_fields(along(self._program, name).edge.fields, self._program)

    def _by_number(self, at: str, prefix: str, declared: Field, rank: int) -> np.ndarray:
        """Make the field of a set of edges of a new worker that states have under the name `at`."""
        numbers = [share.numbers[prefix] for share in self._before]
        own = self._after[rank].numbers[prefix]
        count = 1 + max(int(each.max(initial=-1)) for each in (*numbers, own))
        values = np.empty((count, *declared.lengths), declared.dtype)
        values[...] = declared.init.a  # type: ignore[union-attr]
        for number, state in zip(numbers, self._states, strict=True):
            values[number] = state.arrays[at]
        return values[own]

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
                known = rows = self._states[0].arrays[at]
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
                joint[...] = state.arrays[f"base/tau/{joined}"]
            change += state.arrays[f"rows/tau/{f}"] - table.arrays[f]
        return change

    def _totals(self, f: str, declared: Field) -> np.ndarray:
        """Combine all that workers and servers have added to a total that was not taken yet."""
        total = np.full((1, *declared.lengths), declared.identity, declared.dtype)
        for state in self._states:
            for name, array in state.arrays.items():
                kind, *_, field = name.split("/")
                if field == f and (
                    kind == "totals" or name in (f"rows/tau/{f}", f"masters/tau/{f}")
                ):
                    total = combine_values(declared, total, array)
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
