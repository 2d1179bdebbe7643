"""The process in which one parser reads its inputs, so that a crash ends no more than this:
``python -m fuzz.child``, which `fuzz.watch` starts.

Its parent knows by a file in memory which input is read. An input that takes too much processor
time ends the process with the tracebacks of all threads.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import mmap
import resource
import signal
import struct
import sys
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

from fuzz.outcome import fault_of

COMPILER_LIMITS = 20  # times the limit, for an input that may have to wait for the compiler
MEMORY = 1 << 30  # bytes beyond what the process has before the first input


class Task(NamedTuple):
    """The task of a child: to read the inputs `first` to `last` - 1 of a parser that the module
    `registry` has; `limit` is the processor time in seconds that one may take. It writes its
    faults, a line of JSON each, to the file `faults`, the number of the input to `progress`, and
    tracebacks of crashes to `crash`.

    `patient`: the first input is read once before its time is taken.
    """

    registry: str
    name: str
    seed: int
    limit: float
    first: int
    last: int
    faults: str
    progress: str
    crash: str
    patient: bool


def _limit_memory() -> None:
    """Let the process have some memory more than now, where the system tells how much that is.

    That it takes more over many inputs is no fault: libraries keep some for each.
    """
    pages = Path("/proc/self/statm")
    if pages.exists():
        size = int(pages.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))


def main(task: Task) -> None:
    """Read the inputs."""
    warnings.simplefilter("error")
    with (
        # in the parent's folder, which it removes even if this process crashes
        tempfile.TemporaryDirectory(dir=Path(task.progress).parent) as folder,
        open(task.faults, "a", encoding="utf-8") as faults,
        open(task.progress, "r+b") as file,
        open(task.crash, "w", encoding="utf-8") as crash,
        mmap.mmap(file.fileno(), 16) as progress,
    ):
        parser = importlib.import_module(task.registry).parsers(Path(folder))[task.name]
        for sample in parser.samples:
            parser.read(sample)  # which must be without an error; and what it needs is compiled
        if task.patient:
            signal.setitimer(signal.ITIMER_PROF, COMPILER_LIMITS * task.limit)
            fault_of(parser.read, parser.input(task.name, task.seed, task.first))
            signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.enable(crash)
        faulthandler.register(signal.SIGPROF, crash, chain=True)
        for number in range(task.first, task.last):
            if (number - task.first) % 16 == 0:
                _limit_memory()
            struct.pack_into("<qq", progress, 0, number, 1)
            content = parser.input(task.name, task.seed, number)
            signal.setitimer(signal.ITIMER_PROF, task.limit)
            fault = fault_of(parser.read, content)
            if fault is not None:
                signal.setitimer(signal.ITIMER_PROF, 0)
                line = {"number": number, "kind": fault.kind, "detail": fault.detail}
                faults.write(json.dumps(line) + "\n")
                faults.flush()
        signal.setitimer(signal.ITIMER_PROF, 0)
        struct.pack_into("<qq", progress, 0, task.last, 1)


if __name__ == "__main__":
    main(Task(*json.loads(sys.argv[1])))
