"""One run of a program from data to model: what `tux run` does, and what a notebook does with
``run(MF(rank=8), "ratings.csv")``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, Unpack

from tux.arrays.ids import Ids
from tux.arrays.piped import STANDARD
from tux.base.errors import TuxError, UsageError
from tux.base.text import closest, named, plural
from tux.engine.records import metrics
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import Graph
from tux.graph.partitioned import check_workers, partitioned
from tux.graph.store import read_manifest
from tux.io import vertex_labels
from tux.partition import PARTITIONERS, recommended
from tux.program import sources
from tux.program.program import REPEATS, Asked, Program
from tux.run.folder import App, Origin, Run, RunFolder, Tables, check_names, model_of, tables_of
from tux.run.inputs import Data, Inputs, Reading, judges, load
from tux.run.watcher import Phases, Silent, Watcher

if TYPE_CHECKING:
    from tux.cluster.launcher import Launcher
    from tux.cluster.place import Place


MOST_SLACK = 10_000
"""Clocks; a mirror counts its unanswered messages in 16 bits."""


class Interrupted(TuxError):
    """The user stopped the run (exit code 130)."""

    exit_code = 130


@dataclass(frozen=True)
class Result:
    """A run that has ended: the worker with its rows, one record an epoch, `results` as in
    run.json, set-up seconds by phase, the program's tables, and `sizes` of the data as in run.json.

    On a machine other than the first of several there is no worker, and there are no records.
    """

    worker: Worker | None
    records: list[dict[str, Any]]
    results: dict[str, Any]
    setup_seconds: dict[str, float]
    tables: Tables
    sizes: dict[str, Any] = field(default_factory=dict)


def run(
    program: Program,
    data: Data | None = None,
    test: Data | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    seed: int = 0,
    epochs: int | None = None,
    every: int = 1,
    patience: int = 0,
    jit: bool = True,
    check: bool = False,
    workers: int | None = None,
    slack: int = 0,
    partitioner: str | None = None,
    deadline: float = 600.0,
    place: Place | None = None,
    judge_repeats: int = REPEATS,
    command: Sequence[str] = (),
    watch: Watcher | None = None,
    **reading: Unpack[Reading],
) -> Result:
    """Train `program` on a file of edges, a partitioned folder, `EdgeData`, or small generated
    data; write the folder `out` if it is named.

    `test` holds edges out (`EdgeData` must be made against the ids of `data`). `epochs` defaults to
    the program's; every `every`-th epoch is evaluated; with `patience` the run stops after so many
    evaluations without a better monitored metric. With held-out edges, or `patience`, the model is
    that of the epoch which is the best by this metric, else that of the last. With several
    `workers` (default 1, or as many as a partitioned folder has parts), `partitioner` (default
    bicut) cuts the edges into one process each, which may be `slack` clocks apart; no wait takes
    longer than `deadline` seconds; `place`: which of several machines this is. With `check`, an
    index out of bounds and NaN that replaces a number, in any vertex function, end the run:
    ProgramError, DataError. Scores by labels are means over `judge_repeats` random splits.
    `command` is only recorded. Raises UsageError, DataError, DiskError, PeerLost and
    DeadlinePassed, and `Interrupted` for Ctrl-C.
    """
    clock = Phases(watch or Silent())
    options: dict[str, Any] = dict(
        every=every, patience=patience, jit=jit, check=check, slack=slack, **_plain(reading)
    )
    options |= {
        "epochs": program.epochs if epochs is None else epochs,
        "workers": workers or 1,
        "partitioner": partitioner or "bicut",
    }
    _check(program, options)
    with ExitStack() as stack:
        folder = stack.enter_context(RunFolder(out)) if out is not None else None
        with clock.phase("load"):
            inputs, program = _load(program, data, test, clock.watch, reading)
            options |= (
                _as_stored(inputs.folder, workers, partitioner, place) if inputs.folder else {}
            )
            note = Run(
                App(sources.of(program).name, ""),
                program.parameters,
                seed,
                options,
                Origin(inputs.origin, ""),
            )
            note = _note(note, sources.of(program), inputs, list(command)) if folder else note
        _introduce(clock.watch, data, program.edge_name, inputs)
        several = options["workers"] > 1 or place or inputs.folder
        many = (
            _crew(program, inputs, seed, options, deadline, place, folder, clock)
            if several
            else None
        )
        scratch = (lambda: stack.enter_context(TemporaryFile(dir=folder.path))) if folder else None
        training = (
            stack.enter_context(many)
            if many
            else _prepare(program, inputs, seed, options, clock, scratch)
        )
        if place and place.rank:
            return _elsewhere(training, place, clock)
        keep_best = _keeps_best(program, inputs, options)
        asked = Asked(
            inputs.test,
            reading.get("labels") if program.labels else None,
            seed,
            judge_repeats,
            clock.watch.share,
        )
        sizes = inputs.sizes
        del inputs  # the graph holds the edges in its own order
        records, tables = _carry_out(training, options, keep_best, asked, note, folder, clock)
    return Result(training.worker, records, note.results or {}, note.setup_seconds, tables, sizes)


def _carry_out(
    training: Training | Launcher,
    options: dict[str, Any],
    keep_best: bool,
    asked: Asked,
    note: Run,
    folder: RunFolder | None,
    clock: Phases,
) -> tuple[list[dict[str, Any]], Tables]:
    """Train, write the model and judge it; `note` is completed. Returns the epochs' records and
    the tables.
    """
    clock.watch.say(", ".join(f"{name} {seconds:.2f} s" for name, seconds in clock.seconds.items()))
    note.setup_seconds = {name: round(seconds, 6) for name, seconds in clock.seconds.items()}
    if folder:
        folder.write_run(note)
    records = _train(training, options, keep_best, folder, clock.watch)
    tables = _tables(training, records, folder, clock.watch)
    note.results = _told(training, records, keep_best, asked, tables, clock.watch)
    if folder:
        folder.write_run(note)
    return records, tables


def _tables(
    training: Training | Launcher,
    records: list[dict[str, Any]],
    folder: RunFolder | None,
    watch: Watcher,
) -> Tables:
    """The program's tables; they and the model are written."""
    watch.phase("tables")
    tables = {
        **tables_of(training.worker, training.edges()),
        **training.worker.program.history(records),
    }
    if folder:
        watch.phase("save")
        _write(training, tables, folder)
    return tables


def _told(
    training: Training | Launcher,
    records: list[dict[str, Any]],
    keep_best: bool,
    asked: Asked,
    tables: Tables,
    watch: Watcher,
) -> dict[str, Any]:
    """The run's results. The model is judged when it has been written: it should not be lost to
    a file of labels.
    """
    program = training.worker.program
    results = {**_results(training, records, keep_best), **program.summary(tables, records)}
    for text in program.remarks(records):
        watch.warn(text)
    if asked.held_out is not None or asked.labels is not None:
        watch.phase("judge")
        results |= program.judge(*model_of(training.worker), training.edges(), asked)
    return results


def _write(training: Training | Launcher, tables: Tables, folder: RunFolder) -> None:
    """Write the model, and have the program write the lists that no stage uses."""
    folder.write_model(training.worker, tables)
    if (kept := training.lists()) is None:
        return
    with kept:
        vertices = training.worker.graph.vertices[kept.head.over]
        training.worker.program.write(
            folder.path, kept.pieces(), vertices.ids.values[: vertices.known][kept.order]
        )


def _check(program: Program, options: dict[str, Any]) -> None:
    """UsageError for what cannot be meant, ProgramError for a field that a model file cannot
    hold.
    """
    if options["epochs"] < 1 or options["every"] < 1 or options["patience"] < 0:
        raise UsageError("epochs and every are at least 1, patience at least 0")
    if options["patience"] and not program.monitor:
        raise UsageError(
            f"{type(program).__name__} monitors no metric, so --patience means nothing",
            do="leave it out",
        )
    if not 0 <= options["slack"] <= MOST_SLACK:
        raise UsageError(f"a slack of {options['slack']} clocks", do=f"give 0 to {MOST_SLACK:,}")
    if (name := options["partitioner"]) not in (*PARTITIONERS, "auto"):
        raise UsageError(
            f"no partitioner {name!r}",
            do=f"{closest(name, PARTITIONERS)}there are auto, {', '.join(PARTITIONERS)}",
        )
    check_names(program)


def _load(
    program: Program, data: Data | None, test: Data | None, watch: Watcher, reading: Reading
) -> tuple[Inputs, Program]:
    """The edges, and the program to run on them; what it has chosen by itself is said."""
    named_labels = reading.get("labels")
    if program.labels and named_labels is not None:
        # they are not needed before the end, but a long run should not end with what is wrong with
        # them
        vertex_labels.check(named_labels)
    if test is not None and not judges(type(program)):
        raise UsageError(
            f"{type(program).__name__} does not judge its model, so --test has no use",
            do="leave --test out",
        )
    inputs = load(program, data, test, warn=watch.warn, **reading)
    if program.labels and named_labels is not None:
        _compare_labels(
            named_labels, inputs.train.ids[program.edge.ends[0]], program.edge.ends[0], watch
        )
    if inputs.test is None and not inputs.folder:
        train, held = program.held_out(inputs.train)
        inputs = replace(inputs, train=train, test=held) if held is not None else inputs
    chosen = program.suited(inputs.train)
    for name, value in chosen.parameters.items():
        if value != program.parameters.get(name, value):
            watch.say(f"{name} {value}, which suits these data")
    return inputs, chosen


def _compare_labels(path: str | os.PathLike[str], ids: Ids, kind: str, watch: Watcher) -> None:
    """Warn of labelled ids that are not in the graph. DataError if none is, before time is spent
    on training.
    """
    found = vertex_labels.read_vertex_labels(path, ids)
    if found.unknown:
        total = found.unknown + int(found.member.any(axis=1).sum())
        watch.warn(
            f"{found.unknown:,} of {plural(total, kind)} with labels in {os.path.basename(path)} "
            "are not in the graph: left out"
        )


def _elsewhere(crew: Any, place: Place, clock: Phases) -> Result:
    """On a machine other than the first: the workers are at work; wait until they have left."""
    clock.watch.say(
        f"machine {place.rank} of {place.machines}: {plural(len(crew.ranks), 'worker')} at work; "
        "machine 0 tells how it goes"
    )
    clock.watch.phase("train with machine 0")
    crew.wait()
    return Result(None, [], {}, clock.seconds, {})


def _note(note: Run, source: sources.Source, inputs: Inputs, command: list[str]) -> Run:
    """The run's record with digests and versions; digests take about a second a gigabyte of
    edges.
    """
    note.app.digest = source.digest
    note.data.digest = inputs.digest()
    if inputs.test is not None:
        note.test = Origin(inputs.test_origin or inputs.origin, inputs.test.digest())
    note.command, note.sizes = command, inputs.sizes
    note.versions = {
        "python": python_version(),
        **{name: version(name) for name in ("tux", "numpy", "numba", "pyarrow")},
    }
    return note


def _introduce(watch: Watcher, data: Data | None, edge: str, inputs: Inputs) -> None:
    """One line about the data, and one about their truth if they were made up."""
    sizes = [plural(count, name) for name, count in inputs.sizes["vertices"].items()] + [
        plural(inputs.sizes["edges"], edge)
    ]
    sizes += [
        f"{plural(count, 'group')} of {name}s"
        for name, count in inputs.sizes.get("groups", {}).items()
    ]
    if inputs.test is not None:
        sizes.append(f"{len(inputs.test):,} held out")
    watch.say(
        f"data: {named(data) if data is not None else 'generated, as no DATA is named'}: "
        f"{', '.join(sizes)}"
    )
    for edges, what in ((inputs.train, "columns"), (inputs.test, "columns of the test file")):
        if edges is not None and edges.columns:
            watch.say(f"{what}: {edges.columns}")
    if inputs.truth:
        watch.say(inputs.truth)


def _prepare(
    program: Program,
    inputs: Inputs,
    seed: int,
    options: dict[str, Any],
    clock: Phases,
    scratch: Any,
) -> Training:
    """Lay out and compile. What the kernels took to compile is told apart by the worker."""
    with clock.phase("layout", "layout and compile"):
        graph = Graph.whole(program, inputs.train, inputs.test, seed)
        worker = Worker(program, graph, seed=seed, jit=options["jit"], check=options["check"])
        worker.scratch = scratch
        training = Training(worker)
    compiling = worker.seconds["compile"]
    clock.seconds["layout"] -= compiling
    clock.seconds["compile"] = compiling
    return training


def _plain(reading: Reading) -> dict[str, Any]:
    """How files are read, as run.json records it."""
    plain = {
        name: os.fspath(value) if isinstance(value, os.PathLike) else value
        for name, value in reading.items()
    }
    for name in ("vocab", "stop"):  # tux predict reads them again, perhaps from another folder
        if plain.get(name) not in (None, STANDARD):
            plain[name] = os.path.abspath(str(plain[name]))
    return {"columns": None, "on_bad_row": "stop"} | plain


def _as_stored(
    folder: Path, workers: int | None, partitioner: str | None, place: Place | None
) -> dict[str, Any]:
    """The options that a partitioned folder decides. UsageError for what contradicts it."""
    manifest = read_manifest(folder)
    if partitioner is not None:
        raise UsageError(
            f"{folder} is cut already, by {manifest.partitioner or 'unknown'}",
            do="leave out --partitioner",
        )
    machines = place.machines if place else 1
    return {
        "workers": check_workers(manifest.parts, workers, machines, folder),
        "partitioner": manifest.partitioner,
    }


def _recommended(
    inputs: Inputs, options: dict[str, Any], place: Place | None, watch: Watcher
) -> dict[str, Any]:
    """The partitioner that "auto" stands for, said with its reason."""
    total = options["workers"] * (place.machines if place else 1)
    if options["partitioner"] != "auto" or inputs.folder or total == 1:
        return {}
    train = inputs.train
    name, reason = recommended(
        train.src, train.dst, total, bipartite=train.ends[0] != train.ends[1]
    )
    watch.say(f"partitioner {name}: {reason}")
    return {"partitioner": name}


def _crew(
    program: Program,
    inputs: Inputs,
    seed: int,
    options: dict[str, Any],
    deadline: float,
    place: Place | None,
    folder: RunFolder | None,
    clock: Phases,
) -> Any:
    """Cut, lay out, compile once for all workers, and start them."""
    from tux.cluster.prepare import crowded, prepare

    if told := crowded(options["workers"]):
        clock.watch.warn(told)
    source = sources.of(program)
    options.update(_recommended(inputs, options, place, clock.watch))
    chosen = {
        name: options[name]
        for name in ("slack", "jit", "check", "epochs", "every", "patience", "workers")
    }
    chosen |= {
        "keep_best": _keeps_best(program, inputs, options),
        "place": place,
        "room": folder.path if folder else None,
        "seed": seed,
        "deadline": deadline,
        "phase": clock.watch.phase,
        "warn": clock.watch.warn,
    }
    with clock.phase("layout", "cut, layout and compile"):
        return prepare(
            source.name,
            program.parameters,
            lambda k: partitioned(program, inputs, options["partitioner"], k, seed),
            **chosen,
        )


def _keeps_best(program: Program, inputs: Inputs, options: dict[str, Any]) -> bool:
    """Whether the model is that of the best epoch: there are held-out edges, or the run stops
    when it gets no better.
    """
    return bool(program.monitor) and (inputs.test is not None or options["patience"] > 0)


def _train(
    training: Training | Launcher,
    options: dict[str, Any],
    keep_best: bool,
    folder: RunFolder | None,
    watch: Watcher,
) -> list[dict[str, Any]]:
    """Run the epochs; each record goes to the folder and the watcher as it comes."""
    records: list[dict[str, Any]] = []
    monitor, patience, most = (
        training.worker.program.monitor,
        options["patience"],
        options["epochs"],
    )
    watch.phase("epoch 1")
    try:
        for record in training.epochs(
            most, every=options["every"], patience=patience, keep_best=keep_best
        ):
            records.append(record)
            if folder:
                folder.append(record)
            watch.epoch(record, most)
            if patience and len(records) == options["every"] and monitor not in record:
                watch.warn(
                    f"{monitor} has no value, so --patience does nothing; it may need --test FILE"
                )
            watch.phase(f"epoch {len(records) + 1}")
    except KeyboardInterrupt:
        kept = f"{folder.path / 'metrics.jsonl'} holds them; " if folder and records else ""
        raise Interrupted(
            f"interrupted after {plural(len(records), 'epoch')}", do=f"{kept}no model was written"
        ) from None
    return records


def _results(
    training: Training | Launcher, records: list[dict[str, Any]], keep_best: bool
) -> dict[str, Any]:
    """Epochs and seconds, last and best metrics, and the epoch whose state the model is."""
    results: dict[str, Any] = {
        "epochs": len(records),
        "seconds": training.seconds,
        "last": metrics(records[-1]),
    }
    if training.best_epoch:
        results["monitor"] = training.worker.program.monitor
        results["best"] = {
            "epoch": training.best_epoch,
            **metrics(records[training.best_epoch - 1]),
        }
    results["model_epoch"] = (
        training.best_epoch if keep_best and training.best_epoch else len(records)
    )
    return results
