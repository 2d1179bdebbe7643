"""Rows that workers do not keep: pulled from their masters as generated edges touch them, and
their changes pushed back (TUX2, section 4). This is the masters' side, and what a
worker remembers; what a worker sends is in `tux.stages.pull.pull_rows`.

    PULL_REQUEST  worker to server: the numbers of the masters that a step touches, and how many
                  steps must be folded into their values
    PULL_ANSWER   server to worker: the masters' values, and how many steps are in them
    PUSH          worker to server: the changes, in the order of the request; a worker that has
                  touched nothing says so

Steps are numbered from 0 on, the same on all workers. A server folds the changes of a step when all
workers have sent them, in worker order, steps in order; it answers a request when enough steps are
folded. So a worker at step t and slack s sees all of steps up to t - s - 1 of everyone, and whole
steps only. Its own later changes it adds itself: `UnackedChanges`. State machines without sockets,
threads or time.

Changes that workers make at the same time from the same rows add up. Where each goes as far as it
would alone, many go too far: skip-gram diverges with four workers. Of fields combined by
"sqrt_mean" a master takes a `share`, and a program may make its changes so much larger; the part in
which workers agree then grows by the root of their number. A worker adds its own later changes
whole, which stands for what others do meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.messages.encoding import Arrays
from tux.messages.payloads import PullAnswer, PullRequest, Push
from tux.rows.table import allocate_aligned
from tux.sync.fields import flatten_rows
from tux.sync.pulled_rows import add_to_rows


class Reply(NamedTuple):
    """An answer, the worker that it is for, and the clock of its request."""

    worker: int
    clock: int
    answer: PullAnswer


class PullServer:
    """The masters' side, of one type: `fields` (masters, ...) are the arrays that workers pull. A
    type without fields has masters too: of their rows, only the ids are told.
    """

    def __init__(self, fields: Arrays, masters: int, workers: int) -> None:
        self.fields, self.workers, self.folded = (
            [flatten_rows(array) for array in fields],
            workers,
            0,
        )
        # by step and worker: the numbers of the masters
        self._requested: dict[tuple[int, int], np.ndarray] = {}
        # requests without an answer: how many steps must be folded, and their clock
        self._unanswered: dict[tuple[int, int], tuple[int, int]] = {}
        self._pushed: dict[int, dict[int, Arrays]] = defaultdict(dict)
        self._next = [0] * workers  # the step of the next request, by worker
        self._marks = np.zeros(masters, bool)  # of `_are_distinct`

    def pull(self, worker: int, clock: int, request: PullRequest) -> list[Reply]:
        """Take the request of `worker` for rows of a step. Return the replies that are possible
        now. ValueError if steps are not asked for one by one, or rows are not here or come twice.
        """
        step, rows = request.step, request.rows
        if step != self._next[worker]:
            raise ValueError(f"it pulls for step {step}, and {self._next[worker]} is next")
        if not _are_distinct(rows, self._marks):
            raise ValueError("it pulls a row that is not here, or one row twice")
        self._next[worker] += 1
        self._requested[step, worker] = rows
        self._unanswered[step, worker] = request.least_folded, clock
        return self._replies()

    def push(self, worker: int, push: Push) -> list[Reply]:
        """Take the changes of `worker` to the rows of a step. Return the replies that are possible
        now. ValueError if these are not the rows that it got for that step.
        """
        step, rows = push.step, self._requested.get((push.step, worker))
        if (
            rows is None
            or (step, worker) in self._unanswered
            or worker in self._pushed[step]
            or not self._fits(push.changes, len(rows))
        ):
            raise ValueError(f"it pushes for step {step} what was not pulled")
        self._pushed[step][worker] = push.changes
        while len(self._pushed.get(self.folded, ())) == self.workers:
            self._fold_next()
        return self._replies()

    def _fits(self, changes: Arrays, rows: int) -> bool:
        """Return whether `changes` have the types and shapes of so many rows."""
        return [(change.dtype, change.shape) for change in changes] == [
            (own.dtype, (rows, own.shape[1])) for own in self.fields
        ]

    def _fold_next(self) -> None:
        """Fold the oldest step that is not folded. All workers have sent its changes."""
        pushed = self._pushed.pop(self.folded)
        for worker in range(self.workers):
            rows = self._requested.pop((self.folded, worker))
            for own, change in zip(self.fields, pushed[worker], strict=True):
                _add(own, rows, change)
        self.folded += 1

    def _replies(self) -> list[Reply]:
        ready = sorted(key for key, (least, _) in self._unanswered.items() if least <= self.folded)
        replies = []
        for step, worker in ready:
            _, clock = self._unanswered.pop((step, worker))
            rows = self._requested[step, worker]
            values = [_take_rows(own, rows) for own in self.fields]
            replies.append(Reply(worker, clock, PullAnswer(step, self.folded, values)))
        return replies


class UnackedChanges:
    """The worker's side: its own changes that may be missing in the values that it pulls. They are
    added to these.
    """

    def __init__(self) -> None:
        # step: by server, positions and changes
        self._steps: dict[int, tuple[list[np.ndarray], list[Arrays]]] = {}

    def note(self, step: int, ids: list[np.ndarray], changes: list[Arrays]) -> None:
        """Keep the changes (r, width) by field that were pushed to each server, with the positions
        (r,) of their vertices.
        """
        self._steps[step] = ids, changes

    def add_to(self, fields: Arrays, slots: np.ndarray, *, step: int, folded: list[int]) -> None:
        """Add to `fields` (rows, width), pulled for `step`, the changes of earlier steps that the
        servers, with so many steps `folded`, had not folded.

        `slots`: the table of their positions. What all servers have folded is forgotten.
        """
        for number in [number for number in self._steps if number < min(folded)]:
            del self._steps[number]
        for number, (ids, changes) in sorted(self._steps.items()):
            for server, steps in enumerate(folded):
                if steps <= number < step:
                    for own, change in zip(fields, changes[server], strict=True):
                        add_to_rows(own, slots, ids[server], change)


def share(workers: int) -> float:
    """Return the part of a change to a field combined by "sqrt_mean" that its master takes: 1 /
    sqrt(workers). A sum takes 1, a true mean 1 / workers.
    """
    return float(workers**-0.5)


def join_aligned(pieces: Arrays) -> np.ndarray:
    """Concatenate arrays, at an address that is aligned for vector loads."""
    out = allocate_aligned(
        (sum(len(piece) for piece in pieces), *pieces[0].shape[1:]), pieces[0].dtype
    )
    return np.concatenate(pieces, out=out)


def list_lengths(lists: np.ndarray) -> np.ndarray:
    """Return the length of each list (n, width), (n,) int32. A list ends at its first -1."""
    ended = lists < 0
    return (
        np.where(ended.any(axis=1), ended.argmax(axis=1), lists.shape[1]).astype(np.int32)
        if lists.shape[1]
        else np.zeros(len(lists), np.int32)
    )


@cached_njit
def _are_distinct(rows, marks):  # type: ignore[no-untyped-def]
    """Return whether `rows` are distinct and within `marks` (n,), which are all False before and
    after.
    """
    at = 0
    while at < len(rows) and 0 <= rows[at] < len(marks) and not marks[rows[at]]:
        marks[rows[at]] = True
        at += 1
    for j in range(at):
        marks[rows[j]] = False
    return at == len(rows)


@cached_njit
def _add(own, rows, changes):  # type: ignore[no-untyped-def]
    """Compute own[rows] += changes. No row comes twice."""
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            own[rows[j], k] += changes[j, k]


@cached_njit
def _take_rows(own, rows):  # type: ignore[no-untyped-def]
    """Return own[rows]."""
    out = np.empty((len(rows), own.shape[1]), own.dtype)
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            out[j, k] = own[rows[j], k]
    return out
