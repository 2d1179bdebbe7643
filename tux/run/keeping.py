"""Keeps the states of a run that one worker carries out, as its checkpoints.

The worker waits for the copy of its state alone; a thread writes the copy. If the last one is still
being written when another is due, that one is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec

from tux.base.background import Background
from tux.engine import shard
from tux.engine.interval import Interval
from tux.engine.state import Head, State
from tux.run.checkpoints import Checkpoint, Checkpoints, Draft, Manifest
from tux.run.watcher import Watcher

PATIENCE = 600.0
"""Seconds that the end of a run waits for the last checkpoint."""


class Keeping:
    """The marks of a run (`tux.engine.training.Marks`). `manifest` describes a state."""

    def __init__(
        self,
        every: Interval,
        last: int,
        checkpoints: Checkpoints,
        manifest: Callable[[Head], Manifest],
        watch: Watcher,
    ) -> None:
        self._every, self._last, self._checkpoints = every, last, checkpoints
        self._manifest, self._watch = manifest, watch
        self._writing: Background[Checkpoint] = Background()
        self._kept, self._left_out = time.monotonic(), False
        self.asked: Callable[[], float | None] = lambda: None  # to end: as of a Training

    def wanted(self, mark: int, epoch: int | None) -> bool:
        """Whether the state at a mark is kept: also that of the epoch at whose end the run ends."""
        self._tell()
        if epoch is not None and self.asked() is not None:
            return True
        return self._every.wants(epoch, self._last, time.monotonic() - self._kept)

    def keep(self, state: State) -> Iterator[None]:
        """Copy a state and have it written."""
        self._kept = time.monotonic()
        if self.asked() is not None or state.head.epoch == self._last:
            self.finish()  # none follows
        if self._writing.busy():
            if not self._left_out:
                self._watch.say(
                    f"checkpoint {where(state.head)} left out, as the one before is still being "
                    "written; others may be too: --checkpoint-every with a larger number"
                )
            self._left_out = True
            return
        copy, manifest = state.copied(), self._manifest(state.head)
        draft = self._checkpoints.begin()
        self._writing.start(lambda: _written(draft, copy, manifest))
        yield from ()

    def finish(self) -> None:
        """Wait until the last checkpoint is written."""
        self._writing.wait(time.monotonic() + PATIENCE)
        self._tell()

    def _tell(self) -> None:
        """Warn if the disk did not take a checkpoint."""
        outcome = self._writing.poll()
        if outcome is not None and outcome.error is not None:
            self._watch.warn(
                f"no checkpoint was written: {outcome.error.what}; training goes on, and the "
                "checkpoint before stays"
            )


def _written(draft: Draft, state: State, manifest: Manifest) -> Checkpoint:
    try:
        head = msgspec.to_builtins(state.head)
        digest = shard.write(draft.shard_path(0), head, state.arrays)
        return draft.finish(manifest, [digest])
    except BaseException:
        draft.abandon()
        raise


def where(head: Head) -> str:
    """Where in the run a state is, in words."""
    if head.turns:
        return f"in epoch {head.epoch + 1}, after {head.turns} of its clocks"
    return f"at the end of epoch {head.epoch}"
