"""All workers of a job in one process, with an order of deliveries that a seed decides: the
transport on which the protocol is tested.

Messages between two members keep their order, as on a socket; the seed decides which channel
delivers next and which worker runs next.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tux.base.errors import TuxError
from tux.clock.steps import Step
from tux.engine.transport import Transport
from tux.engine.worker import Worker
from tux.messages.message import Message


class SimulatedCluster(Transport):
    """Workers that exchange messages within this process. `draw` decides the order of events."""

    def __init__(self, workers: Sequence[Worker], seed: int = 0) -> None:
        self.workers = list(workers)
        self.draw = random.Random(seed)
        self.channels: dict[tuple[int, int], deque[Message]] = {}
        for worker in self.workers:
            worker.transport = self

    def send(self, message: Message) -> None:
        """Queue a message behind the others of its channel."""
        self.channels.setdefault((message.source, message.dest), deque()).append(message)

    def deliver(self, channel: tuple[int, int]) -> None:
        """Hand the oldest message of a channel to the server of its destination, then to the
        worker if it is meant for it.
        """
        message = self.channels[channel].popleft()
        if not self.channels[channel]:
            del self.channels[channel]
        worker = self.workers[message.dest]
        if not worker.server.handle(message):
            worker.take(message)

    def deliver_rest(self) -> None:
        """Deliver what is still under way when all workers have ended, as a push that nobody waits
        for.
        """
        while self.channels:
            self.deliver(next(iter(self.channels)))

    def run(self, steps: Callable[[Worker], Sequence[Step]], slack: int | None = None) -> None:
        """Run ``steps(worker)`` on every worker; events come in the order that the seed decides.
        TuxError if all of them wait.
        """
        self.finish(
            {rank: worker.execute(steps(worker), slack) for rank, worker in enumerate(self.workers)}
        )

    def finish(self, running: dict[int, Iterator[Any]]) -> None:
        """Drive one iterator of each worker to its end; an iterator that yields waits for a
        message.
        """
        waiting: set[int] = set()
        while running:
            choices: list[Any] = [
                *self.channels,
                *(rank for rank in running if rank not in waiting),
            ]
            if not choices:
                missing = {rank: self.workers[rank].server.waiting() for rank in running}
                raise TuxError(f"every worker waits and nothing is under way: {missing}")
            chosen = self.draw.choice(choices)
            if isinstance(chosen, tuple):
                self.deliver(chosen)
                waiting.discard(chosen[1])
            elif next(running[chosen], StopIteration) is StopIteration:
                del running[chosen]
            else:
                waiting.add(chosen)
