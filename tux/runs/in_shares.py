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
from tux.cluster import job_folder
from tux.cluster.agreement import traits
from tux.cluster.answering import Answers
from tux.graph.partitioned import how_cut, whole_types, without_edges
from tux.io.detect import Format
from tux.io.input_files import InputFile, Piece, Source, input_files, listed, pieces_of, shown
from tux.io.input_shares import shares
from tux.io.odd_ids import odd_ids
from tux.io.text import OnBadRow
from tux.loading.plan import Plan
from tux.program import sources
from tux.program.program import Program
from tux.runs import options
from tux.runs.loader_process import LoadingJob
from tux.runs.loading import LoadedGraph, make_parts
from tux.runs.loading_again import Losses, empty
from tux.runs.loading_together import make_parts_together
from tux.runs.machine_share import MachineShare, share_of
from tux.runs.sizes import Counted
from tux.runs.untyped import Sides
from tux.runs.watcher import Watcher
from tux.runs.why_whole import Asked, Found, cut_by, found_of, why_whole


@dataclass(frozen=True)
class LoadedParts:
    """The parts that loaders have made for a run, in `folder`. `job`: the folder that the run's
    processes share (`tux.cluster.job_folder.make`). `lost`: why loaders were started again.
    """

    job: Path
    folder: Path
    counted: Counted
    lost: list[str]


@dataclass(frozen=True)
class InShares:
    """The loading in shares of the data of a run with a `plan`, where it is possible. `folders()`
    makes the folder of its job and the one of its parts. `recut`: see `tux.runs.why_whole.Asked`.
    `answers`: the answers of machine 0 of several to the others, which load with it.
    """

    plan: options.Plan
    folders: Callable[[], tuple[Path, Path]]
    watch: Watcher
    recut: bool = False
    answers: Answers = field(default_factory=Answers)

    def found(self, program: Program, data: Source, *, has_test: bool) -> Found | None:
        """Return the facts about the files, if they are loaded in shares. Raises the errors of
        `tux.runs.why_whole.found_of`, and UsageError for rows that are another machine's share, or
        a share where all rows are needed.
        """
        plan = self.plan
        asked = Asked(
            program,
            plan.options,
            plan.all_workers,
            plan.partitioner,
            has_test,
            self.recut,
        )
        if share := share_of(data):
            share.check(plan.options.place, shown(data))
        why = why_whole(asked)
        found = None if why else found_of(data)
        if found is None or (why := why_whole(asked, found)):
            if share:
                raise UsageError(
                    f"{shown(data)} has only the rows of machine {share.rank}, and all are needed: "
                    f"{why}",
                    do="name a file of all rows",
                )
            self.answers.begin(loaded=True)  # other machines need not wait to read all
            return None
        return found

    def load(
        self, program: Program, data: Source, found: Found, *, has_test: bool
    ) -> tuple[EdgeData, LoadedParts]:
        """Have loaders make the parts. Returns the ids of the graph, without edges, with the notes
        and names that the loaders have read; and the place of the parts. `found`: the facts about
        the files. `has_test`: held-out edges will be added to the parts.

        Raises DataError as reading the whole does, PeerLost and DeadlinePassed if loaders are lost
        more often than the run's workers may be, DiskError, and UsageError; with several machines
        the errors of `tux.runs.loading_together.make_parts_together`.
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
        job = shared_out(
            plan, data, columns, named, threads, found.format, on_bad_row=bad, share=share
        )
        own, folder = self.folders()
        losses = Losses(run.restarts)
        if run.options.place:
            job = msgspec.structs.replace(job, held_out=has_test)
            graph = self._together(program, own, folder, job, listed(data), losses)
        else:
            graph = self._made(folder, job, losses)
        counted = Counted(sum(graph.edges), graph.repeated)
        return bare_of(folder, program, graph), LoadedParts(own, folder, counted, losses.why)

    def _together(
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
        app = sources.of(program).name
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

    def _made(self, folder: Path, job: LoadingJob, losses: Losses) -> LoadedGraph:
        """Make the parts on this machine alone, from the beginning again if loaders are lost."""
        while True:
            try:
                return make_parts(folder, job, watch=self.watch)
            except (PeerLost, DeadlinePassed) as error:
                if not losses.again(error):
                    raise
            check_ending()
            self.watch.say(str(losses))
            empty(folder)


def plan_of(program: Program, partitioner: str, loaders: int, parts: int, seed: int) -> Plan:
    """Return the plan by which loaders make the same parts as
    `tux.graph.partitioned.partitioned`.
    """
    ends, name = program.edge.ends, cut_by(program, partitioner)
    how = how_cut(ends, name, parts, whole_types(program), program.edge.whole)
    return Plan(ends, loaders, parts, how.name, seed, how.bipartite, how.favourite)


def shared_out(
    plan: Plan,
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
    `tux.io.input_shares.shares`.
    """
    source = input_files(data)
    here = share.loaders(plan.loaders) if share else range(plan.loaders)
    pieces: list[list[Piece]] = [[] for _ in range(plan.loaders)]
    for number, own in zip(here, shares(data, len(here), format), strict=True):
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
        sum(file.size for file in listed(data)) if plain else 0,
        types=parquet_types(str(source)) if share else None,
    )


def _seems_packed(path: str) -> bool:
    """Return whether a file seems to be packed. A file elsewhere is not opened, so its name
    decides.
    """
    if os.path.isfile(path):
        return is_packed(head_of(path, 8))
    return path.endswith(ENDINGS)


def bare_of(folder: Path, program: Program, graph: LoadedGraph) -> EdgeData:
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
        skipped=graph.skipped,
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
