"""The options of a run besides its program and data: how files are read, how long it goes on, who
does it, and what is kept.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from tux.arrays import stores
from tux.arrays.piped import STANDARD
from tux.base.errors import UsageError
from tux.base.parallel import cores
from tux.base.text import did_you_mean
from tux.checkpoint.schedule import CheckpointInterval
from tux.io.formats.format import Form
from tux.io.samples.samples import FORMS
from tux.io.source.text import OnBadRow
from tux.partition import PARTITIONERS
from tux.program.product import product_of
from tux.program.program import STAGED, Program, stages_of
from tux.program.report import REPEATS
from tux.program.stage import Cluster, Stage

if TYPE_CHECKING:
    from tux.cluster.rendezvous.place import Place

File = str | os.PathLike[str]

MEMORY = "memory"
"""The word in a run's record for a table of vertices that was given in memory."""

RESTARTS = 3
"""Times that lost workers are started again between two checkpoints, by default."""

LOGS = ("mlflow", "tensorboard")
"""The sinks that the curves of a run may go to besides its folder: see `tux.monitor.sinks.sinks`.
"""

MOST_SLACK = 10_000
"""The largest slack, in clocks; a mirror counts its unanswered messages in 16 bits."""

MOST_THREADS = 1024
"""The most threads of a worker."""


class OptionRule(NamedTuple):
    """The values that an option may have: `form` describes them in words. `read` returns the value
    as the run keeps it; None for a value that is not allowed.
    """

    form: str
    read: Callable[[Any], Any]


def _integer_rule(low: int | None = None, high: int | None = None) -> OptionRule:
    """Allow whole numbers, both bounds included; those of numpy too."""
    bounds = [f"at {w} {x:,}" for w, x in (("least", low), ("most", high)) if x is not None]

    def read(value: Any) -> int | None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            return None
        number = int(value)
        inside = (low is None or number >= low) and (high is None or number <= high)
        return number if inside else None

    return OptionRule(" ".join(["a whole number", " and ".join(bounds)]).strip(), read)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def _tables(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, Mapping) or not all(isinstance(kind, str) for kind in value):
        return None
    return {kind: _source(table) or table for kind, table in value.items()}


def _source(value: Any) -> str | None:
    return stores.local_path(value) if isinstance(value, str | os.PathLike) else None


def _output(value: Any) -> File | None:
    if not isinstance(value, str | os.PathLike):
        return None
    name = stores.output_path(value)
    return value if name == os.fspath(value) else name


def _commands(value: Any) -> Sequence[str] | None:
    listed = isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    return value if listed else None


def _place(value: Any) -> Any:
    from tux.cluster.rendezvous.place import Place

    return value if isinstance(value, Place) else None


def _choice_rule(*values: str) -> OptionRule:
    form = " or ".join(f'"{value}"' for value in values)
    return OptionRule(
        form, lambda value: value if isinstance(value, str) and value in values else None
    )


_TEXT = OptionRule("a str", lambda value: value if isinstance(value, str) else None)
_PATH = "a path: a str or an os.PathLike"
_FILE = OptionRule(_PATH, _source)
_SWITCH = OptionRule(
    "True or False", lambda value: bool(value) if isinstance(value, bool | np.bool_) else None
)

ALLOWED: dict[str, OptionRule] = {
    "columns": _TEXT,
    "on_bad_row": _choice_rule(*get_args(OnBadRow)),
    "form": _choice_rule(*dict.fromkeys([*get_args(Form), *FORMS])),
    "vocab": _FILE,
    "stop": _FILE,
    "label": _TEXT,
    "weight": _TEXT,
    "labels": _FILE,
    "vertices": OptionRule("tables by vertex type, as in {'page': 'pages.csv'}", _tables),
    "out": OptionRule(_PATH, _output),
    "seed": _integer_rule(),
    "epochs": _integer_rule(0),
    "every": _integer_rule(1),
    "patience": _integer_rule(0),
    "jit": _SWITCH,
    "check": _SWITCH,
    "workers": _integer_rule(1),
    "slack": _integer_rule(0, MOST_SLACK),
    "threads": _integer_rule(1, MOST_THREADS),
    "racing": _SWITCH,
    "partitioner": _TEXT,
    "deadline": OptionRule("a number of seconds above 0", _seconds),
    "place": OptionRule("a tux.cluster.rendezvous.place.Place", _place),
    "judge_repeats": _integer_rule(1),
    "judge_top": _integer_rule(1),
    "command": OptionRule("a list of str", _commands),
    "checkpoint_every": OptionRule(
        'a number of epochs, "5", or of seconds, "30s" or "0.5s", above 0',
        lambda value: value if isinstance(value, str) and CheckpointInterval.parse(value) else None,
    ),
    "keep": _integer_rule(1),
    "restarts": _integer_rule(0),
    "keeps_interrupted": _SWITCH,
    "log": _choice_rule(*LOGS),
}
"""The values that each option may have besides the default None."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options of reading files: see `tux.io.edges.read.read_edges`,
    `tux.io.bags.bags.read_bags`, and `tux.io.samples.samples.read_samples`. None: as the file
    itself says.
    """

    columns: str | None = None
    on_bad_row: OnBadRow = "stop"
    form: Form | None = None
    vocab: File | None = None
    stop: File | None = None
    label: str | None = None
    weight: str | None = None
    labels: File | None = None
    # tables by vertex type for `tux.io.vertices.table.read_vertices`: files, or tables in memory
    vertices: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Raise UsageError for a field of another type or value than it may have."""
        for each in fields(self):
            value = getattr(self, each.name)
            kept = ALLOWED[each.name].read(value) if value is not None else None
            if kept is None and (value is not None or each.default is not None):
                do = f"{each.name} must be {ALLOWED[each.name].form}"
                raise UsageError(f"the option {each.name} is {value!r}", do=do)
            if kept is not value:
                object.__setattr__(self, each.name, kept)

    def given_options(self) -> dict[str, Any]:
        """Return the options of reading that are given, by name; `on_bad_row` left out."""
        chosen = {each.name: getattr(self, each.name) for each in fields(Reading)}
        return {
            name: value
            for name, value in chosen.items()
            if value is not None and name != "on_bad_row"
        }


@dataclass(frozen=True, kw_only=True)
class RunOptions(Reading):
    """The options of `tux.runs.session.run`, and those of reading files.

    `out`: a new folder for the results; None: nothing is kept. `epochs`: at most so many; None: as
    many as the program says; 0: the model is the initial state, after the set-up stages. Every
    `every`-th epoch is evaluated; with `patience` the run stops after so many evaluations without a
    better monitored metric. With `check`, an index out of bounds and NaN that replaces a number, in
    any vertex function, end the run; without `jit`, vertex functions run as plain Python.

    `workers` on this machine, None: 1, or as many as a partitioned folder has parts. Each computes
    with `threads`, None: the machine's cores divided by its workers; results do not depend on them.
    With `racing`, stages that the program lets race run on all threads in no order, and their
    results differ from run to run. `partitioner`,
    None: bicut, cuts the edges into one process each, which may be `slack` clocks apart; no wait
    takes longer than `deadline` seconds. `place`: which of several machines this is.

    With `checkpoint_every`, epochs ("5") or seconds ("30s"), the run's state is kept below `out`,
    so that the run can go on after a fault (`tux.runs.session.resume`); the newest `keep` stay,
    None: 2. Of several machines, machine 0 has `out`. When one of several workers is lost, all are
    started again from the newest checkpoint, or from the beginning, at most `restarts` times
    between two checkpoints; None: 3 with checkpoints, else 0.

    A run that the user ends raises Interrupted; with `keeps_interrupted` it is returned if it has
    a model by then.

    The records of epochs, the parameters and the results also go to `log`, one of `LOGS`.
    Scores by labels are means over `judge_repeats` random splits. With `judge_top`, the finished
    model is judged by so many best items for each user of the held-out edges too
    (`tux.predict.ranking.judge_ranking`); those of training are left out. `command` is only
    recorded.
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
    threads: int | None = None
    racing: bool = False
    partitioner: str | None = None
    deadline: float = 600.0
    place: Place | None = None
    checkpoint_every: str | None = None
    keep: int | None = None
    restarts: int | None = None
    keeps_interrupted: bool = False
    judge_repeats: int = REPEATS
    judge_top: int | None = None
    log: str | None = None
    command: Sequence[str] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep and not self.checkpoint_every:
            raise UsageError(
                "--keep says how many checkpoints stay, and none are written",
                do="add --checkpoint-every N",
            )
        elsewhere = self.place is not None and self.place.rank > 0  # machine 0 writes
        if self.checkpoint_every and self.out is None and not elsewhere:
            raise UsageError(
                "checkpoints are written below --out, which is not given", do="add --out DIR"
            )
        if self.log == "tensorboard" and self.out is None and not elsewhere:
            raise UsageError(
                "TensorBoard reads what is written below --out, which is not given",
                do="add --out DIR",
            )
        if self.partitioner not in (None, "auto", *PARTITIONERS):
            known = ", ".join(PARTITIONERS)
            raise UsageError(
                f"no partitioner {self.partitioner!r}",
                do=f"{did_you_mean(str(self.partitioner), PARTITIONERS)}there are auto, {known}",
            )

    def plan_for(self, program: Program) -> RunPlan:
        """Make the plan of a run, with all that is decided before data are read. UsageError for
        options of which the program has no use.
        """
        if self.patience and not program.monitor:
            raise UsageError(
                f"{type(program).__name__} monitors no metric, so --patience means nothing",
                do="leave it out",
            )
        if self.racing and not may_race(program):
            raise UsageError(
                f"{type(program).__name__} has no stage that may race, so --racing means nothing",
                do="leave it out: threads share the work without it",
            )
        if self.judge_top:
            product_of(program)
            if self.place is not None and self.place.machines > 1:
                raise UsageError(
                    "--judge-top on several machines, of which none has all training edges",
                    do="leave it out",
                )
        epochs = program.epochs if self.epochs is None else self.epochs
        return RunPlan(epochs, self.workers or 1, self.partitioner or "bicut", self)


def may_race(program: Program) -> bool:
    """Return whether the program says of a stage that threads may run it in no order."""

    def any_of(stages: Iterable[Stage]) -> bool:
        return any(stage.racing or any_of(stage.inside) for stage in stages)

    return any(any_of(stages_of(program, method, Cluster(has_test=True))) for method in STAGED)


@dataclass(frozen=True)
class RunPlan:
    """The options of a run that has begun, completed from the program and the data."""

    epochs: int
    workers: int
    partitioner: str  # its name; "auto" until the edges are known
    options: RunOptions

    @property
    def threads(self) -> int:
        """The number of threads of each worker."""
        return self.options.threads or max(1, cores() // self.workers)

    @property
    def restarts(self) -> int:
        """The number of times that lost workers are started again between two checkpoints."""
        options = self.options
        if options.restarts is None:
            return RESTARTS if options.checkpoint_every else 0
        return options.restarts

    @property
    def machines(self) -> int:
        """The number of machines that share the run."""
        return self.options.place.machines if self.options.place else 1

    @property
    def all_workers(self) -> int:
        """The number of workers of all machines."""
        return self.workers * self.machines

    def record(self) -> dict[str, Any]:
        """Return the options as `run.json` has them: all that another run needs to be the same."""
        options = self.options
        reading = {
            name: os.fspath(value) if isinstance(value, os.PathLike) else value
            for name, value in options.given_options().items()
        }
        if "vertices" in reading:
            reading["vertices"] = {
                kind: os.path.abspath(table) if isinstance(table, str | os.PathLike) else MEMORY
                for kind, table in reading["vertices"].items()
            }
        for name in ("vocab", "stop"):  # tux predict reads them again, perhaps from another folder
            if reading.get(name) not in (None, STANDARD):
                reading[name] = os.path.abspath(reading[name])
        return {
            **{name: getattr(options, name) for name in ("every", "patience", "jit", "check")},
            "slack": options.slack,
            "threads": self.threads,
            "racing": options.racing,
            "judge_repeats": options.judge_repeats,
            **({"judge_top": options.judge_top} if options.judge_top else {}),
            **(
                {"checkpoint_every": options.checkpoint_every, "keep": options.keep}
                if options.checkpoint_every
                else {}
            ),
            **({"restarts": options.restarts} if options.restarts is not None else {}),
            **({"log": options.log} if options.log else {}),
            "columns": options.columns,
            "on_bad_row": options.on_bad_row,
            **reading,
            "epochs": self.epochs,
            "workers": self.workers,
            **({"machines": self.machines} if self.machines > 1 else {}),
            "partitioner": self.partitioner,
            "deadline": options.deadline,
        }
