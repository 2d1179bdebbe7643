"""The data of a run loaded in shares: the parts of the graph are made in the folder of the run's
job, by a loader process for each worker, and this process sees the ids and no edges.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec
import numpy as np

from tux.arrays.arrow import parquet_types
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.npy import map_npy
from tux.arrays.packed import ENDINGS, head_of, is_packed
from tux.base.errors import DeadlinePassed, MustReadWhole, PeerLost, UsageError
from tux.base.signals import check_ending
from tux.cluster.job import job_folder
from tux.cluster.rendezvous.agreement import traits
from tux.cluster.rendezvous.answering import Answers
from tux.graph.cut_folder import without_edges
from tux.graph.partitioned import choose_method, whole_types
from tux.inputs.machine_share import MachineShare, share_of
from tux.inputs.serial_reason import (
    FileFacts,
    LoadRequest,
    known_partitioner,
    read_file_facts,
    serial_reason,
)
from tux.inputs.sizes import EdgeTotals
from tux.inputs.untyped import Sides
from tux.io.formats.detect import Format
from tux.io.source.input_files import (
    FilePiece,
    InputFile,
    Source,
    input_files,
    list_files,
    pieces_of,
    source_name,
)
from tux.io.source.input_shares import cut_into_shares
from tux.io.source.odd_ids import odd_ids
from tux.io.source.text import OnBadRow
from tux.options import options
from tux.options.watcher import Watcher
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.loader_process import LoadingJob
from tux.parallel_load.process.loading import LoadedGraph, make_parts
from tux.parallel_load.process.loading_again import Losses, empty_folder
from tux.parallel_load.process.loading_together import make_parts_together
from tux.program import sources
from tux.program.program import Program


@dataclass(frozen=True)
class LoadedParts:
    """The parts that loaders have made for a run, in `folder`. `job`: the folder that the run's
    processes share (`tux.cluster.job.job_folder.make`). `lost`: why loaders were started again.
    """

    job: Path
    folder: Path
    counted: EdgeTotals
    lost: list[str]


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

    def file_facts(self, program: Program, data: Source, *, has_test: bool) -> FileFacts | None:
        """Return the facts about the files, if they are loaded in shares. Raises the errors of
        `tux.inputs.serial_reason.read_file_facts`, and UsageError for rows that are another
        machine's share, or a share where all rows are needed.
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
        if share := share_of(data):
            share.check(plan.options.place, source_name(data))
        why = serial_reason(asked)
        found = None if why else read_file_facts(data)
        if found is None or (why := serial_reason(asked, found)):
            if share:
                raise UsageError(
                    f"{source_name(data)} has only the rows of machine {share.rank}, and "
                    "all are needed: "
                    f"{why}",
                    do="name a file of all rows",
                )
            self.answers.begin(loaded=True)  # other machines need not wait to read all
            return None
        return found

    def load(
        self, program: Program, data: Source, found: FileFacts, *, has_test: bool
    ) -> tuple[EdgeData, LoadedParts]:
        """Have loaders make the parts. Returns the ids of the graph, without edges, with the notes
        and names that the loaders have read; and the place of the parts. `found`: the facts about
        the files. `has_test`: held-out edges will be added to the parts.

        Raises DataError as reading the whole does, PeerLost and DeadlinePassed if loaders are lost
        more often than the run's workers may be, DiskError, and UsageError; with several machines
        the errors of `tux.parallel_load.process.loading_together.make_parts_together`.
        """
        run = self.plan
        loaders, seed = run.all_workers, run.options.seed
        plan = plan_of(program, run.partitioner, loaders, loaders, seed)
        plan.check()
        columns = {name: np.dtype(dtype).str for name, dtype in program.edge.columns.items()}
        named, threads = run.options.columns, run.threads
        bad = run.options.on_bad_row
        assert found.format is not None
        share = found.share
        job = loading_job(
            plan, data, columns, named, threads, found.format, on_bad_row=bad, share=share
        )
        own, folder = self.folders()
        losses = Losses(run.restarts)
        if run.options.place:
            job = msgspec.structs.replace(job, held_out=has_test)
            graph = self._make_together(program, own, folder, job, list_files(data), losses)
        else:
            graph = self._make_alone(folder, job, losses)
        counted = EdgeTotals(sum(graph.edges), graph.repeated_edges)
        return read_bare_graph(folder, program, graph), LoadedParts(
            own, folder, counted, losses.why
        )

    def _make_together(
        self,
        program: Program,
        own: Path,
        folder: Path,
        job: LoadingJob,
        files: list[InputFile],
        losses: Losses,
    ) -> LoadedGraph:
        """Make this machine's parts with the other machines. The folders are removed where this
        machine has to read the whole input instead.
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
            self.watch.say("not all machines load their shares, so this one reads the whole input")
            job_folder.remove(own)
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
    ends, name = program.edge.ends, known_partitioner(program, partitioner)
    how = choose_method([ends], name, parts, whole_types(program), program.edge.whole)
    return LoadingPlan(ends, loaders, parts, how.name, seed, how.bipartite, how.favourite)


def loading_job(
    plan: LoadingPlan,
    data: Source,
    fields: Mapping[str, str],
    columns: str | None,
    threads: int,
    format: Format,
    on_bad_row: OnBadRow = "stop",
    share: MachineShare | None = None,
) -> LoadingJob:
    """Return the job of a plan's loaders, each of which reads a share of the files of `data`. If
    these are a machine's `share`, only its loaders read. See `LoadingJob`. Raises the errors of
    `tux.io.source.input_shares.cut_into_shares`.
    """
    source = input_files(data)
    here = share.loaders(plan.loaders) if share else range(plan.loaders)
    pieces: list[list[FilePiece]] = [[] for _ in range(plan.loaders)]
    for number, own in zip(here, cut_into_shares(data, len(here), format), strict=True):
        pieces[number] = [*own.pieces]
    whole = [*pieces_of(source)]
    plain = format is Format.TEXT and not any(_seems_packed(each.path) for each in whole)
    return LoadingJob(
        plan,
        str(source),
        dict(fields),
        columns,
        threads,
        format.value,
        pieces,
        whole,
        on_bad_row,
        sum(file.size for file in list_files(data)) if plain else 0,
        types=parquet_types(str(source)) if share else None,
    )


def _seems_packed(path: str) -> bool:
    """Return whether a file seems to be packed. A file elsewhere is not opened, so its name
    decides.
    """
    if os.path.isfile(path):
        return is_packed(head_of(path, 8))
    return path.endswith(ENDINGS)


def read_bare_graph(folder: Path, program: Program, graph: LoadedGraph) -> EdgeData:
    """Return the ids of the parts in a folder that loaders have made, with the notes and names that
    the loaders have read, without an edge. The folder may be removed before the ids are.
    """
    bare = without_edges(folder, program.edge.ends, program.edge.columns)
    known = {name: Ids(ids.values) for name, ids in bare.ids.items()}
    return replace(
        bare,
        ids=known,
        columns=graph.names,
        rows=sum(graph.edges),
        skipped=graph.skipped_rows,
        first_skipped=graph.first_skipped,
        notes=(*graph.notes, *odd_ids(known)),
    )


def sides_of(folder: Path, bare: EdgeData) -> Sides:
    """Return, for each vertex of the one type of a graph in parts, whether it is a source of an
    edge, and whether it is a target.
    """
    (name, ids), *_ = bare.ids.items()
    order, sides = map_npy(folder / f"{name}.order.npy"), []
    for side in (0, 1):
        at_end = np.zeros(len(ids), np.bool_)
        at_end[order[map_npy(folder / f"degrees.{side}.npy") > 0]] = True
        sides.append(at_end)
    return Sides(ids.values, *sides)
