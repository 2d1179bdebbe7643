"""Watchers of a run, and the seconds that its phases take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol


class Watcher(Protocol):
    """A receiver of a run's progress and messages."""

    def phase(self, name: str) -> None:
        """Take the name of the work that begins now: load, layout and compile, epoch 1, save."""

    def share(self, done: float) -> None:
        """Take the share of it that is done, from 0 to 1, where that is known."""

    def say(self, text: str) -> None:
        """Take one line about the run."""

    def warn(self, text: str) -> None:
        """Take one line about something odd that is no error."""

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Take the record of an epoch, of at most `most` epochs."""


class NullWatcher:
    """A watcher that shows nothing."""

    def phase(self, name: str) -> None:
        """Do nothing."""

    def share(self, done: float) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Do nothing."""

    def warn(self, text: str) -> None:
        """Do nothing."""

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Do nothing."""


@dataclass
class Phases:
    """The seconds of each phase, and the watcher to which each is told."""

    watch: Watcher
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, told: str = "") -> Iterator[None]:
        """Add the time of the body to the phase. `told`: another name of it for the watcher."""
        self.watch.phase(told or name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
