"""The command ``tux run`` that a back-end has on each machine: its lines, its exit code and its
files.
"""

from __future__ import annotations

import json
import os
import queue
import random
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import tux
from tux.backends.contract import FOLDER, LEASE, Order, order_of, serve_call
from tux.base.disk import writing
from tux.base.errors import DeadlinePassed, DiskError, Refused, TuxError
from tux.program.source_files import digest_of

HELD = 10_000
"""Lines that wait for the driver; when there are more, the command waits too."""

GATHER = 0.25
"""Seconds for which lines are gathered before they are told: a call for each line of a run with
twelve epochs a second took 3% of a core.
"""

LONGEST = 1 << 16
"""Bytes of a line; a longer one comes as several."""

PIECE_BYTES = 1 << 20
"""Bytes of a piece of a file; about as many characters of lines are told at a time."""

PORTS = range(20_000, 32_768)
"""Of which one is chosen: below those that Linux gives to connections by itself."""

KILLED = 30.0
"""Seconds in which a command that was killed is gone, with all that it has started; the guard gives
that 10 s.
"""

GUARD = Path(__file__).with_name("guard.py")

PROGRAM = "program"
"""The folder of the user's program, below the machine's folder."""


class MachineCommand:
    """The command of one machine, and the machine's folder for it.

    A back-end makes one on each machine, calls `serve`, and `close` at the end. Where its process
    is killed, the guard ends the command and removes the folder (`tux.backends.guard`). So it does
    where the driver has not called for LEASE seconds.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"tux-machine-{os.getpid()}-"))
        self._mark = f"tux-ended-{secrets.token_hex(8)}"
        self._lines: queue.Queue[tuple[str, str, int | None]] = queue.Queue(HELD)
        self._codes: list[int] = []  # that the streams have told since `begin`
        self._runs = False
        # -I: no file of the user's folder hides a module
        self._guard = subprocess.Popen(
            [sys.executable, "-I", str(GUARD), str(self.folder), str(LEASE), self._mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._guard.wait()  # it goes on as nobody's child
        streams = {"out": self._guard.stdout, "err": self._guard.stderr}
        self._readers = [
            threading.Thread(target=self._read, args=each, daemon=True) for each in streams.items()
        ]
        for reader in self._readers:
            reader.start()

    def serve(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method, and return its answer, or its error, as plain values: see
        `tux.backends.contract.answer_of`.
        """
        self.stay()
        allowed: list[Callable[..., Any]] = [self.about, self.sees, self.begin]
        allowed += [self.news, self.interrupt, self.end, self.files, self.read]
        methods = {each.__name__: each for each in allowed}
        return serve_call(lambda: methods[method](*arguments))

    def stay(self) -> None:
        """Give a sign of life to the guard, for a back-end that is busy here by itself."""
        self._wish("stay")

    # ---- before the command

    def about(self) -> list[Any]:
        """Return the machine's name, a port of it that is free, and its folder for this run."""
        return [socket.gethostname(), free_port(), str(self.folder)]

    def sees(self, path: str) -> bool:
        """Return whether this path exists on this machine."""
        return os.path.exists(path)

    def begin(self, packed: bytes) -> None:
        """Start the command of an order. One that runs still is ended first. Refused where tux has
        another version here, or the program did not come whole.
        """
        order = order_of(packed, tux.__version__, socket.gethostname())
        self.end()
        _write_program(self.folder / PROGRAM, order)
        scratch = self.folder / "t"  # a short name, as sockets lie in it
        with writing(scratch):
            scratch.mkdir(exist_ok=True)
        words = [word.replace(FOLDER, str(self.folder)) for word in order.words]
        environment = {
            "TUX_JOB_KEY": order.key,
            "TMPDIR": str(scratch),
            "COLUMNS": str(order.columns),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        self._runs = True
        self._wish(
            {
                "command": [sys.executable, "-P", "-m", "tux", *words],
                "cwd": order.cwd if _can_enter(order.cwd) else str(self.folder),
                "env": {**os.environ, **environment},
            }
        )

    # ---- while it runs

    def news(self, seconds: float) -> list[Any]:
        """Return the lines since the last call, each with its stream ("out" or "err"); and the exit
        code if the command has ended and all its lines have been returned, else None. Waits for
        them so many seconds, and GATHER for more when there is one. The code of a command that was
        killed is minus the signal.
        """
        lines: list[list[str]] = []
        size = 0
        limit = time.monotonic() + seconds
        while self._runs and len(self._codes) < 2 and len(lines) < HELD and size < PIECE_BYTES:
            try:
                name, text, code = self._lines.get(timeout=max(limit - time.monotonic(), 0.01))
            except queue.Empty:
                break
            if code is not None:
                self._codes.append(code)
            elif text:
                if not lines:
                    limit = min(limit, time.monotonic() + GATHER)
                lines.append([name, text])
                size += len(text)
        return [lines, self._codes[0] if len(self._codes) == 2 else None]

    def interrupt(self) -> None:
        """Interrupt the command, as Ctrl-C does."""
        self._wish("interrupt")

    def end(self) -> None:
        """Kill the command, and wait until it and what it has started are gone. Its lines are
        lost. DeadlinePassed.
        """
        self._wish("kill")
        limit = time.monotonic() + KILLED
        while self._runs and len(self._codes) < 2:
            if time.monotonic() > limit:
                raise DeadlinePassed(
                    f"a command was killed {KILLED:.0f} s ago, and has not ended",
                    where=f"the end of a command on {socket.gethostname()}",
                    do="end what still runs there; its disk may not answer",
                )
            self.news(1.0)
        self._runs = False
        self._codes.clear()

    # ---- what it has written

    def files(self, folder: str) -> list[list[Any]]:
        """Return the files below a folder of the machine's folder, each with its size."""
        root = self.folder / folder
        try:
            found = sorted(path for path in root.rglob("*") if path.is_file())
            return [[path.relative_to(root).as_posix(), path.stat().st_size] for path in found]
        except OSError as error:
            raise DiskError(f"{folder} cannot be listed: {error.strerror}") from error

    def read(self, path: str, offset: int) -> bytes:
        """Read a piece of a file in the machine's folder, from `offset` on."""
        try:
            with open(self.folder / path, "rb") as file:
                file.seek(offset)
                return file.read(PIECE_BYTES)
        except OSError as error:
            raise DiskError(f"{path} cannot be read: {error.strerror}") from error

    # ---- the end

    def close(self) -> None:
        """End the command, and remove the machine's folder."""
        with suppress(OSError, ValueError):
            self._guard.stdin.close()  # type: ignore[union-attr]
        limit = time.monotonic() + KILLED  # who still writes then is left alone
        while any(reader.is_alive() for reader in self._readers) and time.monotonic() < limit:
            with suppress(queue.Empty):  # room for the last lines, which nobody wants
                self._lines.get(timeout=0.05)
        shutil.rmtree(self.folder, ignore_errors=True)  # where the guard was killed

    def _wish(self, wish: object) -> None:
        assert self._guard.stdin is not None
        with suppress(OSError, ValueError):  # the guard is gone, and so is the command
            self._guard.stdin.write(json.dumps(wish).encode() + b"\n")
            self._guard.stdin.flush()

    def _read(self, name: str, stream: IO[bytes]) -> None:
        """Read the lines of a stream. If it ends without an exit code, the guard was killed."""
        decoder = getincrementaldecoder("utf-8")("replace")
        with stream:
            while line := stream.readline(LONGEST):  # may end within a character
                text = decoder.decode(line).rstrip("\n")
                ended = text.startswith(self._mark)
                code = int(text.removeprefix(self._mark)) if ended else None
                self._lines.put((name, text, code))
        self._lines.put((name, "", -9))


def _can_enter(folder: str) -> bool:
    """Return whether a command of this user may start in the folder: the driver may be another
    user.
    """
    return os.path.isdir(folder) and os.access(folder, os.X_OK)


def free_port() -> int:
    """Return a port of this machine that nothing listens at."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port
    raise TuxError(f"no port from {PORTS[0]} to {PORTS[-1]} is free on {socket.gethostname()}")


def _write_program(folder: Path, order: Order) -> None:
    """Write the files of the user's program. Refused where they are not what was sent."""
    if digest_of(order.files) != order.digest:
        raise Refused("the program's files did not come whole", do="start the run again")
    for name, content in order.files.items():
        path = (folder / name).resolve()
        if folder.resolve() not in path.parents:
            raise Refused(f"a file of the program is to be written outside its folder: {name}")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
