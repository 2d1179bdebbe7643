"""Rows that workers do not keep: pulled from their masters as generated edges touch them, and
their changes pushed back (TUX2, section 4). This is the masters' side, and what a
worker remembers; what a worker sends is in `tux.stages.pull.pull_rows`.

    PULL_REQUEST  worker to server: the numbers of the masters that a step needs, and how many
                  steps must be folded into their values
    PULL_ANSWER   server to worker: the masters' values, and how many steps are in them
    PUSH          worker to server: the changes that it sends at the end of a step, and of which
                  masters; they may be none

Steps are numbered from 0 on, the same on all workers. A server folds what is pushed in a step when
all workers have pushed theirs, in worker order, steps in order; it answers a request when enough
steps are folded. State machines without sockets, threads or time.

At slack s, s + 1 steps in turn are a window, the same steps on all workers (`tux.sync.row_window`).
A worker pulls a row once in a window, keeps it, and pushes its changes once, in the last step. A
row that a step touches often is an exception: it is pulled for that step anew, and pushed at its
end. A request for step t, in a window that begins with step f, needs all steps before f, and of
the later ones all before t - 1. So

    a read in step t sees all that anyone has changed in steps before f, and f >= t - s

of each worker whole pushes only, and of itself all changes: those that are not in the values it
adds itself (`UnackedChanges`, and what the window keeps). At slack 0 a window is one step. Blocks
end with a step that pushes what is kept, so windows begin anew.

Changes that workers make at the same time from the same rows add up. Where each goes as far as it
would alone, many go too far: skip-gram diverges with four workers. Of fields combined by
"sqrt_mean" a master takes a `share`, and a program may make its changes so much larger; the part in
which workers agree then grows by the root of their number. A worker adds its own later changes
whole, which stands for what others do meanwhile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.messages.encoding import Arrays
from tux.messages.payloads import check_values
from tux.messages.pull_payloads import PullAnswer, PullRequest, Push
from tux.sync.fields import flatten_rows
from tux.sync.pulled_rows import add_to_rows
from tux.sync.row_wire import RowWire


class Reply(NamedTuple):
    """An answer, the worker that it is for, and the clock of its request."""

    worker: int
    clock: int
    answer: PullAnswer


class PullServer:
    """The masters' side, of one type: `fields` (masters, ...) are the arrays that workers pull, as
    `wire` says. A type without fields has masters too: of their rows, only the ids are told.
    """

    def __init__(
        self, fields: Arrays, masters: int, workers: int, coded: Sequence[bool] | None = None
    ) -> None:
        self.fields, self.workers, self.folded = (
            [flatten_rows(array) for array in fields],
            workers,
            0,
        )
        self.wire = RowWire(self.fields, coded or [False] * len(fields))
        # requests without an answer, by step and worker, with their clock
        self._unanswered: dict[tuple[int, int], tuple[PullRequest, int]] = {}
        self._pushed: dict[int, dict[int, Push]] = defaultdict(dict)
        self.note_fold: Callable[[int, int], None] | None = None  # is told the worker and the clock
        # the first step that may be asked for, and the step of the next push, by worker
        self._asked, self._next = [0] * workers, [0] * workers
        self._marks = np.zeros(masters, bool)  # of `_are_distinct`

    def pull(self, worker: int, clock: int, request: PullRequest) -> list[Reply]:
        """Take the request of `worker` for rows of a step. Return the replies that are possible
        now. ValueError if steps are asked for in another order than theirs, or rows are not here
        or come twice.
        """
        step = request.step
        if step < self._asked[worker]:
            raise ValueError(f"it pulls for step {step} after {self._asked[worker] - 1}")
        if not _are_distinct(request.rows.numbers, self._marks):
            raise ValueError("it pulls a row that is not here, or one row twice")
        self._asked[worker] = step + 1
        self._unanswered[step, worker] = request, clock
        return self._replies()

    def push(self, worker: int, push: Push) -> list[Reply]:
        """Take the changes of `worker` in a step. Return the replies that are possible now.
        ValueError if another step is its next one, or changes are none of rows here.
        """
        step = push.step
        if step != self._next[worker]:
            raise ValueError(f"it pushes for step {step}, and {self._next[worker]} is next")
        if not _are_distinct(push.rows.numbers, self._marks):
            raise ValueError("it pushes a row that is not here, or one row twice")
        counts = self.wire.counts(push.rows.counts.tolist())
        check_values(push.changes, self.wire.like, counts)
        self._next[worker] += 1
        self._pushed[step][worker] = push
        while len(self._pushed.get(self.folded, ())) == self.workers:
            self._fold_next()
        return self._replies()

    def _fold_next(self) -> None:
        """Fold the oldest step that is not folded. All workers have sent its changes."""
        pushed = self._pushed.pop(self.folded)
        for worker in range(self.workers):
            rows = [pushed[worker].rows.of_field(f) for f in range(len(self.fields))]
            self.wire.add_changes(self.fields, rows, pushed[worker].changes)
            if self.note_fold:
                self.note_fold(worker, pushed[worker].clock)
        self.folded += 1

    def _replies(self) -> list[Reply]:
        ready = sorted(
            key
            for key, (request, _) in self._unanswered.items()
            if request.least_folded <= self.folded
        )
        replies = []
        for step, worker in ready:
            request, clock = self._unanswered.pop((step, worker))
            rows = [request.rows.of_field(f) for f in range(len(self.fields))]
            values = self.wire.take_values(self.fields, rows)
            replies.append(Reply(worker, clock, PullAnswer(step, self.folded, values)))
        return replies


class UnackedChanges:
    """The worker's side: its own changes that it has pushed and that may be missing in the values
    that it pulls. They are added to these.
    """

    def __init__(self) -> None:
        # step: by server, positions and changes by field
        self._steps: dict[int, tuple[list[np.ndarray], list[Arrays]]] = {}

    def note(self, step: int, ids: list[np.ndarray], changes: list[Arrays]) -> None:
        """Keep the changes (r, width) by field that were pushed to each server, with the positions
        of their vertices, of which each field has the first.
        """
        self._steps[step] = ids, changes

    def forget(self, folded: list[int]) -> bool:
        """Forget what all servers have folded, each so many steps. Return whether there is more."""
        for number in [number for number in self._steps if number < min(folded)]:
            del self._steps[number]
        return bool(self._steps)

    def add_to(
        self, field: int, own: np.ndarray, slots: np.ndarray, *, step: int, folded: list[int]
    ) -> None:
        """Add to `own` (rows, width), the values of a field pulled for `step`, the changes of
        earlier steps that the servers, with so many steps `folded`, had not folded.

        `slots`: the table of their positions.
        """
        for number, (ids, changes) in sorted(self._steps.items()):
            for server, steps in enumerate(folded):
                if steps <= number < step:
                    change = changes[server][field]
                    add_to_rows(own, slots, ids[server][: len(change)], change)


def share(workers: int) -> float:
    """Return the part of a change to a field combined by "sqrt_mean" that its master takes: 1 /
    sqrt(workers). A sum takes 1, a true mean 1 / workers.
    """
    return float(workers**-0.5)


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
