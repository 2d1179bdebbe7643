"""Runs one run on the machines of a back-end: starts it, shows what machine 0 says, replaces
machines that are lost, and brings the run's folder back.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tux.backends.bring_back import bring_back
from tux.backends.contract import LEASE, Backend, Machine, MachineLost, MachineNeeds
from tux.backends.remote_run import RemoteRun, has_ended, rename_folders, rename_in
from tux.base.disk import writing
from tux.base.errors import DeadlinePassed, PeerLost, TuxError, UsageError
from tux.base.signals import defer_ending, ignore_ending
from tux.checkpoint.store import has_checkpoint, newest_number
from tux.cluster.recovery.restarts import Restarts
from tux.run_folder.run_lock import LOCK

NEWS = 0.5
"""Seconds for which a machine is asked for news at a time."""

SIGN = 2.0
"""Seconds between two calls of a machine 0 whose command has ended, so that its lease goes on."""

GRACE = 20.0
"""Seconds in which machine 0 ends by itself when another machine cannot go on, and the others when
machine 0 has ended.
"""

LOST = (PeerLost.exit_code, DeadlinePassed.exit_code)
"""Exit codes of a machine whose command may succeed when it is started again."""


class Event(NamedTuple):
    """News of a machine: lines, an exit code, or that it is lost."""

    rank: int
    placing: int  # which of the machines that were in this place, by number
    lines: Sequence[tuple[str, str]] = ()
    code: int | None = None
    error: TuxError | None = None


class Driver:
    """One run on the machines of a back-end. `say` and `warn` take the lines of machine 0's
    standard output and error.
    """

    def __init__(
        self,
        backend: Backend,
        run: RemoteRun,
        say: Callable[[str], None],
        warn: Callable[[str], None],
    ) -> None:
        self._backend, self._run, self._say, self._warn = backend, run, say, warn
        self._machines: list[Machine] = []
        self._hosts: list[str] = []
        self._folders: list[str] = []
        self._key, self._meeting = secrets.token_hex(32), ""
        self._events: queue.Queue[Event] = queue.Queue()
        self._placings = [0] * run.machines
        self._codes: list[int | None] = [None] * run.machines
        self._last: list[deque[str]] = [deque(maxlen=8) for _ in range(run.machines)]
        self._restarts = Restarts(run.restarts)
        self._failing: tuple[float, TuxError] | None = None  # until when machine 0 has time, why
        self._interrupted = False
        self._heard = time.monotonic()  # when machine 0 was last heard of
        self._has_begun = False  # machine 0's command, at some time
        self._over = threading.Event()  # nothing of any machine is needed any more

    def run(self) -> int:
        """Run the commands on the machines, and return the exit code of machine 0. Raises the error
        of a machine for which machine 0 cannot go on, DeadlinePassed, DiskError and UsageError.
        Nothing is left on the machines.
        """
        try:
            self._place()
            self._start()
            with defer_ending() as wish:
                code = self._follow(lambda: wish.moment is not None)
                with self._name_machine(0):
                    folder = self._folders[0]
                    bring_back(self._run, self._machines[0], folder, ended_well=code == 0)
            return code
        finally:
            self._over.set()
            self._placings = [-1] * self._run.machines  # whoever still asks for news ends
            with ignore_ending():
                self._backend.close()

    # ---- start

    def _place(self) -> None:
        """Place all machines."""
        run = self._run
        wanted = MachineNeeds(run.machines, run.cores, run.deadline, self._say, run.rows)
        self._machines = [*self._backend.start(wanted)]
        self._hosts = [machine.address for machine in self._machines]
        self._codes = [None] * run.machines

    def _start(self) -> None:
        """Start the run on the machines that were placed; on others if one of these is lost, and
        there are restarts left.
        """
        try:
            self._begin_all()
        except MachineLost as error:
            if not self._may_restart(error):
                raise
            self._start_all_again(error, is_over=False)

    def _begin_all(self) -> None:
        """Start the command of each machine; that of machine 0 goes on with the run if a machine 0
        has begun it in the folder that all share.
        """
        run = self._run
        abouts: list[list[Any]] = []
        resumes = self._has_begun and run.is_shared
        for rank, machine in enumerate(self._machines):
            with self._name_machine(rank):
                abouts.append(machine.ask("about"))
                self._hosts[rank] = abouts[rank][0]
        folders = [about[2] for about in abouts]
        if resumes and run.out is not None:
            rename_in(run.out, {self._folders[0]: folders[0]})
        self._folders = folders
        self._meeting = f"{self._machines[0].address}:{abouts[0][1]}"
        self._check_shared(range(run.machines))
        self._give(range(run.machines))
        for rank in range(run.machines):
            with self._name_machine(rank):
                self._begin(rank, resumes=resumes)

    @contextmanager
    def _name_machine(self, rank: int) -> Iterator[None]:
        """Name the machine in the error if it is lost in the body. A context."""
        try:
            yield
        except MachineLost as error:
            error.what = self._is_lost(rank, error)
            raise

    def _is_lost(self, rank: int, error: TuxError) -> str:
        """Return the message that a machine is lost; that of the error, if it says so already."""
        if error.what.startswith(f"machine {rank} ("):
            return error.what
        return f"machine {rank} ({self._hosts[rank]}) is lost: {error.what}"

    def _give(self, ranks: Sequence[int]) -> None:
        """Have machines write the rows that they are given, side by side: the command of one that
        has them would wait for the others only as long as --timeout says. Raises the first error.
        """
        given: queue.Queue[Exception | None] = queue.Queue()

        def give(rank: int, machine: Machine) -> None:
            try:
                with self._name_machine(rank):
                    for name, data, notes in self._run.data_for(rank):
                        machine.take(data, name, notes)
                given.put(None)
            except Exception as error:
                given.put(error)

        for rank in ranks:
            arguments = (rank, self._machines[rank])
            threading.Thread(target=give, args=arguments, daemon=True).start()
        for _ in ranks:
            if (error := given.get()) is not None:
                raise error

    def _begin(self, rank: int, *, resumes: bool = False) -> None:
        """Start the command of a machine that has its rows, and follow it."""
        order = self._run.order(rank, self._meeting, self._key, resumes=resumes)
        self._has_begun = self._has_begun or rank == 0
        self._machines[rank].ask("begin", order.to_bytes())
        self._last[rank].clear()
        self._codes[rank] = None
        self._placings[rank] += 1
        self._heard = time.monotonic()
        arguments = (rank, self._placings[rank], self._machines[rank])
        threading.Thread(target=self._listen, args=arguments, daemon=True).start()

    def _listen(self, rank: int, placing: int, machine: Machine) -> None:
        """Ask a machine for its news until its command has ended; machine 0 is called until its
        folder is here, as its lines may wait for the terminal longer than its lease.
        """
        code: int | None = None
        try:
            while self._placings[rank] == placing and code is None:
                lines, code = machine.ask("news", NEWS)
                if rank == 0:
                    self._heard = time.monotonic()
                if lines or code is not None:
                    self._events.put(Event(rank, placing, lines, code))
            while rank == 0 and self._placings[0] == placing and not self._over.wait(SIGN):
                machine.ask("sees", ".")  # any call that is answered at once
        except Exception as error:  # of any kind: nobody else would hear of the machine
            told = error if isinstance(error, TuxError) else None
            told = told or MachineLost(f"{type(error).__name__}: {error}")
            if code is None:
                self._events.put(Event(rank, placing, error=told))

    def _check_shared(self, ranks: Sequence[int]) -> None:
        """Check that each machine sees the folder in which checkpoints are kept. UsageError."""
        if (out := self._run.out) is None or not self._run.is_shared:
            return
        mark = out.parent / f".tux-{secrets.token_hex(8)}"
        with writing(mark):
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
        try:
            for rank in ranks:
                with self._name_machine(rank):
                    sees = self._machines[rank].ask("sees", str(mark))
                if not sees:
                    raise UsageError(
                        f"machine {rank} ({self._hosts[rank]}) does not share {out.parent} with "
                        "this one, so a checkpoint there would be lost with its machine",
                        do="name a folder of a shared file system with --out, or leave out "
                        "--checkpoint-every",
                    )
        finally:
            mark.unlink(missing_ok=True)

    # ---- while it runs

    def _follow(self, asked: Callable[[], bool]) -> int:
        """Follow the machines; return machine 0's exit code, once all of them have ended or have
        had time to.
        """
        limit: float | None = None
        while limit is None or (None in self._codes and time.monotonic() < limit):
            if asked() and not self._interrupted:
                self._interrupted = True
                with suppress(TuxError):  # a lost machine is told by its listener
                    self._machines[0].ask("interrupt")
            with suppress(queue.Empty):
                self._take(self._events.get(timeout=0.2))
            if self._failing and time.monotonic() > self._failing[0] and self._codes[0] is None:
                raise self._failing[1]
            if limit is None and self._codes[0] is not None:
                limit = time.monotonic() + GRACE
        code = self._codes[0]
        assert code is not None
        if code and self._failing and code in LOST:  # machine 0 knows only that the other is gone
            raise self._failing[1]
        return code

    def _take(self, event: Event) -> None:
        """Do what an event asks for; nothing if it is of a machine that was replaced."""
        rank = event.rank
        if event.placing != self._placings[rank]:
            return
        for stream, text in event.lines:
            names = self._run.row_places(self._folders)
            told = rename_folders(text, names | self._run.driver_paths(self._folders[rank]))
            if rank == 0:
                (self._say if stream == "out" else self._warn)(told)
            elif stream == "err":
                self._last[rank].append(told)
        if event.error is not None:
            self._replace_lost(rank, event.error)
        elif event.code is not None and event.code < 0:
            signal = -event.code
            error = MachineLost(f"machine {rank}'s command was killed by signal {signal}")
            self._replace_lost(rank, error, is_over=True)
        elif event.code is not None:
            self._handle_exit(rank, event.code)

    def _handle_exit(self, rank: int, code: int) -> None:
        """Start a command again that has ended by itself, if its exit code asks for that and the
        budget allows it; else note the code.
        """
        error = TuxError(f"machine {rank} ({self._hosts[rank]}) ended with exit code {code}")
        error.exit_code = code
        if self._last[rank]:
            error.where = " | ".join(line.strip() for line in self._last[rank])
        if rank and code in LOST and self._may_restart(error):
            if self._run.dealt:
                return self._start_all_again(error, is_over=False)
            self._warn(f"warning: {error.what}; its command is started again")
            try:
                return self._begin(rank)
            except MachineLost as lost:
                return self._replace_lost(rank, lost)
        self._codes[rank] = code
        if rank and code and not self._failing:
            self._failing = time.monotonic() + GRACE, error
        return None

    def _replace_lost(self, rank: int, error: TuxError, *, is_over: bool = False) -> None:
        """Replace a machine that is lost, if there are restarts left. `is_over`: its command is
        known to have ended.
        """
        error.what = self._is_lost(rank, error)
        self._machines[rank].kill()
        if not self._may_restart(error):
            self._codes[rank] = None
            if rank == 0:
                raise error
            self._placings[rank] += 1
            self._failing = self._failing or (time.monotonic() + GRACE, error)
            return
        try:
            # the others have their parts, so nobody would load those of a new machine with it
            other = self._backend.replace(rank) if rank and not self._run.dealt else None
        except TuxError as failed:  # machine 0 may have ended well meanwhile
            self._placings[rank] += 1
            self._failing = self._failing or (time.monotonic() + GRACE, failed)
            return
        if other is None:
            return self._start_all_again(error, is_over=is_over and rank == 0)
        self._warn(f"warning: {error.what}; another takes its place")
        try:
            self._machines[rank] = other
            self._hosts[rank], _, self._folders[rank] = other.ask("about")
            self._check_shared([rank])
            self._give([rank])
            self._begin(rank)
        except MachineLost as again:
            self._replace_lost(rank, again)

    def _may_restart(self, error: TuxError) -> bool:
        """Return whether the budget of --restarts allows another start."""
        if self._interrupted or self._codes[0] is not None:
            return False
        kept = newest_number(self._run.out) if self._run.is_shared and self._run.out else 0
        return self._restarts.allow_restart(MachineLost(error.what), kept)

    def _start_all_again(self, error: TuxError, *, is_over: bool) -> None:
        """Start all machines again, from the newest checkpoint or from the beginning; at once if
        machine 0 `is_over`: its command is known to have ended, so nobody writes to the folder.
        """
        run = self._run
        is_kept = run.is_shared and self._has_begun
        if is_kept and run.out is not None and not has_checkpoint(run.out):
            error.do = "there is no checkpoint yet; start the run again, with another --out"
            raise error
        self._warn(f"warning: {error.what}; all machines are started again")
        self._placings = [number + 1 for number in self._placings]
        # a machine that is only cut off ends its command when its lease is over
        limit = self._heard + LEASE + 1.0
        is_over = is_over or not is_kept or self._ends_0(limit)
        self._backend.close()
        if not is_over:
            time.sleep(max(0.0, limit - time.monotonic()))
        host, self._key = self._hosts[0], secrets.token_hex(32)
        if is_kept and run.out is not None:
            _unlock(run.out, host)
            if has_ended(run.out):  # it was lost before it could say so
                self._codes = [0] * run.machines
                return None
        try:
            self._place()
        except MachineLost as again:
            if not self._may_restart(again):
                raise
            return self._start_all_again(again, is_over=False)
        return self._start()

    def _ends_0(self, limit: float) -> bool:
        """End machine 0's command; whether its machine says before `limit` that it has ended."""
        machine, ended = self._machines[0], threading.Event()

        def end() -> None:
            with suppress(Exception):  # the machine is gone, and later so is its back-end
                machine.ask("end")
                ended.set()

        asking = threading.Thread(target=end, daemon=True)
        asking.start()
        asking.join(max(0.0, limit - time.monotonic()))
        return ended.is_set()


def _unlock(out: Path, host: str) -> None:
    """Remove the lock that machine 0, which is gone, has left on the run's folder."""
    lock = out / LOCK
    with suppress(OSError, IndexError):
        if lock.read_text(encoding="utf-8").split()[1] == host:
            lock.unlink()
