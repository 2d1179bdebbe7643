"""The launcher: cuts a graph, starts one worker process a part, and brings back records and the
model.

It is the job's member number `workers`, connected to all. Whatever happens to it or to a worker, no
process, socket file or folder is left: workers whose launcher is gone end by themselves, and the
launcher ends the others when one is lost.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tux.arrays.edges import EdgeData
from tux.base.errors import DeadlinePassed, Refused, TuxError
from tux.base.signals import check_ending, ending_ignored
from tux.cluster import agreement, job_folder
from tux.cluster.control import (
    Beat,
    Bye,
    Failed,
    Go,
    Hello,
    Record,
    Trained,
    as_error,
    pack,
    unpack,
)
from tux.cluster.crew import Crew, Outpost
from tux.cluster.job import STARTING, Job
from tux.cluster.place import Place
from tux.cluster.wire import Post
from tux.engine.spool import Kept, append
from tux.engine.training import TIMES, Training
from tux.engine.worker import Worker
from tux.graph import store
from tux.graph.edge_pieces import Pieces, of_parts
from tux.graph.local import Graph
from tux.graph.partitioned import Partitioned
from tux.program.sources import find
from tux.protocol.message import Message

LOOK = 0.2
"""Seconds between two looks at the worker processes, while the launcher waits for a message."""

JOIN = (
    "start the same command there with its --node-rank; see that its --rdzv and key are the same; "
    "or wait longer: --timeout SECONDS"
)
LONGER = "if it is not hung but slow, give it longer: --timeout SECONDS"


class Team(Crew):
    """The crew of the first or only machine, and its launcher: a `Training` whose epochs run in
    other processes.
    """

    def __init__(
        self,
        job: Job,
        folder: Path,
        ranks: Sequence[int],
        bare: EdgeData,
        phase: Callable[[str], None] = lambda name: None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        super().__init__(job, folder, ranks)
        self._phase, self._warn, self._begun = phase, warn, False
        self._refused: dict[int, Beat] = {}  # the last sign of life of each worker
        self._refused_told, self._next_telling = 0, 0.0
        self.worker = _holder(job, bare)
        self.seconds, self.best_epoch = 0.0, 0
        addresses = [""] * job.workers + [job.launcher]
        everyone = range(job.workers)
        self.post = Post(
            job.workers,
            addresses,
            job.number,
            self._handle,
            partners=everyone,
            largest=job.largest,
            secret=job.secret,
            foreign=self._foreign,
        )

    def pause(self) -> None:
        """Stop the workers of this machine; those of others are told that they will hear nothing
        for a while.
        """
        for rank in set(range(self.job.workers)) - set(self.ranks):
            if self.post.addresses[rank]:
                # the thread looks there twice a second
                self.post.outbox.append(pack(Beat(paused=True), self.job.workers, rank))
        for _ in range(10):
            if not self.post.outbox:
                break
            time.sleep(0.1)
        super().pause()

    def _handle(self, message: Message) -> bool:
        """In the socket thread: heartbeats end here."""
        told = unpack(message) if message.kind == "control" else None
        if isinstance(told, Beat):
            self._refused[message.source] = told
        return isinstance(told, Beat)

    def _tell_refused(self, *, end: bool = False) -> None:
        """Warn of what was refused here and by the workers: of the first at once, of more every
        minute and at the end.
        """
        own = Beat(refused=self.post.refused, last_refused=self.post.last_refused)
        beats = {"the launcher": own} | {
            f"worker {rank}": beat for rank, beat in sorted(self._refused.items())
        }
        total = sum(beat.refused for beat in beats.values())
        if total <= self._refused_told or not (end or time.monotonic() > self._next_telling):
            return
        where, last = next(
            (where, beat.last_refused) for where, beat in beats.items() if beat.refused
        )
        what = (
            f"{total} connection{'s' * (total > 1)} or message{'s' * (total > 1)} from outside "
            "this job"
        )
        self._warn(f"{what} refused; the last at {where}: {last}")
        self._refused_told, self._next_telling = total, time.monotonic() + 60

    def start(self) -> None:
        """Start the workers and wait until all, on any machine, have said hello. PeerLost, Refused
        or DeadlinePassed if they don't.

        Those of this machine are watched, so the wait for them may be long. The wait for those of
        the others begins when all of this one are there, anew with each that comes, and no wait
        takes longer than the job's deadline.
        """
        super().start()
        self.post.start()
        missing = set(range(self.job.workers))
        while missing:
            near = missing & set(self.ranks)
            waiting_for = f"workers {_listed(missing)} to start" if near else self._others(missing)
            self._phase(f"wait for {waiting_for}")
            try:
                message = self._receive(STARTING if near else self.job.deadline, waiting_for)
            except DeadlinePassed as late:
                raise (
                    late if near else DeadlinePassed(late.what, where="the launcher", do=JOIN)
                ) from None
            hello = unpack(message)
            if isinstance(hello, Hello):
                if message.source not in missing:
                    raise _twice(message.source)
                self.post.addresses[message.source] = hello.address
                if told := agreement.differences(self.job.traits, hello.traits):
                    raise _different(f"worker {message.source}", hello.host, told)
                missing.discard(message.source)
        self._begun = True

    def _others(self, missing: set[int]) -> str:
        """Machines that have not joined, with their workers, in words."""
        machines = sorted({rank // len(self.ranks) for rank in missing})
        name = f"machine{'s' * (len(machines) > 1)} {_listed(machines)}"
        return (
            f"{name} (worker{'s' * (len(missing) > 1)} {_listed(missing)}) to join at "
            f"{self.job.launcher.removeprefix('tcp://')}"
        )

    def _foreign(self, message: Message) -> None:
        """In the socket thread: a message of this job from a worker of a machine that counts
        others, or from one that is there already.

        Before the job begins, it must not begin; later, only the worker is told.
        """
        hello = unpack(message) if message.kind == "control" else None
        if not isinstance(hello, Hello):
            return
        told = agreement.differences(self.job.traits, hello.traits)
        error = (
            _different(f"worker {message.source}", hello.host, told)
            if told
            else _twice(message.source)
        )
        self.post.answer(hello.address, pack(Bye(error.what), message.dest, message.source))
        if not self._begun:
            self.post.inbox.put(error)

    def end(self, leaving: Container[int] | None = None, patience: float = 2.0) -> None:
        """Say goodbye to the workers that have said hello, and end all."""
        with ending_ignored():
            met = [rank for rank in range(self.job.workers) if self.post.addresses[rank]]
            for rank in met:
                self.post.send(pack(Bye(self.why), self.job.workers, rank))
            super().end(met, patience)
            # who is on another machine may not have it yet
            self.post.close(0.5 if len(self.ranks) < self.job.workers else 0)

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """The records of the job's epochs, all workers' in one, then the model into `worker`.
        The arguments are those of the job.
        """
        for rank in range(self.job.workers):
            self.post.send(
                pack(Go(self.post.addresses[: self.job.workers]), self.job.workers, rank)
            )
        heard: dict[int, dict[int, dict[str, float]]] = {}
        rows: set[int] = set()
        while len(rows) < self.job.workers:
            message = self._receive(self.job.deadline, f"epoch {len(heard) + 1}")
            if message.kind == "rows":
                self._take(message)
                if message.clock:  # the last of this worker's
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
        self._tell_refused(end=True)

    def _take(self, message: Message) -> None:
        """A part of the model; or of the lists of a worker on another machine, which then sends
        the next.
        """
        if message.sync_id <= len(self.worker.program.vertices):
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
        """The edges trained on, read when they are asked for; none where other machines have
        some of them.
        """
        if len(self.ranks) < self.job.workers:
            return ()
        return of_parts(self.worker.program, Path(self.job.graph), self.job.workers)

    def _receive(self, seconds: float, waiting_for: str) -> Message:
        """The next message; PeerLost as soon as a worker process ends, the error of a worker that
        fails.

        DeadlinePassed after `seconds`, in which the time that this process was stopped does not
        count.
        """
        ended, left = False, seconds
        while True:
            self._tell_refused()
            try:
                message = self.post.receive(LOOK, waiting_for)
            except DeadlinePassed:
                check_ending()
                before, ended = (
                    ended,
                    any(process.poll() is not None for process in self.processes.values()),
                )
                if before or not ended:  # what one that has ended had to say is here soon after
                    self.check()
                left -= LOOK
                if left <= 0:
                    raise DeadlinePassed(
                        f"waited {seconds:.0f} s for {waiting_for}", where="the launcher", do=LONGER
                    ) from None
                continue
            check_ending()
            self.check_folders()
            if message.kind == "control" and isinstance(told := unpack(message), Failed):
                raise as_error(told)
            return message


def crowded(workers: int) -> str:
    """What to tell a user of more workers than this machine has processor cores for; nothing if
    it has enough.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if workers <= cores:
        return ""
    has = f"{cores} processor core{'s' * (cores > 1)}"
    return (
        f"{workers} workers share {has}: an epoch takes longer than with --workers {cores}, and so "
        "does the start"
    )


def merged(records: dict[int, dict[str, float]]) -> dict[str, Any]:
    """One record of an epoch from those of all workers: equal metrics, the sum of rates and bytes,
    the longest seconds, mean shares.

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
            out[name] = next(
                record[name] for _, record in sorted(records.items()) if name in record
            )
    return out


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _different(who: str, host: str, told: str) -> Refused:
    return Refused(
        f"{who} on {host} does not fit this job: {told}",
        do="start the same command, with the same data, on all machines",
    )


def _twice(rank: int) -> Refused:
    return Refused(
        f"two processes say that they are worker {rank}",
        do="give each machine its own --node-rank, and start each once",
    )


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
    phase: Callable[[str], None] = lambda name: None,
    warn: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Crew:
    """Write the parts that `graph` makes for all workers, and the job, and compile the kernels once
    for all workers.

    `workers` a machine. With `place`, this is one of several machines: machine 0 gets a Team, the
    others an Outpost. The parts take as much disk as the edges do in memory; they lie in the folder
    `room`, or else with the job's other files. `phase` is told what the launcher waits for, and
    `warn` what is odd.
    """
    folder, into = job_folder.make(room)
    total = workers * (place.machines if place else 1)
    first = workers * (place.rank if place else 0)
    ranks = range(first, first + workers)
    try:
        made = graph(total)
        store.save(into, made.parts, made.bare.ends, ranks)
        if max(len(f"{folder}/{total}"), 0) > 107:
            raise TuxError(
                f"the temporary folder's name is too long for sockets: {folder}",
                do="set TMPDIR to a shorter one",
            )
        launcher, listen, secret = (
            (place.launcher, place.own(), place.secret)
            if place
            else (f"ipc://{folder}/launcher", f"ipc://{folder}/{{}}", None)
        )
        source = find(app)
        machines = {"workers": workers, "nnodes": place.machines if place else 1}
        known = agreement.traits(
            app.rpartition(os.sep)[2], source.digest, parameters, options | machines, made.digests
        )
        job = Job(
            number=_number(place),
            graph=str(into),
            app=app,
            parameters=parameters,
            traits=known,
            workers=total,
            launcher=launcher,
            listen=listen,
            secret=secret,
            largest=max(1 << 24, *(_row_bytes(part) for part in made.parts)),
            launcher_here=not (place and place.rank),
            lists="sent" if place and place.rank else "kept" if room else "",
            **options,
        )
        bare = made.bare
        del made
        job.write(folder)
        Training(job.worker(first))
        return (
            Outpost(job, folder, ranks)
            if place and place.rank
            else Team(job, folder, ranks, bare, phase, warn)
        )
    except BaseException:
        job_folder.remove(folder)
        raise


def _number(place: Place | None) -> int:
    """The number in every frame of a job: drawn, or, on several machines, what all of them can
    compute.
    """
    if place is None:
        return secrets.randbits(63)
    known = place.secret or place.launcher.encode()
    return (
        int.from_bytes(hashlib.blake2b(known, digest_size=8, person=b"tux job").digest(), "little")
        >> 1
    )


def _row_bytes(part: Any) -> int:
    """More than any buffer of a message about this part can have."""
    return max((max(len(t.rows), len(t.masters)) for t in part.types.values()), default=0) * (
        1 << 16
    )
