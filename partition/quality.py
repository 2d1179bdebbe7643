"""Measures of an assignment of edges to parts: replication, balance, and the bytes of a
synchronisation, exactly and worker by worker.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.capacity import MOST_PARTS, capacity, check_parts
from tux.partition.common.ends import EdgeEnds, ends
from tux.partition.masters import homes
from tux.partition.replicas import Replicas, replicas

RowBytes = int | tuple[int, int]
"""Bytes of a row: both ways, or (up, from mirror to master; down, back)."""


class Bucket(NamedTuple):
    """Vertices with `low` to 2 `low` - 1 edges: how many, and their mean number of replicas."""

    low: int
    vertices: int
    replication: float


@dataclass(frozen=True)
class TypeQuality:
    """The measures of one vertex type. Counts are of vertices that have edges; balances are
    max/mean over parts; lists have one entry a part.
    """

    name: str  # "vertex", or of a bipartite graph "source" and "target"
    vertices: int
    replicas: int
    replication: float  # replicas / vertices
    cut: int  # vertices in more than one part
    vertex_balance: float
    master_balance: float
    row_bytes: tuple[int, int]  # up, down
    syncs: float  # synchronisations an epoch
    volume: int  # bytes an epoch, of all workers
    sent: tuple[int, ...]  # bytes an epoch
    received: tuple[int, ...]


@dataclass(frozen=True)
class Quality:
    """The measures of an assignment of edges. Lists have one entry a part; balances are max/mean
    over parts, 1 where there is nothing to share.
    """

    k: int
    edges: int
    vertices: int  # with edges
    replication: float  # RF: mean number of parts that hold a vertex
    # no assignment with parts as large can have a lower RF: sum over v of ceil(d(v) / largest part)
    # / vertices
    bound: float
    edge_balance: float
    vertex_balance: float
    master_balance: float
    empty_parts: int  # without an edge
    volume: int  # bytes an epoch that all workers send, which is what all receive
    largest_volume: int  # bytes that one worker sends and receives, at most
    types: tuple[TypeQuality, ...]
    part_edges: tuple[int, ...]
    part_vertices: tuple[int, ...]  # replicas in each part
    part_masters: tuple[int, ...]
    sent: tuple[int, ...]  # bytes an epoch
    received: tuple[int, ...]
    by_degree: tuple[Bucket, ...]  # the buckets that are not empty, by rising degree
    histogram: tuple[tuple[int, int], ...]  # (replicas, vertices with as many), by rising number
    seconds: float | None = None  # of the partitioner
    peak_bytes: int | None = None  # of memory, beside its input

    def to_dict(self) -> dict[str, Any]:
        """Return it as numbers, strings, lists and dicts, for JSON; `from_dict` takes it back."""
        out = dataclasses.asdict(self)
        out["by_degree"] = [bucket._asdict() for bucket in self.by_degree]
        return out

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Quality:
        """Return the object of which `to_dict`, perhaps through JSON, made this."""
        types = tuple(TypeQuality(**_tuples(each)) for each in stored["types"])
        buckets = tuple(Bucket(**each) for each in stored["by_degree"])
        return cls(**{**_tuples(stored), "types": types, "by_degree": buckets})


def _tuples(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the lists that JSON has made of tuples by tuples."""
    return {name: _deep(value) for name, value in stored.items()}


def _deep(value: Any) -> Any:
    return tuple(map(_deep, value)) if isinstance(value, list | tuple) else value


def quality(
    src: np.ndarray,
    dst: np.ndarray,
    parts: np.ndarray,
    k: int,
    *,
    bipartite: bool = False,
    masters: np.ndarray | None = None,
    sides: Sequence[Mapping[str, int]] = (),
    row_bytes: RowBytes | Sequence[RowBytes] = 4,
    syncs: float | Sequence[float] = 1,
    cap: float | None = None,
    seconds: float | None = None,
    peak_bytes: int | None = None,
) -> Quality:
    """Judge the assignment of edge i, (src[i], dst[i]), to part parts[i] of k.

    At each synchronisation a mirror sends its master one row and gets one back; the master's own
    replica costs nothing. `row_bytes` and `syncs`, an epoch, are the same for all vertices, or
    lists of one entry a type: source and target of a bipartite graph, or those of `sides`: the
    numbers of vertices by type, one type after the other, of sources and of targets, or of all if
    the graph is not bipartite. `masters` (n,), numbered as
    `tux.partition.masters` does and placed by it if not given. `cap`: of the bound, as the
    partitioners' (None: the largest part there is). `seconds` and `peak_bytes` are only kept.
    Linear in vertices, edges and k; beside its input it needs at most about 40 bytes an edge.
    ValueError for what cannot be.
    """
    check_parts(k)
    edges = ends(src, dst, bipartite)
    held = replicas(edges, parts, k)
    homes_of = None if masters is None else _check_masters(masters, edges.vertices)
    judged = _judge_types(_ranges(edges, bipartite, sides), held, homes_of, k, row_bytes, syncs)
    vertices, mastered, sent, received = np.sum([tally for _, tally in judged], axis=0)
    present = np.flatnonzero(held.counts)
    counts, degrees = held.counts[present], held.degrees()[present]
    loads = np.bincount(parts, minlength=k) if len(edges.src) else np.zeros(k, np.int64)
    most = int(loads.max()) if cap is None else capacity(len(edges.src), k, cap)
    return Quality(
        k=k,
        edges=len(edges.src),
        vertices=len(present),
        replication=_ratio(int(counts.sum()), len(present)),
        bound=_ratio(int((-(-degrees // max(most, 1))).sum()), len(present)),
        edge_balance=_balance(loads),
        vertex_balance=_balance(vertices),
        master_balance=_balance(mastered),
        empty_parts=int(np.count_nonzero(loads == 0)),
        volume=int(sent.sum()),
        largest_volume=int((sent + received).max()),
        types=tuple(each for each, _ in judged),
        part_edges=_ints(loads),
        part_vertices=_ints(vertices),
        part_masters=_ints(mastered),
        sent=_ints(sent),
        received=_ints(received),
        by_degree=_buckets(counts, degrees),
        histogram=tuple((int(r), int(n)) for r, n in enumerate(np.bincount(counts)) if n),
        seconds=seconds,
        peak_bytes=peak_bytes,
    )


def _ranges(
    edges: EdgeEnds, bipartite: bool, sides: Sequence[Mapping[str, int]]
) -> list[tuple[str, int, int]]:
    """Return the vertex types: name, first vertex, and the one after the last."""
    if sides:
        ends = (edges.sources, edges.vertices) if bipartite else (edges.vertices,)
        out, low = [], 0
        for side, end in zip(sides, ends, strict=True):
            for name, count in side.items():
                high = min(low + count, end)  # the last vertices may have no edge
                out.append((name, low, high))
                low = high
            low = end
        return out
    if bipartite:
        return [("source", 0, edges.sources), ("target", edges.sources, edges.vertices)]
    return [("vertex", 0, edges.vertices)]


def _judge_types(
    ranges: Sequence[tuple[str, int, int]],
    held: Replicas,
    masters: np.ndarray | None,
    k: int,
    row_bytes: RowBytes | Sequence[RowBytes],
    syncs: float | Sequence[float],
) -> list[tuple[TypeQuality, np.ndarray]]:
    """Judge each vertex type; `ranges`: its name, and its range of vertices."""
    sizes = _per_type(row_bytes, len(ranges), "row_bytes")
    often = _per_type(syncs, len(ranges), "syncs")
    return [
        _judge_type(
            name,
            held.between(low, high),
            None if masters is None else masters[low:high],
            k,
            *each,
        )
        for (name, low, high), *each in zip(ranges, sizes, often, strict=True)
    ]


def _check_masters(masters: np.ndarray, n: int) -> np.ndarray:
    """Return given masters as int16. Raise ValueError unless there is a possible part for each
    vertex.
    """
    if masters.shape != (n,) or masters.dtype.kind not in "iu":
        raise ValueError(
            f"masters is an array of {masters.dtype} of shape {masters.shape}: one part for each "
            f"of {n} is needed"
        )
    if n and not 0 <= masters.min() <= masters.max() < MOST_PARTS:
        raise ValueError(
            f"masters run from {masters.min()} to {masters.max()}: they are numbers of parts, from "
            "0"
        )
    return masters.astype(np.int16)


def _per_type(value: Any, types: int, name: str) -> list[Any]:
    """Return one entry for each type. Raise ValueError for another number of entries, or one that
    is negative.
    """
    entries = list(value) if isinstance(value, Sequence) else [value] * types
    if len(entries) != types:
        raise ValueError(
            f"{name} has {len(entries)} entries: one for all, or {types}, one for each vertex "
            "type, are needed"
        )
    for entry in entries:
        if not all(x >= 0 for x in (entry if isinstance(entry, tuple) else (entry,))):
            raise ValueError(f"{name}={entry}: 0 or more is needed")
    return entries


@cached_njit
def _tally(first, part, home, held, mastered, up, down):  # type: ignore[no-untyped-def]
    """Count, per part, replicas, masters, rows that mirrors send up and rows that masters send
    down.

    Return the first vertex whose master is none of its holders, or -1.

    Returns the first vertex whose master is none of its holders, or -1.
    """
    for v in range(len(home)):
        count = first[v + 1] - first[v]
        if count == 0:
            continue
        here = False
        for j in range(first[v], first[v + 1]):
            p = part[j]
            held[p] += 1
            if p == home[v]:
                here = True
                mastered[p] += 1
                down[p] += count - 1
            else:
                up[p] += 1
        if not here:
            return v
    return -1


def _judge_type(
    name: str, mine: Replicas, masters: np.ndarray | None, k: int, size: RowBytes, syncs: float
) -> tuple[TypeQuality, np.ndarray]:
    """Judge one type; return that with its (vertices, masters, bytes sent, bytes received) of each
    part (4, k) int64.
    """
    home = homes(mine, k) if masters is None else masters
    held, mastered, up, down = np.zeros((4, k), np.int64)
    false = _tally(mine.first, mine.part, home, held, mastered, up, down)
    if false >= 0:
        raise ValueError(
            f"{name} {false} has its master in part {home[false]}, which has no edge of it"
        )
    bytes_up, bytes_down = size if isinstance(size, tuple) else (size, size)
    sent = np.rint((up * bytes_up + down * bytes_down) * syncs).astype(np.int64)
    received = np.rint((down * bytes_up + up * bytes_down) * syncs).astype(np.int64)
    counts = mine.counts
    vertices, total = int(np.count_nonzero(counts)), int(mine.first[-1])
    judged = TypeQuality(
        name=name,
        vertices=vertices,
        replicas=total,
        replication=_ratio(total, vertices),
        cut=int(np.count_nonzero(counts > 1)),
        vertex_balance=_balance(held),
        master_balance=_balance(mastered),
        row_bytes=(bytes_up, bytes_down),
        syncs=syncs,
        volume=int(sent.sum()),
        sent=_ints(sent),
        received=_ints(received),
    )
    return judged, np.stack([held, mastered, sent, received])


def _buckets(counts: np.ndarray, degrees: np.ndarray) -> tuple[Bucket, ...]:
    """Return the replication by powers of two of the degree."""
    if not len(degrees):
        return ()
    level = np.frexp(degrees.astype(np.float64))[1] - 1  # floor of the logarithm
    vertices, copies = np.bincount(level), np.bincount(level, weights=counts)
    return tuple(
        Bucket(1 << at, int(n), float(copies[at] / n)) for at, n in enumerate(vertices) if n
    )


def _ratio(total: int, count: int) -> float:
    return total / count if count else 1.0


def _balance(loads: np.ndarray) -> float:
    """Return the largest over the mean; 1 where all are 0."""
    return float(loads.max() * len(loads) / loads.sum()) if loads.any() else 1.0


def _ints(array: np.ndarray) -> tuple[int, ...]:
    return tuple(array.tolist())
