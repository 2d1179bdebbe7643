"""Figure 15 of TUX2: the balance of threads on skewed degrees, with and without a cut of the edges
of a vertex between them; and that of workers.

The lists of pieces of work that the engine makes are dealt to more threads than the machine has: a
piece takes as long as it has edges, threads take the pieces in the order of the list, and one waits
for those before it that change the same rows, as in a run.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from bench.tux2_data import write
from tux import Apply, Edge, Exchange, Program, Vertex, data, delta, value
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.partition import PARTITIONERS, quality
from tux.rows.turns import FIRST, HI, LO, PART, PART_END, SECOND

THREADS = (2, 4, 8, 16)
SKEW = 1.2  # exponent of the items' popularity by rank: the first has a fifth of the edges
CUTS = {"workers, items whole": "target", "workers, items cut": "bicut"}


def gather(item, edges):  # type: ignore[no-untyped-def]
    """Add up over the edges of an item."""
    total = 0.0
    for edge in edges:
        total += edge.value * edge.user.x
    item.total += total


def gather_edge(user, item, rating):  # type: ignore[no-untyped-def]
    """Add up over an edge."""
    item.total += rating.value * user.x


def scatter(item, edges):  # type: ignore[no-untyped-def]
    """Pass on to the other ends of the edges of an item."""
    for edge in edges:
        edge.user.total += edge.value * item.x


def scatter_edge(user, item, rating):  # type: ignore[no-untyped-def]
    """Pass on along an edge."""
    user.total += rating.value * item.x


def keep(v):  # type: ignore[no-untyped-def]
    """Keep the sum."""
    v.kept = v.total


WAYS: dict[str, tuple[Any, int]] = {
    "to the item, item by item": (gather, 0),
    "to the item, edge by edge": (gather_edge, 0),
    "from the item, item by item": (scatter, 0),
    "the same, shares=8": (scatter, 8),
    "from the item, edge by edge": (scatter_edge, 0),
}
"""The function of each, and into how many shares the edges of an item may be cut."""


class SkewedSums(Program):
    """Sums along edges in one of the `WAYS`."""

    way = ""
    user = item = Vertex(x=value("f8", init=1), total=delta("f8"), kept=value("f8"))
    rating = Edge("user", "item", value=data("f4"))

    def stages(self) -> list[Any]:
        """Return one Exchange, and what keeps its sums."""
        udf, shares = WAYS[self.way]
        exchange = Exchange(udf, over="item", additive=True, shares=shares)
        return [exchange, Apply("user", keep), Apply("item", keep)]


def skewed_edges(size: int) -> EdgeData:
    """Draw edges from even users to items whose popularity falls with their rank."""
    rng, items = np.random.default_rng(0), max(size // 400, 20)
    chance = np.arange(1, items + 1) ** -SKEW
    drawn = rng.choice(items, size, p=chance / chance.sum()), rng.permutation(size) % (size // 10)
    numbers = rng.integers(1, 6, size).astype("f4")
    return from_arrays(drawn[1], drawn[0], ends=("user", "item"), value=numbers)


def edges_of_pieces(step: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the pieces (n, WIDTH) of an Exchange, the edges (n,) of each, and the boundaries of
    the runs of pieces that a thread takes at once.
    """
    found, layout = step.items(), step.walk.layout
    pieces = found.array
    if found.of_edges:
        return pieces, pieces[:, HI] - pieces[:, LO], found.runs
    across, bounds = max(layout.across, 1), np.asarray(layout.bounds)
    if across == 1:
        return pieces, bounds[pieces[:, HI]] - bounds[pieces[:, LO]], found.runs
    counts = np.diff(bounds[: across * (len(bounds) // across) + 1]).reshape(-1, across)
    sums = [counts[i[LO] : i[HI], i[PART] : i[PART_END]].sum() for i in pieces]
    return pieces, np.array(sums), found.runs


def time_of(pieces: np.ndarray, edges: np.ndarray, runs: np.ndarray, threads: int) -> float:
    """Return how long the pieces take on so many threads, in edges that one thread visits."""
    free, over = np.zeros(threads), dict[int, float]()
    for first, last in zip(runs[:-1], runs[1:], strict=True):
        thread = int(free.argmin())
        for at in range(first, last):
            tickets = [int(ticket) for ticket in pieces[at, [FIRST, SECOND]] if ticket]
            begun = max(free[thread], *(over.get(ticket, 0.0) for ticket in tickets), 0.0)
            free[thread] = begun + edges[at]
            over |= dict.fromkeys(tickets, free[thread])
    return float(free.max())


def seconds_of(worker: Worker, repeats: int) -> float:
    """Return the least seconds of the Exchange, after a run that is not counted."""
    step, seconds = worker.prepare(worker.program.stages())[0], []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        step.run()
        seconds.append(time.perf_counter() - begun)
    return min(seconds[1:])


def line_of(way: str, edges: EdgeData, given: argparse.Namespace) -> tuple[str, float]:
    """Return the line of a way, and the sum of what all vertices have got."""
    program = type("Sums", (SkewedSums,), {"way": way})()
    exchange = program.stages()[0]
    form = exchange.plan(program, "item").form
    graph = LocalGraph.whole(program, edges, None, 0)
    workers = [Worker(program, graph, threads=threads) for threads in (1, 2)]
    workers[0].run(workers[0].prepare(program.stages()))
    sums = [workers[0].tables[name].arrays["kept"].sum() for name in ("user", "item")]
    pieces, sizes, runs = edges_of_pieces(workers[0].prepare([exchange])[0])
    line = f"{way:<28} {form:<10} {len(pieces):>6} {sizes.max() / sizes.sum():>8.3f}"
    for threads in THREADS:
        least = time_of(pieces, sizes, runs, 1 if form == "one thread" else threads)
        line += f" {least * threads / sizes.sum():>6.2f}"
    one, two = (seconds_of(worker, given.repeats) for worker in workers)
    line += f" {1e3 * one:>8.2f} {1e3 * two:>8.2f} {one / two:>6.2f}\n"
    return line, float(sum(sums))


def thread_balance(given: argparse.Namespace) -> list[Any]:
    """Print the table."""
    edges = skewed_edges(given.edges)
    hub = np.bincount(edges.dst).max() / len(edges)
    write(f"{len(edges):,} edges, {len(edges.ids['item']):,} items, of which one has {hub:.0%} of ")
    write("the edges; busiest of 2, 4, 8, 16: its work by the mean\n")
    write(f"{'sums':<28} {'plan':<10} {'pieces':>6} {'largest':>8}")
    write("".join(f" {threads:>6}" for threads in THREADS))
    write(f" {'1, ms':>8} {'2, ms':>8} {'ratio':>6}\n")
    found = set()
    for way in WAYS:
        line, got = line_of(way, edges, given)
        found.add(round(got))
        write(line)
    if len(found) > 1:
        raise SystemExit(f"the sums differ: {found}")
    for name, cut in CUTS.items():
        write(f"{name:<28} {cut:<10} {'-':>6} {'-':>8}")
        for k in THREADS:
            parts = PARTITIONERS[cut](edges.src, edges.dst, k, 0, bipartite=True)
            found_there = quality(edges.src, edges.dst, parts, k, bipartite=True)
            write(f" {found_there.edge_balance:>6.2f}")
        write(f" {'-':>8} {'-':>8} {'-':>6}\n")
    return []
