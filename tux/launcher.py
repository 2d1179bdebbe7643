"""The launcher: cuts a graph, starts one worker process a part, and brings back records and the model.

It is the job's member number `workers`, connected to all. Whatever happens to it or to a worker, no process, socket file or folder is left:
workers whose launcher is gone end by themselves, and the launcher ends the others when one is lost.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

from tux import __version__, store
from tux.control import Beat, Bye, Failed, Go, Hello, Record, Trained, as_error, pack, unpack
from tux.edge_pieces import Pieces, of_parts
from tux.edges import EdgeData
from tux.errors import DeadlinePassed, PeerLost, Refused, TuxError, UsageError
from tux.frames import Message
from tux.graph import Graph
from tux.partitioned import Partitioned
from tux.peer import STARTING, Job
from tux.place import Place
from tux.signals import check_ending, ending_ignored, handle_ending, pausing
from tux.sources import find
from tux.spool import Kept, append
from tux.training import TIMES, Training
from tux.wire import SILENCE, Post
from tux.worker import Worker

LOOK = 0.2
"""Seconds between two looks at the worker processes, while the launcher waits for a message."""

LONGER = "if it is not hung but slow, give it longer: --timeout SECONDS"


class Crew:
    """The worker processes of one machine. As a context: entering starts them, leaving ends them and removes the job's folder."""

    def __init__(self, job: Job, folder: Path, ranks: Sequence[int]) -> None:
        self.job, self.folder, self.ranks = job, folder, ranks
        self.processes: dict[int, subprocess.Popen[bytes]] = {}
        self.stopped: dict[int, float] = {}  # since when, of those processes that are
        self._pausing = ExitStack()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self) -> None:
        """Start the processes."""
        command = [sys.executable, "-P", "-m", "tux.peer", str(self.folder)]  # -P: files in the user's folder hide no modules
        self._pausing.enter_context(pausing(self.pause, self.resume))
        for rank in self.ranks:
            each = [*command, str(rank), str(os.getpid())]
            self.processes[rank] = subprocess.Popen(each, stdin=subprocess.DEVNULL, start_new_session=True)

    def check(self) -> None:
        """PeerLost if a process has ended, or is stopped for long: one that is only starting sends no signs of life to be missed."""
        advice = "the job cannot go on without it; start it anew"
        for rank, process in self.processes.items():
            code = process.poll()
            if code is not None:
                how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
                raise PeerLost(f"worker {rank} (process {process.pid}) {how}", do=advice)
            if not hasattr(os, "waitid") or not os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT):
                self.stopped.pop(rank, None)
            elif time.monotonic() - self.stopped.setdefault(rank, time.monotonic()) > SILENCE:
                raise PeerLost(f"worker {rank} (process {process.pid}) has been stopped for {SILENCE:.0f} s", do=advice)

    def pause(self) -> None:
        """Stop the workers of this machine, until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the workers go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        for process in self.processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(number)

    def end(self, leaving: Container[int] | None = None, patience: float = 2.0) -> None:
        """End the workers. Those of `leaving` (None: all) have `patience` seconds to leave by themselves."""
        limit = time.monotonic() + patience
        with ending_ignored():
            self._pausing.close()
            for rank, process in self.processes.items():
                if leaving is not None and rank not in leaving:
                    process.kill()
            for process in self.processes.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, limit - time.monotonic()))
            for process in self.processes.values():  # all are killed before one is waited for: each may take long to be gone
                process.kill()
            for process in self.processes.values():
                process.wait()
            _remove(self.folder)


class Outpost(Crew):
    """The crew of a machine other than the first: its workers answer to the launcher there."""

    def pause(self) -> None:
        """The workers go on: the launcher of machine 0 would take those that are stopped for lost."""

    def wait(self) -> None:
        """Until all have left. PeerLost with the exit code of the first that failed, when the others cannot go on without it."""
        while running := [process for process in self.processes.values() if process.poll() is None]:
            check_ending()
            failed = [(rank, p.returncode) for rank, p in self.processes.items() if p.returncode]
            if failed:
                raise PeerLost(f"worker {failed[0][0]} on this machine ended with exit code {failed[0][1]}", do="see what machine 0 says")
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(0.5)
        self.check_left()

    def check_left(self) -> None:
        """PeerLost if one of the processes, all of which have ended, has failed."""
        for rank, process in self.processes.items():
            if process.returncode:
                raise PeerLost(f"worker {rank} on this machine ended with exit code {process.returncode}", do="see what machine 0 says")


class Team(Crew):
    """The crew of the first or only machine, and its launcher: a `Training` whose epochs run in other processes."""

    def __init__(self, job: Job, folder: Path, ranks: Sequence[int], bare: EdgeData) -> None:
        super().__init__(job, folder, ranks)
        self.worker = _holder(job, bare)
        self.seconds, self.best_epoch = 0.0, 0
        addresses = [""] * job.workers + [job.launcher]
        everyone = range(job.workers)
        self.post = Post(job.workers, addresses, job.number, self._handle, partners=everyone, largest=job.largest, secret=job.secret)

    def pause(self) -> None:
        """Stop the workers of this machine; those of others are told that they will hear nothing for a while."""
        for rank in set(range(self.job.workers)) - set(self.ranks):
            if self.post.addresses[rank]:
                self.post.outbox.append(pack(Beat(paused=True), self.job.workers, rank))  # the thread looks there twice a second
        for _ in range(10):
            if not self.post.outbox:
                break
            time.sleep(0.1)
        super().pause()

    def _handle(self, message: Message) -> bool:
        return message.kind == "control" and isinstance(unpack(message), Beat)

    def start(self) -> None:
        """Start the workers and wait until all, on any machine, have said hello. PeerLost, Refused or DeadlinePassed if they don't."""
        super().start()
        self.post.start()
        up = set[int]()
        while len(up) < self.job.workers:
            message = self._receive(STARTING, f"workers {sorted(set(range(self.job.workers)) - up)} to start")
            hello = unpack(message)
            if isinstance(hello, Hello):
                self.post.addresses[message.source] = hello.address
                if (hello.version, hello.digest) != (__version__, self.job.digest):
                    raise Refused(
                        f"worker {message.source} on {hello.host} has another version, program, data or flags", do="start it anew"
                    )
                up.add(message.source)

    def end(self, leaving: Container[int] | None = None, patience: float = 2.0) -> None:
        """Say goodbye to the workers that have said hello, and end all."""
        with ending_ignored():
            met = [rank for rank in range(self.job.workers) if self.post.addresses[rank]]
            for rank in met:
                self.post.send(pack(Bye(), self.job.workers, rank))
            super().end(met, patience)
            self.post.close(0.5 if len(self.ranks) < self.job.workers else 0)  # who is on another machine may not have it yet

    def epochs(self, most: int, *, every: int = 1, patience: int = 0) -> Iterator[dict[str, Any]]:
        """The records of the job's epochs, all workers' in one, then the model into `worker`. The arguments are those of the job."""
        for rank in range(self.job.workers):
            self.post.send(pack(Go(self.post.addresses[: self.job.workers]), self.job.workers, rank))
        heard: dict[int, dict[int, dict[str, float]]] = {}
        rows: set[int] = set()
        while len(rows) < self.job.workers:
            message = self._receive(self.job.deadline, f"epoch {len(heard) + 1}")
            if message.kind == "rows":
                self._take(message)
                if message.turn:  # the last of this worker's
                    rows.add(message.source)
                continue
            told = unpack(message)
            if isinstance(told, Record):
                number = int(told.fields["epoch"])
                heard.setdefault(number, {})[message.source] = told.fields
                if len(heard[number]) == self.job.workers:
                    yield merged(heard.pop(number))
            elif isinstance(told, Trained):
                self.seconds, self.best_epoch = max(self.seconds, told.seconds), told.best_epoch

    def _take(self, message: Message) -> None:
        """A part of the model; or of the lists of a worker on another machine, which then sends the next."""
        if message.point <= len(self.worker.program.vertices):
            self.worker.take_rows(message)
        elif message.source in self.ranks or len(message.arrays) != 1:
            raise Refused(f"worker {message.source} sent lists that nobody waits for")
        else:
            if self.job.lists:
                append(self.job.kept_lists(message.source), message.arrays[0])
            self.post.send(Message("rows", self.job.workers, message.source))

    def lists(self) -> Kept | None:
        """The lists that no stage uses, of all workers, if there are any and they are kept."""
        paths = [self.job.kept_lists(rank) for rank in range(self.job.workers)]
        if not self.job.lists or not any(path.exists() for path in paths):
            return None
        types = store.load(Path(self.job.graph), self.ranks[0]).types
        return Kept.of(paths, {name: each.order[: each.vertices] for name, each in types.items()})

    def edges(self) -> Pieces:
        """The edges trained on, read when they are asked for; none where other machines have some of them."""
        if len(self.ranks) < self.job.workers:
            return ()
        return of_parts(self.worker.program, Path(self.job.graph), self.job.workers)

    def _receive(self, seconds: float, waiting_for: str) -> Message:
        """The next message; PeerLost as soon as a worker process ends, the error of a worker that fails.

        DeadlinePassed after `seconds`, in which the time that this process was stopped does not count.
        """
        ended, left = False, seconds
        while True:
            try:
                message = self.post.receive(LOOK, waiting_for)
            except DeadlinePassed:
                check_ending()
                before, ended = ended, any(process.poll() is not None for process in self.processes.values())
                if before or not ended:  # what one that has ended had to say is here soon after
                    self.check()
                left -= LOOK
                if left <= 0:
                    raise DeadlinePassed(f"waited {seconds:.0f} s for {waiting_for}", where="the launcher", do=LONGER) from None
                continue
            check_ending()
            if message.kind == "control" and isinstance(told := unpack(message), Failed):
                raise as_error(told)
            return message


JANITOR = "import shutil, sys; sys.stdin.read(); [shutil.rmtree(folder, ignore_errors=True) for folder in sys.argv[1:]]"
"""Removes folders when the process that holds the other end of its standard input has ended, whatever ended it."""

_janitors: dict[Path, tuple[subprocess.Popen[bytes], Path, Callable[[], None]]] = {}


def _folder(room: Path | None) -> tuple[Path, Path]:
    """A new folder that only the user may enter, and one for the parts, in it or in `room`; both with a janitor.

    From now to `_remove`, the signals that ask to end are handled as `tux.signals` says.
    """
    if _janitors:  # a script without this guard would start jobs within jobs
        raise UsageError("a program's file starts a job while it is imported", do='put run(...) under if __name__ == "__main__"')
    restore = handle_ending()
    folder = Path(tempfile.mkdtemp(prefix="tux-job-"))
    graph = (room or folder).resolve() / ".parts"
    command = [sys.executable, "-I", "-S", "-c", JANITOR, str(folder), str(graph)]
    _janitors[folder] = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True), graph, restore
    graph.mkdir(mode=0o700)
    return folder, graph


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    if folder in _janitors:
        janitor, graph, restore = _janitors.pop(folder)
        shutil.rmtree(graph, ignore_errors=True)
        janitor.communicate()
        restore()


def crowded(workers: int) -> str:
    """What to tell a user of more workers than this machine has processor cores for; nothing if it has enough."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers <= cores:
        return ""
    has = f"{cores} processor core{'s' * (cores > 1)}"
    return f"{workers} workers share {has}: an epoch takes longer than with --workers {cores}, and so does the start"


def merged(records: dict[int, dict[str, float]]) -> dict[str, Any]:
    """One record of an epoch from those of all workers: equal metrics, the sum of rates and bytes, the longest seconds, mean shares.

    A name that some worker lacks, as the bytes of a type of which it has nothing, is 0 there.
    """
    out: dict[str, Any] = {}
    for name in dict.fromkeys(name for rank in sorted(records) for name in records[rank]):
        values = [record.get(name, 0) for record in records.values()]
        if name == "edges_per_second" or name.startswith("bytes_"):
            out[name] = sum(values)
        elif name in ("seconds", "max_staleness"):
            out[name] = max(values)
        elif name.removesuffix("_s") in TIMES:
            out[name] = sum(values) / len(values)
        else:
            out[name] = next(record[name] for _, record in sorted(records.items()) if name in record)
    return out


def _holder(job: Job, bare: EdgeData) -> Worker:
    """A worker without edges that holds every vertex, to receive the model."""
    program = find(job.app).program(**job.parameters)
    return Worker(program, Graph.whole(program, bare, None, job.seed), seed=job.seed, jit=False)


def prepare(
    app: str,
    parameters: dict[str, Any],
    graph: Callable[[int], Partitioned],
    *,
    workers: int,
    place: Place | None = None,
    room: Path | None = None,
    **options: Any,
) -> Crew:
    """Write the parts that `graph` makes for all workers, and the job, and compile the kernels once for all workers.

    `workers` a machine. With `place`, this is one of several machines: machine 0 gets a Team, the others an Outpost. The parts take
    as much disk as the edges do in memory; they lie in the folder `room`, or else with the job's other files.
    """
    folder, into = _folder(room)
    total = workers * (place.machines if place else 1)
    first = workers * (place.rank if place else 0)
    ranks = range(first, first + workers)
    try:
        made = graph(total)
        store.save(into, made.parts, made.bare.ends, ranks)
        if max(len(f"{folder}/{total}"), 0) > 107:
            raise TuxError(f"the temporary folder's name is too long for sockets: {folder}", do="set TMPDIR to a shorter one")
        meeting = (place.launcher, place.own(), place.secret) if place else (f"ipc://{folder}/launcher", f"ipc://{folder}/{{}}", None)
        digest = f"{made.digest} {app} {parameters} {sorted(options.items())} {total}"
        job = Job(
            _number(place), str(into), app, parameters, hashlib.blake2b(digest.encode(), digest_size=16).hexdigest(),
            total, *meeting, largest=max(1 << 24, *(_row_bytes(part) for part in made.parts)),
            launcher_here=not (place and place.rank), lists="sent" if place and place.rank else "kept" if room else "", **options,
        )  # fmt: skip
        bare = made.bare
        del made
        job.write(folder)
        Training(job.worker(first))
        return Outpost(job, folder, ranks) if place and place.rank else Team(job, folder, ranks, bare)
    except BaseException:
        _remove(folder)
        raise


def _number(place: Place | None) -> int:
    """The number in every frame of a job: drawn, or, on several machines, what all of them can compute."""
    if place is None:
        return secrets.randbits(63)
    known = place.secret or place.launcher.encode()
    return int.from_bytes(hashlib.blake2b(known, digest_size=8, person=b"tux job").digest(), "little") >> 1


def _row_bytes(part: Any) -> int:
    """More than any buffer of a message about this part can have."""
    return max((max(len(t.rows), len(t.masters)) for t in part.types.values()), default=0) * (1 << 16)
