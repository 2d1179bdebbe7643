"""A loader as a process: ``python -m tux.parallel_load.process.loader_process FOLDER NUMBER
PARENT``.

It reads its share of the input, exchanges messages with the others in files of the job's folder,
and writes the parts that it hosts. In the end it leaves there its result, or why it has failed.
PARENT is the number of the process that started it; when that is gone, the loader removes its
files.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from tux.arrays.disk_columns import limited_memory
from tux.base.allocation import free_memory_early
from tux.base.disk import replacing
from tux.base.errors import DataError
from tux.base.parallel import use_threads
from tux.base.processes import watch_parent
from tux.cluster.job.failures import leave_failure
from tux.cluster.transport.control import as_failure
from tux.io.bags.shares import BagShare, read_bag_share
from tux.io.edges.request import EdgeRequest
from tux.io.formats.detect import Format
from tux.io.samples.shares import SampleShare, UnlabelledShare, read_sample_share, read_whole
from tux.io.source.input_files import Files
from tux.io.source.input_shares import ShareRows, read_share
from tux.io.source.precision import NumberRange
from tux.io.source.table_lines import LineCounts
from tux.io.source.text import NO_ROW, Tell
from tux.io.vertices.shares import TableShare, VertexTableRead
from tux.parallel_load.algorithm.columns import columns_by_sender
from tux.parallel_load.algorithm.elsewhere import rows_of, write_elsewhere
from tux.parallel_load.algorithm.folder import join
from tux.parallel_load.algorithm.kept import ArraySpool, SpooledArrays, ranges_of
from tux.parallel_load.algorithm.loader import LoadSummary, count_edges, loader
from tux.parallel_load.algorithm.mailbox import Mailbox
from tux.parallel_load.algorithm.plan import GroupColumns, InputShare
from tux.parallel_load.algorithm.rounds import Rounds, tell_all
from tux.parallel_load.algorithm.sharing import digest_in_rounds, share_ranges
from tux.parallel_load.process.amount_read import AmountRead, progress_writer
from tux.parallel_load.process.bag_rounds import exchange_bags
from tux.parallel_load.process.group_share import read_group_share
from tux.parallel_load.process.loader_member import FarMailbox, LoadingMember, explain_error
from tux.parallel_load.process.loading_job import EdgesInput, LoadingJob
from tux.parallel_load.process.rare_rounds import leave_out_rare
from tux.parallel_load.process.sample_rounds import exchange_samples
from tux.parallel_load.process.table_rounds import exchange_tables, read_tables

JOB = "job.json"
EarlyShare = SampleShare | UnlabelledShare | BagShare
"""A share of rows about which loaders tell each other before they are edges."""


class RowsRead(msgspec.Struct):
    """The facts about the rows of one edge type that a loader has read: see the fields of
    `tux.arrays.edges.EdgeData`; `passed`: lines that were passed over; `ranges`: of the numbers of
    fields of 32 bits; `rows`: None where each is an edge; `rare`: what is said of rare columns.
    """

    names: dict[str, str] = {}
    skipped: int = 0
    first_skipped: str = ""
    notes: tuple[str, ...] = ()
    passed: LineCounts = LineCounts()
    ranges: dict[str, NumberRange] = {}
    rows: int | None = None
    rare: tuple[str, ...] = ()


class LoaderResult(msgspec.Struct):
    """The result that a loader leaves when it has done its work. `peak`: bytes of memory that it
    had at most, mapped files included, and `before`: until it began to read. `read`: about the rows
    of each edge type of which it has a share. `tables`: about whole tables of vertices, by type.
    """

    loaded: LoadSummary
    peak: int
    before: int
    read: dict[str, RowsRead] = {}
    tables: dict[str, VertexTableRead] = {}


class AllLoaderResults(msgspec.Struct):
    """The results of all loaders of several machines, and the digest of the edges."""

    ended: list[LoaderResult]
    digest: str


class LoaderRows(NamedTuple):
    """A share as it was read, and the facts about the rows of each edge type in it. `early`: what
    was read instead where the loaders must tell each other of it first; `tables`: of vertices, by
    type, and what was read of the whole of them; `groups` of vertices.
    """

    share: InputShare
    read: dict[str, RowsRead]
    early: EarlyShare | None = None
    tables: Mapping[str, TableShare] = {}
    tables_read: dict[str, VertexTableRead] = {}
    groups: GroupColumns | None = None


Read = Callable[[LoadingJob, int, Tell], LoaderRows]
"""A function that reads the share of the loader of this number."""


def job_folder(graph: Path) -> Path:
    """Return the folder of a job that makes the parts in `graph`."""
    return graph / ".loading"


def result_path(graph: Path, number: int) -> Path:
    """Return the file in which a loader leaves its `LoaderResult`."""
    return job_folder(graph) / f"ended-{number}.json"


def spool_of(graph: Path, number: int) -> Path:
    """Return the folder in which a loader keeps its content of the files that all parts share."""
    return job_folder(graph) / f"spool-{number}"


def all_results_path(graph: Path) -> Path:
    """Return the file in which a loader leaves, for its machine, the results of all loaders."""
    return job_folder(graph) / "together.json"


def progress_path(graph: Path, number: int) -> Path:
    """Return the file in which a loader writes how much it has read."""
    return job_folder(graph) / f"read-{number}.json"


def run_loader(graph: Path, number: int, parent: int, read: Read) -> int:
    """Do the work of a loader of the job in `graph`; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    watch_parent(graph, parent)
    free_memory_early()
    try:
        job = msgspec.json.decode((job_folder(graph) / JOB).read_bytes(), type=LoadingJob)
        with limited_memory(graph, job.limit(graph)):
            _carry_steps(job, graph, number, read)
        return 0
    except Exception as error:
        failure = as_failure(explain_error(error, number, job_folder(graph)))
    leave_failure(job_folder(graph), number, failure)
    return failure.code


def _carry_steps(job: LoadingJob, graph: Path, number: int, read: Read) -> None:
    """Do all steps of a loader, with the others of its machine or of all."""
    if job.meeting is None:
        mailbox = Mailbox(job_folder(graph), job.plan.loaders, number)
        mailbox.carry(_steps(job, graph, number, read))
        return
    with LoadingMember(job.meeting, job_folder(graph), number) as member:
        FarMailbox(member).carry(_steps_together(job, graph, number, read, member))


def _steps(
    job: LoadingJob,
    graph: Path,
    number: int,
    read: Read,
    has_read: Callable[[], None] = lambda: None,
) -> Rounds[LoaderResult]:
    """Do all steps of a loader, write its result and return it."""
    use_threads(job.threads)
    before = _most_memory()
    rows = read(job, number, progress_writer(progress_path(graph, number)))
    has_read()
    rows = yield from complete_rows(job, number, rows)
    keep = ArraySpool(graph, spool_of(graph, number))
    loaded = yield from loader(job.plan, number, rows.share, keep)
    ended = LoaderResult(loaded, _most_memory(), before, rows.read, rows.tables_read)
    with replacing(result_path(graph, number)) as part:
        part.write_bytes(msgspec.json.encode(ended))
    return ended


def _steps_together(
    job: LoadingJob, graph: Path, number: int, read: Read, member: LoadingMember
) -> Rounds[None]:
    """Do the steps of a loader on one of several machines. Afterwards, one loader of each machine
    joins there the files that all parts share, and leaves the results of all loaders.
    """
    plan, joiners = job.plan, member.job.joiners
    fields = {name: list(own) for name, own in job.fields.items()}
    own = yield from _steps(job, graph, number, read, member.has_read)
    inbox = yield from tell_all(plan.loaders, [np.frombuffer(msgspec.json.encode(own), np.uint8)])
    ended = [feed.decode_json(LoaderResult) for feed in columns_by_sender(inbox)]
    check_edges(job, ended)
    loaded, kept = [each.loaded for each in ended], SpooledArrays(spool_of(graph, number))
    mine = ranges_of(kept) | (rows_of(graph, plan, number) if job.held_out else {})
    ranges = yield from share_ranges(plan, number, joiners, mine)
    digest = yield from digest_in_rounds(plan, number, kept, ranges, loaded, fields)
    if number in joiners:
        if job.held_out:
            write_elsewhere(graph, plan, ranges, job.fields, member.near)
        join(graph, ranges, plan, loaded, fields, digest)
        with replacing(all_results_path(graph)) as part:
            part.write_bytes(msgspec.json.encode(AllLoaderResults(ended, digest)))


def check_edges(job: LoadingJob, ended: Sequence[LoaderResult]) -> None:
    """Raise DataError if all loaders together have no edge of a type that should have some."""
    if job.plan.edgeless:
        return
    for name, count in count_edges([each.loaded for each in ended]).items():
        if count:
            continue
        read, data = [each.read[name] for each in ended if name in each.read], job.edges[name].data
        first = next((each.first_skipped for each in read if each.skipped), "")
        raise DataError(
            f"no row of {data} is usable; the first: {first}" if first else f"{data} holds no edge",
            do="" if first else NO_ROW,
        )


def _most_memory() -> int:
    """Return the bytes of memory that this process has had at most (Linux counts in KiB)."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _no_rows(own: EdgesInput) -> InputShare:
    """Return a share without rows of an edge type."""
    none = np.empty(0, np.int64)
    return InputShare(none, none, {name: np.empty(0, dtype) for name, dtype in own.fields.items()})


def _rows_of(found: ShareRows, own: EdgesInput) -> tuple[InputShare, RowsRead]:
    """Return the rows of an edge type that were read, and the facts about them."""
    src, dst, *numbers = found.columns
    fields = dict(zip(own.fields, (each.stream_pieces() for each in numbers), strict=True))
    read = RowsRead(dict(found.names), *found[3:-1], dict(found.ranges))
    return InputShare(src, dst, fields), read


def complete_rows(job: LoadingJob, number: int, rows: LoaderRows) -> Rounds[LoaderRows]:
    """Return the rows of a share as edges, and rows of tables of vertices: both are complete when
    all loaders know those of the others.
    """
    tables, groups = rows.tables, rows.groups
    rows = yield from _complete_edges(job, number, rows)
    rows.share.groups = groups
    if not tables:
        return rows
    read = yield from exchange_tables(job.plan, number, job.tables, tables, rows.share)
    return rows._replace(tables_read=read)


def _complete_edges(job: LoadingJob, number: int, rows: LoaderRows) -> Rounds[LoaderRows]:
    """Return the samples or bags of a share as edges, without rare columns; edges as they are."""
    if rows.early is not None:
        rows = yield from _complete_early(job, number, rows.early)
    if not (rule := job.edges[""].rare):
        return rows
    data = job.edges[""].data
    share, told, count = yield from leave_out_rare(job.plan, rows.share, rule, data)
    for read in rows.read.values():
        read.rare, read.rows = told, count if read.rows is None else read.rows
    return LoaderRows(share, rows.read)


def _complete_early(job: LoadingJob, number: int, early: EarlyShare) -> Rounds[LoaderRows]:
    """Return the rows of a share of samples or bags as edges."""
    fields = list(job.fields[""])
    if isinstance(early, BagShare):
        share, read = yield from exchange_bags(job.plan, number, early, fields)
    else:
        share, read = yield from exchange_samples(job.plan, number, early, fields)
        asked, kept = job.edges[""].samples, "weight" in job.plan.data[job.plan.ends[0]]
        if asked and not asked.plain_weights and kept and not read.weighed:
            raise read_whole(early.asked, "all weights are 1")
    about = RowsRead(skipped=read.skipped, first_skipped=read.first_skipped, notes=read.notes)
    about.rows = read.rows
    return LoaderRows(share, {"": about})


def _read_early(job: LoadingJob, number: int, tell: Tell) -> EarlyShare | None:
    """Read the share of a loader where the input is labelled samples or bags; else return None."""
    own = job.edges[""]
    share, whole = Files.of(own.data, own.pieces[number]), Files.of(own.data, own.whole)
    kinds = {name: np.dtype(dtype) for name, dtype in own.fields.items()}
    if own.samples:
        how, format = own.samples.options(job.on_bad_row), Format(own.format)
        return read_sample_share(share, whole, job.plan.ends, kinds, how, format, tell)
    if own.bags:
        options = own.bags.options(job.on_bad_row)
        return read_bag_share(share, whole, job.plan.ends, kinds, options, tell)
    return None


def read_rows(job: LoadingJob, number: int, tell: Tell) -> LoaderRows:
    """Read the share of a loader, which is pieces of the files of each edge type, and of tables of
    vertices.
    """
    so_far = AmountRead(tell)
    if (early := _read_early(job, number, so_far.tell)) is not None:
        rows = LoaderRows(_no_rows(job.edges[""]), {}, early)
    else:
        rows = _read_edges(job, number, so_far)
    so_far.begin_next()
    told_first = early is None
    tables = read_tables(job.tables, number, job.on_bad_row, so_far.tell, told_first=told_first)
    if own := job.groups:
        given = own.data, own.pieces[number], own.whole, Format(own.format)
        rows = rows._replace(groups=read_group_share(*given, job.plan.grouped))
    return rows._replace(tables=tables)


def _read_edges(job: LoadingJob, number: int, so_far: AmountRead) -> LoaderRows:
    """Read the share of a loader of the edges of each type."""
    rows, read = {}, {}
    for name, own in job.edges.items():
        share = Files.of(own.data, own.pieces[number])
        if not share.pieces:  # a loader that has some tells what is wrong with the file
            rows[name] = _no_rows(own)
            continue
        whole = Files.of(own.data, own.whole) if own.whole else own.data
        given = own.fields, own.columns, job.on_bad_row
        asked = EdgeRequest(whole, job.plan.by_type[name], *given, bare=own.bare)
        found = read_share(share, asked, Format(own.format), so_far.tell)
        so_far.begin_next()
        rows[name], read[name] = _rows_of(found, own)
    first = rows.pop("")
    first.others = rows
    return LoaderRows(first, read)


if __name__ == "__main__":
    sys.exit(run_loader(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), read_rows))
