"""The launcher's part in keeping the states of all workers: it answers them, takes the files of
those on other machines, and has a checkpoint made of all files.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from tux.base.background import Background
from tux.base.disk import sync, writing
from tux.base.errors import DataError, DiskError
from tux.checkpoint import segments, shard
from tux.checkpoint.saved import SavedState
from tux.checkpoint.schedule import CheckpointInterval, OneAtATime, Pace
from tux.checkpoint.shard import Digest
from tux.checkpoint.snapshot import StateHead
from tux.cluster.checkpoint.pieces import IncomingFile
from tux.cluster.transport.control import (
    Control,
    Keep,
    MarkPassed,
    MarkReached,
    Pass,
    StateKept,
    StateNotKept,
)

LEFT_OUT = (
    "a checkpoint is left out where the one before is still being written; --checkpoint-every "
    "with a larger number asks for fewer"
)


class Keeper(Protocol):
    """An object that makes checkpoints of the workers' files, one at a time. `finish` or `abandon`,
    perhaps on another thread, ends the checkpoint that `begin` has begun.
    """

    def has_one(self) -> bool:
        """Return whether the run has a checkpoint already."""

    @property
    def lists(self) -> Path:
        """The folder of lists on disk, which the states name. It may not be there yet."""

    def begin(self) -> None:
        """Begin a checkpoint. DiskError."""

    def shard_path(self, rank: int) -> Path:
        """Return the path to which the state of a worker is written. It is removed, unless `finish`
        ends well.
        """

    def finish(self, head: StateHead, digests: Sequence[Digest]) -> None:
        """Finish the checkpoint, as all states are written: `digests` by rank; `head` is worker
        0's. DiskError.
        """

    def abandon(self) -> None:
        """Remove the files of the checkpoint, as a worker has not written its state."""


class StatePlan(NamedTuple):
    """The plan for the states of a job's workers: whether they are kept, and from which the job
    goes on.
    """

    every: CheckpointInterval | None = None  # the same on all machines
    keeper: Keeper | None = None  # on machine 0
    resume: Sequence[SavedState] = ()  # on machine 0: the workers' files of a checkpoint, by rank

    @property
    def traits(self) -> dict[str, str]:
        """The traits that all machines must have in common. Machine 0 tells the others whether the
        job goes on from a checkpoint.
        """
        return {"checkpoint_every": str(self.every or "none")}


class Checkpointing:
    """The launcher's answers to the workers' messages about marks. `say(control, rank)` sends to a
    worker. Work that waits for the disk is done in the `background`, as workers wait for answers.

    `remote`: the workers of other machines, whose states come in pieces.
    """

    def __init__(
        self,
        workers: int,
        every: CheckpointInterval,
        keeper: Keeper,
        say: Callable[[Control, int], None],
        warn: Callable[[str], None],
        background: Background[str] | None = None,
        *,
        remote: Container[int] = (),
    ) -> None:
        self._background, self._remote = background or Background(), remote
        self._arriving: dict[int, tuple[StateKept, IncomingFile]] = {}  # states, by worker
        self._workers, self._every, self._keeper = workers, every, keeper
        self._say, self._warn = say, warn
        self._pace = Pace(every.seconds, 0.0)
        self._at_end: list[tuple[int, int]] = []  # workers at their last mark, not yet answered
        self._keeping: OneAtATime[StateKept | StateNotKept] = OneAtATime(workers)

    def start(self, now: float) -> None:
        """Start to measure the pace, as training begins."""
        self._pace = Pace(self._every.seconds, now)

    def handle(
        self, rank: int, control: MarkPassed | MarkReached | StateKept | StateNotKept, now: float
    ) -> None:
        """Handle a message of a worker. ValueError if it is not its turn to send it."""
        self._settle()
        match control:
            case MarkPassed(mark):
                if rank or not self._every.seconds:
                    raise ValueError("nobody has asked how far it is")
                word = self._pace.next_word(mark, now)
                for each in range(self._workers):
                    self._say(Pass(word.upto, word.keep), each)
            case MarkReached(mark, last=False):
                self._answer(rank, mark)
            case MarkReached(mark):
                self._at_end.append((rank, mark))
            case StateKept(_, _, head) if (head is None) == (rank == 0):
                raise ValueError("the head of a state is worker 0's")
            case StateKept() if rank in self._remote:
                self._arrives(rank, control)
            case StateKept() | StateNotKept():
                self._arriving.pop(rank, None)
                self._take_outcome(rank, control)
        self.look()

    def _arrives(self, rank: int, kept: StateKept) -> None:
        """Prepare for the state of a worker on another machine, which follows in pieces."""
        self._keeping.check(rank, kept.mark)
        if rank in self._arriving:
            raise ValueError("its state is on its way already")
        path = Path(self._keeper.shard_path(rank))
        self._arriving[rank] = kept, IncomingFile(path, kept.digest.size)

    def take(self, rank: int, piece: np.ndarray) -> bool:
        """Take a piece of the state of a worker on another machine. Return whether the worker may
        go on sending: it may not where the disk is full. ValueError if none is waited for, or not
        so much.

        It goes to the system's cache; `_damage` waits for the disk.
        """
        if rank not in self._arriving:
            raise ValueError("nobody waits for its state")
        kept, incoming = self._arriving[rank]
        outcome: StateKept | StateNotKept = kept
        try:
            if not incoming.take(piece):
                return True
        except DiskError as error:
            outcome = StateNotKept(kept.mark, error.what)
        del self._arriving[rank]
        self._take_outcome(rank, outcome)
        return outcome is kept

    @property
    def receives(self) -> bool:
        """True if the state of a worker on another machine is on its way."""
        return bool(self._arriving)

    def _take_outcome(self, rank: int, outcome: StateKept | StateNotKept) -> None:
        """Take the result of a worker, whose state is in its file here, or will not be. After the
        last, finish the checkpoint.
        """
        outcomes = self._keeping.add_outcome(rank, outcome.mark, outcome)
        if outcomes is not None:
            self._background.start(lambda: self._finish(outcomes))

    def look(self) -> None:
        """Check whether the last checkpoint has become whole; if so, answer workers at their last
        mark.
        """
        self._settle()
        if self._at_end:
            self._answer_last()

    def _answer(self, rank: int, mark: int) -> None:
        """Tell a worker at a mark to which path it writes its state, or to send it."""
        before = self._keeping.left_out
        kept = self._keeping.reach_mark(rank, mark, self._begin)
        if before == 0 < self._keeping.left_out:
            self._warn(LEFT_OUT)
        sends = kept and rank in self._remote
        here = kept and not sends
        self._say(Keep(mark, str(self._keeper.shard_path(rank)) if here else "", sends), rank)

    def _answer_last(self) -> None:
        """Answer workers at their last mark, unless others still write the state before."""
        if self._keeping.mark in (None, self._at_end[0][1]):
            waiting, self._at_end = self._at_end, []
            for rank, mark in waiting:
                self._answer(rank, mark)

    def end(self, seconds: float) -> bool:
        """Wait, when no worker writes any more, for so many seconds until the last checkpoint is
        whole, and remove one that cannot become so. A checkpoint that the disk has not taken by
        then is left. Return whether none is.
        """
        if not self._background.wait(time.monotonic() + seconds):
            return False
        self._settle()
        if self._keeping.mark is not None:
            self._arriving.clear()
            self._keeping.finish_writing()
            self._keeper.abandon()
        return True

    def _begin(self) -> bool:
        """Begin a checkpoint, and return whether that was possible."""
        try:
            self._keeper.begin()
        except DiskError as error:
            self._warn(f"no checkpoint: {error.what}")
            return False
        return True

    def _finish(self, outcomes: Sequence[StateKept | StateNotKept]) -> str:
        """Make the checkpoint when all workers have tried to write their states. Return why there
        is none, or "".
        """
        kept = [each for each in outcomes if isinstance(each, StateKept)]
        if len(kept) < len(outcomes):
            self._keeper.abandon()
            return next(
                f"worker {rank}: {each.why}"
                for rank, each in enumerate(outcomes)
                if isinstance(each, StateNotKept)
            )
        if why := self._damage(kept):
            self._keeper.abandon()
            return why
        assert kept[0].head is not None
        self._keeper.finish(kept[0].head, [each.digest for each in kept])
        return ""

    def _damage(self, kept: Sequence[StateKept]) -> str:
        """Wait until the states of workers on other machines are on the disk, with their lists.
        Return the fault of one; "" if all are whole.
        """
        for rank, each in enumerate(kept):
            if rank in self._remote:
                path = Path(self._keeper.shard_path(rank))
                try:
                    with writing(path):
                        sync(path)
                    held = shard.read(path, each.digest)
                    held.check()
                    self._sync_lists(held)
                except (DiskError, DataError) as error:
                    return f"worker {rank}: {error.what}"
        return ""

    def _sync_lists(self, held: shard.Shard) -> None:
        """Wait until the lists that a state names are on the disk: the last of them may have come
        with it. DataError if not all have come; DiskError.
        """
        for each in segments.segments_of_shard(held)[-1:]:
            path = self._keeper.lists / each.name
            with writing(path):
                if (size := path.stat().st_size) < each.size:
                    raise shard.checkpoint_damage(path, f"{size:,} bytes instead of {each.size:,}")
                sync(path)

    def _settle(self) -> None:
        """Allow the next checkpoint if the last one has become whole, or has failed."""
        if outcome := self._background.poll():
            self._keeping.finish_writing()
            if why := outcome.error.what if outcome.error else outcome.result:
                self._warn(f"no checkpoint: {why}")
