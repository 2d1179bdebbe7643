"""Rows that workers do not keep: brought in as generated edges touch them, and their changes sent
back (TUX2, section 4; DESIGN, 5).

    pull    worker to home: the numbers of the masters that a step touches, and the step whose rows
            they must be no older than
    pulled  home to worker: the masters' values, and how many steps are in them
    push    worker to home: the changes, in the order of the pull; a worker that has touched nothing
            says so

Steps are numbered from 0 on, the same on all workers. A home folds the changes of a step when all
workers have sent them, in worker order, steps in order; it answers a pull when enough are folded.
So a worker at step t and slack s sees all of steps up to t - s - 1 of everyone, and whole steps
only. Its own later changes it adds itself: `Kept`. State machines without sockets, threads or time.

Changes that workers make at the same time from the same rows add up. Where each goes as far as it
would alone, many together go too far: skip-gram diverges with four workers. Of fields combined by
"mean" a home takes a `share`, and a program may make its changes so much larger; what they agree in
then grows by the root of the number of workers. A worker adds its own later changes whole, which
stands for what others do meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from tux.base.errors import Refused
from tux.partition.compiled import compiled
from tux.protocol.replicas import flat
from tux.rows.table import aligned

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Answer:
    """The values of one pull: `arrays` (r, width) by field, in the order asked; `folded` steps
    are in them.
    """

    worker: int
    step: int
    clock: int
    folded: int
    arrays: Arrays


class Home:
    """The masters' side, of one type: `fields` (masters, ...) are the arrays that travel."""

    def __init__(self, fields: Arrays, workers: int) -> None:
        self.fields, self.workers, self.folded = [flat(array) for array in fields], workers, 0
        # by step and worker: the numbers of the masters
        self._asked: dict[tuple[int, int], np.ndarray] = {}
        # pulls without an answer: how many steps must be folded, and their clock
        self._open: dict[tuple[int, int], tuple[int, int]] = {}
        self._heard: dict[int, dict[int, Arrays]] = defaultdict(dict)

    def pull(
        self, worker: int, step: int, needs: int, rows: np.ndarray, clock: int = 0
    ) -> list[Answer]:
        """Worker `worker` wants `rows` for a step, with at least `needs` steps folded; returns
        what can be answered now.
        """
        if (step, worker) in self._asked or step < self.folded:
            raise Refused(f"worker {worker} pulled twice for step {step}")
        if len(rows) and not 0 <= int(rows.min()) <= int(rows.max()) < len(self.fields[0]):
            raise Refused(f"worker {worker} pulled a row that is not here")
        self._asked[step, worker], self._open[step, worker] = rows, (needs, clock)
        return self._answers()

    def push(self, worker: int, step: int, changes: Arrays) -> list[Answer]:
        """The changes (r, width) of a step by field; returns what can be answered now."""
        rows = self._asked.get((step, worker))
        if (
            rows is None
            or worker in self._heard[step]
            or any(len(change) != len(rows) for change in changes)
        ):
            raise Refused(f"worker {worker} pushed for step {step} what it had not pulled")
        self._heard[step][worker] = changes
        while len(self._heard.get(self.folded, ())) == self.workers:
            heard = self._heard.pop(self.folded)
            for other in range(self.workers):
                rows = self._asked.pop((self.folded, other))
                for own, change in zip(self.fields, heard[other], strict=True):
                    _add(own, rows, change)
            self.folded += 1
        return self._answers()

    def _answers(self) -> list[Answer]:
        ready = sorted(key for key, (needs, _) in self._open.items() if needs <= self.folded)
        out = []
        for step, worker in ready:
            _, clock = self._open.pop((step, worker))
            rows = self._asked[step, worker]
            out.append(
                Answer(worker, step, clock, self.folded, [_taken(own, rows) for own in self.fields])
            )
        return out


class Kept:
    """The worker's side: its own changes that may not be in what it is told, to be added to it."""

    def __init__(self) -> None:
        # step: by home, ids and changes
        self._steps: dict[int, tuple[list[np.ndarray], list[Arrays]]] = {}

    def keep(self, step: int, ids: list[np.ndarray], changes: list[Arrays]) -> None:
        """The changes (r, width) by field that were pushed to each home, with the positions (r,)
        of their vertices.
        """
        self._steps[step] = ids, changes

    def add(self, step: int, folded: list[int], place: np.ndarray, fields: Arrays) -> None:
        """Add what the homes, with so many steps folded, had not heard of before `step` to `fields`
        (rows, width).

        `place` (n,): the row of each position, -1 where it is none. What all homes have folded is
        forgotten.
        """
        for number in [number for number in self._steps if number < min(folded)]:
            del self._steps[number]
        for number, (ids, changes) in sorted(self._steps.items()):
            for home, known in enumerate(folded):
                if known <= number < step:
                    for own, change in zip(fields, changes[home], strict=True):
                        _add_known(own, place, ids[home], change)


def share(workers: int) -> float:
    """The part of a change to a field combined by "mean" that its master takes: 1 /
    sqrt(workers), between a sum's and a true mean's.
    """
    return float(workers**-0.5)


def joined(pieces: Arrays) -> np.ndarray:
    """Arrays one after the other, at an address that suits vector loads."""
    out = aligned((sum(len(piece) for piece in pieces), *pieces[0].shape[1:]), pieces[0].dtype)
    return np.concatenate(pieces, out=out)


def listed(lists: np.ndarray) -> np.ndarray:
    """How many entries of each list (n, width) stand before its first -1, (n,) int32."""
    ended = lists < 0
    return (
        np.where(ended.any(axis=1), ended.argmax(axis=1), lists.shape[1]).astype(np.int32)
        if lists.shape[1]
        else np.zeros(len(lists), np.int32)
    )


@compiled
def _add(own, rows, changes):  # type: ignore[no-untyped-def]
    """own[rows] += changes; a row may come once."""
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            own[rows[j], k] += changes[j, k]


@compiled
def _taken(own, rows):  # type: ignore[no-untyped-def]
    """own[rows]."""
    out = np.empty((len(rows), own.shape[1]), own.dtype)
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            out[j, k] = own[rows[j], k]
    return out


@compiled
def _add_known(own, place, ids, changes):  # type: ignore[no-untyped-def]
    """own[place[ids]] += changes where there is a place."""
    for j in range(len(ids)):
        row = place[ids[j]]
        if row >= 0:
            for k in range(own.shape[1]):
                own[row, k] += changes[j, k]


@compiled
def touched(lists, place, home, workers):  # type: ignore[no-untyped-def]
    """The positions that occur in `lists` (m,), -1 being none, each once and grouped by home, and
    how many each home has (workers,).

    `place` (n,) int32, all -1, is left with each position's row in that order.
    """
    counts = np.zeros(workers, np.int64)
    found = np.empty(len(lists), np.int32)
    total = 0
    for i in range(len(lists)):
        v = lists[i]
        if v >= 0 and place[v] < 0:
            place[v] = 0
            found[total] = v
            total += 1
            counts[home[v]] += 1
    after = np.zeros(workers, np.int64)
    for h in range(1, workers):
        after[h] = after[h - 1] + counts[h - 1]
    out = np.empty(total, np.int32)
    for i in range(total):
        v = found[i]
        place[v] = after[home[v]]
        out[after[home[v]]] = v
        after[home[v]] += 1
    return out, counts


@compiled
def placed(lists, place):  # type: ignore[no-untyped-def]
    """Rows of positions (m,), -1 where there is none."""
    out = np.empty(len(lists), np.int32)
    for i in range(len(lists)):
        out[i] = place[lists[i]] if lists[i] >= 0 else -1
    return out
