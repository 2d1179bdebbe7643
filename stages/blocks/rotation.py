"""Rotation: which block each worker works on at each clock, so that no two change one vertex.

Changes in place are steps from the value that a worker sees. If several workers step from one value
and their changes are added, the sum is a step that is as many times too long: SGD overshoots and
diverges. Changes may be added where each worker starts from what the one before it has made, as in
DSGD (Gemulla et al., KDD 2011).

A worker that starts clock t has seen all that was done up to clock t - slack - 1, so two workers
must be slack + 1 clocks apart, or more, when they work on one block. All workers go through the
blocks in one order, and worker w of W starts w/W of the way round. With (slack + 1) W blocks, some
of which may be empty, that is far enough.

Where the other end is cut too, its vertices are dealt to shares, at least as many as there are
workers, and an epoch has a round for each share. In a round each worker has a share of its own.
Slack empty blocks lie between two rounds, so that the worker that gets the share next has seen all
that was done to it.

Where both ends of an edge have one type, only the enumerated end rotates: a vertex may be changed
by several workers at once as the other end of edges.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def least_blocks(workers: int, slack: int) -> int:
    """Return the fewest blocks, empty ones included, with which workers are far enough apart."""
    return (slack + 1) * workers


def with_empty(cuts: np.ndarray, least: int) -> np.ndarray:
    """Return the boundaries `cuts` (blocks + 1,) with those of empty blocks added, to make `least`
    blocks.
    """
    return np.append(cuts, np.full(max(0, least - (len(cuts) - 1)), cuts[-1]))


def start(order: np.ndarray, rank: int, workers: int) -> np.ndarray:
    """Return the `order` of blocks (blocks,) in which worker `rank` goes through them."""
    return np.roll(order, -(len(order) * rank // workers))


def both_ends(
    order: np.ndarray, rounds: int, rank: int, workers: int, slack: int
) -> Iterator[tuple[int, int]]:
    """Yield (share, block) at each clock of worker `rank`, which goes through its `order` in each
    round.

    `rounds` is also the number of shares, `workers` or more. The block with the last number is
    empty.
    """
    for r in range(rounds):
        share = (r + rounds * rank // workers) % rounds
        yield from ((share, int(block)) for block in order)
        if r < rounds - 1:
            yield from [(share, len(order) - 1)] * slack
