"""The use of the time of a run's workers: the state of the main thread of each at each time, by the
samples in the run's `timeline.jsonl`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tux.base.errors import DataError, UsageError
from tux.engine.timeline import Sample
from tux.monitor.trace.gantt_parts import STATES, Parts, parts_of
from tux.run_folder.journal import FILE, BeginEntry, Entry, RestartEntry, SampleEntry, parse_entries

MOST_SECONDS = 1e11
"""The largest number of seconds that is taken for a time."""


class Gantt(NamedTuple):
    """The states of a run's workers over time, and the times at which it went on after a fault or
    by another command.
    """

    parts: Parts
    marks: list[float]  # seconds since training began
    low: float  # the time that is shown, in seconds since training began
    high: float
    end: float  # when the last worker has told last

    @property
    def workers(self) -> list[int]:
        """The numbers of the workers."""
        return [int(each) for each in np.unique(self.parts.worker)]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return columns `worker`, `state`, `from`, `to`, and `exact`: False where only the seconds
        of several states in a longer time are known, which are given one after another.
        """
        parts, begins = self.parts, self.parts.begins()
        lengths = np.diff(np.append(begins, len(parts.worker)))
        before = np.cumsum(parts.seconds) - parts.seconds
        start = parts.start + before - np.repeat(before[begins], lengths)
        return {
            "worker": parts.worker,
            "state": np.array(STATES)[parts.state],
            "from": start.round(6),
            "to": (start + parts.seconds).round(6),
            "exact": np.repeat(lengths == 1, lengths),
        }

    def shares(self) -> dict[str, float]:
        """Return the share of each state in the time of all workers."""
        seconds = np.bincount(self.parts.state, self.parts.seconds, len(STATES))
        return dict(zip(STATES, (seconds / max(seconds.sum(), 1e-300)).tolist(), strict=True))

    def unordered_share(self) -> float:
        """Return the share of the time in which the order of states is not known."""
        parts, begins = self.parts, self.parts.begins()
        lengths = np.diff(np.append(begins, len(parts.worker)))
        several = np.repeat(lengths > 1, lengths)
        return float(parts.seconds[several].sum() / max(parts.seconds.sum(), 1e-300))


def read_gantt(
    folder: str | os.PathLike[str], low: float | None = None, high: float | None = None
) -> Gantt:
    """Read the states of a run's workers, from `low` to `high` seconds after training began; by
    default all. Time between two commands of the run is left out.

    Raises DataError if the folder has no sample of a worker, UsageError for a time in which there
    was none.
    """
    whole, marks = _read_timeline(Path(folder, FILE))
    end = float(whole.stop.max())
    low, high = max(low or 0.0, 0.0), end if high is None else min(high, end)
    parts = whole.between(low, high) if low < high else None
    if parts is None or not len(parts.worker):
        raise UsageError(
            f"no worker of {folder} did anything in this time",
            do=f"choose a time between 0 and {end:.6g} seconds: --from S --to S",
        )
    return Gantt(parts, [each for each in marks if low <= each <= high], low, high, end)


# ---- the file


class _Command:
    """The records of one command of the run; times are seconds since 1970."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf
        self.parts: list[Parts] = []
        self.restarts: list[float] = []
        self._ends: dict[int, float] = {}  # of the last sample, by worker

    def take(self, worker: int, sample: Sample) -> None:
        """Add a sample of a worker, without the time that the sample before has covered."""
        start = max(sample.at - sample.seconds, self._ends.get(worker, 0.0))
        self._ends[worker] = max(sample.at, start)
        if start >= sample.at:
            return
        self.low, self.high = min(self.low, start), max(self.high, sample.at)
        self.parts.append(parts_of(worker, sample, start))


def _read_timeline(path: Path) -> tuple[Parts, list[float]]:
    """Read all parts in a run's timeline, and the marks."""
    commands = [_Command()]
    for entry in _entries(path):
        if isinstance(entry, BeginEntry):
            commands.append(_Command())
        elif isinstance(entry, RestartEntry):
            commands[-1].restarts.append(entry.at)
        elif isinstance(entry, SampleEntry) and _is_time(entry.sample):
            commands[-1].take(entry.worker, entry.sample)
    marks: list[float] = []
    pieces: list[Parts] = []
    before = 0.0
    for command in commands:
        if not command.parts:
            continue
        shift = before - command.low
        marks += [before] * bool(pieces)
        marks += [at + shift for at in command.restarts if command.low <= at <= command.high]
        pieces += [
            piece._replace(start=piece.start + shift, stop=piece.stop + shift)
            for piece in command.parts
        ]
        before += command.high - command.low
    if not pieces:
        raise DataError(
            f"{path} has no sample of a worker",
            do="name a run that has begun to train, or train it anew: tux run --out writes them",
        )
    parts = Parts(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
    order = np.lexsort((parts.start, parts.worker))
    return Parts(*(column[order] for column in parts)), marks


def _entries(path: Path) -> Iterator[Entry | None]:
    """Yield the entries of a timeline, one after the other. DataError if there is none."""
    try:
        with open(path, "rb") as file:
            for line in file:
                yield parse_entries([line])[0]
    except OSError:
        raise DataError(
            f"{path.parent} does not say what its workers did: there is no {FILE} to read",
            where=str(path),
            do=f"name a run that has one: each tux run --out writes {FILE}, since tux 0.2.0",
        ) from None


def _is_time(sample: Sample) -> bool:
    """Return whether the times of a sample are possible."""
    return 0 <= sample.seconds <= sample.at <= MOST_SECONDS
