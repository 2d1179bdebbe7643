"""The checkpoints of a run's folder, made from the states of its workers, be it one or several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tux.checkpoint.shard import Digest
from tux.checkpoint.snapshot import StateHead
from tux.checkpoint.store import CheckpointManifest, Checkpoints, Draft, has_checkpoint


class FolderKeeper:
    """A maker of checkpoints in a run's folder (`tux.cluster.checkpoint.keeper.Keeper`). `manifest`
    describes a state of so many workers.
    """

    def __init__(
        self, checkpoints: Checkpoints, manifest: Callable[[StateHead, int], CheckpointManifest]
    ) -> None:
        self.checkpoints, self._manifest = checkpoints, manifest
        self._draft: Draft | None = None

    def has_one(self) -> bool:
        """Return whether the folder has a checkpoint, be it whole or damaged."""
        return has_checkpoint(self.checkpoints.folder.parent)

    @property
    def lists(self) -> Path:
        """The folder of lists on disk."""
        return self.checkpoints.lists

    def begin(self) -> None:
        """Begin a checkpoint. DiskError."""
        self._draft = self.checkpoints.begin()

    def shard_path(self, rank: int) -> Path:
        """Return the path of the file to which a worker writes its state."""
        assert self._draft is not None
        return self._draft.shard_path(rank)

    def finish(self, head: StateHead, digests: Sequence[Digest]) -> None:
        """Finish the checkpoint, when all workers have written. DiskError."""
        assert self._draft is not None
        self._draft.finish(self._manifest(head, len(digests)), digests)

    def abandon(self) -> None:
        """Remove the checkpoint, as some worker has not written."""
        assert self._draft is not None
        self._draft.abandon()
