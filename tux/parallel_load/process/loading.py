"""A folder of parts made by several loader processes of this machine, which are started, watched
and ended here.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tux.arrays.edge_facts import NumberFacts, join_numbers
from tux.base.checksums import files_below, seal
from tux.base.disk import check_new, new_folder, writing
from tux.base.errors import DataError, TuxError
from tux.base.signals import check_ending, handle_ending, handle_pause
from tux.base.text import plural
from tux.io.source.precision import join_ranges
from tux.io.source.table_lines import LineCounts
from tux.options.watcher import NullWatcher, Watcher
from tux.parallel_load.algorithm.digest import DigestThread
from tux.parallel_load.algorithm.folder import join
from tux.parallel_load.algorithm.groups import NamedCounts
from tux.parallel_load.algorithm.held_links import HeldCounts
from tux.parallel_load.algorithm.inactivity import Inactivity
from tux.parallel_load.algorithm.kept import SpooledArrays
from tux.parallel_load.algorithm.loader import rounds_of
from tux.parallel_load.algorithm.mailbox import DEADLINE
from tux.parallel_load.process.amount_read import Progress
from tux.parallel_load.process.loader_process import (
    JOB,
    LoaderResult,
    RowsRead,
    check_edges,
    job_folder,
    progress_path,
    result_path,
    spool_of,
)
from tux.parallel_load.process.loading_job import LoadingJob
from tux.parallel_load.process.local_loaders import LocalLoaders

COMMAND = [sys.executable, "-P", "-m", "tux.parallel_load.process.loader_process"]
"""The command that starts a loader; the folder, its number and that of its parent follow."""

NAP = 0.02
"""Seconds between two looks whether the loaders are there."""
LOOK = 0.5
"""Seconds between two looks at how far they are."""


class LoadedGraph(NamedTuple):
    """The results of a graph's loaders, and the digest of its edges."""

    ended: list[LoaderResult]
    digest: str

    @property
    def edges(self) -> list[int]:
        """The number of edges of each part, of all types."""
        of_loaders = ([own.counts for own in each.loaded.edges.values()] for each in self.ended)
        return [sum(counts) for own in of_loaders for counts in zip(*own, strict=True)]

    def repeated_edges(self, name: str = "") -> int:
        """Count the edges of a type that repeat an earlier one's ends."""
        return sum(sum(each.loaded.edges[name].repeated) for each in self.ended)

    @property
    def grouped(self) -> NamedCounts:
        """The numbers of vertices of a file of groups."""
        return self.ended[0].loaded.grouped

    @property
    def numbers(self) -> dict[str, NumberFacts]:
        """The facts about the fields of edges of the first type."""
        return join_numbers(
            (own.rows, own.numbers) for own in (each.loaded.edges[""] for each in self.ended)
        )

    @property
    def held(self) -> HeldCounts:
        """The counts of links that were held out."""
        return HeldCounts(*map(sum, zip(*(each.loaded.held for each in self.ended), strict=True)))

    def total_given(self, name: str) -> int | None:
        """Add up a field of all edges of the first type, with links that were held out; None if
        there is no such field.
        """
        told = [each.loaded.edges[""].given.get(name) for each in self.ended]
        return None if None in told else sum(each for each in told if each)

    def rows_read(self, name: str = "") -> RowsRead:
        """Return the facts about the rows of an edge type that were read by all loaders."""
        read = [each.read[name] for each in self.ended if name in each.read]
        first = next(iter(read), RowsRead())
        passed = LineCounts(*map(sum, zip(*(each.passed for each in read), strict=True)))
        return RowsRead(
            first.names,
            sum(each.skipped for each in read),
            next((each.first_skipped for each in read if each.skipped), ""),
            (*first.notes, *passed.notes("edge"), *first.rare),
            passed,
            join_ranges(each.ranges for each in read),
            sum(each.rows or 0 for each in read) if first.rows is not None else None,
        )


def load_in_shares(
    path: str | os.PathLike[str],
    job: LoadingJob,
    command: Sequence[str] = COMMAND,
    watch: Watcher | None = None,
) -> LoadedGraph:
    """Make the folder `path` of the parts of a graph, whole or not at all. `command` starts a
    loader. Raises UsageError, and the errors of `make_parts`.
    """
    job.plan.check()
    check_new(Path(path))
    with new_folder(path) as graph:
        made = make_parts(graph, job, command, watch)
        seal(graph, files_below(graph))
        return made


def make_parts(
    graph: Path, job: LoadingJob, command: Sequence[str] = COMMAND, watch: Watcher | None = None
) -> LoadedGraph:
    """Make the parts of a graph in a folder that is there and empty. After an error the caller
    removes the files in it. `watch` gets the progress of the loaders.

    Raises DiskError, the DataError that one process would have raised first, and PeerLost if a
    loader dies.
    """
    watch = watch or NullWatcher()
    spools = [spool_of(graph, number) for number in range(job.plan.loaders)]
    with writing(graph):
        job_folder(graph).mkdir(mode=0o700)
        for spool in spools:
            spool.mkdir()
        (job_folder(graph) / JOB).write_bytes(msgspec.json.encode(job))
    fields = {name: list(own) for name, own in job.fields.items()}
    with DigestThread(spools, job.plan, fields) as digesting:
        ended = _run_loaders(graph, job, command, watch)
        check_edges(job, ended)
        watch.phase("load: what all parts share is joined")
        loaded = [each.loaded for each in ended]
        digest = digesting.result(loaded[0].categories)
    with writing(graph):
        kept = [SpooledArrays(spool) for spool in spools]
        join(graph, kept, job.plan, loaded, fields, digest)
        shutil.rmtree(job_folder(graph))
    return LoadedGraph(ended, digest)


def _run_loaders(
    graph: Path, job: LoadingJob, command: Sequence[str], watch: Watcher
) -> list[LoaderResult]:
    """Start the loaders, and wait until all have ended."""
    restore, numbers = handle_ending(), range(job.plan.loaders)
    loaders = LocalLoaders(graph, job_folder(graph), numbers, command)
    try:
        with handle_pause(loaders.pause, loaders.resume):
            loaders.start()
            _watch(graph, job, loaders, watch)
        return [
            msgspec.json.decode(result_path(graph, number).read_bytes(), type=LoaderResult)
            for number in numbers
        ]
    finally:
        loaders.end(0.0)
        restore()


def _watch(graph: Path, job: LoadingJob, loaders: LocalLoaders, watch: Watcher) -> None:
    """Wait until all loaders have ended well. Raises the error of the first one that has not."""
    others = Inactivity(job_folder(graph), DEADLINE)
    shown, looked = "", float("-inf")
    while not loaders.is_done:
        check_ending()
        raise_first(graph, loaders.failures(), others)
        loaders.check_running()
        if time.monotonic() >= looked + LOOK:
            looked = time.monotonic()
            text, share = _describe_progress(graph, job)
            if text != shown:
                watch.phase(shown := text)
            if share:
                watch.share(share)
        time.sleep(NAP)
        others.count_wait(NAP)


def _describe_progress(graph: Path, job: LoadingJob) -> tuple[str, float]:
    """Return the work of the loaders, in words, and how much of it is done, from 0 to 1; 0: not
    known.
    """
    n = job.plan.loaders
    sent = [_rounds_sent(graph, number) for number in range(n)]
    if all(sent):
        rounds = rounds_of(job.plan, sum(map(len, job.fields.values())))
        here = min(min(sent) + 1, rounds)
        return f"load: {plural(n, 'process')} exchange, round {here} of {rounds}", 0.0
    told = [_progress(graph, number) for number in range(n)]
    if job.size:
        share = sum(each.size for each in told) / job.size
    else:
        pieces = sum(map(len, job.pieces))
        share = sum(each.pieces for each in told) / max(pieces, 1)
    return f"load: {plural(n, 'process')} read", min(share, 1.0)


def _rounds_sent(graph: Path, number: int) -> int:
    """Return the number of rounds of which a loader has sent its messages."""
    files = job_folder(graph).glob(f"round-*.{number}")
    sent = [int(path.name.removeprefix("round-").partition(".")[0]) + 1 for path in files]
    return max(sent, default=0)


def _progress(graph: Path, number: int) -> Progress:
    """Read how much a loader has read so far."""
    try:
        return msgspec.json.decode(progress_path(graph, number).read_bytes(), type=Progress)
    except FileNotFoundError:  # it has only begun
        return Progress()


def _has_read(graph: Path, number: int) -> bool:
    """Return whether a loader has read its share: then its first message is there, or a later
    one.
    """
    return result_path(graph, number).exists() or _rounds_sent(graph, number) > 0


def raise_first(graph: Path, failures: Mapping[int, TuxError], others: Inactivity) -> None:
    """Raise the error of a loader that has failed: at once, unless all failures are faults in the
    input. A loader whose share comes before may still find a fault, which one process would have
    met first; it is waited for while the `others` are at work.
    """
    for error in failures.values():
        if not isinstance(error, DataError):
            raise error
    if failures:
        first = min(failures)
        if others.left <= 0 or all(_has_read(graph, number) for number in range(first)):
            raise failures[first]
