"""Machines that Ray places: an actor on each node of a placement group. The only import of ray."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tux.backends.contract import (
    SILENCE,
    Backend,
    EngineRows,
    Machine,
    MachineLost,
    MachineNeeds,
    answer_of,
    serve_call,
)
from tux.backends.ray_rows import DataSet, TablesOfRay, cause_in_report, matching_tables
from tux.base.errors import DeadlinePassed, UsageError
from tux.base.text import plural

CALLS = 8
"""Calls that an actor serves at once."""

SLOW = 300.0
"""Seconds that the start or the end of a command may take, on a machine that answers."""

CLOSING = 15.0
"""Seconds in which an actor ends its command and removes its folder, before it is killed."""

NOTICED = 90.0
"""Seconds within which Ray notices that a node is gone."""

SIGN = 2.0
"""Seconds after which a machine that still writes its rows is asked for a sign of life."""

REACHED = 10.0
"""Seconds in which the address of a cluster must answer."""

LOOK = 0.2
"""Seconds between two looks at what Ray has placed."""


def library() -> Any:
    """Return the ray module. UsageError if it is not installed."""
    try:
        import ray
        import ray.util
        import ray.util.scheduling_strategies
    except ImportError:
        raise UsageError("ray is not installed here", do="pip install 'tux[ray]'") from None
    return ray


def _connect(ray: Any, address: str) -> None:
    """Connect this process to the cluster at HOST:PORT, which $RAY_ADDRESS names; to one that runs
    here, or a new one, if it names none. UsageError if that cannot be.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        try:  # Ray would try for minutes, and not hear Ctrl-C
            socket.create_connection((host, int(port)), REACHED).close()
        except (OSError, OverflowError) as error:
            raise UsageError(
                f"no Ray cluster answers at {address}: {error}",
                where="RAY_ADDRESS",
                do="start one there (ray start --head), correct RAY_ADDRESS, or unset it",
            ) from None
    try:
        ray.init(log_to_driver=False, logging_level="error", configure_logging=False)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise UsageError(
            f"Ray does not connect: {cause_in_report(error)}",
            where=f"RAY_ADDRESS={address}" if address else "the cluster that Ray found here",
            do="see that it runs (ray status), with the same versions of Ray and Python; if it "
            "asks for a token, set RAY_AUTH_MODE=token",
        ) from None


class RayPlace:
    """The actor on each machine: it holds a MachineCommand, and knows the address of its node."""

    def __init__(self) -> None:
        from tux.backends.machine_command import MachineCommand

        self._command = MachineCommand()

    def address(self) -> str:
        """Return the address of the node, as Ray's other nodes reach it."""
        return str(library().util.get_node_ip_address())

    def serve(self, method: str, arguments: list[Any]) -> list[Any]:
        """See `MachineCommand.serve`."""
        return self._command.serve(method, *arguments)

    def take(self, name: str, tables: TablesOfRay, notes: dict[str, str]) -> list[Any]:
        """Write the rows of tables, which Ray holds, to a Parquet file in the machine's folder."""
        return serve_call(self._take, name, tables, notes)

    def _take(self, name: str, tables: TablesOfRay, notes: dict[str, str]) -> None:
        from tux.arrays.arrow import write_tables

        def fetch_tables() -> Iterator[Any]:
            for reference in tables.references:
                self._command.stay()
                yield library().get(reference)

        path = self._command.folder / name
        path.unlink(missing_ok=True)
        write_tables(path, matching_tables(fetch_tables(), tables.columns), notes)

    def close(self) -> None:
        """See `MachineCommand.close`."""
        self._command.close()


class Ray(Backend):
    """A placement group with a bundle of processor cores for each machine, spread over the nodes,
    and an actor in each bundle.

    It uses the cluster that this process is connected to, else the one that $RAY_ADDRESS names or
    that runs here, else Ray starts one of this machine.
    """

    def __init__(self) -> None:
        self._ray = library()
        self._connected = False  # by this back-end
        self._group: Any = None
        self._machines: list[RayMachine] = []
        self._wanted = MachineNeeds(0, 0, 0.0)

    def rows_of(self, data: Any) -> EngineRows | None:
        """Return the rows of a `ray.data.Dataset`, computed before the machines take the cores."""
        return DataSet(data) if type(data).__module__.startswith("ray.data") else None

    def start(self, wanted: MachineNeeds) -> Sequence[Machine]:
        """See `Backend`."""
        ray, self._wanted = self._ray, wanted
        if not ray.is_initialized():
            _connect(ray, os.environ.get("RAY_ADDRESS", ""))
            self._connected = True
        if (missing := self._missing()) is not None:
            wanted.say(f"wait for Ray: {missing}")
        bundles = [{"CPU": wanted.cores}] * wanted.machines
        self._group = ray.util.placement_group(bundles, strategy="SPREAD")
        limit = time.monotonic() + wanted.deadline
        while not self._group.wait(LOOK):
            if time.monotonic() > limit:
                raise self._too_late()
        actors = [self._actor(rank) for rank in range(wanted.machines)]
        self._machines = [RayMachine(ray, actor, self._address(actor, limit)) for actor in actors]
        return [*self._machines]

    def replace(self, rank: int) -> Machine:
        """See `Backend`: Ray finds another node for the bundle if that of the lost one is gone.
        Until it has noticed, an actor is sent to the lost one, and does not start.
        """
        begun = time.monotonic()
        while True:
            actor = self._actor(rank)
            try:
                address = self._address(actor, begun + self._wanted.deadline)
                break
            except MachineLost:
                if time.monotonic() - begun > min(NOTICED, self._wanted.deadline):
                    raise
                time.sleep(1.0)
        self._machines[rank] = RayMachine(self._ray, actor, address)
        return self._machines[rank]

    def close(self) -> None:
        """See `Backend`."""
        ray, machines, self._machines = self._ray, self._machines, []
        if not ray.is_initialized():
            return
        closing = [machine.actor.close.remote() for machine in machines]
        with suppress(ray.exceptions.RayError):
            ray.wait(closing, num_returns=len(closing), timeout=CLOSING) if closing else None
        for machine in machines:
            machine.kill()
        if self._group is not None:
            ray.util.remove_placement_group(self._group)
            self._group = None
        if self._connected:
            ray.shutdown()
            self._connected = False

    def _actor(self, rank: int) -> Any:
        """Start a new actor in the bundle of a machine."""
        strategy = self._ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy(
            self._group, placement_group_bundle_index=rank
        )
        return (
            self._ray.remote(RayPlace)
            .options(
                num_cpus=self._wanted.cores,
                max_concurrency=CALLS,
                max_restarts=0,
                scheduling_strategy=strategy,
            )
            .remote()
        )

    def _address(self, actor: Any, limit: float) -> str:
        """Return the address of the machine of an actor, once it is there. DeadlinePassed;
        MachineLost.
        """
        ray = self._ray
        try:
            return str(ray.get(actor.address.remote(), timeout=max(limit - time.monotonic(), 1.0)))
        except ray.exceptions.GetTimeoutError:
            ray.kill(actor)
            raise self._too_late() from None
        except ray.exceptions.RayError as error:
            raise MachineLost(
                f"its actor did not start: {cause_in_report(error)}",
                do="see that tux is installed in the Python of each node",
            ) from None

    def _missing(self) -> str | None:
        """Return what the cluster lacks for the machines, in words; None if it lacks nothing."""
        wanted, nodes = self._wanted, [each for each in self._ray.nodes() if each["Alive"]]
        cores = [int(each["Resources"].get("CPU", 0)) for each in nodes]
        if sum(each // wanted.cores for each in cores) >= wanted.machines:
            return None
        return self._words(cores)

    def _words(self, cores: list[int]) -> str:
        wanted = self._wanted
        needed = f"{plural(wanted.machines, 'machine')} with {plural(wanted.cores, 'CPU')} each"
        return f"{needed} are needed, and its nodes have {' + '.join(map(str, cores)) or 'none'}"

    def _too_late(self) -> DeadlinePassed:
        ray = self._ray
        cores = [int(n["Resources"].get("CPU", 0)) for n in ray.nodes() if n["Alive"]]
        free = ray.available_resources().get("CPU", 0)
        return DeadlinePassed(
            f"Ray has not placed the machines within {self._wanted.deadline:.0f} s: "
            f"{self._words(cores)} CPUs, of which {free:.0f} are free",
            do="add nodes, choose smaller --nnodes, --workers or --threads, or wait longer: "
            "--timeout SECONDS",
        )


class RayMachine(Machine):
    """The driver's end of an actor."""

    def __init__(self, ray: Any, actor: Any, address: str) -> None:
        self._ray, self.actor, self.address = ray, actor, address

    def ask(self, method: str, *arguments: Any) -> Any:
        """See `Machine`."""
        seconds = SLOW if method in ("begin", "end") else SILENCE
        return self._answer(self.actor.serve.remote(method, [*arguments]), seconds)

    def take(self, data: Any, name: str, notes: Mapping[str, str]) -> None:
        """See `Machine`. It may take long; a machine that gives no sign of life is lost."""
        reply = self.actor.take.remote(name, data, {**notes})
        while not self._ray.wait([reply], timeout=SIGN)[0]:
            self.ask("sees", name)  # any call that is answered at once
        self._answer(reply, SILENCE)

    def _answer(self, reply: Any, seconds: float) -> Any:
        ray = self._ray
        try:
            return answer_of(ray.get(reply, timeout=seconds))
        except ray.exceptions.GetTimeoutError:
            raise MachineLost(f"its actor has not answered for {seconds:.0f} s") from None
        except ray.exceptions.RayError as error:
            raise MachineLost(f"its actor is gone: {cause_in_report(error)}") from None

    def kill(self) -> None:
        """See `Machine`."""
        with suppress(Exception):  # Ray raises many kinds where it has lost the actor
            self._ray.kill(self.actor)
