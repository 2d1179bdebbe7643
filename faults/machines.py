"""Two machines: their link, their commands, and strangers on the port of machine 0."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import Sequence
from functools import partial

from faults.fault import Fault
from faults.network import Cable, no_namespaces, no_resets
from faults.recovery import after_machines, expect_end, start_again
from faults.room import Room, WrongOutcome
from faults.running import Running
from faults.scenario import Observation, Scenario
from tux.base.processes import is_alive

ALONE = 2.0
"""Seconds in which a worker goes on before its command does."""


class Machines:
    """Two machines with a worker each; without a `cable`, both are this one. `rejoin`: seconds."""

    def __init__(self, room: Room, cable: Cable | None = None, rejoin: int = 60) -> None:
        self.room, self.cable, self.rejoin = room, cable, rejoin
        self.key = room.folder / "key"
        self.key.write_bytes(bytes(range(32)))
        self.host, self.port = "10.78.0.1" if cable else "127.0.0.1", free_port()
        room.flags["--restarts"] = 3

    def more(self, rank: int) -> list[object]:
        """Return the flags that make two machines of two commands."""
        where = ["--nnodes", 2, "--node-rank", rank, "--rdzv", f"{self.host}:{self.port}"]
        return [*where, "--key-file", self.key, "--rejoin", self.rejoin]

    def wrap(self, rank: int) -> Sequence[str]:
        """Return the words in front of a machine's command that run it there."""
        return self.cable.wrap(rank) if self.cable else ()

    def start(self, rank: int, out: str = "out") -> Running:
        """Start the command of a machine. Each machine has a disk of its own."""
        folder = out if rank == 0 else f"{out}-elsewhere"
        more = ["--workers", 1, *self.more(rank)]
        return self.room.train(out=folder, more=more, wrap=self.wrap(rank))

    def resume(self, rank: int) -> Running:
        """Go on with the run, on one machine. Only machine 0 has its folder."""
        if rank:
            return self.start(rank)
        return self.room.resume("out", self.more(rank), wrap=self.wrap(rank))

    def both(self, plan: Sequence[dict[str, object]], out: str = "out") -> list[Running]:
        """Start both commands."""
        self.room.plan(plan)
        return [self.start(rank, out) for rank in (0, 1)]


def hold(rank: int) -> dict[str, object]:
    """Return an entry of the plan: a worker waits within an epoch."""
    return {"name": "at", "moment": "clock", "epoch": 3, "number": 2, "do": "hold"} | {
        "who": f"worker {rank}"
    }


def link_down(seconds: float, room: Room) -> Observation:
    """Cut the link for a while in the midst of an epoch."""
    with Cable() as cable:
        machines = Machines(room, cable)
        commands = machines.both([hold(1)])
        room.await_entry("at")
        fault = Fault(room)
        cable.cut()
        room.go("at")
        time.sleep(seconds)
        cable.mend()
        return after_machines(room, machines, commands, fault)


def reset(room: Room) -> Observation:
    """Reset all connections, several times, while the workers are at work."""
    with Cable() as cable:
        machines = Machines(room, cable)
        room.flags["--epochs"] = 30
        commands = machines.both([hold(1)])
        room.await_entry("at")
        fault = Fault(room)
        room.go("at")
        for _ in range(5):
            cable.reset()
            time.sleep(room.draw.uniform(0.0, 0.05))
        return after_machines(room, machines, commands, fault)


def stop_worker(room: Room) -> Observation:
    """Stop the worker of machine 1 for ever. Its command ends it, as it counts as lost."""
    machines = Machines(room)
    commands = machines.both([hold(1) | {"do": "stop"}])
    fault = Fault(room, room.await_entry("at").seconds)
    return after_machines(room, machines, commands, fault)


def freeze_machine(seconds: float, room: Room) -> Observation:
    """Make machine 1 stand still, so that it counts as lost: stop its command and its worker, and
    continue them after some seconds. The worker first: its messages then come late.
    """
    machines = Machines(room)
    commands = machines.both([hold(1) | {"do": "stop"}])
    moment = room.await_entry("at")
    fault = Fault(room, moment.seconds, stopped=[moment.pid])
    os.kill(commands[1].process.pid, signal.SIGSTOP)
    room.until(lambda: time.monotonic() > fault.seconds + seconds, "the time to pass")
    if not is_alive(moment.pid):
        raise WrongOutcome(f"the stopped worker is gone{room.last_output()}")
    os.kill(moment.pid, signal.SIGCONT)
    time.sleep(ALONE)
    os.kill(commands[1].process.pid, signal.SIGCONT)
    seen = after_machines(room, machines, commands, fault)
    late = count_refused(commands[0])
    if not late:
        return seen._replace(wrong=(*seen.wrong, "nothing has come late"))
    return seen._replace(measured={"late messages refused": late})


def count_refused(command: Running) -> int:
    """Return how many connections and messages a command says that it has refused: each warning has
    the sum so far.
    """
    told = re.findall(r"(\d+) connections? or messages? .* refused", command.output()[1])
    return max(map(int, told), default=0)


def kill_machine(rank: int, room: Room) -> Observation:
    """Kill the command of a machine, with what it has started."""
    machines = Machines(room)
    commands = machines.both([hold(1)])
    room.await_entry("at")
    fault = Fault(room)
    for pid in [commands[rank].process.pid, *commands[rank].workers().values()]:
        os.kill(pid, signal.SIGKILL)
    room.code(commands[rank])
    room.go("at")
    return after_machines(room, machines, commands, fault, killed=rank)


def kill_both(order: tuple[int, int], room: Room) -> Observation:
    """Kill both commands, and start them again in an order, some seconds apart."""
    machines = Machines(room)
    commands = machines.both([hold(1)])
    room.await_entry("at")
    fault = Fault(room)
    for each in commands:
        os.kill(each.process.pid, signal.SIGKILL)
    room.until(lambda: not any(each.leftovers() for each in commands), "the workers to end")
    gone = time.monotonic() - fault.seconds
    return start_again(room, machines, fault, order)._replace(noticed=gone)


HELLO = bytes.fromhex("160301006f0100006b0303") + bytes(range(106))  # begins as TLS does
STRANGERS = {
    "random-bytes": ("random bytes", None),
    "tls": ("a TLS hello", HELLO),
    "http": ("an HTTP request", b"GET / HTTP/1.1\r\nHost: tux\r\n\r\n"),
    "silent": ("connections that say nothing", b""),
}


def strangers(content: bytes | None, room: Room) -> Observation:
    """Connect to the port of machine 0 as somebody else, before the others do and later."""
    machines = Machines(room)
    room.plan([hold(1)])
    first = machines.start(0)
    room.until(lambda: can_visit(room, machines.port, content), "the port of machine 0")
    second = machines.start(1)
    room.await_entry("at")
    guests = [visitor(room, machines.port, content) for _ in range(20)]
    room.go("at")
    seen = expect_end(room, first)
    room.expect(second, 0)
    for guest in guests:
        guest.close()
    return seen._replace(faults=len(guests) + 1)


def free_port() -> int:
    """Return a port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


def can_visit(room: Room, port: int, content: bytes | None) -> bool:
    """Connect to the port as a stranger; return whether that was possible."""
    try:
        visitor(room, port, content).close()
    except OSError:
        return False
    return True


def visitor(room: Room, port: int, content: bytes | None) -> socket.socket:
    """Return a connection to the port, by which this was sent; None: random bytes."""
    said = room.draw.randbytes(room.draw.randrange(1, 5000)) if content is None else content
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(said)
    return connection


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    return [*_faults(), *_restarts(), *_strangers()]


def _strangers() -> list[Scenario]:
    """Return the scenarios in which somebody else comes to the port."""
    return [
        Scenario(
            f"stranger-{name}",
            f"strangers on the port of machine 0: {words}",
            "they are refused; the run goes on to the same bytes",
            partial(strangers, content),
        )
        for name, (words, content) in STRANGERS.items()
    ]


def _restarts() -> list[Scenario]:
    """Return the scenarios in which both commands are started again."""
    return [
        Scenario(
            f"restarted-{first}-{second}",
            f"both commands killed, and started again, machine {first} first",
            "resumed, the same bytes",
            partial(kill_both, (first, second)),
        )
        for first, second in ((0, 1), (1, 0))
    ]


def _faults() -> list[Scenario]:
    """Return the scenarios in which something happens to the machines."""
    told = "noticed; goes on; the same bytes"
    return [
        Scenario(
            "link-2s",
            "link between two machines down for 2 s",
            "the run goes on to the same bytes",
            partial(link_down, 2.0),
            missing=no_namespaces,
        ),
        *(
            Scenario(
                f"link-{seconds}s",
                f"link between two machines down for {seconds} s",
                told,
                partial(link_down, float(seconds)),
                limit=240.0,
                missing=no_namespaces,
            )
            for seconds in (8, 60)
        ),
        Scenario(
            "reset",
            "all connections between two machines reset",
            told,
            reset,
            missing=no_resets,
        ),
        Scenario(
            "stopped-elsewhere",
            "the worker of machine 1 stopped for ever",
            told,
            stop_worker,
        ),
        Scenario(
            "frozen-20s",
            "command and worker of machine 1 stopped for 20 s, then continued",
            f"{told}; what comes late is refused",
            partial(freeze_machine, 20.0),
        ),
        *(
            Scenario(
                f"machine-{rank}-killed",
                f"command and worker of machine {rank} killed",
                told,
                partial(kill_machine, rank),
                limit=240.0,
            )
            for rank in (0, 1)
        ),
    ]
