"""The marks at which the state of a run is kept, and the messages by which all workers agree on
them. State machines without sockets or threads; the time is an argument.

All workers pass the same marks (`tux.engine.stretch.CheckpointPolicy`). Where states are kept
every so many epochs, each worker knows which marks are wanted. Where they are kept every so many
seconds, the launcher says it:

    Pass        launcher to workers: marks before `upto` may be passed, and the state at `upto` is
                wanted, or another word follows
    MarkPassed  worker 0 to the launcher: half of the marks that it may pass are behind it

The launcher sends the next word as soon as it hears this, so that workers do not wait for it. At a
wanted mark a worker finishes its clocks, and then

    MarkReached   worker to launcher: it is at the mark
    Keep          launcher to worker: write the state to a file, or send it; or, without either, go
                  on
    StateKept     worker to launcher: the file is on the disk; or it follows in pieces
                  (`tux.cluster.checkpoint.pieces`)
    StateNotKept  worker to launcher: it is not, or does not, and why

A worker goes on as soon as it has a copy of its state. It need not wait for the others: masters
change only by what all workers have sent, so those of a worker at the mark cannot change before the
worker itself goes on.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

FIRST = 2
"""Marks that may be passed before the first word."""

AHEAD = 0.2
"""Seconds in which a worker passes the marks of one word, if they are short. Half of them are
behind it when the next word is asked for: at most about ten times a second.
"""

LOOKS_BACK = 0.5
"""Seconds over which the pace of worker 0 is measured."""

INTERVAL = re.compile(r"(?P<epochs>\d{1,9})|(?P<seconds>\d{1,9}(\.\d{0,9})?|\.\d{1,9})s", re.ASCII)
"""A number of epochs, or of seconds; more than 9 digits would be meant by nobody."""

Outcome = TypeVar("Outcome")


class CheckpointInterval(msgspec.Struct, frozen=True):
    """The interval between states that are kept: so many epochs or seconds. The state at the end of
    the last epoch is always kept.
    """

    epochs: int = 0
    seconds: float = 0.0

    @staticmethod
    def parse(text: str) -> CheckpointInterval | None:
        """Read ``5`` (epochs) or ``30s``; return None if `text` is neither."""
        if (found := INTERVAL.fullmatch(text)) is None:
            return None
        epochs, seconds = int(found["epochs"] or 0), float(found["seconds"] or 0)
        return CheckpointInterval(epochs, seconds) if epochs or seconds else None

    def wants(self, epoch: int | None, last: int) -> bool:
        """Return whether a state is kept at the end of `epoch`, of `last` in all; None: no epoch
        ends there.
        """
        return epoch is not None and (
            epoch == last or (self.epochs > 0 and epoch % self.epochs == 0)
        )

    def __str__(self) -> str:
        return str(self.epochs) if self.epochs else f"{self.seconds:g}s"


class Word(NamedTuple):
    """A message of the launcher: marks before `upto` may be passed; with `keep`, the state at
    `upto` is kept.
    """

    upto: int
    keep: bool


class Allowance:
    """The worker's side: it decides at which marks the state is kept."""

    def __init__(self, every: CheckpointInterval, last: int) -> None:
        """Begin with the marks that need no word; `last` is the run's last epoch."""
        self._every, self._last, self._asked = every, last, 0
        self._upto, self._report_at = FIRST, FIRST / 2
        self._wanted: set[int] = set()  # marks at which the state is kept

    def take_word(self, word: Word) -> None:
        """Take a word that the launcher has sent. Another thread may call this."""
        if word.keep:  # it is known before the marks behind it may be passed
            self._wanted.add(word.upto)
        # The next report is of a later mark than the one that brought about this word: of the one
        # where this worker waits already, if it does, and the word does not let it go on.
        asked = self._asked
        is_passed = word.keep or asked < word.upto
        self._report_at = max((asked + word.upto) / 2, asked + is_passed)
        self._upto = word.upto

    def keeps_state(self, mark: int, epoch: int | None) -> bool | None:
        """Return whether the state at a mark is kept; see the same method of
        `tux.engine.stretch.CheckpointPolicy`.
        """
        if epoch == self._last or self._every.epochs:
            return self._every.wants(epoch, self._last)
        upto, self._asked = self._upto, mark
        if mark in self._wanted:
            self._wanted.discard(mark)
            return True
        return False if mark < upto else None

    def reports(self) -> bool:
        """Return whether to tell the launcher now at which mark this worker is: once for each
        word.
        """
        if self._every.epochs or self._asked < self._report_at:
            return False
        self._report_at = math.inf
        return True


class Pace:
    """The launcher's side: it chooses the next word, from the pace of worker 0."""

    def __init__(self, seconds: float, now: float) -> None:
        self._seconds, self._due = seconds, now + seconds
        self._next = FIRST  # the least mark that a word may name
        self._reports = deque([(0, now)])  # marks and times, the last at the end

    def next_word(self, mark: int, now: float) -> Word:
        """Choose the next word, as worker 0 is at `mark`. ValueError if it may not be there, or was
        there before.
        """
        before = self._reports[-1][0]
        if not before < mark <= self._next:
            raise ValueError(f"it is at mark {mark}, not between {before} and {self._next}")
        seen, rate = self._rate(mark, now)
        ahead = max(2, min(int(rate * AHEAD), 4 * seen))
        due = mark + math.ceil(rate * max(self._due - now, 0.0))
        keep = due <= mark + ahead and (rate > 0 or self._due <= now)
        upto = max(self._next, due if keep else mark + ahead)
        if keep:
            reached = now + (upto - mark) / rate if rate else now
            self._due = max(self._due, reached) + self._seconds
        self._next = upto + keep
        return Word(upto, keep)

    def _rate(self, mark: int, now: float) -> tuple[int, float]:
        """Return the number of marks that were passed lately, and that number for a second. The
        time goes back `LOOKS_BACK` at least if there are reports from so long ago, as a few marks
        tell little.
        """
        while len(self._reports) > 1 and self._reports[1][1] <= now - LOOKS_BACK:
            self._reports.popleft()
        first, then = self._reports[0]
        self._reports.append((mark, now))
        return mark - first, (mark - first) / (now - then) if now > then else 0.0


class OneAtATime(Generic[Outcome]):
    """The launcher's side: it has one state of all workers written at a time.

    If a state is still being written at a later mark, no state is kept at that one.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._begun: dict[int, tuple[bool, set[int]]] = {}  # by mark: is it kept; who knows
        self._last = [-1] * workers  # the mark that each has reached
        self.mark: int | None = None  # whose state is being written
        self._outcomes: dict[int, Outcome] = {}
        self.left_out = 0  # marks

    def reach_mark(self, worker: int, mark: int, begin: Callable[[], bool]) -> bool:
        """Return whether a worker that is at `mark` writes its state. When the first worker is
        there and no other state is being written, `begin()` decides for all.

        ValueError if it has been there or farther.
        """
        if mark <= self._last[worker]:
            raise ValueError(f"it is at mark {mark}, and was at {self._last[worker]}")
        self._last[worker] = mark
        if mark not in self._begun:
            self.left_out += self.mark is not None
            kept = self.mark is None and begin()
            self._begun[mark] = kept, set()
            if kept:
                self.mark, self._outcomes = mark, {}
        kept, told = self._begun[mark]
        told.add(worker)
        if len(told) == self._workers:
            del self._begun[mark]
        return kept

    def add_outcome(self, worker: int, mark: int, outcome: Outcome) -> list[Outcome] | None:
        """Note the result of a worker's writing. Return those of all workers by rank when it is the
        last; `finish_writing` must follow. ValueError if the worker was not to write.
        """
        self.check(worker, mark)
        self._outcomes[worker] = outcome
        if len(self._outcomes) < self._workers:
            return None
        return [self._outcomes[rank] for rank in range(self._workers)]

    def check(self, worker: int, mark: int) -> None:
        """Raise ValueError if the worker is not writing its state at `mark`."""
        if mark != self.mark or worker in self._outcomes or self._last[worker] < mark:
            raise ValueError(f"it was not to write its state at mark {mark}")

    def finish_writing(self) -> None:
        """Allow the next state to be written, as the last one is now a checkpoint, or removed."""
        self.mark = None
