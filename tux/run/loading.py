"""A folder of parts made by several loader processes of this machine, which are started, watched
and ended here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tux.base.crash import ADVICE, CRASHES
from tux.base.disk import check_new, new_folder, writing
from tux.base.errors import DataError, PeerLost
from tux.base.processes import is_stopped
from tux.base.signals import handle_ending
from tux.cluster.control import as_error
from tux.cluster.heartbeat import SILENCE
from tux.cluster.local_workers import how_ended
from tux.cluster.worker_process import failure_of
from tux.loading.digest import Digesting
from tux.loading.folder import join
from tux.loading.mailbox import DEADLINE
from tux.run.loader_process import JOB, Ended, LoadingJob, ended_path, job_folder, spool_of

KILLED = "load again; if it took too much memory, more --workers take less each"
NAP = 0.02
"""Seconds between two looks at the loaders."""


class LoadedGraph(NamedTuple):
    """What the loaders of a graph have told, and the digest of its edges."""

    ended: list[Ended]
    digest: str

    @property
    def edges(self) -> list[int]:
        """Edges of each part."""
        return [edges for each in self.ended for edges in each.loaded.edges]

    @property
    def repeated(self) -> int | None:
        """Edges that repeat an earlier one's ends, where the loaders know that."""
        told = [each.loaded.repeated for each in self.ended]
        return sum(sum(own) for own in told if own) if None not in told else None


def load_in_shares(
    path: str | os.PathLike[str],
    job: LoadingJob,
    command: Sequence[str],
    phase: Callable[[str], None] = lambda name: None,
) -> LoadedGraph:
    """Make the folder `path` of the parts of a graph, whole or not at all. `command` starts a
    loader; it gets the folder, the loader's number and that of this process.

    Raises UsageError and DiskError, the DataError that one process would have raised first, and
    PeerLost if a loader dies.
    """
    job.plan.check()
    check_new(Path(path))
    with new_folder(path) as graph:
        with writing(path):
            job_folder(graph).mkdir(mode=0o700)
            for number in range(job.plan.loaders):
                spool_of(graph, number).mkdir()
            (job_folder(graph) / JOB).write_bytes(msgspec.json.encode(job))
        spools = [spool_of(graph, number) for number in range(job.plan.loaders)]
        with Digesting(spools, job.plan, list(job.fields)) as digesting:
            ended = _run(graph, job.plan.loaders, command, phase)
            if not any(sum(each.loaded.edges) for each in ended):
                raise DataError(f"{job.data} holds no edge")
            phase("joining what the parts share")
            digest = digesting.result()
        loaded = [each.loaded for each in ended]
        join(graph, spools, job.plan, loaded, list(job.fields), digest)
        shutil.rmtree(job_folder(graph))
    return LoadedGraph(ended, digest)


def _run(
    graph: Path, loaders: int, command: Sequence[str], phase: Callable[[str], None]
) -> list[Ended]:
    """Start the loaders, and wait until all have ended."""
    restore = handle_ending()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(loaders):
            each = [*command, str(graph), str(number), str(os.getpid())]
            processes.append(subprocess.Popen(each, stdin=subprocess.DEVNULL))
        _watch(graph, processes, phase)
        return [
            msgspec.json.decode(ended_path(graph, number).read_bytes(), type=Ended)
            for number in range(loaders)
        ]
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()
        restore()


def _watch(
    graph: Path, processes: Sequence[subprocess.Popen[bytes]], phase: Callable[[str], None]
) -> None:
    """Until all loaders have ended well. Raises the error of the first one that has not."""
    stopped: dict[int, float] = {}
    shown = ""
    while True:
        codes = [process.poll() for process in processes]
        if all(code == 0 for code in codes):
            return
        if any(codes):
            _raise_first(graph, processes)
        for number, process in enumerate(processes):
            if codes[number] is not None or not is_stopped(process.pid):
                stopped.pop(number, None)
            elif time.monotonic() - stopped.setdefault(number, time.monotonic()) > SILENCE:
                what = f"loader {number} (process {process.pid}) has been stopped for "
                raise PeerLost(f"{what}{SILENCE:.0f} s", do="load again")
        reading = sum(not _has_read(graph, number) for number in range(len(processes)))
        if shown != (text := f"{reading} still read" if reading else "exchanging"):
            phase(shown := text)
        time.sleep(NAP)


def _has_read(graph: Path, number: int) -> bool:
    """Whether a loader has read its share: then its first message is there, or a later one."""
    folder = job_folder(graph)
    return ended_path(graph, number).exists() or any(folder.glob(f"round-*.{number}"))


def _raise_first(graph: Path, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Raise why a loader has failed: of several, the first one. One whose share comes before may
    still find a fault in it, which one process would have met first.
    """
    limit = time.monotonic() + DEADLINE
    for number, process in enumerate(processes):
        while process.poll() is None and not _has_read(graph, number):
            if is_stopped(process.pid) or time.monotonic() > limit:
                break
            time.sleep(NAP)
        if not process.poll():
            continue
        if failure := failure_of(job_folder(graph), number):
            raise as_error(failure)
        code = process.returncode
        raise PeerLost(
            f"loader {number} (process {process.pid}) {how_ended(code)}",
            do=ADVICE if -code in CRASHES else KILLED,
        )
