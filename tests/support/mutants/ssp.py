"""The promises of Stale Synchronous Parallel for reads: seven assertions, on what each worker has
read and what clocks have done.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Book(NamedTuple):
    """Cumulative counts and sums (T + 1, rows, W): entry t is what clocks before t have made of
    a row, or have sent away.
    """

    count: np.ndarray
    sum: np.ndarray


def check(reads, changed, sent, *, me, home, own):
    """Check the seven assertions on one worker's reads, in their order, of one pair of slots.
    Return the largest staleness at a clock's start. `changed`, `sent`: books of the worker's rows;
    `home` (rows,): their masters' workers.
    """
    # (reads, rows, W)
    count, total = np.stack([read.count for read in reads]), np.stack([read.sum for read in reads])
    t, least, most = (np.array([getattr(read, f) for read in reads]) for f in ("t", "least", "own"))
    others = np.arange(count.shape[2]) != me if own else np.ones(count.shape[2], bool)
    assert (count >= sent.count[least])[..., others].all(), "1: a clock that must be in is missing"
    if own:
        mine = (count == changed.count[most]) & (total == changed.sum[most])
        assert mine[..., me].all(), "2: own changes do not all show"
    assert (count <= sent.count[most])[..., others].all(), "4: something comes from the future"
    # clocks after `least` that show, of all others alike
    prefix = np.full((len(reads), len(home)), -1)
    for ahead in range(int((most - least).max()) + 1):
        at = np.minimum(least + ahead, most)
        fits = ((count == sent.count[at]) & (total == sent.sum[at]))[..., others].all(axis=2)
        # an answer brings all rows of a master's worker to one clock
        for worker in np.unique(home):
            prefix[np.ix_(fits[:, home == worker].all(axis=1), home == worker)] = ahead
    assert (prefix >= 0).all(), (
        "3: sums do not fit counts, or workers or rows of one master show different clocks"
    )
    assert (np.diff(count, axis=0) >= 0).all(), "5: time goes backwards"
    for i, read in enumerate(reads):
        if read.place.startswith("end"):
            same = (count[i] == count[i - 1]) & (total[i] == total[i - 1])
            assert same[:, others].all(), "6: rows change within a mini-batch"
    assert reads[-1].place == "over" and least[-1] == most[-1] == len(sent.count) - 1, (
        "7: not everything is in at the end"
    )
    starts = np.array([read.place == "start" for read in reads])
    return int(
        (t[:, None] - np.minimum(least[:, None] + prefix, most[:, None]))[starts].max(initial=0)
    )
