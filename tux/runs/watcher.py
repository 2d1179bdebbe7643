"""Who is told how a run goes on, and how long its phases take."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol


class Watcher(Protocol):
    """Who is told how a run goes on."""

    def phase(self, name: str) -> None:
        """What goes on from now: load, layout and compile, epoch 1, save."""

    def share(self, done: float) -> None:
        """How much of it is done, from 0 to 1, where that is known."""

    def say(self, text: str) -> None:
        """One line about the run."""

    def warn(self, text: str) -> None:
        """One line about what is odd, but no error."""

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """One epoch of at most `most` is done."""


class Silent:
    """Tells nobody."""

    def phase(self, name: str) -> None:
        """Nothing."""

    def share(self, done: float) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def warn(self, text: str) -> None:
        """Nothing."""

    def epoch(self, record: dict[str, Any], most: int) -> None:
        """Nothing."""


@dataclass
class Phases:
    """Seconds by phase, and the watcher told of each."""

    watch: Watcher
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str, told: str = "") -> Iterator[None]:
        """Add the time of the body to the phase, which the watcher may be `told` by another
        name.
        """
        self.watch.phase(told or name)
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
