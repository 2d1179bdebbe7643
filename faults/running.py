"""A ``tux`` command as a process: started, watched, and what is left of it when it has ended."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Self

LIMIT = 15.0
"""Seconds in which something that is expected happens."""


class Running:
    """One ``tux`` command as a process in a group of its own, and whatever it starts; they are
    known by their TMPDIR.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *argv: object,
        env: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
        memory: int | None = None,
    ) -> None:
        """`wrap`: a command that runs another one in its place, as `ip netns exec NAME` does.
        `memory`: bytes of address space that each process may have.
        """
        self.folder = Path(folder)
        self.tmp = Path(tempfile.mkdtemp(prefix="t"))  # a short name, as sockets lie in it
        self.texts = [open(self.folder / name, "w+") for name in ("stdout", "stderr")]
        most = memory or resource.RLIM_INFINITY
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))  # noqa: E731
        self.process = subprocess.Popen(
            [*wrap, sys.executable, "-m", "tux", *map(str, argv)],
            cwd=folder,
            env={**os.environ, **(env or {}), "TMPDIR": str(self.tmp)},
            stdin=subprocess.DEVNULL,
            stdout=self.texts[0],
            stderr=self.texts[1],
            process_group=0,  # as a shell with job control starts a command: Ctrl-Z can stop it
            preexec_fn=limit if memory else None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever still runs."""
        for pid in [*self.processes(), self.process.pid]:
            if self.process.returncode is None or pid != self.process.pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self.process.wait()
        for text in self.texts:
            text.close()
        shutil.rmtree(self.tmp, ignore_errors=True)

    def processes(self) -> dict[int, list[str]]:
        """Return the process ids, with command lines, of all that this command has started and that
        still live.
        """
        alive, mark = {}, f"TMPDIR={self.tmp}".encode()
        for each in Path("/proc").iterdir():
            if each.name.isdigit() and int(each.name) != self.process.pid:
                try:
                    words = (each / "environ").read_bytes().split(b"\0")
                    if any(word == mark or word.startswith(mark + b"/") for word in words):
                        alive[int(each.name)] = (
                            (each / "cmdline").read_bytes().decode().split("\0")[:-1]
                        )
                except OSError:  # it has just ended, or is somebody else's
                    continue
        return alive

    def workers(self) -> dict[int, int]:
        """Return the process id of each worker that has started, by rank."""
        return {
            int(line[line.index("tux.cluster.job.worker_process") + 2]): pid
            for pid, line in self.processes().items()
            if "tux.cluster.job.worker_process" in line
        }

    def leftovers(self) -> list[str]:
        """List what is left of the command: processes, and files in its folder for temporary
        ones.
        """
        alive = {f"process {pid}: {' '.join(line)}" for pid, line in self.processes().items()}
        parts = {path for path in below(self.folder) if Path(path).name.startswith(".parts")}
        return sorted(alive | below(self.tmp) | parts)

    def clear_tmp(self) -> None:
        """Empty its folder for temporary files, as a machine does that has lost its power."""
        shutil.rmtree(self.tmp)
        self.tmp.mkdir()

    def output(self) -> tuple[str, str]:
        """Return (standard output, standard error) so far."""
        out, err = ((self.folder / name).read_text() for name in ("stdout", "stderr"))
        return out, err

    def until(self, true: Callable[[], object], seconds: float = LIMIT) -> bool:
        """Wait until something becomes true; return whether it did within some seconds."""
        limit = time.monotonic() + seconds
        while not true():
            if time.monotonic() > limit:
                return False
            time.sleep(0.02)
        return True

    def wait(self, seconds: float) -> int | None:
        """Wait for the exit code, and return it; None if the command has not ended after so many
        seconds.
        """
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


def below(folder: str | os.PathLike[str]) -> set[str]:
    """Return the paths of all that a folder holds, also while somebody else deletes it: `os.walk`,
    unlike `rglob`, passes over what is gone.
    """
    return {
        os.path.join(where, name)
        for where, folders, files in os.walk(folder)
        for name in [*folders, *files]
    }


def without_warnings(err: str) -> str:
    """Return standard error without what a small or slow machine adds: warnings that there are
    fewer cores than workers, and the lines that say what goes on when nothing else was shown for
    long.
    """
    return "".join(
        line for line in err.splitlines(keepends=True) if not line.startswith(("warning: ", "... "))
    )
