"""One run of a program from data to model: the work of `tux run`, and of a notebook with
``run(MF(rank=8), "ratings.csv", options=RunOptions(epochs=3))``.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from tux.base.errors import DeadlinePassed, DiskError, PeerLost, UsageError
from tux.base.limits import check_workers
from tux.base.text import plural
from tux.checkpoint.folder_keeper import FolderKeeper
from tux.checkpoint.saved import load as load_state
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.spool import Scratch
from tux.checkpoint.store import Checkpoints, CheckpointSearch, has_checkpoint
from tux.cluster.checkpoint.keeper import StatePlan
from tux.cluster.job import job_folder
from tux.cluster.recovery.restarts import Start
from tux.cluster.rendezvous.answering import Answers
from tux.cluster.rendezvous.joining import telling_machine_0
from tux.engine.model import RunModel
from tux.engine.shares import WHOLE
from tux.engine.worker import Worker
from tux.graph.manifest import is_partitioned
from tux.inputs.in_shares import ShareLoading
from tux.inputs.load import Data
from tux.inputs.origin import cut_folder
from tux.inputs.wrapping import wrap_data
from tux.monitor.sinks import sinks
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher, Phases, Watcher
from tux.predict.predict import TrainedModel
from tux.program.base_program import default_epochs
from tux.program.program import Program
from tux.program.report import GroundTruth, Tables
from tux.program.returns import check_exports
from tux.run_folder.folder import RunFolder, RunRecord
from tux.run_folder.journal import JournalWatcher
from tux.runs.begin import (
    choose_partitioner,
    fit_plan_to_folder,
    introduce,
    keeps_best,
    lay_out,
    load_for,
    start_workers,
    tell_of_stages,
)
from tux.runs.context import RunContext
from tux.runs.description import describe, describe_early
from tux.runs.keeping import LocalMarks
from tux.runs.memory import limit_memory, room_for_rows
from tux.runs.other_workers import move_to_workers, whole_reason
from tux.runs.profiling import RunProfile, profile_of
from tux.runs.recovery import RunRecovery, note, start_of
from tux.runs.resume import StoppedRun, changed_versions, find_stopped_run, manifest_of
from tux.runs.start import begin_with
from tux.runs.train import train_and_finish
from tux.runs.trainer import TrainingHere
from tux.runs.tuning import settle

if TYPE_CHECKING:
    from tux.cluster.rendezvous.place import Place

BY_HAND = "tux run --resume"
"""The reason in the record of a run that the user has had go on."""


@dataclass(frozen=True)
class Result:
    """A run that has ended: its `model`, one record an epoch, `results` as in run.json, set-up
    seconds by phase, the program's tables, `sizes` of the data as in run.json, and the `record`
    that run.json holds; the `profile`, if it was asked for; and the worker, if there was one in
    this process.

    On a machine other than the first of several there is no model, and there are no records.
    """

    model: RunModel | None
    records: list[dict[str, Any]]
    results: dict[str, Any]
    setup_seconds: dict[str, float]
    tables: Tables
    sizes: dict[str, Any] = field(default_factory=dict)
    record: RunRecord | None = None
    profile: RunProfile | None = None
    worker: Worker | None = None

    @property
    def id_types(self) -> dict[str, str]:
        """The types in which ids were given in memory, by vertex type (`tux.arrays.given`)."""
        return self.record.id_types if self.record else {}


def run(
    program: Program,
    data: Data | None = None,
    test: Data | None = None,
    options: RunOptions | None = None,
    watch: Watcher | None = None,
    *,
    start: TrainedModel | None = None,
) -> Result:
    """Run `program`: train it on files, a partitioned folder, `EdgeData`, other data in memory
    (`tux.inputs.memory`: tables of any library, matrices, graphs, texts), or small generated data.
    One worker may begin with a model in memory, `start`, instead of that of `options.from_run`.

    `test` holds edges out (`EdgeData` must be made against the ids of `data`). With held-out edges,
    or `options.patience`, the model is that of the epoch which is the best by the program's
    monitored metric, else that of the last. Raises UsageError, ProgramError, DataError, DiskError,
    PeerLost and DeadlinePassed, and `Interrupted` for Ctrl-C.
    """
    options, watch = options or RunOptions(), watch or NullWatcher()
    if start is not None and options.epochs is None:
        options = replace(options, epochs=default_epochs(program, from_model=True))
    data, test = wrap_data(program, data), wrap_data(program, test)

    def check(least: RunOptions) -> None:
        _check_options(program, data, least, processes=_has_processes(data, least))

    def try_out(tried: RunOptions, room: Path | None) -> Result:
        return _run(program, data, test, tried, Phases(NullWatcher()), start=start, room=room)

    options = settle(options, program, data, check, try_out, watch)
    return _run(program, data, test, options, Phases(watch), start=start)


def resume(
    folder: str | os.PathLike[str],
    *,
    place: Place | None = None,
    app: str | None = None,
    keeps_interrupted: bool = False,
    watch: Watcher | None = None,
    **others: Any,
) -> Result:
    """Go on with the run of a folder from its newest checkpoint (`RunOptions.checkpoint_every`), or
    begin it again where it was stopped before its first one, with `others` of its options
    (`tux.options.options.RESUMABLE`); None, as by default: as it has begun. A run of several
    machines goes on at a `place` which is machine 0; the others are started again by `run`, as at
    first. `app`: where the program's file is now, if it has moved.

    On as many workers, at slack 0, with the same processor and versions, the result has the bytes
    of a run that never stopped; on others it is as good. Raises the errors of `run`, DataError
    where all checkpoints are damaged, and Refused where the program, the data or the parameters
    have changed.
    """
    watch = watch or NullWatcher()
    with RunFolder.reopen(folder) as claimed:  # before a checkpoint is chosen
        watch.phase("look for the newest checkpoint")
        before = find_stopped_run(folder, others, place=place, app=app, warn=watch.warn)
        options = replace(before.options, keeps_interrupted=keeps_interrupted)
        begun, program = (before, claimed), before.program
        data, test = wrap_data(program, before.data), wrap_data(program, before.test)
        return _run(program, data, test, options, Phases(watch), begun)


def _run(
    program: Program,
    data: Data | None,
    test: Data | None,
    options: RunOptions,
    phases: Phases,
    begun: tuple[StoppedRun, RunFolder] | None = None,
    *,
    start: TrainedModel | None = None,
    room: Path | None = None,
) -> Result:
    """Run a program from the beginning, or from the checkpoint of a stopped run, in its folder;
    where it has none, its files lie in `room`.
    """
    processes = _has_processes(data, options)
    _check_options(program, data, options, processes=processes)
    with ExitStack() as stack:
        run = RunContext(program, options, phases, stack, trial_room=room)
        run.before, run.folder = begun or (None, None)
        run.start = begin_with(start, program, options, phases.watch.warn, run.before)
        if run.folder is None and options.out is not None:
            run.folder = stack.enter_context(RunFolder(options.out))
            run.folder.begin(describe_early(program, options, data, test))
        if run.folder is not None:
            phases.watch = JournalWatcher(phases.watch, run.folder.journal)
        limit_memory(run)
        answers = _start_answers(run)
        _load(run, data, test, answers)
        _go_on(run)
        states = _states(run)
        if processes:
            _start_workers(run, states, answers)
        else:
            run.training = _lay_out_here(run, states)
        if options.place and options.place.rank:
            return _wait_elsewhere(run)
        run.keep_best = keeps_best(run.program, run.inputs, options)
        labels = options.labels if run.program.input.vertex_labels else None
        run.truth = GroundTruth(
            run.inputs.test, labels, options.seed, options.judge_repeats, run.watch.share
        )
        del run.inputs  # the graph holds the edges in its own order
        with _advise_to_go_on(run):
            tables = train_and_finish(run)
            profile = profile_of(run)
    record = run.record
    return Result(
        run.model,
        run.records,
        record.results or {},
        record.setup_seconds,
        tables,
        record.sizes,
        record,
        profile,
        run.training.worker if isinstance(run.training, TrainingHere) else None,
    )


def _load(run: RunContext, data: Data | None, test: Data | None, answers: Answers) -> None:
    """Load the data, suit the program to them, and plan the run."""
    options, watch = run.options, run.watch
    shares = _share_loading(run, answers)
    with run.phases.phase("load"), _advise_to_go_on(run), telling_machine_0(options.place):
        loaded = load_for(run.program, data, test, options, watch, shares, start=run.start)
        run.inputs, run.program = loaded
        check_exports(run.program)
        plan = fit_plan_to_folder(options.plan_for(run.program), run.inputs.folder)
        run.record = describe(run.program, run.inputs, options, digests=run.folder is not None)
        run.record.start_digest = run.start.digest
        run.record.loaders = plan.all_workers if run.inputs.loaded else 0
    introduce(watch, data, run.program, run.inputs)
    run.plan = choose_partitioner(plan, run.program, run.inputs, watch)
    tell_of_stages(run)


def _start_workers(run: RunContext, states: StatePlan, answers: Answers) -> None:
    """Start workers as processes, from the states from which they go on."""
    checkpoints = states.keeper.checkpoints if isinstance(states.keeper, FolderKeeper) else None
    recovery = RunRecovery(run.record, run.records, run.folder, checkpoints, run.watch)
    with _advise_to_go_on(run):
        run.training = run.stack.enter_context(start_workers(run, states, recovery, answers.end))


def _lay_out_here(run: RunContext, states: StatePlan) -> TrainingHere:
    """Make one worker at the state from which it goes on. The last state is written at the end of
    the run.
    """
    files = run.stack.enter_context(ExitStack())  # which the last checkpoint may still need
    with room_for_rows(run):
        training = lay_out(run, _scratch(files, run.folder, states))
    if states.resume:
        training.resume(load_state(states.resume[0], WHOLE))
    if states.every and states.keeper:
        spool = training.worker.spool
        keeping = LocalMarks(states.every, run.plan.epochs, states.keeper, run.watch, spool)
        training.marks = keeping
        run.stack.callback(keeping.finish)
    return training


def _scratch(files: ExitStack, folder: RunFolder | None, states: StatePlan) -> Scratch | None:
    """Return the place where the worker of this process writes lists; `files` closes their file."""
    if folder is None:
        return None
    if states.keeper is None:
        return Scratch(lambda: files.enter_context(TemporaryFile(dir=folder.path)))
    return Scratch.in_folder(states.keeper.lists, 0, secrets.token_bytes(16), files.enter_context)


def _share_loading(run: RunContext, answers: Answers) -> ShareLoading:
    """Make the loading in shares of a run. The folders that this makes are removed at its end."""

    def folders() -> tuple[Path, Path]:
        made = job_folder.make(run.room)
        run.stack.callback(job_folder.remove, made[0])
        return made

    plan = run.options.plan_for(run.program)
    kept = run.before.checkpoint if run.before else None
    return ShareLoading(plan, folders, run.watch, whole_reason(kept, plan, run.program), answers)


@contextmanager
def _advise_to_go_on(run: RunContext) -> Iterator[None]:
    """Add to the error of a lost worker or of a disk how to go on, if there is a checkpoint. What a
    disk needs first, its error has said.
    """
    try:
        yield
    except (PeerLost, DeadlinePassed, DiskError) as error:
        if run.path and has_checkpoint(run.path):
            first = f"{error.do}; then " if isinstance(error, DiskError) and error.do else ""
            error.do = f"{first}go on from the last checkpoint: tux run --resume {run.path}"
        raise


def _go_on(run: RunContext) -> None:
    """Find the place from which the run goes on, which its record gets, with the options. The
    checkpoint of a stopped run becomes one of as many workers as the run has now; records behind it
    are removed. Refused where the run is another one now.
    """
    record, before, watch = run.record, run.before, run.watch
    loaded = run.inputs.loaded
    record.options, lost = run.plan.record(), loaded.lost if loaded else []
    if before is None or run.folder is None:
        for why in lost:
            note(record, Start(), why)
        return
    before.check(record, run.program)
    had = before.checkpoint.manifest.versions if before.checkpoint else before.run.versions
    if changed := changed_versions(had, record.versions):
        watch.say(f"{changed} than the run began with: results may differ")
    start, size = Start(), 0
    if before.checkpoint is not None:
        before = move_to_workers(before, run)
        start = start_of(before.start_checkpoint)
        size = before.start_checkpoint.manifest.metrics_bytes
        run.records = before.records()  # a damaged file is refused before it is changed
    run.folder.cut_records(size)
    record.incarnations = before.run.incarnations
    workers = before.run.options["workers"] * before.run.options.get("machines", 1)
    now = run.plan.all_workers
    note(record, start, BY_HAND, now if now != workers else None)
    for why in lost:
        note(record, start, why)
    watch.say(f"goes on from {start}")
    run.before = before if before.checkpoint else None


def _start_answers(run: RunContext) -> Answers:
    """Tell other machines, on machine 0, to wait until the launcher listens or the run ends."""
    place, answers = run.options.place, Answers()
    if place and not place.rank:
        answers = Answers(place.launcher, place.secret, run.watch.warn)
    run.stack.callback(answers.end)
    answers.begin()
    return answers


def _has_processes(data: Data | None, options: RunOptions) -> bool:
    """Return whether workers are processes of their own; those of a partitioned folder always
    are.
    """
    several = options.workers not in (None, 1) or options.place is not None
    return several or (isinstance(data, str | os.PathLike) and is_partitioned(Path(data)))


def _check_options(
    program: Program, data: Data | None, options: RunOptions, *, processes: bool
) -> None:
    """Raise UsageError for options of which the program has no use, where lost workers are to be
    started again, and there is only this process; and where a library is missing. Neither this nor
    an export's mistake, nor too few open files or threads, is left to a time when data have been
    read.
    """
    workers = fit_plan_to_folder(options.plan_for(program), cut_folder(data)).all_workers
    if processes:
        check_workers(workers)
    check_exports(program)
    sinks.check(options.log)
    if options.restarts and not processes:
        raise UsageError(
            "--restarts with one worker: it runs in the command's own process",
            do="leave it out: tux run --resume DIR goes on from a checkpoint; or add --workers 2",
        )


def _states(run: RunContext) -> StatePlan:
    """Return the keeper of the run's states, if any are kept, and the states from which it goes
    on.
    """
    every = CheckpointInterval.parse(run.options.checkpoint_every or "")
    keeper, resume = None, run.before.states() if run.before else []
    if run.options.checkpoint_every and run.path:
        found = run.before.found if run.before else CheckpointSearch(None, [])
        checkpoints = Checkpoints(run.path, found, run.options.keep or 2)
        record, metrics = run.record, run.path / "metrics.jsonl"
        keeper = FolderKeeper(
            checkpoints, lambda head, count: manifest_of(record, head, count, metrics)
        )
    return StatePlan(every, keeper, resume)


def _wait_elsewhere(run: RunContext) -> Result:
    """Wait, on a machine other than the first, until its workers have left."""
    workers: Any = run.training
    assert (place := run.options.place) is not None
    run.watch.say(
        f"machine {place.rank} of {place.machines}: {plural(len(workers.ranks), 'worker')} at "
        "work; machine 0 tells how it goes"
    )
    run.watch.phase("train with machine 0")
    workers.wait()
    return Result(None, [], {}, run.phases.seconds, {})
