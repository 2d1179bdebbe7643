"""What tests of back-ends share: a back-end as they use it, and a folder with a user's program that
waits at an epoch until it may go on.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tux.synthetic.ratings import ratings as drawn

LIMIT = 400.0  # seconds after which a run counts as hung
HELD_AT = 3
"""The epoch at whose end the program waits."""

PROGRAM = '''"""Matrix factorization that waits."""

from gates import Gate

import tux
from tux.apps.mf.mf import MF


class Gated(MF):
    """Matrix factorization that waits before an evaluation until it may go on."""

    gate: str = tux.param("", "folder in which a file `go` lets it go on")

    def evaluate(self, cluster):
        """That of MF, and a gate before it."""
        return [Gate(self.gate), *super().evaluate(cluster)]
'''
HELPER = f'''"""A stage that waits for a file."""

import time
from pathlib import Path

from tux.program.stage import Stage
from tux.protocol.steps import Step


class Gate(Stage):
    """Waits at the end of epoch {HELD_AT}."""

    def __init__(self, folder):
        self.folder = folder

    def prepare(self, worker, batch=None):
        return Waits(worker, Path(self.folder))


class Waits(Step):
    """Of a Gate."""

    def __init__(self, worker, folder):
        self.worker, self.folder = worker, folder

    def run(self, block=None):
        if self.worker.epoch == {HELD_AT}:
            (self.folder / f"at {{self.worker.rank}}").touch()
            limit = time.monotonic() + {LIMIT}
            while not (self.folder / "go").exists() and time.monotonic() < limit:
                time.sleep(0.02)
'''


def processes():
    """The words of all processes that live, by number, each with its parent."""
    found = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                words = (each / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
                state, parent = (each / "stat").read_text().rpartition(")")[2].split()[:2]
            except OSError:
                continue
            if state not in "ZX":
                found[int(each.name)] = words, int(parent)
    return found


def started_by(place):
    """The children of a process, and its guards, which are nobody's."""
    return {
        pid
        for pid, (words, parent) in processes().items()
        if parent == place or (is_guard(words) and f"/tux-machine-{place}-" in words[3])
    }


def is_guard(words):
    return len(words) > 3 and words[2].endswith("/tux/backends/guard.py")


def until(true, what, seconds=LIMIT):
    limit = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < limit, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.05)
    return found


@dataclass
class Engine:
    """A back-end, as the tests use it."""

    name: str
    tmp: Path  # TMPDIR on its machines
    environment: dict[str, str] = field(default_factory=dict)
    cluster: object = None

    def left(self):
        """What is left of all runs on the machines."""
        held = [str(path) for path in self.tmp.glob("tux-*")]
        return held + [" ".join(w) for w, _ in processes().values() if self.is_own(w)]

    def is_own(self, words):
        return any(word.startswith(str(self.tmp)) and "/tux-" in word for word in words)

    def is_free(self):
        """Whether the engine has back all that it gave."""
        if self.cluster is None:
            return True
        import ray

        groups = ray.util.placement_group_table().values()
        whole = ray.cluster_resources().get("CPU") == ray.available_resources().get("CPU")
        return whole and all(each["state"] == "REMOVED" for each in groups)

    def node_of(self, place):
        """The node of Ray on which a process is."""
        raylet = processes()[place][1]
        for node in self.cluster.worker_nodes:
            if node.all_processes["raylet"][0].process.pid == raylet:
                return node
        raise AssertionError("no node has this actor")


class Room:
    """One test's folder: data, a program, and the runs of it."""

    def __init__(self, folder):
        self.folder, self.gate, self.running = folder, folder / "gate", []
        (folder / "mine").mkdir()
        self.gate.mkdir()
        (folder / "mine" / "my.py").write_text(PROGRAM)
        (folder / "mine" / "gates.py").write_text(HELPER)
        for name, part in zip(
            ("train", "test"), drawn(300, 100, 8000, test_share=0.1).split(), strict=True
        ):
            rows = zip(*(part[each].tolist() for each in ("user", "item", "rating")), strict=True)
            text = "user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows)
            (folder / f"{name}.csv").write_text(text)

    def start(self, out, *flags, engine=None):
        """A run of the user's program, whose results are in `out`."""
        words = ["run", "mine/my.py", "train.csv", "--test=test.csv", f"--gate={self.gate}"]
        words += ["--epochs=5", "--seed=3", f"--out={out}", *map(str, flags)]
        environment = os.environ | (engine.environment if engine else {})
        words += ["--on", engine.name] if engine else []
        said = open(self.folder / f"{out}.said", "w")
        self.running.append(
            subprocess.Popen(
                [sys.executable, "-m", "tux", *words],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        )
        said.close()
        return self.running[-1]

    def said(self, out):
        return (self.folder / f"{out}.said").read_text()

    def ends(self, process, out, code=0):
        """The run has ended with this exit code."""
        try:
            ended = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"hangs: {self.said(out)}") from None
        assert ended == code, self.said(out)
        assert "Traceback" not in self.said(out), self.said(out)

    def held(self, process, out, workers=2):
        """Until all workers wait at the gate, and a checkpoint is there if `out` keeps any."""
        names = [f"at {rank}" for rank in range(workers)]

        def there():
            assert process.poll() is None, self.said(out)
            return all((self.gate / name).exists() for name in names)

        until(there, "the workers are at the gate")

    def go(self):
        (self.gate / "go").touch()

    def machine(self, rank):
        """The processes of a machine's command, and of what the engine has placed there."""
        alive = processes()
        for pid, (words, parent) in alive.items():
            at = words.index("--node-rank") if "--node-rank" in words else None
            mine = any(str(self.folder) in word for word in words)
            if at and mine and words[at + 1] == str(rank):
                folder = Path(alive[parent][0][3]).name  # of its guard
                return pid, int(folder.split("-")[2])
        raise AssertionError(f"machine {rank} does not run")

    def workers(self, rank):
        """The worker processes of a machine."""
        command = self.machine(rank)[0]
        return [
            pid
            for pid, (words, parent) in processes().items()
            if parent == command and "tux.cluster.worker_process" in words
        ]

    def model(self, out):
        """The bytes of the model, by file."""
        return {
            path.name: path.read_bytes() for path in sorted((self.folder / out / "model").iterdir())
        }
