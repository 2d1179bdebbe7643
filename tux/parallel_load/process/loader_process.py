"""A loader as a process: ``python -m tux.parallel_load.process.loader_process FOLDER NUMBER
PARENT``.

It reads its share of the input, exchanges messages with the others in files of the job's folder,
and writes the parts that it hosts. In the end it leaves there its result, or why it has failed.
PARENT is the number of the process that started it; when that is gone, the loader removes its
files.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from tux.base.allocation import free_memory_early
from tux.base.disk import replacing, writing
from tux.base.errors import DataError
from tux.base.parallel import use_threads
from tux.base.processes import watch_parent
from tux.cluster.job.failures import leave_failure
from tux.cluster.rendezvous.meeting import Meeting
from tux.cluster.transport.control import as_failure
from tux.io.edges.request import EdgeRequest
from tux.io.edges.table import Tell
from tux.io.formats.detect import Format
from tux.io.source.input_files import FilePiece, Files
from tux.io.source.input_shares import read_share
from tux.io.source.table_lines import LineCounts
from tux.io.source.text import NO_ROW, OnBadRow
from tux.parallel_load.algorithm.columns import columns_by_sender
from tux.parallel_load.algorithm.elsewhere import rows_of, write_elsewhere
from tux.parallel_load.algorithm.folder import join
from tux.parallel_load.algorithm.kept import ArraySpool, SpooledArrays, ranges_of
from tux.parallel_load.algorithm.loader import LoadSummary, loader
from tux.parallel_load.algorithm.mailbox import Mailbox
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan
from tux.parallel_load.algorithm.rounds import Rounds, tell_all
from tux.parallel_load.algorithm.sharing import digest_in_rounds, share_ranges
from tux.parallel_load.process.loader_member import FarMailbox, LoadingMember, explain_error

JOB = "job.json"


class LoadingJob(msgspec.Struct):
    """The job of all loaders: the plan, the input, and the columns to read: the `fields` of its
    edges, by name and dtype, and the `columns` named for them. Each uses so many `threads`. Of the
    input's files, which are of one `format`, each reads its `pieces`; where `data` is only the name
    of the input in messages, `whole` has the pieces of all of it. Bad rows stop it, or are skipped.
    `size`: the bytes of the input, if it is text and not packed. `meeting`: of the loaders of
    several machines; `held_out`: held-out edges will be added to the parts. `types`: of the
    columns, by name, where each machine has its own rows; `pieces` are of its own loaders then.
    """

    plan: LoadingPlan
    data: str
    fields: dict[str, str]
    columns: str | None = None
    threads: int = 1
    format: str = ""
    pieces: list[list[FilePiece]] = []
    whole: list[FilePiece] = []
    on_bad_row: OnBadRow = "stop"
    size: int = 0
    meeting: Meeting | None = None
    held_out: bool = False
    types: dict[str, str] | None = None


class LoaderResult(msgspec.Struct):
    """The result that a loader leaves when it has done its work. `peak`: bytes of memory that it
    had at most, mapped files included, and `before`: until it began to read. `names`, `skipped`,
    `first_skipped` and `notes`: see `tux.arrays.edges.EdgeData`.
    """

    loaded: LoadSummary
    peak: int
    before: int
    names: dict[str, str] = {}
    skipped: int = 0
    first_skipped: str = ""
    notes: tuple[str, ...] = ()
    passed: LineCounts = LineCounts()


class Progress(msgspec.Struct):
    """The amount of its share that a loader has read: bytes of text, unpacked, and pieces of
    files.
    """

    size: int = 0
    pieces: float = 0.0


class AllLoaderResults(msgspec.Struct):
    """The results of all loaders of several machines, and the digest of the edges."""

    ended: list[LoaderResult]
    digest: str


class LoaderRows(NamedTuple):
    """A share as it was read, the names of the columns from which it was read, and its bad rows as
    `EdgeData` has them.
    """

    share: InputShare
    names: dict[str, str]
    skipped: int = 0
    first_skipped: str = ""
    notes: tuple[str, ...] = ()
    passed: LineCounts = LineCounts()


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
        if job.meeting is None:
            mailbox = Mailbox(job_folder(graph), job.plan.loaders, number)
            mailbox.carry(_steps(job, graph, number, read))
        else:
            with LoadingMember(job.meeting, job_folder(graph), number) as member:
                steps = _steps_together(job, graph, number, read, member)
                FarMailbox(member).carry(steps)
        return 0
    except Exception as error:
        failure = as_failure(explain_error(error, number, job_folder(graph)))
    leave_failure(job_folder(graph), number, failure)
    return failure.code


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
    rows = read(job, number, _progress_writer(graph, number))
    has_read()
    keep = ArraySpool(graph, spool_of(graph, number))
    loaded = yield from loader(job.plan, number, rows.share, keep)
    ended = LoaderResult(loaded, _most_memory(), before, *rows[1:])
    with replacing(result_path(graph, number)) as part:
        part.write_bytes(msgspec.json.encode(ended))
    return ended


def _steps_together(
    job: LoadingJob, graph: Path, number: int, read: Read, member: LoadingMember
) -> Rounds[None]:
    """Do the steps of a loader on one of several machines. Afterwards, one loader of each machine
    joins there the files that all parts share, and leaves the results of all loaders.
    """
    plan, names, joiners = job.plan, list(job.fields), member.job.joiners
    own = yield from _steps(job, graph, number, read, member.has_read)
    inbox = yield from tell_all(plan.loaders, [np.frombuffer(msgspec.json.encode(own), np.uint8)])
    ended = [feed.decode_json(LoaderResult) for feed in columns_by_sender(inbox)]
    check_edges(job, ended)
    loaded, kept = [each.loaded for each in ended], SpooledArrays(spool_of(graph, number))
    mine = ranges_of(kept) | (rows_of(graph, plan, number) if job.held_out else {})
    ranges = yield from share_ranges(plan, number, joiners, mine)
    digest = yield from digest_in_rounds(plan, number, kept, ranges, loaded, names)
    if number in joiners:
        if job.held_out:
            write_elsewhere(graph, plan, ranges, job.fields, member.near)
        join(graph, ranges, plan, loaded, names, digest)
        with replacing(all_results_path(graph)) as part:
            part.write_bytes(msgspec.json.encode(AllLoaderResults(ended, digest)))


def check_edges(job: LoadingJob, ended: Sequence[LoaderResult]) -> None:
    """Raise DataError if all loaders together have no edge."""
    if not any(sum(each.loaded.edges) for each in ended):
        first = next((each.first_skipped for each in ended if each.skipped), "")
        raise DataError(
            f"no row of {job.data} is usable; the first: {first}"
            if first
            else f"{job.data} holds no edge",
            do="" if first else NO_ROW,
        )


def _progress_writer(graph: Path, number: int) -> Tell:
    """Return a function that writes down how much a loader has read, after each of its large
    blocks.
    """
    path = progress_path(graph, number)
    part = path.with_suffix(".part")

    def tell(size: int, pieces: float) -> None:
        with writing(path):
            part.write_bytes(msgspec.json.encode(Progress(size, pieces)))
            os.replace(part, path)

    return tell


def _most_memory() -> int:
    """Return the bytes of memory that this process has had at most (Linux counts in KiB)."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read_rows(job: LoadingJob, number: int, tell: Tell) -> LoaderRows:
    """Read the share of a loader, which is pieces of the input's files."""
    share = Files.of(job.data, job.pieces[number])
    whole = Files.of(job.data, job.whole) if job.whole else job.data
    asked = EdgeRequest(whole, job.plan.ends, job.fields, job.columns, job.on_bad_row)
    rows = read_share(share, asked, Format(job.format), tell)
    src, dst, *numbers = rows.columns
    fields = {name: each.stream_pieces() for name, each in zip(job.fields, numbers, strict=True)}
    share_rows = InputShare(src, dst, fields)
    return LoaderRows(share_rows, dict(rows.names), *rows[3:])


if __name__ == "__main__":
    sys.exit(run_loader(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), read_rows))
