"""The state of a worker between two clocks: with it, and the same program and data, a run goes on
as if it had never stopped.

Between two clocks a worker has sent all that its clocks have gathered, and has installed all
answers. So messages are no state, and neither are data, layouts or kernels, which are made anew.
Random numbers need no state: they are functions of seed, stage, epoch and vertex. What is left:

    rows/TYPE/FIELD      fields of this worker's rows, and of its context (TYPE tau)
    masters/TYPE/FIELD   fields of the masters of cut types, of the server's context (tau), and of
                         the context's master (special)
    base/TYPE/FIELD      what mirrors show but for their unsent changes
    edges/FIELD          fields of edges in the order of this worker, held_out/FIELD likewise, and
                         edges.TYPE/FIELD those of the other edge types of the program
    totals/CLOCK/N/FIELD what Apply has added to the server's context, by clock
    best/N               the model of the best epoch

and the numbers in `StateHead`, which also tells where lists on disk are
(`tux.checkpoint.segments`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from tux.base.counts import add_counts
from tux.base.errors import Refused
from tux.checkpoint.segments import ListSegment
from tux.rows.table import RowTable

if TYPE_CHECKING:
    from tux.engine.partition import Partition


class Counts(msgspec.Struct, forbid_unknown_fields=True):
    """The counts and times of a worker so far: `seconds` by kind of work, bytes by vertex type."""

    trained: float  # seconds of training
    edges_visited: int
    seconds: dict[str, float]
    served: float  # seconds of its server
    bytes_sent: dict[str, int]
    bytes_dense: dict[str, int]
    server_sent: dict[str, int]
    server_dense: dict[str, int]

    @staticmethod
    def of(partition: Partition, trained: float) -> Counts:
        """Copy the worker's present counts and times."""
        server = partition.server
        return Counts(
            trained,
            partition.edges_visited,
            dict(partition.seconds),
            server.seconds,
            dict(partition.bytes_sent),
            dict(partition.bytes_dense),
            dict(server.bytes_sent),
            dict(server.bytes_dense),
        )

    @staticmethod
    def sum_for_worker(counts: Sequence[Counts], rank: int, *, alone: bool) -> Counts:
        """Make the counts from which worker `rank` of another cut goes on: worker 0 from the sums
        of these counts, others from 0. Seconds of training are the same for all. A worker that is
        `alone` sends no bytes.
        """
        total: dict[str, Any] = {"trained": max(each.trained for each in counts)}
        for f in Counts.__struct_fields__[1:]:
            values = [getattr(each, f) for each in counts]
            if not isinstance(values[0], dict):
                total[f] = type(values[0])(0 if rank else sum(values))
            else:
                none = rank or (alone and f != "seconds")
                total[f] = {} if none else reduce(add_counts, values)
        return Counts(**total)

    def put_back(self, partition: Partition) -> None:
        """Set the worker's counts and times to these."""
        server = partition.server
        partition.edges_visited, server.seconds = self.edges_visited, self.served
        for counted, saved in (
            (partition.seconds, self.seconds),
            (partition.bytes_sent, self.bytes_sent),
            (partition.bytes_dense, self.bytes_dense),
            (server.bytes_sent, self.server_sent),
            (server.bytes_dense, self.server_dense),
        ):
            counted.clear()
            counted.update(saved)  # type: ignore[arg-type]

    def total_sent(self) -> dict[str, int]:
        """Add up the bytes sent by worker and server, by vertex type."""
        return add_counts(self.bytes_sent, self.server_sent)

    def total_dense(self) -> dict[str, int]:
        """Add up the bytes that the sent rows would have taken with all their values, by vertex
        type.
        """
        return add_counts(self.bytes_dense, self.server_dense)


class StateHead(msgspec.Struct, forbid_unknown_fields=True):
    """The numbers of a state."""

    epoch: int  # epochs that have ended
    turns: int  # clocks of the epoch under way that have ended; 0 between two epochs
    over: bool  # no epoch follows, as the run has converged or has no more patience
    clock: int
    all_clocks: int
    most_stale: int
    counts: Counts
    begun: Counts | None  # at the begin of the epoch under way
    since: int  # evaluations since the best
    best: float | None
    best_epoch: int
    repetitions: dict[str, int]  # of each Repeat so far, those of former numbers of workers too
    lists: list[ListSegment] = []  # where lists on disk are


class State(NamedTuple):
    """A worker's numbers and arrays. The arrays are the worker's own, which change as it goes
    on.
    """

    head: StateHead
    arrays: dict[str, np.ndarray]

    def copy(self) -> State:
        """Copy the state, so that it does not change."""
        return State(self.head, {name: array.copy() for name, array in self.arrays.items()})


def arrays_of(partition: Partition) -> dict[str, np.ndarray]:
    """Collect the worker's arrays, by name, but for those of the best epoch. RuntimeError if a
    mirror waits for an answer.
    """
    server = partition.server
    tables = {f"rows/{name}": table for name, table in partition.tables.items()}
    tables |= {f"masters/{name}": table for name, table in server.tables.items()}
    tables |= {"masters/tau": server.tau, "masters/special": server.special.table}
    out: dict[str, np.ndarray] = {}
    for prefix, table in tables.items():
        out |= {f"{prefix}/{field}": array for field, array in _changing(table)}
    for name, mirrors in partition.mirrors.items():
        if any(unacked.any() for unacked in mirrors.unacked.values()):
            raise RuntimeError(f"mirrors of {name} wait for answers")
        out |= {f"base/{name}/{field}": array for field, array in mirrors.base.items()}
    for prefix, edges in partition.graph.edge_sets.items():
        for field in edges.fields:
            if edges.declared.fields[field].kind != "data":
                out[f"{prefix}/{field}"] = edges.changing(field)
    return out | {f"totals/{name}": array for name, array in server.totals.arrays().items()}


def _changing(table: RowTable) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the fields that are no data, with their arrays."""
    return (
        (name, table.arrays[name])
        for name, declared in table.declared.items()
        if declared.kind != "data"
    )


def put_back(partition: Partition, arrays: Mapping[str, np.ndarray]) -> None:
    """Set the worker's arrays to those of a state of the same program, data and partition. Refused
    if they are of another.
    """
    own = arrays_of(partition)
    kept = {
        name: array for name, array in arrays.items() if not name.startswith(("totals/", "best/"))
    }
    if wrong := sorted(own.keys() ^ kept.keys()):
        raise other_program(f"{wrong[0]} is in one of them only")
    for name, array in kept.items():
        if own[name].shape != array.shape or own[name].dtype != array.dtype:
            raise other_program(
                f"{name} is {array.dtype} {array.shape}, and here {own[name].dtype} "
                f"{own[name].shape}"
            )
    for name, array in kept.items():
        own[name][...] = array
    for mirrors in partition.mirrors.values():
        for pending, unacked in zip(
            mirrors.pending.values(), mirrors.unacked.values(), strict=True
        ):
            pending[...] = 0
            unacked[...] = 0
    partition.server.totals.put_back(
        {
            name.removeprefix("totals/"): array
            for name, array in arrays.items()
            if name.startswith("totals/")
        }
    )


def describe_place(epochs: int, clocks: int) -> str:
    """Return the place of a state in a run, in words: after so many epochs, and so many clocks of
    the next.
    """
    return f"clock {clocks} of epoch {epochs + 1}" if clocks else f"the end of epoch {epochs}"


def other_program(how: str) -> Refused:
    """Make the error of a state that does not fit."""
    return Refused(
        f"the checkpoint is not of this program and these data: {how}",
        do="resume with the program, the data and the version of tux of the run, or run it anew",
    )
