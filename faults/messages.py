"""Messages that are lost, come twice, out of order, or late: workers in one process, over a
transport in which a seed decides what happens to which message.

Messages are numbered and checked as `tux/cluster/transport/reactor.py` does it: what was there
already is counted and dropped, and a gap ends the job. Where all wait, the heartbeats' probes
follow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache, partial
from random import Random
from typing import Any

import numpy as np

from faults.room import Room
from faults.scenario import Observation, Scenario
from tux.apps.mf.mf import MF
from tux.arrays.networks import from_arrays
from tux.base.errors import PeerLost, TuxError
from tux.checkpoint.snapshot import arrays_of
from tux.cluster.simulated import SimulatedCluster
from tux.cluster.transport.sequence import Sequences
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.cut import cut
from tux.graph.local import LocalGraph
from tux.graph.partitioned import add_topology
from tux.messages.message import Kind, Message

EPOCHS = 2
LATE = 60  # deliveries by which a message is late
WORKERS = 3
DATA = 5  # sets of ratings


class FaultyCluster(SimulatedCluster):
    """Something happens to the message number `at` of those between two workers: `fault` is lost,
    twice, overtaken or late.
    """

    def __init__(self, workers: Sequence[Worker], seed: int, fault: str, at: int) -> None:
        super().__init__(workers, seed)
        self.fault, self.at, self.count, self.refused, self.happened = fault, at, 0, 0, False
        self.sequences = [Sequences(len(self.workers)) for _ in self.workers]
        self.late: deque[Message] = deque()  # of one channel
        self.release_at = -1  # delivery
        self.delivered = 0

    def send(self, message: Message) -> None:
        """Number a message and queue it, or do to it what is to be done."""
        if message.source == message.dest:
            super().send(message)
            return
        message = self.sequences[message.source].number_message(message)
        channel = (message.source, message.dest)
        if self.late and (self.late[0].source, self.late[0].dest) == channel:
            if self.fault == "overtaken":
                super().send(message)
                self.release()
            else:
                self.late.append(message)
            return
        self.count += 1
        if self.count != self.at:
            super().send(message)
            return
        self.happened = True
        if self.fault == "twice":
            super().send(message)
            super().send(message)
        elif self.fault != "lost":
            self.late.append(message)
            self.release_at = self.delivered + LATE

    def release(self) -> bool:
        """Queue what is late; return whether there was anything."""
        released = bool(self.late)
        while self.late:
            super().send(self.late.popleft())
        return released

    def deliver(self, channel: tuple[int, int]) -> None:
        """Deliver a message, if it is the next of its sender."""
        self.delivered += 1
        if self.late and self.delivered >= self.release_at and self.fault == "late":
            self.release()
        message, sequences = self.channels[channel][0], self.sequences[channel[1]]
        if message.source != message.dest:
            if not sequences.is_from_member(message):
                self.refused += 1
                self._drop(channel)
                return
            sequences.accept(message, f"worker {message.dest}")
            if message.kind is Kind.PROBE:
                self._drop(channel)
                return
        super().deliver(channel)

    def _drop(self, channel: tuple[int, int]) -> None:
        self.channels[channel].popleft()
        if not self.channels[channel]:
            del self.channels[channel]

    def probe(self) -> None:
        """Send a message from each worker to each, as heartbeats do."""
        for source in range(len(self.workers)):
            for dest in set(range(len(self.workers))) - {source}:
                super().send(
                    self.sequences[source].number_message(Message(Kind.PROBE, source, dest))
                )
        for channel in [*self.channels]:
            while channel in self.channels:
                self.deliver(channel)

    def finish(self, running: dict[int, Iterator[Any]]) -> None:
        """Run all workers to their end. PeerLost if a message is missing."""
        while running:
            try:
                super().finish(running)
            except TuxError as error:
                if type(error) is not TuxError:
                    raise
                if not self.release():
                    self.probe()
                    raise


def team(draw: Random) -> list[Worker]:
    """Make workers with the parts of some ratings."""
    values = np.random.default_rng(draw.randrange(1 << 30))
    edges = from_arrays(
        values.integers(0, 14, 30),
        values.integers(0, 9, 30),
        ends=("user", "item"),
        value=values.integers(1, 6, 30).astype("f4"),
    )
    program = MF(rank=3, batch_size=12)
    by = values.integers(0, WORKERS, 30).astype(np.int16)
    parts = add_topology(program, cut(edges, None, by, WORKERS, 0), edges, 0)
    return [
        Worker(program, LocalGraph.of(program, part), rank=rank, workers=WORKERS, jit=False)
        for rank, part in enumerate(parts)
    ]


def yield_waits(training: Training) -> Iterator[None]:
    """Yield whenever a worker must wait for a message, until its epochs are over."""
    return (None for record in training.steps(EPOCHS) if record is None)


def train_cluster(data: int, seed: int, fault: str, at: int) -> tuple[FaultyCluster, list[bytes]]:
    """Train on some ratings; return the cluster, and the bytes of all workers' states. PeerLost."""
    workers = team(Random(data))
    cluster = FaultyCluster(workers, seed, fault, at)
    cluster.finish({rank: yield_waits(Training(each)) for rank, each in enumerate(workers)})
    return cluster, [
        array.tobytes() for each in workers for _, array in sorted(arrays_of(each).items())
    ]


@cache
def train_whole(data: int) -> tuple[int, list[bytes]]:
    """Train without a fault; return how many messages there are, and the bytes of the states."""
    cluster, content = train_cluster(data, data, "", 0)
    return cluster.count, content


def disturb_message(fault: str, room: Room) -> Observation:
    """Make something happen to one message of a run, which is drawn."""
    data, seed = room.draw.randrange(DATA), room.draw.randrange(1 << 30)
    count, expected = train_whole(data)
    at = room.draw.randrange(1, count + 1)
    try:
        cluster, content = train_cluster(data, seed, fault, at)
        if fault == "lost":  # all have ended without it
            cluster.probe()
            return Observation(wrong=("nobody has missed the message",))
    except PeerLost as error:
        right = fault in ("lost", "overtaken") and "is missing" in error.what
        return Observation(wrong=() if right else (f"{fault}: {error.what}",), note="ends")
    except TuxError as error:
        return Observation(wrong=(f"{fault}: {error.what}",))
    if not cluster.happened:
        return Observation(wrong=("nothing has happened",))
    wrong = [] if content == expected else [f"message {at} {fault}: other bytes"]
    if fault == "twice" and cluster.refused != 1:
        wrong.append(f"{cluster.refused} refused instead of 1")
    return Observation(wrong=tuple(wrong), note="goes on")


def scenarios() -> list[Scenario]:
    """Return all scenarios of this file."""
    ends = "the job ends (exit code 4) and names the sender"
    texts = {
        "lost": ("lost", ends),
        "twice": ("that comes twice", "counted and dropped; the same bytes"),
        "overtaken": ("overtaken by the next", f"{ends}; if none followed, the same bytes"),
        "late": ("late", "the same bytes"),
    }
    return [
        Scenario(
            f"message-{fault}",
            f"one message {words} (simulated transport)",
            expected,
            partial(disturb_message, fault),
            times=25,
            limit=30.0,
        )
        for fault, (words, expected) in texts.items()
    ]
