"""Cuts of one graph by methods of tux and by KaMinPar, each measured in a process of its own."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from bench.undirected import place_by_vertices
from tux.base.parallel import use_threads
from tux.compare.peak import Peak
from tux.partition import PARTITIONERS, quality
from tux.partition.common.ends import EdgeEnds, ends

PEERS = {
    "kaminpar": ("default", "edges"),
    "kaminpar-degree": ("default", "degree"),
    "kaminpar-unit": ("default", "unit"),
    "kaminpar-strong": ("strong", "edges"),
    "kaminpar-terapart": ("terapart", "edges"),
}
"""The preset, and what vertices weigh, by the names of the table."""

SMALL = 1000
"""Edges on which a method is run first."""

ENOUGH = 1.0
"""Seconds after which a method is not run again."""


class CutJob(NamedTuple):
    """A method and what it cuts, with KaMinPar's files of the graph and of its first edges."""

    method: str
    edges: EdgeEnds
    k: int
    cap: float
    threads: Sequence[int]
    runs: int
    files: tuple[str, str] = ("", "")

    def small(self) -> CutJob:
        """Return the job of cutting a few edges."""
        return self._replace(edges=first_edges(self.edges), k=2, files=(self.files[1], ""))


class CutCosts(NamedTuple):
    """The figures of a job: `capped` is the replication with the cap, `seconds` are those of the
    numbers of threads, `reading` is of KaMinPar's graph, `memory` is in bytes.
    """

    replication: float
    balance: float
    capped: float
    seconds: tuple[float, ...]
    reading: float
    memory: int


def first_edges(edges: EdgeEnds) -> EdgeEnds:
    """Return the edges on which a method is run first."""
    return ends(edges.src[:SMALL], edges.dst[:SMALL])


class TuxCut:
    """A cut by a method of tux."""

    def __init__(self, job: CutJob) -> None:
        self._job = job

    def read(self) -> None:
        """Read nothing."""

    def place_edges(self, threads: int) -> np.ndarray:
        """Return the part of each edge."""
        use_threads(threads)
        job = self._job
        return PARTITIONERS[job.method](job.edges.src, job.edges.dst, job.k, cap=job.cap)

    def limit_parts(self, parts: np.ndarray) -> np.ndarray:
        """Return the parts as they are, as they keep to the cap."""
        return parts


class KaMinParCut:
    """A cut by the parts of vertices that KaMinPar makes."""

    def __init__(self, job: CutJob) -> None:
        import kaminpar

        self._peer, self._job, self._preset = kaminpar, job, PEERS[job.method][0]
        self._graph: Any = None
        self._home = np.empty(0, np.int64)

    def read(self) -> None:
        """Read the graph, compressed where the preset is for compressed graphs."""
        compress = self._preset == "terapart"
        form = self._peer.GraphFileFormat.PARHIP
        self._graph = self._peer.load_graph(self._job.files[0], form, compress)

    def place_edges(self, threads: int) -> np.ndarray:
        """Return the part of each edge."""
        job = self._job
        self._peer.reseed(0)
        instance = self._peer.KaMinPar(threads, self._peer.context_by_name(self._preset))
        self._home = np.array(instance.compute_partition(self._graph, job.k, job.cap - 1))
        return place_by_vertices(job.edges, self._home, job.k)

    def limit_parts(self, parts: np.ndarray) -> np.ndarray:
        """Return the parts of the same partition of vertices with the cap."""
        return place_by_vertices(self._job.edges, self._home, self._job.k, self._job.cap)


def start_cut(job: CutJob) -> TuxCut | KaMinParCut:
    """Return the cut of a job."""
    return KaMinParCut(job) if job.method in PEERS else TuxCut(job)


def time_call(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    start = time.perf_counter()
    result = work(*given)
    return time.perf_counter() - start, result


def time_cuts(own: TuxCut | KaMinParCut, job: CutJob, first: float) -> Iterator[float]:
    """Yield the median seconds of each number of threads; the first run took `first`."""
    for threads in job.threads:
        took = [first] if threads == job.threads[0] else []
        while not took or (len(took) < job.runs and sum(took) < ENOUGH):
            took.append(time_call(own.place_edges, threads)[0])
        yield statistics.median(took)


def measure(job: CutJob) -> CutCosts:
    """Do a job in this process, which has done nothing else."""
    warm = start_cut(job.small())
    warm.read()
    warm.limit_parts(warm.place_edges(job.threads[0]))
    own = start_cut(job)
    with Peak() as peak:
        reading, _ = time_call(own.read)
        first, parts = time_call(own.place_edges, job.threads[0])
    limited = own.limit_parts(parts)
    found = quality(job.edges.src, job.edges.dst, parts, job.k)
    capped = found
    if limited is not parts:
        capped = quality(job.edges.src, job.edges.dst, limited, job.k)
    return CutCosts(
        found.replication,
        found.edge_balance,
        capped.replication,
        tuple(time_cuts(own, job, first)),
        reading,
        peak.bytes,
    )


def measure_apart(job: CutJob) -> CutCosts | None:
    """Do a job in a process of its own; None if it dies."""
    context = get_context("forkserver")  # forks of a process that has done nothing but import
    context.set_forkserver_preload([__name__])
    with ProcessPoolExecutor(1, mp_context=context) as apart:
        try:
            return apart.submit(measure, job).result()
        except BrokenProcessPool:
            return None
