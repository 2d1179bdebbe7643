"""The trainer of a run, whoever it is: one worker in this process, or the launcher of several."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from tux.checkpoint.spool import SpooledLists
from tux.engine.model import RunModel, WorkerModel
from tux.engine.profile import WorkerProfile
from tux.engine.timeline import Sample
from tux.engine.training import Training
from tux.graph.edge_memory import EdgeMemory
from tux.graph.edge_pieces import Pieces


class Trainer(Protocol):
    """The trainer of a program: `tux.engine.training.Training`, or the launcher of several
    workers.
    """

    seconds: float
    best_epoch: int
    ended_early: bool
    has_model: bool

    def end_when(
        self,
        asked: Callable[[], float | None],
        tell: Callable[[], None] = lambda: None,
        *,
        keeps_last: bool = False,
    ) -> None:
        """End early once `asked` returns the seconds since the user asked for the end: see
        `tux.engine.training.Training.end_when`.
        """

    def sample_to(self, tell: Callable[[int, Sample], None]) -> None:
        """Have `tell` called with the rank and each sample of a worker's timeline."""

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the epochs' records, and give the model away after the last."""

    def give_model_to(self, take: Callable[[RunModel], None]) -> None:
        """Let `take` be called with the model, if there is one, when training has ended: before the
        report, whose mistakes should not lose the model.
        """

    def edge_memory(self) -> EdgeMemory:
        """Return how many edges all workers hold for training, and the bytes that they take."""

    def profile(self) -> WorkerProfile | None:
        """Return the profile of the work that was done, if the run has one."""

    def edges(self) -> Pieces:
        """Return the training edges."""

    def lists(self) -> SpooledLists | None:
        """Return the lists that no stage uses."""


class TrainingHere(Training):
    """The training of the one worker of a run, in this process, as a `Trainer`."""

    def give_model_to(self, take: Callable[[RunModel], None]) -> None:
        """Let `take` be called as `Trainer.give_model_to` says."""
        self._take = take

    def edge_memory(self) -> EdgeMemory:
        """Return how many edges the worker holds for training, and the bytes that they take."""
        return self.worker.graph.edge_memory()

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Run the epochs, as `Training.epochs` does, and give the model away."""
        yield from super().epochs(most, every=every, patience=patience, keep_best=keep_best)
        if self.has_model:
            self._take(WorkerModel(self.worker))
