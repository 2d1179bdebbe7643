"""The beginning of a run: edges are read, the program is suited to them, and workers are made
ready.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tux.arrays.ids import Ids
from tux.base.errors import ProgramError, UsageError
from tux.base.file_systems import lies_on_local_disk
from tux.base.text import data_name, one_line, plural, plural_noun
from tux.clock.trace import Trace, TracePlan, trace_name
from tux.cluster.checkpoint.keeper import StatePlan
from tux.cluster.recovery.restarts import Recovery
from tux.engine.worker import Worker
from tux.graph.links import held_share, split_links
from tux.graph.local import LocalGraph
from tux.graph.manifest import read_manifest
from tux.graph.partitioned import PartitionedGraph, check_workers, partition_inputs
from tux.graph.union import Union, two_sides
from tux.inputs.in_shares import ShareLoading
from tux.inputs.load import Data, Inputs, load
from tux.inputs.loaded_graph import count_sides, take_held_out
from tux.inputs.sizes import describe_edges
from tux.inputs.vertices import fit_parameters
from tux.io.vertices import labels as vertex_labels
from tux.options.options import File, RunOptions, RunPlan
from tux.options.watcher import Watcher
from tux.partition import recommend_partitioner as recommended_partitioner
from tux.partition.method_of_type import MethodOfType, is_open
from tux.partition.recommended import recommend_for_types
from tux.program import sources
from tux.program.base_program import first_edge
from tux.program.params import INLINE, settable
from tux.program.program import Program, may_race, score_of, uses_held_out
from tux.program.returns import call_hook
from tux.program.vertex_params import vertex_numbers
from tux.run_folder.traces import TRACES, newest_attempt
from tux.runs.context import RunContext
from tux.runs.start import NO_START, StartOfRun
from tux.runs.trainer import TrainingHere
from tux.stages.analysis.schedules import compared_types, serial_reasons

LONGEST_CHOICE = 100  # characters of a choice that a program makes, such as of many classes
FEW_COMPARED = 1000
"""Vertices of a block with which functions should have more to compare."""


def load_for(
    program: Program,
    data: Data | None,
    test: Data | None,
    options: RunOptions,
    watch: Watcher,
    shares: ShareLoading | None = None,
    *,
    needs_judge: bool = True,
    start: StartOfRun = NO_START,
) -> tuple[Inputs, Program]:
    """Load the edges, and suit the program to them. Each choice that the program makes by itself is
    said to `watch`. `shares` loads files in shares, where no process need have all edges.
    `needs_judge`: held-out edges are refused if the program does not judge its model by them.
    `start`: the model with which the run begins, if there is one.
    """
    labels = options.labels if program.input.vertex_labels else None
    if labels is not None:
        # labels are not needed before the end, but a long run should not end with an error in them
        vertex_labels.check_vertex_labels(labels)
    if test is not None and needs_judge and not uses_held_out(type(program)):
        raise UsageError(
            f"{type(program).__name__} does not judge its model, so --test has no use",
            do="leave --test out",
        )
    inputs = load(
        program, data, test, options, warn=watch.warn, shares=shares, known=start.vertices
    )
    if labels is not None:
        kind = program.edge.ends[0]
        _compare_labels(labels, inputs.train.ids[kind], kind, watch)
    if inputs.test is None and not inputs.folder:
        inputs = _hold_out(program, inputs)
    if options.judge_top and inputs.test is None:
        raise UsageError(
            "--judge-top judges by held-out edges, of which there are none", do="add --test FILE"
        )
    fitted = fit_parameters(program, inputs.train)
    held_out = {} if inputs.test is None else inputs.test.ids
    facts = replace(inputs.facts(), context=start.context, held_out=held_out)
    special = call_hook(program.input, "specialise", fitted, facts)
    # no time is spent on cutting a graph that has not the vertices
    vertex_numbers(special, lambda name: (inputs.train.ids[name], len(inputs.train.ids[name])))
    if special.predict() is not None:
        score_of(special).check_returns()
    for name, value in special.parameters.items():
        if name not in settable(special.params) or str(value).startswith(INLINE):
            continue
        if value != program.parameters.get(name, value):
            watch.say(f"{one_line(f'{name} {value}', LONGEST_CHOICE)}, which suits these data")
    for text in call_hook(special.input, "doubts", special, facts):
        watch.warn(text)
    return inputs, special


def _hold_out(program: Program, inputs: Inputs) -> Inputs:
    """Return the inputs without the links that the program holds out, which are to judge by."""
    if inputs.loaded:
        return replace(inputs, test=take_held_out(inputs.loaded.folder, inputs.train))
    share = held_share(program)
    if not share:
        return inputs
    train, held_out = split_links(inputs.train, share)
    return replace(inputs, train=train, test=held_out)


def _compare_labels(path: File, ids: Ids, kind: str, watch: Watcher) -> None:
    """Warn of labelled ids that are not in the graph. DataError if none is, before time is spent
    on training.
    """
    labels = vertex_labels.read_vertex_labels(path, ids)
    if labels.moved:
        watch.warn(
            f"{plural_noun(kind)} are numbered from 1 in the graph, and rows from 0 in "
            f"{os.path.basename(path)}: row i is {kind} i + 1"
        )
    if labels.unknown:
        total = labels.unknown + int(labels.member.any(axis=1).sum())
        watch.warn(
            f"{labels.unknown:,} of {plural(total, kind)} with labels in {os.path.basename(path)} "
            "are not in the graph: left out"
        )


def introduce(watch: Watcher, data: Data | None, program: Program, inputs: Inputs) -> None:
    """Say one line about the data, one about their truth if they were made up, and the lines of the
    program's own report.
    """
    sizes = [plural(count, name) for name, count in inputs.sizes["vertices"].items()]
    sizes += [told] if (told := describe_edges(inputs.sizes, program)) else []  # points have none
    sizes += [
        f"{plural(count, 'group')} of {plural_noun(name)}"
        for name, count in inputs.sizes.get("groups", {}).items()
    ]
    if inputs.test is not None:
        held_out = inputs.sizes.get("test", {})  # nothing of edges that the program holds out
        sizes.append(f"{held_out.get('repeated', len(inputs.test)):,} held out")
    watch.say(
        f"data: {data_name(data) if data is not None else 'generated, as no DATA is named'}: "
        f"{', '.join(sizes)}"
    )
    read = {"columns": inputs.train, "columns of the test file": inputs.test}
    read |= {f"columns of {name}": each for name, each in inputs.train.others.items()}
    for what, edges in read.items():
        if edges is not None and edges.columns:
            said = ", ".join(f"{label} from {name}" for label, name in edges.columns.items())
            watch.say(f"{what}: {said}")
    if inputs.truth:
        watch.say(inputs.truth)
    for text in call_hook(program.report, "opening", program, inputs.sizes["vertices"]):
        watch.say(text)


def fit_plan_to_folder(plan: RunPlan, folder: Path | None) -> RunPlan:
    """Return the plan, with the number of workers and the partitioner of the partitioned `folder`,
    if there is one. UsageError for options that contradict the folder.
    """
    if folder is None:
        return plan
    manifest = read_manifest(folder)
    if plan.options.partitioner is not None:
        raise UsageError(
            f"{folder} is cut already, by {manifest.partitioner or 'unknown'}",
            do="leave out --partitioner",
        )
    asked = plan.options.workers
    assert not isinstance(asked, str)
    workers = check_workers(manifest.parts, asked, plan.machines, folder)
    return replace(plan, workers=workers, partitioner=manifest.partitioner)


def choose_partitioner(plan: RunPlan, program: Program, inputs: Inputs, watch: Watcher) -> RunPlan:
    """Return the plan with the partitioner that "auto" stands for, and say it with its reason."""
    total = plan.all_workers
    asked = MethodOfType.parse(plan.partitioner)
    if not is_open(asked) or inputs.folder or total == 1:
        return plan
    watch.phase("choose a partitioner")
    train, end = inputs.train, program.edge.whole
    if end:
        name, reason = "aweto", f"it keeps the edges of each {train.ends[0]} as {end} together"
    elif inputs.loaded and inputs.loaded.counted.edges:  # then there are two sides
        named = ("" if asked.edges == first_edge(program) else asked.edges) if asked.edges else None
        name, reason = recommend_for_types(*count_sides(inputs.loaded.folder, train, named))
    else:
        union = Union.of(train)
        if named := asked.edges:
            own = train.by_type["" if named == first_edge(program) else named]
            union = Union(own.src, own.dst, two_sides([own.ends]))
        bipartite = bool(union.sides)
        name, reason = recommended_partitioner(union.src, union.dst, total, bipartite=bipartite)
    chosen = str(asked._replace(method=name))
    watch.say(f"partitioner {chosen}: {reason}")
    return replace(plan, partitioner=chosen)


def tell_serial(run: RunContext) -> None:
    """Say one line for each stage that stays on one thread of several, with the reason: where the
    user has asked for threads, or can change the program or let its threads race.
    """
    program, plan = run.program, run.plan
    options, cluster = plan.options, run.cluster(has_test=run.inputs.test is not None)
    asked = options.threads or not sources.source_of(program).is_builtin
    told = asked or may_race(program, from_model=cluster.from_model)
    if not told or plan.threads == 1 or not options.jit:
        return
    for line in serial_reasons(program, cluster, racing=options.racing):
        run.watch.say(line)


def tell_few_compared(run: RunContext) -> None:
    """Say one line where several workers compare vertices with few others, as each has only those
    of its block.
    """
    cluster = run.cluster(has_test=run.inputs.test is not None)
    if cluster.workers == 1:
        return
    for kind, stage in compared_types(run.program, cluster).items():
        count = run.inputs.sizes["vertices"][kind]
        if (here := count // (cluster.workers * (cluster.slack + 2))) < FEW_COMPARED:
            run.watch.say(
                f"{stage} compares {plural_noun(kind)} of one block, about {here:,} of {count:,}: "
                "fewer workers compare each with more"
            )


def tell_of_stages(run: RunContext) -> None:
    """Say the lines of `tell_serial` and `tell_few_compared`."""
    tell_serial(run)
    with suppress(ProgramError):  # which is told where the program runs
        tell_few_compared(run)


def keeps_best(program: Program, inputs: Inputs, options: RunOptions) -> bool:
    """Return whether the model is that of the best epoch: the run stops when it gets no better, or
    there are held-out edges and the program says so.
    """
    judged = program.keeps_best and inputs.test is not None
    return bool(program.monitor) and (judged or options.patience > 0)


def lay_out(run: RunContext, scratch: Any) -> TrainingHere:
    """Make one worker in this process, which gets the training edges of the run. The time to
    compile the kernels is counted apart from the time of the layout.
    """
    options, phases = run.options, run.phases
    with phases.phase("layout"):
        released = run.inputs.release_train  # which no name here holds, so that columns are freed
        graph = LocalGraph.whole(run.program, released(), run.inputs.test, options.seed)
        worker = Worker(
            run.program,
            graph,
            seed=options.seed,
            jit=options.jit,
            check=options.check,
            threads=run.plan.threads,
            racing=options.racing,
            profile=options.profile,
            start=run.start.model,
        )
        worker.scratch = scratch
        _trace_worker(run, worker)
        phases.watch.phase("compile")
        training = TrainingHere(worker)
    compiling = worker.seconds["compile"]
    phases.seconds["layout"] -= compiling
    phases.seconds["compile"] = compiling
    return training


def _trace_worker(run: RunContext, worker: Worker) -> None:
    """Have the clocks of the one worker of a run traced, if the options say so."""
    traces = _traces_of(run)
    if traces.folder:
        path = Path(traces.folder, trace_name(traces.attempt, worker.rank))
        trace = Trace(path, worker.rank, worker.workers, worker.most_apart, traces.run)
        run.stack.callback(trace.close)
        worker.trace_to(trace)


def _traces_of(run: RunContext) -> TracePlan:
    """Return where the traces of a run are written, and what names them."""
    place = run.options.place
    elsewhere = place is not None and place.rank > 0  # machine 0 gets them
    if not run.options.trace_clocks or run.folder is None or elsewhere:
        return TracePlan()
    path = run.folder.path
    return TracePlan(
        str((path / TRACES).absolute()), newest_attempt(path) + 1, bytes.fromhex(run.folder.id)
    )


def sizes_to_compare(program: Program, inputs: Inputs) -> dict[str, str]:
    """Return the numbers of vertices and edges, by the names that users know. Where machines have
    other data, these numbers say more than a digest does.
    """
    sizes = {**inputs.sizes["vertices"], program.edge_name: inputs.sizes["edges"]}
    sizes |= inputs.sizes.get("others", {})
    return {f"number of {plural_noun(name)}": f"{size:,}" for name, size in sizes.items() if name}


def start_workers(
    run: RunContext,
    states: StatePlan,
    recovery: Recovery | None = None,
    listens: Callable[[], None] = lambda: None,
) -> Any:
    """Start several workers, each a process: cut, lay out, compile once for all, and start them as
    a context, again if one is lost. `listens` is that of `tux.cluster.job.prepare.prepare`.
    """
    from tux.cluster.job.prepare import core_warning, prepare

    program, inputs, plan, watch = run.program, run.inputs, run.plan, run.watch
    if warning := core_warning(plan.workers):
        watch.warn(warning)

    def cut(workers: int) -> PartitionedGraph:
        made = partition_inputs(program, inputs, plan.partitioner, workers, run.options.seed)
        watch.phase("write the parts")
        return replace(made, cut=made.cut if made.cut and lies_on_local_disk(made.cut) else None)

    with run.phases.phase("layout", f"cut, by {plan.partitioner}"):
        return prepare(
            sources.source_of(program).name,
            program.parameters,
            cut,
            workers=plan.workers,
            threads=plan.threads,
            place=run.options.place,
            keep_best=keeps_best(program, inputs, run.options),
            sizes=sizes_to_compare(program, inputs),
            known=dict(run.start.model.known),
            room=run.room,
            phase=watch.phase,
            warn=watch.warn,
            states=states,
            recovery=recovery,
            listens=listens,
            folders=(inputs.loaded.job, inputs.loaded.folder) if inputs.loaded else None,
            trace=_traces_of(run),
            **plan.job_options(),
        )
