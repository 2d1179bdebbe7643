"""The options of a run besides its program and data: how files are read, how long it goes on, who
does it, and what is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tux.arrays.piped import STANDARD
from tux.base.errors import UsageError
from tux.base.parallel import MOST_THREADS, cores
from tux.base.text import plural_noun
from tux.clock.clock import MOST_SLACK
from tux.io.source.input_files import absolute_source
from tux.options.partitioners import check_named_type, check_partitioner
from tux.options.reading import File as File
from tux.options.reading import Reading as Reading
from tux.options.reading import data_option, ranks_pairs, reads
from tux.options.rules import (
    AUTO,
    BYTES,
    FOLDER,
    INTERVAL,
    PATHS,
    PLACE,
    RUN,
    SECONDS,
    SWITCH,
    choice_rule,
    endless_rule,
    integer_rule,
    is_list_of_texts,
    object_rule,
    open_rule,
    option,
    options_by_name,
    text_rule,
)
from tux.program.base_program import default_epochs
from tux.program.input import Samples
from tux.program.product import product_of
from tux.program.program import Program, begins_with_model, evaluates, may_race
from tux.program.report import REPEATS

if TYPE_CHECKING:
    from tux.cluster.rendezvous.place import Place

MEMORY = "memory"
"""The word in a run's record for a table of vertices that was given in memory."""

FORMER = {"every": "eval_every"}
"""Names of options in the records of older versions."""

RESTARTS = 3
"""Times that lost workers are started again between two checkpoints, by default."""

LOGS = ("mlflow", "tensorboard")
"""The sinks that the curves of a run may go to besides its folder: see `tux.monitor.sinks.sinks`.
"""

worker_option = partial(option, section="workers")
switch_option = partial(option, SWITCH, section="other", of_job=True)


def _epochs_help(program: type[Program]) -> str:
    own = f"default {program.epochs}"
    if begins_with_model(program):
        own += f"; with --from {program.epochs_from or program.epochs}"
    return f"passes over the data, at most; 0: the initial state [{own}]"


_COMMAND = object_rule("a list of str", is_list_of_texts)


@dataclass(frozen=True, kw_only=True)
class RunOptions(Reading):
    """The options of `tux.runs.session.run`, and those of reading files.

    `out`: a new folder for the results; None: nothing is kept. `epochs`: at most so many; None: as
    many as the program says; 0: the model is the initial state, after the set-up stages. Every
    `eval_every`-th epoch is evaluated; with `patience` the run stops after so many evaluations
    without a better monitored metric. With `check`, an index out of bounds and NaN that replaces a
    number, in any vertex function, end the run; without `jit`, vertex functions run as plain
    Python. With `profile`, the work of each stage is measured (`tux.engine.profile`). With
    `trace_clocks`, what the clocks of each worker do is written below `out` (`tux.clock.trace`).

    `workers` on this machine, None: 1, or as many as a partitioned folder has parts. "auto" leaves
    them, and the `slack`, to trials: the run's first epochs with several settings. Each computes
    with `threads`, None: the machine's cores divided by its workers; results do not depend on them.
    With `racing`, stages that the program lets race run on all threads in no order, and their
    results differ from run to run. `partitioner`, None: bicut, cuts the edges into one process
    each, which may be `slack` clocks apart ("inf": any number); no wait takes longer than
    `deadline` seconds. `place`: which of several machines this is.

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

    out: File | None = option(
        FOLDER,
        "write run.json, metrics.jsonl and model/ to this new folder [default: the model is not "
        "kept]",
        recorded=False,
    )
    from_run: File | None = option(
        RUN,
        "begin with the model of this run: DATA is new, and known vertices keep their rows",
        shown=begins_with_model,
        of_job=True,
    )
    epochs: int | None = option(
        integer_rule(0),
        _epochs_help,
        resumed="at most so many in all [default: as begun]",
        of_job=True,
    )
    eval_every: int = option(
        integer_rule(1),
        "judge the model after every N-th epoch, and the last; with --slack, workers do not wait "
        "for each other after the others [default 1]",
        shown=evaluates,
        of_job=True,
        default=1,
    )
    patience: int = option(
        integer_rule(0),
        lambda program: (
            f"stop after N evaluations without a better {program.monitor}, and keep the best "
            "epoch; 0: never [default 0]"
        ),
        shown=lambda program: bool(program.monitor),
        of_job=True,
        default=0,
    )
    seed: int = option(
        integer_rule(),
        "another seed is another run [default 0]",
        default=0,
        recorded=False,
        of_job=True,
    )
    log: str | None = option(
        choice_rule(*LOGS),
        "give the records of epochs, parameters and results to MLflow, where its own settings say, "
        "or to TensorBoard, in DIR/tensorboard",
    )
    workers: int | str | None = worker_option(
        open_rule(integer_rule(1)),
        "worker processes on this machine; auto: as trials of the first epochs choose [default 1, "
        "or the parts of DATA]",
        resumed="worker processes [default: as begun]",
    )
    threads: int | None = worker_option(
        integer_rule(1, MOST_THREADS),
        "threads of each worker, for the same results in less time [default: the machine's cores, "
        "divided by its workers]",
        resumed="threads of each worker [default: as begun; on another number of workers, the "
        "machine's cores divided by them]",
    )
    memory: int | None = worker_option(
        BYTES,
        "memory that each worker takes, such as 3GB: edges that do not fit lie on disk, beside "
        "--out, and are read again in each epoch [default: what the machine or its control group "
        "has left]",
        resumed="memory that each worker takes [default: as begun]",
        of_job=True,
    )
    racing: bool = worker_option(
        SWITCH,
        "let threads race where the app allows it: faster, and no two runs are the same",
        of_job=True,
        default=False,
    )
    slack: int | str = worker_option(
        open_rule(endless_rule(0, MOST_SLACK)),
        "mini-batches that workers may be apart; 0: in step; inf: they do not wait for each other, "
        "so values may be of any age; auto: as trials choose [default 0]",
        of_job=True,
        default=0,
    )
    partitioner: str | None = worker_option(
        text_rule(),
        "how edges are dealt to workers: auto, or a method of tux partition; METHOD:TYPE deals "
        "those of one edge type, and each other edge beside its ends [default bicut]",
    )
    deadline: float = worker_option(
        SECONDS,
        "seconds that a wait may take in which no worker works [default 600]",
        resumed="seconds that a wait may take in which no worker works [default: as begun]",
        of_job=True,
        default=600.0,
    )
    checkpoint_every: str | None = option(
        INTERVAL,
        "keep the run's state below --out every N epochs or N seconds, so that it can go on after "
        "a fault: tux run --resume DIR [default: never]",
    )
    keep: int | None = option(integer_rule(1), "checkpoints that are kept [default 2]")
    restarts: int | None = option(
        integer_rule(0),
        "when a worker process is lost, start all again from the newest checkpoint, or from the "
        "beginning: N times, and as often again after each new checkpoint; when one that loads "
        f"the data is lost, load them anew, N times too [default {RESTARTS} with "
        "--checkpoint-every, else 0]",
        resumed="times that lost workers are started again between two checkpoints [default: as "
        "begun]",
        of_job=True,
    )
    judge_repeats: int = data_option(
        integer_rule(1),
        f"means of F1 by labels are over N random splits [default {REPEATS}]",
        exists=lambda program: not reads(Samples)(program) and program.input.vertex_labels,
        default=REPEATS,
    )
    judge_top: int | None = data_option(
        integer_rule(1, metavar="K"),
        lambda program: (
            f"judge the finished model by the K best {plural_noun(program.edge.ends[1])} for each "
            f"{program.edge.ends[0]} of --test, too: recall@K, ndcg@K, map@K, "
            "hit_rate@K, mrr@K, coverage@K"
        ),
        shown=ranks_pairs,
    )
    jit: bool = switch_option(
        "run vertex functions as plain Python: slow, but a debugger sees them", default=True
    )
    check: bool = switch_option(
        "stop at an index out of bounds or NaN in a vertex function, and tell the line; slower",
        default=False,
    )
    profile: bool = switch_option(
        "tell at the end how long each stage took, and each line of the slowest function; on one "
        "machine",
        default=False,
    )
    trace_clocks: bool = switch_option(
        "write below --out what the clocks of each worker do, for tux check-trace", default=False
    )
    place: Place | None = option(PLACE, recorded=False)
    keeps_interrupted: bool = option(SWITCH, default=False, recorded=False)
    command: Sequence[str] = option(_COMMAND, default=(), recorded=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep and not self.checkpoint_every:
            raise UsageError(
                "--keep says how many checkpoints stay, and none are written",
                do="add --checkpoint-every N",
            )
        elsewhere = self.place is not None and self.place.rank > 0  # machine 0 writes
        below_out = {
            "checkpoints": self.checkpoint_every,
            "files for TensorBoard": self.log == "tensorboard",
            "traces of clocks": self.trace_clocks,
        }
        wanted = [what for what, asked in below_out.items() if asked]
        if wanted and self.out is None and not elsewhere:
            raise UsageError(
                f"{wanted[0]} are written below --out, which is not given", do="add --out DIR"
            )
        if self.partitioner is not None:
            check_partitioner(self.partitioner)

    @property
    def leaves_open(self) -> list[str]:
        """The names of options that trials are to choose."""
        return [name for name in ("workers", "slack") if getattr(self, name) == AUTO]

    def plan_for(self, program: Program) -> RunPlan:
        """Make the plan of a run, with all that is decided before data are read. UsageError for
        options of which the program has no use.
        """
        if self.patience and not program.monitor:
            raise UsageError(
                f"{type(program).__name__} monitors no metric, so --patience means nothing",
                do="leave it out",
            )
        if self.racing and not may_race(program, from_model=self.from_run is not None):
            raise UsageError(
                f"{type(program).__name__} has no stage that may race, so --racing means nothing",
                do="leave it out: threads share the work without it",
            )
        if self.profile and self.place is not None and self.place.machines > 1:
            raise UsageError(
                "--profile on several machines, whose memory and cores may differ",
                do="leave it out, or profile a run on one machine: --nnodes 1",
            )
        if self.judge_top:
            product_of(program)
            if self.place is not None and self.place.machines > 1:
                raise UsageError(
                    "--judge-top on several machines, of which none has all training edges",
                    do="leave it out",
                )
        check_named_type(program, self.partitioner or "")
        if self.leaves_open:
            raise UsageError(
                f"--{self.leaves_open[0]} auto is chosen by trials when a run begins, on one "
                "machine and by reading the data again",
                do="name a number",
            )
        assert not isinstance(self.workers, str)
        own = default_epochs(program, from_model=self.from_run is not None)
        epochs = own if self.epochs is None else self.epochs
        return RunPlan(epochs, self.workers or 1, self.partitioner or "bicut", self)


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

    def job_options(self) -> dict[str, Any]:
        """Return the options that the workers of a job need, the same on all machines."""
        return {
            name: getattr(self if hasattr(self, name) else self.options, name)
            for name, declared in OPTIONS.items()
            if declared.of_job
        }

    def record(self) -> dict[str, Any]:
        """Return the options as `run.json` has them: all that another run needs to be the same."""
        options = self.options
        values = {
            name: getattr(options, name) for name, declared in OPTIONS.items() if declared.recorded
        }
        values |= {"epochs": self.epochs, "workers": self.workers, "threads": self.threads}
        values["partitioner"] = self.partitioner
        if options.vertices:
            values["vertices"] = {
                kind: absolute_source(table) if isinstance(table, str) else MEMORY
                for kind, table in options.vertices.items()
            }
        for name, declared in OPTIONS.items():  # they are read again, perhaps from another folder
            if declared.rule in PATHS and values.get(name) not in (None, STANDARD):
                values[name] = absolute_source(values[name])
        if self.machines > 1:
            values["machines"] = self.machines
        always = {"columns", "keep"} if options.checkpoint_every else {"columns"}
        return {
            name: value for name, value in values.items() if value is not None or name in always
        }


OPTIONS = options_by_name(RunOptions)
"""All options of a run, by name."""

RESUMABLE = [name for name, declared in OPTIONS.items() if declared.resumed]
"""Options that a run may go on with other values of."""
