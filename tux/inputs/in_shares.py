"""The data of a run loaded in shares: the parts of the graph are made in the folder of the run's
job, by a loader process for each worker, and this process sees the ids and no edges.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from tux.arrays.edge_facts import EdgeFacts, NumberFacts
from tux.arrays.edges import EdgeData
from tux.base.errors import DeadlinePassed, MustReadWhole, PeerLost, UsageError
from tux.base.signals import check_ending
from tux.cluster.job import job_folder
from tux.cluster.rendezvous.agreement import traits
from tux.cluster.rendezvous.answering import Answers
from tux.graph.topologies import check_weights
from tux.inputs.bags_in_shares import are_bags, named_format
from tux.inputs.by_type import SourceOfTypes, sources_by_type
from tux.inputs.loaded_graph import read_bare_graph, totals_of_types
from tux.inputs.loading_jobs import (
    TypeInput,
    added_tables,
    facts_of_types,
    input_of_bags,
    input_of_samples,
    inputs_of_types,
    loading_job,
    plan_of,
)
from tux.inputs.machine_share import share_of
from tux.inputs.rare import rare_rule
from tux.inputs.samples import group_lines, groups_file
from tux.inputs.serial_reason import (
    FileFacts,
    LoadRequest,
    serial_reason,
)
from tux.inputs.sizes import EdgeTotals
from tux.inputs.tables_in_shares import find_tables, table_lines
from tux.io.source.input_files import (
    list_files,
    source_name,
)
from tux.options import options
from tux.options.watcher import Watcher
from tux.parallel_load.algorithm.folder import HELD
from tux.parallel_load.algorithm.rare import RARE_ROUNDS
from tux.parallel_load.process.bag_rounds import BAG_ROUNDS
from tux.parallel_load.process.loading import LoadedGraph, make_parts
from tux.parallel_load.process.loading_again import Losses, empty_folder
from tux.parallel_load.process.loading_job import LoadingJob
from tux.parallel_load.process.loading_together import make_parts_together
from tux.program import sources
from tux.program.input import Points, Samples
from tux.program.program import Program


@dataclass(frozen=True)
class LoadedParts:
    """The parts that loaders have made for a run, in `folder`. `job`: the folder that the run's
    processes share (`tux.cluster.job.job_folder.make`). `loading`: the job of the loaders. `lost`:
    why they were started again. `numbers`: facts about the fields of edges; `told`: sentences about
    tables of vertices.
    """

    job: Path
    folder: Path
    loading: LoadingJob
    counted: EdgeTotals
    lost: list[str]
    numbers: Mapping[str, NumberFacts]
    told: Sequence[str] = ()

    def cut_again(self, parts: int, folder: Path, restarts: int, watch: Watcher) -> LoadedParts:
        """Have loaders of this machine make as many `parts` of the same graph, in a `folder` that
        is there and empty. Raises the errors of `ShareLoading.load`.
        """
        job = msgspec.structs.replace(self.loading, plan=replace(self.loading.plan, parts=parts))
        _make_alone(folder, job, Losses(restarts), watch)
        for array in HELD:  # as for the parts of the run, which has read them
            (folder / f"{array}.npy").unlink(missing_ok=True)
        return replace(self, folder=folder)


@dataclass(frozen=True)
class ShareLoading:
    """The loading in shares of the data of a run with a `plan`, where it is possible. `folders()`
    makes the folder of its job and the one of its parts. `recut`: see
    `tux.inputs.serial_reason.LoadRequest`. `answers`: the answers of machine 0 of several to the
    others, which load with it.
    """

    plan: options.RunPlan
    folders: Callable[[], tuple[Path, Path]]
    watch: Watcher
    recut: str = ""
    answers: Answers = field(default_factory=Answers)

    def file_facts(self, program: Program, data: SourceOfTypes) -> FileFacts | None:
        """Return the facts about the files of each edge type, if they are loaded in shares. Raises
        the errors of `tux.inputs.serial_reason.read_file_facts`, and UsageError for rows that are
        another machine's share, or a share where all rows are needed.
        """
        plan = self.plan
        asked = LoadRequest(
            program,
            plan.options,
            plan.all_workers,
            plan.partitioner,
            self.recut,
        )
        given = sources_by_type(program, data)
        dealt = {source_name(own): share for own in given.values() if (share := share_of(own))}
        for name, share in dealt.items():
            share.check(plan.options.place, name)
        why = serial_reason(asked)
        points = isinstance(program.input, Points)
        format = named_format(program, plan.options)
        found = None if why else facts_of_types(given, format, points=points)
        if found is not None and found.format is not None:
            tables = find_tables(program, given[""], plan.options.vertices)
            found = found._replace(tables=tables)
        if found is None or (why := serial_reason(asked, found)):
            for name, share in dealt.items():
                raise UsageError(
                    f"{name} has only the rows of machine {share.rank}, and all are needed: {why}",
                    do="name a file of all rows",
                )
            self.answers.begin(loaded=True)  # other machines need not wait to read all
            return None
        return found

    def load(
        self, program: Program, data: SourceOfTypes, found: FileFacts, *, has_test: bool
    ) -> tuple[EdgeData, LoadedParts]:
        """Have loaders make the parts. Returns the ids of the graph, without edges, with the notes
        and names that the loaders have read; and the place of the parts. `found`: the facts about
        the files. `has_test`: held-out edges will be added to the parts.

        Raises DataError as reading the whole does, MustReadWhole where the ids do not allow shares
        or not all machines load theirs, PeerLost and DeadlinePassed if loaders are lost more often
        than the run's workers may be, DiskError, and UsageError; with several machines
        the errors of `tux.parallel_load.process.loading_together.make_parts_together`.
        """
        run = self.plan
        loaders, seed = run.all_workers, run.options.seed
        plan = plan_of(
            program, run.partitioner, loaders, loaders, seed, found.tables, has_test=has_test
        )
        plan.check()
        inputs = inputs_of_types(program, data, found.formats, run.options.columns)
        if isinstance(program.input, Samples):
            inputs[""] = input_of_samples(inputs[""], program, run.options)
            assert inputs[""].samples
            plan = replace(plan, early=inputs[""].samples.rounds)
        elif are_bags(program, inputs[""].format, run.options):
            inputs[""] = input_of_bags(inputs[""], program.edge.ends, run.options)
            plan = replace(plan, early=BAG_ROUNDS)
        if rule := rare_rule(program, run.options):
            inputs[""] = inputs[""]._replace(rare=rule)
            plan = replace(plan, early=plan.early + RARE_ROUNDS)
        bad, threads = run.options.on_bad_row, run.threads
        given = found.share, found.tables.inputs, groups_file(program)
        job = loading_job(plan, inputs, threads, bad, *given)
        job = msgspec.structs.replace(job, memory=self.plan.options.memory)
        own, folder = self.folders()
        losses = Losses(run.restarts)
        try:
            if run.options.place:
                held_out = has_test or plan.held_share > 0
                job = msgspec.structs.replace(job, held_out=held_out)
                graph = self._make_together(program, folder, job, inputs, losses)
            else:
                graph = _make_alone(folder, job, losses, self.watch)
        except MustReadWhole as error:
            self.watch.say(error.what)
            job_folder.remove(own)
            raise
        tables = not (inputs[""].samples or inputs[""].bags)
        every = len(inputs) == 1 and not found.tables.inputs
        train = read_bare_graph(folder, program, graph, tables=tables, every=every)
        counted = totals_of_types(graph, program.edge.repeats)
        if plan.topology:
            check_weights(EdgeFacts.of(train, counted.edges, graph.numbers))
        told = [*table_lines(graph, found.tables.inputs)]
        told += [*group_lines(groups_file(program), program, graph.grouped)]
        return train, LoadedParts(own, folder, job, counted, losses.why, graph.numbers, told)

    def _make_together(
        self,
        program: Program,
        folder: Path,
        job: LoadingJob,
        inputs: Mapping[str, TypeInput],
        losses: Losses,
    ) -> LoadedGraph:
        """Make this machine's parts with the other machines. Raises MustReadWhole where it has to
        read the whole input instead.
        """
        app = sources.source_of(program).name
        has_test = job.held_out and not job.plan.held_share
        same = traits(
            os.path.basename(app),
            sources.find(app).digest,
            program.parameters,
            {"restarts": self.plan.restarts},
            {"held-out edges": "given" if has_test else ""},
        )
        given = self.plan.options
        assert given.place is not None
        files = [file for own in inputs.values() for file in list_files(own.data)]
        files += [file for own in added_tables(job).values() for file in list_files(own.data)]
        files += list_files(job.groups.data) if job.groups else []
        self.answers.end()
        try:
            return make_parts_together(
                folder,
                job,
                files,
                given.place,
                given.deadline,
                same,
                watch=self.watch,
                losses=losses,
            )
        except MustReadWhole:
            if job.types is not None:
                raise PeerLost(
                    "other machines have their parts already, and this one has only its own rows",
                    do="start all machines again",
                ) from None
            raise
        finally:
            self.answers.begin(loaded=True)


def _make_alone(folder: Path, job: LoadingJob, losses: Losses, watch: Watcher) -> LoadedGraph:
    """Make the parts on this machine alone, from the beginning again if loaders are lost."""
    while True:
        try:
            return make_parts(folder, job, watch=watch)
        except (PeerLost, DeadlinePassed) as error:
            if not losses.may_load_again(error):
                raise
        check_ending()
        watch.say(str(losses))
        empty_folder(folder)
