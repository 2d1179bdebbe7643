"""Engines on this machine, on which `tux run --on` places the machines of a run: none at all, a Ray
cluster of a head and two nodes, a Spark master with two workers.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Self

from faults.running import Running
from tux.backends.machine_command import free_port

LIMIT = 120.0
"""Seconds in which an engine starts, or has everything back that it gave."""

CORES = 2
"""Of each node of Ray, and of each worker of Spark."""

STARTS = 4
"""How often the start of a node of Ray is tried."""

STORE = 80_000_000
"""Bytes of a Ray node's store, about the least that Ray takes."""

NOTICES = {
    "health_check_initial_delay_ms": 2_000,
    "health_check_period_ms": 2_000,
    "health_check_timeout_ms": 5_000,
    "health_check_failure_threshold": 3,
}
"""Settings of Ray: a node that stands still is lost after some 20 s, not after more than a minute.
"""

SETTINGS = (
    "spark.ui.enabled=false",
    "spark.executor.memory=512m",
    "spark.driver.memory=512m",
    # an executor that stands still is lost after 30 s, not after two minutes
    "spark.network.timeout=30s",
    "spark.network.timeoutInterval=10s",
    "spark.executor.heartbeatInterval=5s",
)

OLDEST = 17
"""The version of Java that Spark needs at least."""


class Engine:
    """The back-end `local`, which has no engine; and what the others share. `folder` is TMPDIR on
    all machines of an engine. As a context.
    """

    name = "local"

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tc"))  # a short name, as sockets lie in it
        self._plan = self.folder / "plan"  # a link to that of the run under way
        self.environment = {"FAULTS_PLAN": str(self._plan)}
        """Of a command that is run on the engine."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def watch(self, plan: Path) -> None:
        """Give the processes that run from now on this folder of plans."""
        self._plan.unlink(missing_ok=True)
        self._plan.symlink_to(plan)

    def leftovers(self) -> list[str]:
        """List what is left on the machines of runs that are over: folders and processes."""
        held = [str(path) for path in self.folder.glob("tux-machine-*")]
        mark = f"{self.folder}/tux-machine-"
        return held + [" ".join(w) for w, _ in processes().values() if any(mark in x for x in w)]

    def is_free(self) -> bool:
        """Return whether the engine has back all that it gave."""
        return True

    def mend(self, pids: Sequence[int]) -> None:
        """Put a new node in the place of one of these processes, if it is a node."""

    def tmp(self, command: Running) -> Path:
        """Return the folder in which the machines of a command have their folders."""
        return command.tmp


class NodeCluster(Engine):
    """A cluster of several nodes, which all have one folder for temporary files."""

    def tmp(self, command: Running) -> Path:
        """See `Engine`."""
        return self.folder


class OnRay(NodeCluster):
    """A Ray cluster. This process is connected to its head, which has no cores."""

    name = "ray"

    def __init__(self) -> None:
        super().__init__()
        self.cluster: Any = None
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        self.environment["RAY_ADDRESS"] = self.cluster.address

    def _start(self) -> None:
        """Start the head and two nodes."""
        import ray
        import ray.cluster_utils

        small = {"object_store_memory": STORE, "include_dashboard": False}
        head = {"num_cpus": 0, "_system_config": NOTICES, **small}
        with self._surroundings():
            self.cluster = try_start(
                lambda: ray.cluster_utils.Cluster(initialize_head=True, head_node_args=head)
            )
            # the head is the only node until now, so this process is on no node that is lost
            ray.init(address=self.cluster.address, log_to_driver=False, logging_level="critical")
        self.nodes = [self._node(number) for number in (2, 3)]

    def __exit__(self, *_: object) -> None:
        import ray

        ray.shutdown()
        if self.cluster is not None:
            self.cluster.shutdown()
        super().__exit__()

    def _node(self, number: int) -> Any:
        """Start a node with an address of its own: a command connects to the head, whose address it
        shares.
        """
        what = {"num_cpus": CORES, "node_ip_address": f"127.0.0.{number}"}
        with self._surroundings():
            return try_start(lambda: self.cluster.add_node(object_store_memory=STORE, **what))

    @contextmanager
    def _surroundings(self) -> Iterator[None]:
        """Set the environment of the nodes, and of the actors on them, in the body. A context."""
        before = dict(os.environ)
        os.environ |= {**self.environment, "TMPDIR": str(self.folder)}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def is_free(self) -> bool:
        """See `Engine`."""
        import ray

        groups = ray.util.placement_group_table().values()
        whole = ray.available_resources().get("CPU") == CORES * len(self.nodes)
        return whole and all(each["state"] == "REMOVED" for each in groups)

    def raylet(self, place: int) -> int:
        """Return the process that is the node of an actor."""
        return processes()[place][1]

    def mend(self, pids: Sequence[int]) -> None:
        """See `Engine`."""
        for node in [*self.nodes]:
            if self._pid(node) in pids:
                self._remove(node)
        taken = {node.node_ip_address for node in self.nodes}
        for number in (2, 3):
            if f"127.0.0.{number}" not in taken:
                self.nodes.append(self._node(number))

    def _remove(self, node: Any) -> None:
        self.nodes.remove(node)
        self.cluster.remove_node(node, allow_graceful=False)

    @staticmethod
    def _pid(node: Any) -> int:
        return int(node.all_processes["raylet"][0].process.pid)


def try_start(start: Callable[[], Any]) -> Any:
    """Try to start a node of Ray, several times: it gives up after 30 s, too early for a machine
    with other work.
    """
    before, left = below(os.getpid()), STARTS
    while True:
        left -= 1
        try:
            return start()
        except Exception as error:
            send_signal([*{*below(os.getpid())} - {*before}], signal.SIGKILL)
            if not left or "timed out during startup" not in str(error):
                raise


class OnSpark(NodeCluster):
    """A Spark master and its workers, of `CORES` each."""

    name = "spark"

    def __init__(self) -> None:
        super().__init__()
        import pyspark

        self._log = open(self.folder / "spark.log", "w")
        self._spark = Path(pyspark.__file__).parent
        self._started: list[subprocess.Popen[bytes]] = []
        try:
            address = self._start()
        except BaseException:
            self.__exit__()
            raise
        self.environment |= spark_environment(address)

    def _start(self) -> str:
        """Start a master and workers; return the master's address when the workers are there."""
        port = free_port()
        address = f"spark://127.0.0.1:{port}"
        self._run("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        self._await("New state: ALIVE", 1)
        place = ["--webui-port", "0", "--work-dir", str(self.folder / "work")]
        self.workers = [
            self._run("worker.Worker", "-c", str(CORES), "-m", "1g", *place, address).pid
            for _ in range(2)
        ]
        self._await("Successfully registered with master", 2)
        return address

    def _run(self, role: str, *words: str) -> subprocess.Popen[bytes]:
        own = {"SPARK_HOME": str(self._spark), "TMPDIR": str(self.folder)}
        process = subprocess.Popen(
            [self._spark / "bin" / "spark-class", f"org.apache.spark.deploy.{role}", *words],
            env=os.environ | self.environment | spark_environment("") | own,
            stdout=self._log,
            stderr=self._log,
        )
        self._started.append(process)
        return process

    def _await(self, said: str, times: int) -> None:
        path = Path(self._log.name)
        wait_until(lambda: path.read_text().count(said) == times, lambda: path.read_text()[-500:])

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._started):
            process.terminate()
            process.wait()
        self._log.close()
        super().__exit__()

    def is_free(self) -> bool:
        """Return whether no worker has an executor."""
        return not any(parent in self.workers for _, parent in processes().values())


def spark_environment(master: str) -> dict[str, str]:
    """Return the variables that tell a command where Spark is: the address of a master, or a
    `local-cluster[...]`.
    """
    words = [word for each in SETTINGS for word in ("--conf", each)]
    submit = {"PYSPARK_SUBMIT_ARGS": " ".join(["--master", master, *words, "pyspark-shell"])}
    python = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return (submit if master else {}) | python


ENGINES: dict[str, type[Engine]] = {each.name: each for each in (Engine, OnRay, OnSpark)}


_started: dict[str, Engine] = {}


def start_engine(name: str) -> Engine:
    """Return the engine of that name; it is started once, and runs until `end`."""
    if name not in _started:
        _started[name] = ENGINES[name]()
    return _started[name]


def end() -> None:
    """End all engines that were started."""
    while _started:
        _started.popitem()[1].__exit__()


@cache
def missing(name: str) -> str:
    """Return why an engine cannot be started here; "" if it can."""
    library = {"ray": "ray", "spark": "pyspark"}.get(name)
    if library and not importlib.util.find_spec(library):
        return f"{library} is not installed; `make test-clusters` installs it"
    if name == "spark" and (found := java()) < OLDEST:
        return f"Spark needs Java {OLDEST}, and there is " + (f"Java {found}" if found else "none")
    return ""


def java() -> int:
    """Return the version of Java that is on the PATH; 0 if there is none."""
    try:
        done = subprocess.run(["java", "-version"], capture_output=True, text=True)
    except OSError:
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found[1]) if found else 0


# ---- the machines of a run, as processes


def processes() -> dict[int, tuple[list[str], int]]:
    """Return the words of all processes that live, by number, each with its parent."""
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


class PlacedMachine:
    """Machine `rank` of the run whose machines have their folders in `tmp`. LookupError if it does
    not run.
    """

    def __init__(self, tmp: Path, rank: int) -> None:
        alive = processes()
        for pid, (words, parent) in alive.items():
            at = words.index("--node-rank") if "--node-rank" in words else None
            guard = alive.get(parent, ([], 0))[0]
            if at and words[at + 1] == str(rank) and is_guard(guard, tmp):
                self.command, self.guard = pid, parent
                self.place = int(Path(guard[3]).name.split("-")[2])
                """The process of the engine that has made the machine."""
                self.workers = sorted(
                    number
                    for number, (each, above) in alive.items()
                    if above == pid and "tux.cluster.job.worker_process" in each
                )
                return
        raise LookupError(f"machine {rank} does not run")

    def all(self) -> list[int]:
        """Return the guard and what it has started."""
        return [self.guard, self.command, *self.workers]


def is_guard(words: list[str], tmp: Path) -> bool:
    """Return whether a process is the guard of a machine."""
    return len(words) > 3 and words[3].startswith(f"{tmp}/tux-machine-")


def below(pid: int) -> list[int]:
    """Return a process and all that it has started, the uppermost first."""
    found, known = [pid], processes()
    for each in found:
        found += [number for number, (_, parent) in known.items() if parent == each]
    return found


def wait_until(true: Callable[[], object], told: Callable[[], str], seconds: float = LIMIT) -> None:
    """Wait for something. TimeoutError, with what is `told` then."""
    limit = time.monotonic() + seconds
    while not true():
        if time.monotonic() > limit:
            raise TimeoutError(f"not within {seconds:.0f} s; {told()}")
        time.sleep(0.05)


def send_signal(pids: list[int], number: int) -> None:
    """Send a signal to processes; some may have ended."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
