"""A compiled loop over items, which the threads of a worker run together."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.rows.turns import FAILED, STRIDE, new_turns
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.check.sample import SampledKernel
from tux.stages.kernel.gauge import KernelGauge
from tux.stages.kernel.lanes import Lanes
from tux.stages.kernel.tickets import Items

if TYPE_CHECKING:
    from tux.engine.partition import Partition
    from tux.stages.kernel.edge_reader import EdgeReader

ALONE_SECONDS = 3e-4
"""Seconds of work for which the other threads are not woken."""


class SharedKernel:
    """``kernel(items, *varying)`` runs the items of a list; the result is the same whatever the
    number of threads.

    `arguments` are bound by name; of those in `scratch` each thread has its own. `lanes`: of the
    context, if it is an argument. `gauge`: measures its calls, in a run with a profile.
    """

    def __init__(
        self,
        partition: Partition,
        built: Callable[..., None] | SampledKernel,
        purpose: np.uint64,
        plan: ThreadPlan,
        arguments: Mapping[str, Any],
        scratch: set[str],
        lanes: Lanes | None,
        gauge: KernelGauge | None = None,
    ) -> None:
        self._gauge = gauge
        self._partition, self._built, self._purpose, self._plan = partition, built, purpose, plan
        self._arguments, self._scratch = dict(arguments), scratch
        self._lanes = lanes if lanes is not None and lanes.has_copies else None
        self._bound: dict[tuple[int, bool], tuple[Any, ...]] = {}
        self._rate = 1.0  # seconds for an edge or a row: those of the last call

    def __call__(
        self,
        items: Items,
        *varying: Any,
        salt: int = 0,
        pass_number: int | None = None,
        reader: EdgeReader | None = None,
    ) -> None:
        """Run the items. The random key is (stage, pass, `salt`). `reader`: of edges on disk."""
        number = self._partition.pass_number if pass_number is None else pass_number
        key = self._purpose ^ np.uint64(number | salt << 32)
        for piece in items.pieces(self._plan.refreshes, 2 * self._plan.lanes):
            self._run(piece, varying, key, reader)
        if self._gauge is not None:
            self._gauge.count(items)

    def _run(
        self, items: Items, varying: tuple[Any, ...], key: np.uint64, reader: EdgeReader | None
    ) -> None:
        lanes = self._lanes if self._plan.lanes and len(items.array) > 1 else None
        turns = new_turns(items.tickets, self._plan.lanes if lanes is not None else 0)
        if lanes is not None:
            lanes.start()
        size, runs = items.size, len(items.runs) - 1
        shared = turns, items.runs, items.array, *varying, key
        kernel, threads = self._built, self._thread_count(size, runs)
        if isinstance(kernel, SampledKernel):
            suspicious = kernel.is_wrong((*shared, *self._arguments_of(0, laned=lanes is not None)))
            kernel, threads = (kernel.checked(), 1) if suspicious else (kernel.run, threads)
        call = partial(self._call, kernel, shared, lanes is not None)
        start = time.perf_counter()
        meter = self._gauge.meter if self._gauge is not None else nullcontext()
        with meter, reader.follow(items, turns) if reader else nullcontext():
            self._run_on(threads, call, turns)
        if size:
            self._rate = (time.perf_counter() - start) * threads / size
        if lanes is not None:
            lanes.fold()

    def _run_on(self, threads: int, call: Callable[[int], None], turns: np.ndarray) -> None:
        """Run a call on one thread, or on all."""
        if threads == 1:
            call(0)
            return

        def stop() -> None:
            turns[FAILED * STRIDE] = 1

        self._partition.threads.run(call, stop)

    def _thread_count(self, size: int, runs: int) -> int:
        """Return how many threads share so many edges or rows. This decides times, not results."""
        threads = self._partition.threads
        able = self._partition.jit and self._plan.threads and threads.is_owner_thread()
        if not able or size * self._rate < ALONE_SECONDS:
            return 1
        return min(threads.count, runs)

    def _call(
        self,
        kernel: Callable[..., None],
        shared: tuple[Any, ...],
        laned: bool,  # noqa: FBT001  bound by position for all threads
        thread: int,
    ) -> None:
        kernel(*shared, *self._arguments_of(thread, laned=laned))

    def _arguments_of(self, thread: int, *, laned: bool) -> tuple[Any, ...]:
        """Return the bound arguments of one thread, which are made once."""
        if (thread, laned) not in self._bound:
            self._bound[thread, laned] = self._make_arguments(thread, laned=laned)
        return self._bound[thread, laned]

    def _make_arguments(self, thread: int, *, laned: bool) -> tuple[Any, ...]:
        """Make the arguments of one thread."""
        own = dict(self._arguments)
        if laned:
            assert self._lanes is not None
            own["tau_arrays"] = self._lanes.apart
        if thread:
            own |= {name: _zeros_apart(own[name]) for name in self._scratch}
        return tuple(own.values())


def _zeros_apart(array: np.ndarray) -> np.ndarray:
    """Return zeros like a small array, on cache lines of their own."""
    room = np.zeros(array.size + 128 // array.itemsize, array.dtype)
    start = 64 // array.itemsize
    return room[start : start + array.size].reshape(array.shape)
