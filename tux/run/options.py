"""What a run may be told besides its program and data: how files are read, how long it goes on, who
does it, and what is kept.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from tux.arrays.piped import STANDARD
from tux.base.errors import UsageError
from tux.base.text import closest
from tux.io.detect import Form
from tux.io.text import OnBadRow
from tux.partition import PARTITIONERS
from tux.program.program import Program
from tux.program.report import REPEATS

if TYPE_CHECKING:
    from tux.cluster.place import Place

File = str | os.PathLike[str]

MOST_SLACK = 10_000
"""Clocks; a mirror counts its unanswered messages in 16 bits."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How files are read: see `tux.io.read.read_edges`, `tux.io.bags.read_bags`, and
    `tux.io.samples.read_samples`. None: as the file itself says.
    """

    columns: str | None = None
    on_bad_row: OnBadRow = "stop"
    form: Form | None = None
    vocab: File | None = None
    stop: File | None = None
    label: str | None = None
    weight: str | None = None
    labels: File | None = None

    def named(self) -> dict[str, Any]:
        """What is said of how files are read, by name; `on_bad_row` left out."""
        chosen = {each.name: getattr(self, each.name) for each in fields(Reading)}
        return {
            name: value
            for name, value in chosen.items()
            if value is not None and name != "on_bad_row"
        }


@dataclass(frozen=True, kw_only=True)
class RunOptions(Reading):
    """The options of `tux.run.session.run`, and how it reads files.

    `out`: a new folder for the results; None: nothing is kept. `epochs`: at most so many; None: as
    many as the program says; 0: the model is the initial state, after the set-up stages. Every
    `every`-th epoch is evaluated; with `patience` the run stops after so many evaluations without a
    better monitored metric. With `check`, an index out of bounds and NaN that replaces a number, in
    any vertex function, end the run; without `jit`, vertex functions run as plain Python.

    `workers` on this machine, None: 1, or as many as a partitioned folder has parts. `partitioner`,
    None: bicut, cuts the edges into one process each, which may be `slack` clocks apart; no wait
    takes longer than `deadline` seconds. `place`: which of several machines this is.

    Scores by labels are means over `judge_repeats` random splits. `command` is only recorded.
    Raises UsageError for what cannot be meant.
    """

    out: File | None = None
    seed: int = 0
    epochs: int | None = None
    every: int = 1
    patience: int = 0
    jit: bool = True
    check: bool = False
    workers: int | None = None
    slack: int = 0
    partitioner: str | None = None
    deadline: float = 600.0
    place: Place | None = None
    judge_repeats: int = REPEATS
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        epochs, workers = self.epochs, self.workers
        if (epochs is not None and epochs < 0) or self.every < 1 or self.patience < 0:
            raise UsageError("epochs and patience are at least 0, every at least 1")
        if (workers is not None and workers < 1) or self.judge_repeats < 1:
            raise UsageError("workers and judge_repeats are at least 1")
        if not 0 <= self.slack <= MOST_SLACK:
            raise UsageError(f"a slack of {self.slack} clocks", do=f"give 0 to {MOST_SLACK:,}")
        if self.partitioner not in (None, "auto", *PARTITIONERS):
            known = ", ".join(PARTITIONERS)
            raise UsageError(
                f"no partitioner {self.partitioner!r}",
                do=f"{closest(str(self.partitioner), PARTITIONERS)}there are auto, {known}",
            )

    def of(self, program: Program) -> Plan:
        """All that is decided before data are read. UsageError for what the program has no use
        for.
        """
        if self.patience and not program.monitor:
            raise UsageError(
                f"{type(program).__name__} monitors no metric, so --patience means nothing",
                do="leave it out",
            )
        epochs = program.epochs if self.epochs is None else self.epochs
        return Plan(epochs, self.workers or 1, self.partitioner or "bicut", self)


@dataclass(frozen=True)
class Plan:
    """The options of a run that has begun, with what was left to the program and the data."""

    epochs: int
    workers: int
    partitioner: str  # its name; "auto" until the edges are known
    options: RunOptions

    @property
    def machines(self) -> int:
        """How many machines share the run."""
        return self.options.place.machines if self.options.place else 1

    def record(self) -> dict[str, Any]:
        """The options as `run.json` has them: those that another run needs to be the same."""
        options = self.options
        reading = {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value
            for name, value in options.named().items()
        }
        for name in ("vocab", "stop"):  # tux predict reads them again, perhaps from another folder
            if reading.get(name) not in (None, STANDARD):
                reading[name] = os.path.abspath(reading[name])
        return {
            **{name: getattr(options, name) for name in ("every", "patience", "jit", "check")},
            "slack": options.slack,
            "columns": options.columns,
            "on_bad_row": options.on_bad_row,
            **reading,
            "epochs": self.epochs,
            "workers": self.workers,
            "partitioner": self.partitioner,
        }
