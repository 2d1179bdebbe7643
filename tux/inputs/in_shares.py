"""The data of a run loaded in shares: the parts of the graph are made in the folder of the run's
job, by a loader process for each worker, and this process sees the ids and no edges.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tux.arrays.arrow import parquet_types
from tux.arrays.edge_facts import EdgeFacts, NumberFacts
from tux.arrays.edges import EdgeData
from tux.arrays.packed import ENDINGS, head_of, is_packed
from tux.base.errors import DeadlinePassed, MustReadWhole, PeerLost, UsageError
from tux.base.signals import check_ending
from tux.cluster.job import job_folder
from tux.cluster.rendezvous.agreement import traits
from tux.cluster.rendezvous.answering import Answers
from tux.graph.partitioned import choose_method, whole_types
from tux.graph.topologies import check_weights, topology_kind
from tux.inputs.bags_in_shares import are_bags, bags_asked, format_to_cut, named_format
from tux.inputs.by_type import SourceOfTypes, sources_by_type
from tux.inputs.loaded_graph import read_bare_graph, totals_of_types
from tux.inputs.machine_share import MachineShare, share_of
from tux.inputs.rare import rare_rule
from tux.inputs.samples import (
    check_reading,
    classes_of,
    hash_bits,
    is_multiclass,
    is_numeric,
)
from tux.inputs.serial_reason import (
    FileFacts,
    LoadRequest,
    known_partitioner,
    read_file_facts,
    serial_reason,
)
from tux.inputs.sizes import EdgeTotals
from tux.io.bags.rare import RareRule
from tux.io.formats.detect import Format
from tux.io.samples.samples import check_samples, sample_form
from tux.io.source.input_files import (
    Source,
    input_files,
    list_files,
    pieces_of,
    source_name,
)
from tux.io.source.input_shares import LINES, cut_together
from tux.io.source.text import OnBadRow
from tux.options import options
from tux.options.options import Reading
from tux.options.watcher import Watcher
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rare import RARE_ROUNDS
from tux.parallel_load.process.bag_rounds import BAG_ROUNDS, BagsAsked
from tux.parallel_load.process.loader_process import EdgesInput, LoadingJob, SamplesAsked
from tux.parallel_load.process.loading import LoadedGraph, make_parts
from tux.parallel_load.process.loading_again import Losses, empty_folder
from tux.parallel_load.process.loading_together import make_parts_together
from tux.program import sources
from tux.program.base_program import along, other_types
from tux.program.input import Samples
from tux.program.program import Program


class TypeInput(NamedTuple):
    """The input of one edge type that loaders read: its files, which are of one format, and of its
    columns the `fields`, by dtype, and those that are named. `samples`: of labelled samples, how
    they are read; `bags`: of bags of columns; `rare`: which columns of them are left out.
    """

    data: Source
    fields: Mapping[str, str]
    columns: str | None
    format: Format
    samples: SamplesAsked | None = None
    bags: BagsAsked | None = None
    rare: RareRule | None = None


@dataclass(frozen=True)
class LoadedParts:
    """The parts that loaders have made for a run, in `folder`. `job`: the folder that the run's
    processes share (`tux.cluster.job.job_folder.make`). `lost`: why loaders were started again.
    `numbers`: facts about the fields of edges.
    """

    job: Path
    folder: Path
    counted: EdgeTotals
    lost: list[str]
    numbers: Mapping[str, NumberFacts]


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
    recut: bool = False
    answers: Answers = field(default_factory=Answers)

    def file_facts(
        self, program: Program, data: SourceOfTypes, *, has_test: bool
    ) -> FileFacts | None:
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
            has_test,
            self.recut,
        )
        given = sources_by_type(program, data)
        dealt = {source_name(own): share for own in given.values() if (share := share_of(own))}
        for name, share in dealt.items():
            share.check(plan.options.place, name)
        why = serial_reason(asked)
        found = None if why else facts_of_types(given, named_format(program, plan.options))
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
        plan = plan_of(program, run.partitioner, loaders, loaders, seed)
        plan.check()
        inputs = inputs_of_types(program, data, found.formats, run.options.columns)
        if isinstance(program.input, Samples):
            inputs[""] = input_of_samples(inputs[""], program, run.options)
        elif are_bags(program, inputs[""].format, run.options):
            inputs[""] = input_of_bags(inputs[""], program.edge.ends, run.options)
            plan = replace(plan, early=BAG_ROUNDS)
        if rule := rare_rule(program, run.options):
            inputs[""] = inputs[""]._replace(rare=rule)
            plan = replace(plan, early=plan.early + RARE_ROUNDS)
        bad, threads = run.options.on_bad_row, run.threads
        job = loading_job(plan, inputs, threads, on_bad_row=bad, share=found.share)
        own, folder = self.folders()
        losses = Losses(run.restarts)
        try:
            if run.options.place:
                job = msgspec.structs.replace(job, held_out=has_test)
                graph = self._make_together(program, folder, job, inputs, losses)
            else:
                graph = self._make_alone(folder, job, losses)
        except MustReadWhole as error:
            self.watch.say(error.what)
            job_folder.remove(own)
            raise
        tables = not (inputs[""].samples or inputs[""].bags)
        train = read_bare_graph(folder, program, graph, tables=tables)
        counted = totals_of_types(graph, program.edge.repeats)
        if plan.topology:
            check_weights(EdgeFacts.of(train, counted.edges, graph.numbers))
        return train, LoadedParts(own, folder, counted, losses.why, graph.numbers)

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
        has_test = {"held-out edges": "given" if job.held_out else ""}
        same = traits(
            os.path.basename(app),
            sources.find(app).digest,
            program.parameters,
            {"restarts": self.plan.restarts},
            has_test,
        )
        given = self.plan.options
        assert given.place is not None
        files = [file for own in inputs.values() for file in list_files(own.data)]
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

    def _make_alone(self, folder: Path, job: LoadingJob, losses: Losses) -> LoadedGraph:
        """Make the parts on this machine alone, from the beginning again if loaders are lost."""
        while True:
            try:
                return make_parts(folder, job, watch=self.watch)
            except (PeerLost, DeadlinePassed) as error:
                if not losses.may_load_again(error):
                    raise
            check_ending()
            self.watch.say(str(losses))
            empty_folder(folder)


def plan_of(program: Program, partitioner: str, loaders: int, parts: int, seed: int) -> LoadingPlan:
    """Return the plan by which loaders make the same parts as
    `tux.graph.partition_inputs.partition_inputs`.
    """
    whole, name = whole_types(program), known_partitioner(program, partitioner)
    pairs = [edge.ends for edge in program.edge_types.values()]
    how = choose_method(pairs, name, parts, whole, program.edge.whole)
    others = {name: edge.ends for name, edge in other_types(program).items()}
    given = loaders, parts, how.name, seed, how.bipartite, how.favourite
    ends, data = program.edge.ends, dict[str, list[str]]()
    if isinstance(program.input, Samples):
        known = program.vertices[ends[0]].fields
        data = {ends[0]: [name for name in ("label", "weight") if name in known]}
    kept = whole[0] if whole else ""
    return LoadingPlan(ends, *given, others, kept, data, topology_kind(program))


def input_of_samples(given: TypeInput, program: Program, reading: Reading) -> TypeInput:
    """Return an input as one of the labelled samples of a program. Raises UsageError for options
    that do not go together.
    """
    check_reading(program, reading)
    form: Any = reading.form
    asked = SamplesAsked(
        form,
        reading.label,
        reading.weight,
        classes_of(program, None),
        is_numeric(program),
        is_multiclass(program),
        hash_bits(program),
    )
    path, kinds = input_files(given.data), program.edge.columns
    form = form or sample_form(path, given.format)
    check_samples(path, program.edge.ends, kinds, form, asked.options(reading.on_bad_row))
    return of_samples(given, asked)


def of_samples(given: TypeInput, asked: SamplesAsked) -> TypeInput:
    """Return an input as one of labelled samples that are read as `asked`."""
    format, path = given.format, input_files(given.data)
    if format is Format.TEXT and (asked.form or sample_form(path, format)) == "svm":
        format = Format.SVM  # no row runs over several lines
    return given._replace(samples=asked, format=format)


def input_of_bags(given: TypeInput, ends: tuple[str, str], reading: Reading) -> TypeInput:
    """Return an input as one of bags. Raises the errors of `bags_asked`."""
    asked = bags_asked(given.data, ends, given.fields, given.format, reading)
    return given._replace(bags=asked, format=format_to_cut(asked.form))


def facts_of_types(sources: Mapping[str, Source], format: Format | None = None) -> FileFacts:
    """Return the facts about the files of each edge type; `format`: of the first, if the user has
    named it. Raises the errors of `tux.inputs.serial_reason.read_file_facts`.
    """
    found = {
        name: read_file_facts(source, None if name else format) for name, source in sources.items()
    }
    return found.pop("")._replace(others=found)


def inputs_of_types(
    program: Program,
    data: SourceOfTypes,
    formats: Mapping[str, Format],
    columns: str | None = None,
) -> dict[str, TypeInput]:
    """Return what loaders read of each edge type, whose files are of these `formats`; `columns` are
    named for the first.
    """
    inputs = {}
    for name, source in sources_by_type(program, data).items():
        wanted = along(program, name).edge.columns
        fields = {field: np.dtype(dtype).str for field, dtype in wanted.items()}
        inputs[name] = TypeInput(source, fields, None if name else columns, formats[name])
    return inputs


def loading_job(
    plan: LoadingPlan,
    inputs: Mapping[str, TypeInput],
    threads: int,
    on_bad_row: OnBadRow = "stop",
    share: MachineShare | None = None,
) -> LoadingJob:
    """Return the job of a plan's loaders, each of which reads a share of the files of all `inputs`,
    by edge type. If these are a machine's `share`, only its loaders read. See `LoadingJob`. Raises
    the errors of `tux.io.source.input_shares.cut_into_shares`.
    """
    here = share.loaders(plan.loaders) if share else range(plan.loaders)
    cut = cut_together([(own.data, own.format) for own in inputs.values()], len(here))
    edges = {}
    for (name, own), shares in zip(inputs.items(), cut, strict=True):
        read_by = {number: [*each.pieces] for number, each in zip(here, shares, strict=True)}
        pieces = [read_by.get(number, []) for number in range(plan.loaders)]
        source = input_files(own.data)
        told = str(source), dict(own.fields), own.columns, own.format.value
        edges[name] = EdgesInput(
            *told, pieces, [*pieces_of(source)], samples=own.samples, bags=own.bags, rare=own.rare
        )
    size = 0
    if all(map(_is_plain_text, edges.values())):
        size = sum(file.size for own in inputs.values() for file in list_files(own.data))
    types = parquet_types(edges[""].data) if share else None
    return LoadingJob(plan, edges, threads, on_bad_row, size, types=types)


def _is_plain_text(edges: EdgesInput) -> bool:
    """Return whether files are text that is not packed, as far as is known."""
    packed = any(_seems_packed(piece.path) for piece in edges.whole)
    return Format(edges.format) in LINES and not packed


def _seems_packed(path: str) -> bool:
    """Return whether a file seems to be packed. A file elsewhere is not opened, so its name
    decides.
    """
    if os.path.isfile(path):
        return is_packed(head_of(path, 8))
    return path.endswith(ENDINGS)
