"""The states of a run of one worker, kept as its checkpoints.

The worker waits for the copy of its state alone; a thread writes the copy. If the last one is still
being written when another is due, that one is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from tux.base.background import Background
from tux.base.errors import DiskError
from tux.checkpoint.saved import save
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.snapshot import State, describe_place
from tux.checkpoint.spool import Spool
from tux.cluster.checkpoint.keeper import Keeper
from tux.cluster.checkpoint.worker_marks import DISK_SECONDS, copy_if_small
from tux.engine.shares import WHOLE
from tux.options.watcher import Watcher


class LocalMarks:
    """The marks of a run of one worker, in the process that keeps its states
    (`tux.engine.stretch.CheckpointPolicy`).
    """

    keeps = True

    def __init__(
        self,
        every: CheckpointInterval,
        last: int,
        keeper: Keeper,
        watch: Watcher,
        spool: Spool | None = None,
    ) -> None:
        """Keep the states of the worker by `keeper`. `last`: the run's last epoch; `spool`: the
        worker's lists on disk.
        """
        self._every, self._last, self._keeper, self._watch = every, last, keeper, watch
        self._spool = spool
        self._writing: Background[None] = Background()
        self._kept, self._left_out = time.monotonic(), False

    def keeps_state(self, mark: int, epoch: int | None) -> bool:
        """Return whether the state at a mark is kept: always at the end of the last epoch."""
        self._tell()
        if epoch == self._last or self._every.epochs:
            return self._every.wants(epoch, self._last)
        return time.monotonic() - self._kept >= self._every.seconds

    def keep(self, state: State) -> Iterator[None]:
        """Copy a state and have it written. This waits for no message."""
        self._keep(state)
        yield from ()

    def _keep(self, state: State) -> None:
        self._kept = time.monotonic()
        if state.head.epoch == self._last or state.head.over:
            self.finish()  # none follows
        if self._writing.is_busy():
            if not self._left_out:
                at = describe_place(state.head.epoch, state.head.turns)
                self._watch.say(
                    f"the checkpoint at {at} is left out, as the one before is still being "
                    "written; others may be too: --checkpoint-every with a larger number"
                )
            self._left_out = True
            return
        try:
            self._keeper.begin()
        except DiskError as error:
            self._warn(error)
            return
        copy = copy_if_small(state, 1)
        if copy is not state:
            self._writing.start(lambda: self._write(copy))
            return
        try:
            self._write(state)  # before training goes on, which changes it
        except DiskError as error:
            self._warn(error)

    def _write(self, state: State) -> None:
        try:
            digest = save(self._keeper.shard_path(0), state, WHOLE, self._spool)
            self._keeper.finish(state.head, [digest])
        except BaseException:
            self._keeper.abandon()
            raise

    def finish(self) -> None:
        """Wait until the last checkpoint is written."""
        if self._writing.is_busy():
            self._watch.phase("write the last checkpoint")
        self._writing.wait(time.monotonic() + DISK_SECONDS)
        self._tell()

    def _tell(self) -> None:
        """Warn if the disk did not take a checkpoint."""
        outcome = self._writing.poll()
        if outcome is not None and outcome.error is not None:
            self._warn(outcome.error)

    def _warn(self, error: DiskError) -> None:
        before = "the one before stays" if self._keeper.has_one() else "there is none before it"
        self._watch.warn(f"no checkpoint was written: {error.what}; training goes on, and {before}")
