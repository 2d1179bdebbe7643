"""Rounds, in which loaders talk. In each round every loader sends one message to every loader,
itself too, and then gets those that were sent to it.

A loader is a generator: it yields its messages, by receiver, and is sent those of the others, by
sender. What carries them, memory, files or sockets, is no concern of it. A message is a list of
arrays of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import numpy as np

from tux.parallel_load.algorithm.columns import columns_by_sender

Message = list[np.ndarray]
Messages = list[Message]
Result = TypeVar("Result")
Rounds = Generator[Messages, Messages, Result]
"""The messages of a loader, round by round, and its result in the end."""

Watch = Callable[[int, Messages], None]
"""Called for each loader and round with its number and what it got."""


def run_together(loaders: Sequence[Rounds[Result]], watch: Watch | None = None) -> list[Result]:
    """Run the loaders of one job in this process, side by side; return their results, in order.
    Raise RuntimeError if they do not all take the same number of rounds.
    """
    inboxes: list[Messages] = []
    while True:
        sent: list[Messages] = []
        results: list[Result] = []
        for at, loader in enumerate(loaders):
            try:
                sent.append(loader.send(inboxes[at]) if inboxes else next(loader))
            except StopIteration as ended:
                results.append(ended.value)
        if len(results) == len(loaders):
            return results
        if results:
            raise RuntimeError(f"{len(results)} of {len(loaders)} loaders have ended")
        inboxes = [[mine[to] for mine in sent] for to in range(len(loaders))]
        for at, inbox in enumerate(inboxes):
            if watch:
                watch(at, inbox)


def tell_all(n: int, message: Message) -> Rounds[Messages]:
    """Send all loaders the same message; return the messages of all."""
    return (yield [message] * n)


def exchange_numbers(n: int, numbers: Sequence[int] | np.ndarray) -> Rounds[np.ndarray]:
    """Tell all loaders some whole numbers that are not negative, as many as the others; return the
    numbers of all (n, ...). Raise BadColumns if they do not fit.
    """
    own = np.asarray(numbers, np.int64)
    got = yield from tell_all(n, [own])
    return np.stack([each.table(own.shape) for each in columns_by_sender(got)])


def bounds_of(counts: np.ndarray) -> np.ndarray:
    """Return the bounds (n + 1,) of the ranges of n owners, one after the other, from the `counts`
    (n,) of their entries.
    """
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
