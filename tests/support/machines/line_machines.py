"""Machines, which are threads of this process with a folder each, or processes, that load a file of
lines together by the processes of `tests/parallel_load/line_loader.py`.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
from support.machines.loaded import files, of_machine, one_process
from support.machines.members import SOON
from support.machines.watchers import RecordingSilent

from tux.arrays.arrow import STRING
from tux.base.errors import TuxError
from tux.cluster.rendezvous.place import Place
from tux.io.source.input_files import list_files
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.loading_again import Losses
from tux.parallel_load.process.loading_job import EdgesInput, LoadingJob
from tux.parallel_load.process.loading_together import make_parts_together

TWO = ("user", "item")
COMMAND = [
    sys.executable,
    "-P",
    str(Path(__file__).parents[2] / "parallel_load" / "line_loader.py"),
]
KEY = bytes(range(32))


def job(path, n, partitioner="dbh"):
    plan = LoadingPlan(TWO, n, n, partitioner, 4, bipartite=True)
    return LoadingJob(plan, {"": EdgesInput(str(path), {"value": "<f4"})})


class LineMachine:
    """One machine, a thread with a folder of its own: its result, or its error."""

    def __init__(self, folder, place, job, deadline=SOON, command=COMMAND, restarts=0):
        self.folder, self.got, self.watch, self.losses = (
            folder,
            None,
            RecordingSilent(),
            Losses(restarts),
        )
        folder.mkdir()
        given = {}, command, self.watch, self.losses
        self._arguments = folder, job, list_files(job.edges[""].data), place, deadline, *given
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        try:
            self.got = make_parts_together(*self._arguments)
        except Exception as error:
            self.got = error

    def result(self):
        self._thread.join(3 * SOON)
        assert not self._thread.is_alive(), "it hangs"
        return self.got

    @property
    def loaders(self):
        """The processes of its loaders."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if str(self.folder).encode() in words:
                found.append(int(path.parent.name))
        return found


def places(port, n=2, secret=KEY):
    return [Place(n, rank, "127.0.0.1", port, secret) for rank in range(n)]


def lines(tmp_path, bad=None, m=2000):
    content = [(bad or {}).get(at, f"{at % 90} b{at * 7 % 50} {at % 9}") + "\n" for at in range(m)]
    (tmp_path / "edges").write_text("".join(content))
    return tmp_path / "edges"


def whole(tmp_path, n, partitioner, m=2000):
    """Return the files of the folder of one machine, and the digest of the edges."""
    src = np.array([at % 90 for at in range(m)])
    dst = np.array([f"b{at * 7 % 50}" for at in range(m)], STRING)
    value = np.array([at % 9 for at in range(m)], np.float32)
    edges = one_process(tmp_path / "one", TWO, src, dst, {"value": value}, n, partitioner, 4)
    return files(tmp_path / "one"), edges


def compare(tmp_path, machines, n, partitioner):
    """Assert that each machine has what one machine would have written for it."""
    expected, edges = whole(tmp_path, n, partitioner)
    each = n // len(machines)
    for at, machine in enumerate(machines):
        graph = machine.result()
        assert not isinstance(graph, Exception), graph
        assert graph.digest == edges.digest()
        assert (sum(graph.edges), graph.repeated_edges()) == (2000, edges.duplicates)
        plan = job("", n, partitioner).plan
        assert files(machine.folder) == of_machine(expected, at, plan, each)


def command(folder, rank, port, path, n=4, restarts=0):
    """Return the command of one of two machines, as a process: it prints what it is told."""
    folder.mkdir()
    words = [sys.executable, __file__, folder, rank, port, path, n, restarts]
    tests = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": f"{tests.parent}{os.pathsep}{tests}"}
    return subprocess.Popen([*map(str, words)], stdout=subprocess.PIPE, text=True, env=environment)


def main(folder, rank, port, path, n, restarts):
    """Be that process; return the exit code."""
    watch = RecordingSilent()
    watch.say = watch.warn = lambda text: print(text, flush=True)
    place, what = places(int(port))[int(rank)], job(path, int(n))
    given = {}, COMMAND, watch, Losses(int(restarts))
    try:
        make_parts_together(Path(folder), what, list_files(path), place, SOON, *given)
    except TuxError as error:
        print(error.what)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
