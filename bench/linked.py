"""Two machines with a slow link between them: network namespaces of this one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from faults.network import Cable, no_namespaces
from tux.run_folder.folder import read_metrics

MEETING = "10.78.0.1:7321"
"""Where they meet. Nobody else is in their namespaces, so any port is free."""

LIMIT = 600.0
"""Seconds of a run."""


class Link:
    """A link of `mbit` Mbit/s each way, as a context that removes it."""

    def __init__(self, mbit: int) -> None:
        self.mbit, self.cable = mbit, Cable()

    @staticmethod
    def missing() -> str:
        """Return why there can be no link here; "" if there can."""
        if why := no_namespaces():
            return why
        return "" if shutil.which("tc") else "a slow link needs tc, of iproute2"

    def __enter__(self) -> Self:
        self.cable.__enter__()
        burst = max(128, self.mbit // 8)  # a millisecond of the rate
        rate = ["rate", f"{self.mbit}mbit", "burst", f"{burst}kb", "latency", "400ms"]
        try:
            for space, end in zip(self.cable.spaces, self.cable.ends, strict=True):
                command = ["tc", "-n", space, "qdisc", "add", "dev", end, "root", "tbf", *rate]
                subprocess.run(command, check=True)
        except BaseException:
            self.cable.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.cable.__exit__()

    def records(
        self,
        command: Sequence[object],
        flags: Mapping[str, object],
        workers: int,
        out: Path,
        *,
        cores: Sequence[int] = (),
    ) -> list[dict[str, Any]]:
        """Return the records of a run with so many workers on each machine, in the folder `out`;
        `cores`: the core of each machine, if each has one of its own. RuntimeError, with its
        output, if it fails.
        """
        named = [each for pair in flags.items() for each in pair]
        several = ["--workers", workers, "--threads", 1, "--nnodes", 2, "--rdzv", MEETING]
        with ExitStack() as stack:
            said = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2)]
            running = []
            for rank, file in enumerate(said):
                more = ["--insecure", "--node-rank", rank, *(["--out", out] if not rank else [])]
                words = [sys.executable, "-m", "tux", "run", *command, *named, *several, *more]
                own = ["taskset", "-c", str(cores[rank])] if cores else []
                wrapped = [*self.cable.wrap(rank), *own, *map(str, words)]
                running.append(subprocess.Popen(wrapped, stdout=file, stderr=file))
                stack.callback(_end, running[-1])
            codes = [each.wait(LIMIT) for each in running]
            if any(codes):
                for file in said:
                    file.seek(0)
                raise RuntimeError("\n".join(file.read() for file in said))
        return read_metrics(out)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
