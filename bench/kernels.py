"""The Exchange kernel of MF beside the same rule written by hand as a numba loop over 2-D arrays,
in one run and one order of ratings.

usage: python -m bench.kernels [--ratings N]      prints M ratings/s, median of 7, for ranks 32, 64,
                                                  128, and the ratio
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from tux.apps.mf.mf import MF
from tux.apps.mf.sgd import sgd
from tux.arrays.networks import from_arrays
from tux.base.random import key
from tux.engine.worker import Worker
from tux.graph.layout import tile_order
from tux.graph.local import LocalGraph
from tux.program.program import stages_of
from tux.program.stage import Cluster
from tux.rows.table import allocate_aligned
from tux.stages import Exchange
from tux.stages.kernel.compile import OPTIONS
from tux.synthetic.ratings import ratings

F4 = np.float32


@njit(**OPTIONS)
def by_hand(
    tiles, bounds, users, items, values, P, Q, GP, GQ, NP, NQ, tau, root, step, reg, warm_dims
):  # type: ignore[no-untyped-def]
    """Run one epoch after the first of `tux.apps.mf.sgd`, with every row spelled as an index."""
    rank = P.shape[1]
    unit_warm = step * F4(root) * np.sqrt(F4(min(rank, warm_dims)))
    unit_rest = step * F4(root) * np.sqrt(F4(max(rank - warm_dims, 1)))
    for g in range(len(tiles)):
        for e in range(bounds[tiles[g]], bounds[tiles[g] + 1]):
            u, i = users[e], items[e]
            dot = warm = F4(0)
            for k in range(rank):
                dot += P[u, k] * Q[i, k]
            for k in range(min(rank, warm_dims)):
                warm += P[u, k] * Q[i, k]
            err = values[e] - dot
            rest = dot - warm
            u0, u1, i0, i1 = NP[u, 0], NP[u, 1], NQ[i, 0], NQ[i, 1]
            tau[0], tau[1], tau[2] = tau[0] + 1, tau[1] + err * err, tau[2] + (u0 + u1 + i0 + i1)
            fu0, fu1 = unit_warm / np.sqrt(GP[u, 0]), unit_rest / np.sqrt(GP[u, 1])
            fi0, fi1 = unit_warm / np.sqrt(GQ[i, 0]), unit_rest / np.sqrt(GQ[i, 1])
            su0, su1, si0, si1 = (
                reg * u0 - err * warm,
                reg * u1 - err * rest,
                reg * i0 - err * warm,
                reg * i1 - err * rest,
            )
            qu0 = reg * su0 + err * (err * i0 - reg * warm)
            qu1 = reg * su1 + err * (err * i1 - reg * rest)
            qi0 = reg * si0 + err * (err * u0 - reg * warm)
            qi1 = reg * si1 + err * (err * u1 - reg * rest)
            GP[u, 0] += qu0
            GP[u, 1] += qu1
            GQ[i, 0] += qi0
            GQ[i, 1] += qi1
            NP[u, 0] = u0 - fu0 * (su0 + su0 - fu0 * qu0)
            NP[u, 1] = u1 - fu1 * (su1 + su1 - fu1 * qu1)
            NQ[i, 0] = i0 - fi0 * (si0 + si0 - fi0 * qi0)
            NQ[i, 1] = i1 - fi1 * (si1 + si1 - fi1 * qi1)
            for k in range(rank):
                x, y = P[u, k], Q[i, k]
                P[u, k] = x - (fu0 if k < warm_dims else fu1) * (reg * x - err * y)
                Q[i, k] = y - (fi0 if k < warm_dims else fi1) * (reg * y - err * x)


def median_seconds(runs: int, *bodies: Callable[[], Any]) -> list[float]:
    """Return the median time of each body over `runs` rounds in which all take their turn, after
    one round that is not counted.
    """
    times: list[list[float]] = [[] for _ in bodies]
    for round_ in range(runs + 1):
        for body, found in zip(bodies, times, strict=True):
            start = time.perf_counter()
            body()
            if round_:
                found.append(time.perf_counter() - start)
    return [statistics.median(found) for found in times]


def copy_aligned(array: np.ndarray) -> np.ndarray:
    """Copy an array to where a cache line starts, as the engine's arrays do. Otherwise the numbers
    would depend on whose arrays straddle lines, more than on the loops.
    """
    copy = allocate_aligned(array.shape, array.dtype)
    copy[...] = array
    return copy


def compare(rank: int, count: int) -> tuple[float, float]:
    """Return the seconds of one pass over `count` ratings of 6,000 users and 4,000 items: by the
    engine, by hand.
    """
    data = ratings(6000, 4000, count).arrays()
    program = MF(rank=rank)
    worker = Worker(
        program,
        LocalGraph.whole(
            program,
            from_arrays(data["user"], data["item"], ends=("user", "item"), value=data["rating"]),
            None,
            0,
        ),
    )
    worker.run(worker.prepare(stages_of(program, "setup", Cluster())))
    exchange = Exchange(sgd, over="item").prepare(worker)
    layout = exchange.walk.layout
    worker.tau.epoch = 1  # the first epoch is the one that leaves most dimensions out
    edges, user, item = (
        worker.graph.edges,
        worker.tables["user"].arrays,
        worker.tables["item"].arrays,
    )
    state = [copy_aligned(table[f]) for f in ("f", "G", "norm") for table in (user, item)]
    tiles, _ = tile_order(key(0), 0, len(layout.bounds) - 1, layout.across, (0, 0))
    constants = (
        np.zeros(3),
        worker.tau.root,
        F4(program.learning_rate),
        F4(program.reg),
        program.warm,
    )
    ours, theirs = median_seconds(
        7,
        exchange.run,
        lambda: by_hand(
            tiles, layout.bounds, edges.src, edges.dst, edges.fields["value"], *state, *constants
        ),
    )
    return ours, theirs


def main() -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--ratings", type=int, default=1_000_000)
    count = arguments.parse_args().ratings
    write = sys.stdout.write
    write(
        f"MF Exchange, {count:,} ratings, 6,000 users, 4,000 items, one thread; M ratings/s, "
        "median of 7\n"
    )
    write(f"{'rank':>6} {'tux':>8} {'by hand':>8} {'ratio':>6}\n")
    for rank in (32, 64, 128):
        ours, theirs = compare(rank, count)
        write(
            f"{rank:>6} {count / ours / 1e6:>8.1f} {count / theirs / 1e6:>8.1f} "
            f"{theirs / ours:>6.2f}\n"
        )


if __name__ == "__main__":
    main()
