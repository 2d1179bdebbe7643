"""A loader as a process: ``python -m tux.run.loader_process FOLDER NUMBER PARENT``.

It reads its share of the input, exchanges messages with the others in files of the job's folder,
and writes the parts that it hosts. It leaves there what it tells in the end, or why it has failed.
PARENT is the number of the process that started it; when that is gone, it removes what was written.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from tux.base.allocation import give_back_early
from tux.base.disk import replacing
from tux.base.errors import TuxError
from tux.base.parallel import use_threads
from tux.cluster.control import failed
from tux.cluster.worker_process import leave_failure, watch_parent
from tux.io.detect import Format
from tux.io.input_files import Files, Piece
from tux.io.input_shares import read_share
from tux.loading.folder import Spool
from tux.loading.loader import Loaded, loader
from tux.loading.mailbox import Mailbox
from tux.loading.plan import Plan, Share

JOB = "job.json"


class LoadingJob(msgspec.Struct):
    """What all loaders are told: the plan, the input, and what is read of it: the `fields` of its
    edges, by name and dtype, and the `columns` named for them. Each uses so many `threads`. Of the
    input's files, which are of one `format`, each reads its `pieces`.
    """

    plan: Plan
    data: str
    fields: dict[str, str]
    columns: str | None = None
    threads: int = 1
    format: str = ""
    pieces: list[list[Piece]] = []


class Ended(msgspec.Struct):
    """What a loader leaves when it has done its work. `peak`: bytes of memory that it had at most,
    mapped files included, and `before`: until it began to read. `names`: see
    `tux.arrays.edges.EdgeData.columns`.
    """

    loaded: Loaded
    peak: int
    before: int
    names: dict[str, str] = {}


class Rows(NamedTuple):
    """A share as it was read, and which columns it was read from."""

    share: Share
    names: dict[str, str]


Read = Callable[[LoadingJob, int], Rows]


def job_folder(graph: Path) -> Path:
    """The folder of a job that makes the parts in `graph`."""
    return graph / ".loading"


def ended_path(graph: Path, number: int) -> Path:
    """The file in which a loader leaves its `Ended`."""
    return job_folder(graph) / f"ended-{number}.json"


def spool_of(graph: Path, number: int) -> Path:
    """The folder of what a loader keeps for the files that all parts share."""
    return job_folder(graph) / f"spool-{number}"


def serve(graph: Path, number: int, parent: int, read: Read) -> int:
    """Be a loader of the job in `graph`; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    watch_parent(graph, parent)
    give_back_early()
    try:
        job = msgspec.json.decode((job_folder(graph) / JOB).read_bytes(), type=LoadingJob)
        use_threads(job.threads)
        before = _most_memory()
        rows = read(job, number)
        mailbox = Mailbox(job_folder(graph), job.plan.loaders, number)
        keep = Spool(graph, spool_of(graph, number))
        loaded = mailbox.carry(loader(job.plan, number, rows.share, keep))
        ended = Ended(loaded, _most_memory(), before, rows.names)
        with replacing(ended_path(graph, number)) as part:
            part.write_bytes(msgspec.json.encode(ended))
        return 0
    except TuxError as error:
        failure = failed(error)
    except Exception as error:
        explained = TuxError(
            f"{type(error).__name__}: {error}",
            where=f"loader {number}",
            do="this is a fault of tux itself; --debug shows the traceback",
        )
        explained.__cause__ = error
        failure = failed(explained)
    leave_failure(job_folder(graph), number, failure)
    return failure.code


def _most_memory() -> int:
    """The bytes of memory that this process has had at most (Linux counts in KiB)."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def read_rows(job: LoadingJob, number: int) -> Rows:
    """The share of a loader, which is pieces of the input's files."""
    share = Files.of(job.data, job.pieces[number])
    how = {"columns": job.columns, "format": Format(job.format)}
    rows = read_share(share, job.data, job.plan.ends, job.fields, **how)  # type: ignore[arg-type]
    src, dst, *numbers = rows.columns
    fields = {name: each.pieced() for name, each in zip(job.fields, numbers, strict=True)}
    return Rows(Share(src, dst, fields), dict(rows.names))


if __name__ == "__main__":
    sys.exit(serve(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), read_rows))
