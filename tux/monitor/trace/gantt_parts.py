"""The states of a worker over time, by one sample of its timeline.

A sample (`tux.engine.timeline`) has the last spans of each thread, and the seconds of each kind in
all. Spans give intervals with one state. Of the time before the first span that a sample has kept,
only the seconds by state are known: it is one interval with several states, in no known order.

A worker is in one state at a time. It serves where its main thread has nothing else to do: what
its thread of sockets serves while the main thread computes is no part of a state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.engine.spans import SPANS
from tux.engine.timeline import KINDS, Sample

STATES = (*KINDS, "other")
"""The states of a worker: a kind of span, or "other" for work without a span, such as Python code
between stages and the copying of checkpoints.
"""

SMALL = 2e-6
"""Seconds that rounding may leave."""

OWN = ("compute", "apply", "send")
"""Kinds of span that no other thread takes part in."""

WAIT, SERVE, OTHER = STATES.index("wait"), STATES.index("serve"), STATES.index("other")


class Parts(NamedTuple):
    """Parts of the time of workers, sorted by worker and time. Parts with the same worker and start
    are one interval, which has several states in an unknown order.
    """

    worker: np.ndarray  # (n,) int64
    start: np.ndarray  # (n,) float64, of the interval: seconds since training began
    stop: np.ndarray  # (n,) float64
    state: np.ndarray  # (n,) int8: an index of STATES
    seconds: np.ndarray  # (n,) float64, of this state in the interval

    def begins(self) -> np.ndarray:
        """Return the number of the first part of each interval, (m,)."""
        new = np.ones(len(self.worker), bool)
        new[1:] = (np.diff(self.worker) != 0) | (np.diff(self.start) != 0)
        return np.flatnonzero(new)

    def between(self, low: float, high: float) -> Parts:
        """Cut the parts to the time from `low` to `high`. Each part of an interval that goes beyond
        it keeps its share of the interval.
        """
        start, stop = np.clip(self.start, low, high), np.clip(self.stop, low, high)
        seconds = self.seconds * (stop - start) / (self.stop - self.start)
        keep = stop > start
        return Parts(*(a[keep] for a in (self.worker, start, stop, self.state, seconds)))


def parts_of(worker: int, sample: Sample, start: float) -> Parts:
    """Return the parts of the time from `start` to the end of a sample, in seconds since 1970."""
    main, serving = _spans(sample, start)
    known = _known_from(sample, main, serving, start)
    edges, state = _paint_spans(np.concatenate([serving, main]), known, sample.at)
    head = _sum_states(sample, main, serving, start, known) if known > start else np.zeros(0)
    states = np.flatnonzero(head)
    begin = np.append(np.full(len(states), start), edges[:-1])
    end = np.append(np.full(len(states), known), edges[1:])
    return Parts(
        np.full(len(begin), worker, np.int64),
        begin,
        end,
        np.append(states, state).astype(np.int8),
        np.append(head[states], np.diff(edges)),
    )


def _spans(sample: Sample, start: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the spans of the main thread, and those in which any thread served: (n, 3) kind, begin
    and end.
    """

    def of(lane: str) -> np.ndarray:
        given = sample.lanes.get(lane, [])
        rows = np.array(given[: len(given) // 4 * 4], np.float64).reshape(-1, 4)
        begin = sample.at - rows[:, 1] / 1e6
        times = np.clip(np.column_stack([begin, begin + rows[:, 2] / 1e6]), start, sample.at)
        found = np.column_stack([rows[:, 0], times])
        return found[(rows[:, 0] >= 0) & (rows[:, 0] < len(KINDS)) & (rows[:, 2] >= 0)]

    main, sockets = of("main"), of("sockets")
    serves = main[:, 0] == SERVE
    serving = np.concatenate([main[serves], sockets[sockets[:, 0] == SERVE]])
    return main[~serves], serving[np.argsort(serving[:, 1], kind="stable")]


def _known_from(sample: Sample, main: np.ndarray, serving: np.ndarray, start: float) -> float:
    """Return the time from which on all spans of a sample are there: the rings that hold them may
    have lost the first ones.
    """
    rounding = 2e-6 * (len(main) + 1)
    lost = len(main) >= SPANS or any(
        sample.spent.get(kind, 0.0) - _total(main, STATES.index(kind)) > rounding for kind in OWN
    )
    if not len(main) and (lost or (not sample.lanes and any(sample.spent.values()))):
        return sample.at
    known = start
    for ring, is_full in ((main, lost), (serving, len(serving) >= SPANS)):
        if is_full:
            known = max(known, float(ring[:, 1].min()))
    return known


def _total(spans: np.ndarray, kind: int) -> float:
    of = spans[spans[:, 0] == kind]
    return float((of[:, 2] - of[:, 1]).sum())


def _paint_spans(spans: np.ndarray, start: float, stop: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times (n + 1,) between `start` and `stop`, and the state from each to the next, (n,).
    Where spans overlap, waiting is hidden by all others, and serving by all but waiting.
    """
    spans = spans[spans[:, 2] > start]
    kind, begin, end = spans[:, 0].astype(int), np.maximum(spans[:, 1], start), spans[:, 2]
    layer = np.select([kind == WAIT, kind == SERVE], [0, 1], 2)
    edges = np.unique(np.concatenate([[start, stop], begin, end]))
    state = np.full(len(edges) - 1, OTHER)
    first, last = np.searchsorted(edges, begin), np.searchsorted(edges, end)
    for each in np.lexsort((begin, layer)):
        state[first[each] : last[each]] = kind[each]
    new = np.append(True, np.diff(state) != 0) if len(state) else np.zeros(0, bool)
    return np.append(edges[:-1][new], edges[-1]), state[new]


def _sum_states(
    sample: Sample, main: np.ndarray, serving: np.ndarray, start: float, known: float
) -> np.ndarray:
    """Return seconds by state, (states,), of the time from `start` to `known`: the totals of the
    sample without its spans. Serving gets at most the time that the main thread's own states leave.
    """
    later = np.concatenate([main, serving])
    later = later[later[:, 2] > known]
    later[:, 1] = np.maximum(later[:, 1], known)
    edges, state = _paint_spans(later, known, sample.at)
    waited = float(np.diff(edges)[state == WAIT].sum())
    seconds = np.zeros(len(STATES))
    for at, kind in enumerate(KINDS):
        shown = waited if at == WAIT else _total(later, at)
        seconds[at] = max(sample.spent.get(kind, 0.0) - shown, 0.0)
    served, seconds[SERVE] = seconds[SERVE], 0.0
    length = known - start
    seconds *= min(length / max(seconds.sum(), 1e-300), 1.0)
    seconds[SERVE] = min(served, max(length - seconds.sum(), 0.0))
    seconds[seconds < SMALL] = 0.0
    seconds[OTHER] = max(length - seconds.sum(), 0.0)
    if seconds[OTHER] < SMALL < length:
        seconds[OTHER] = 0.0
    return seconds * (length / seconds.sum())
