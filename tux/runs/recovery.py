"""The checkpoint from which a run goes on when one of its workers is lost, or when the user has it
go on. The run's records are cut to the checkpoint, and its record tells from which one it went on,
and why.
"""

from __future__ import annotations

from typing import Any

from tux.checkpoint.store import (
    Checkpoint,
    Checkpoints,
    CheckpointSearch,
    find_newest_checkpoint,
    newest_number,
    tell_left_out,
)
from tux.cluster.recovery.restarts import Start
from tux.options.watcher import Watcher
from tux.run_folder.folder import Incarnation, RunFolder, RunRecord
from tux.runs.resume import states_of


class RunRecovery:
    """The checkpoints of a run below its `folder`. It cuts the run's `records`, in the folder and
    in memory, to the checkpoint from which the run goes on
    (`tux.cluster.recovery.restarts.Recovery`).

    A run without checkpoints, or without a folder, goes on from its beginning.
    """

    def __init__(
        self,
        record: RunRecord,
        records: list[dict[str, Any]],
        folder: RunFolder | None,
        checkpoints: Checkpoints | None,
        watch: Watcher,
    ) -> None:
        self._record, self._records, self._folder = record, records, folder
        self._checkpoints, self._watch = checkpoints, watch
        self._found: Checkpoint | None = None

    def latest(self) -> int:
        """Return the number of the newest checkpoint; 0 if there is none."""
        return newest_number(self._folder.path) if self._folder else 0

    def newest(self) -> Start:
        """Return the newest checkpoint that is whole, or the beginning. Damaged ones are removed:
        the run goes on from an older state, so they do not belong to it any more.
        """
        found = (
            find_newest_checkpoint(self._folder.path)
            if self._folder
            else CheckpointSearch(None, [])
        )
        tell_left_out(found, self._watch.warn)
        if self._checkpoints:
            self._checkpoints.remove(found.left_out)
        self._found = found.checkpoint
        return start_of(found.checkpoint) if found.checkpoint else Start()

    def go_on(self, start: Start, why: str, count: str) -> None:
        """Cut the records to `start`, and say `why`. DataError; DiskError."""
        del self._records[start.epochs :]
        if self._folder:
            self._folder.cut_records(self._found.manifest.metrics_bytes if self._found else 0)
            self._folder.journal.note_restart(why, str(start))
        note(self._record, start, why)
        if self._folder and self._folder.has_run:
            self._folder.write_run(self._record)
        self._watch.say(f"{why}; goes on from {start} ({count})")


def start_of(checkpoint: Checkpoint) -> Start:
    """Return a checkpoint as the start of workers."""
    kept = checkpoint.manifest
    return Start(kept.number, kept.epoch, kept.turns, states_of(checkpoint))


def note(record: RunRecord, start: Start, why: str, workers: int | None = None) -> None:
    """Add to a run's record that it goes on from `start`; on so many `workers`, if these are others
    than before.
    """
    entry = Incarnation(start.checkpoint, start.epochs, start.clocks, why, workers)
    record.incarnations = [*record.incarnations, entry]
