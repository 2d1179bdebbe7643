"""How the threads of a kernel share its items: each takes the next run of items, waits for the
turns of an item, runs it, and passes the turns on.

An item is a row of `items` (n, 8) int64: a range of edges or rows LO..HI, shares PART..PART_END of
the other end, and up to two tickets. A ticket says which turn is waited for (a place in
`turns`; 0: none) and how many items have it before this one. So items that share a ticket run in
the order of the list, whatever the number of threads, and none waits for a later one. A run is some
items in a row that one thread should run, as they touch the same rows: most are of one item.

`turns` is one array of int64, of which each eighth is used, so that no two share a cache line:

    0       the next run
    1       not 0: a thread has failed, and all end
    2       the number of lanes: run i waits for run i - lanes, whose lane it has; 0: for none
    3...    turns of the lanes, then of the tickets

Threads that go through blocks side by side (`tux.stages.side_by_side`) take no items: `turns` then
has at 3 + t how far thread t has got.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from tux.partition.compiled import compiled

MOST_LANES = 16
"""Copies of the context that a kernel's runs add to in turn, at most."""

LO, HI, PART, PART_END, FIRST, FIRST_NEED, SECOND, SECOND_NEED = range(8)
WIDTH = 8  # an item is a cache line
STRIDE = 8
NEXT, FAILED, USED_LANES, LANE = 0, 1, 2, 3
TICKETS = LANE + MOST_LANES
"""The first place of a ticket."""

SPINS = 2_000
"""Looks at a turn before the core is offered to others: about 10 us."""

_yield = types.ExternalFunction("sched_yield", types.int32())


def fresh(tickets: int, lanes: int) -> np.ndarray:
    """`turns` before the first item, with room for so many tickets."""
    turns = np.zeros((TICKETS + tickets) * STRIDE, np.int64)
    turns[USED_LANES * STRIDE] = lanes
    return turns


class Plain:
    """The same in plain Python, for one thread."""

    @staticmethod
    def take(turns: Any) -> int:
        """The number of the next run."""
        run = int(turns[NEXT])
        turns[NEXT] = run + 1
        return run

    @staticmethod
    def begin_run(turns: Any, run: int) -> bool:
        """Nothing is waited for: the runs before have ended."""
        return True

    @staticmethod
    def end_run(turns: Any, run: int) -> None:
        """Nobody waits."""

    @staticmethod
    def begin(turns: Any, items: Any, item: int) -> bool:
        """Nothing is waited for: the items before have ended."""
        return True

    @staticmethod
    def finish(turns: Any, items: Any, item: int) -> None:
        """Nobody waits."""

    @staticmethod
    def passed(turns: Any, seen: Any, thread: int, threads: int, need: int) -> bool:
        """There are no others."""
        return True

    @staticmethod
    def tell(turns: Any, thread: int, at: int) -> None:
        """Nobody waits."""


@intrinsic
def _add(typingctx: Any, array: Any, at: Any) -> Any:
    """Add 1 to ``array[at]``; returns what was there. What this thread has written is seen by
    whoever sees the sum.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = make_array(sig.args[0])(context, builder, value=args[0]).data
        place = builder.gep(data, [args[1]], inbounds=True)
        return builder.atomic_rmw("add", place, context.get_constant(types.int64, 1), "acq_rel")

    return types.int64(array, types.int64), codegen


@intrinsic
def _look(typingctx: Any, array: Any, at: Any) -> Any:
    """``array[at]``; what was written before it was set is seen from here on."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = make_array(sig.args[0])(context, builder, value=args[0]).data
        place = builder.gep(data, [args[1]], inbounds=True)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(array, types.int64), codegen


@intrinsic
def _set(typingctx: Any, array: Any, at: Any, value: Any) -> Any:
    """``array[at] = value``. What this thread has written is seen by whoever sees the value."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = make_array(sig.args[0])(context, builder, value=args[0]).data
        place = builder.gep(data, [args[1]], inbounds=True)
        builder.store_atomic(args[2], place, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@njit(nogil=True)
def _reached(turns, place, need):  # type: ignore[no-untyped-def]
    """Wait until a turn is `need`; False if a thread has failed."""
    spins = 0
    while _look(turns, place * STRIDE) != need:
        if _look(turns, FAILED * STRIDE) != 0:
            return False
        spins += 1
        if spins > SPINS:
            _yield()
    return True


@compiled
def has_changed(board, at, value, yields):  # type: ignore[no-untyped-def]
    """Wait until ``board[at]`` is another number than `value`, for SPINS looks and then while the
    core is offered to others `yields` times; whether it is.
    """
    for _ in range(SPINS):
        if _look(board, at) != value:
            return True
    for _ in range(yields):
        if _look(board, at) != value:
            return True
        _yield()
    return _look(board, at) != value


@njit(nogil=True)
def take(turns):  # type: ignore[no-untyped-def]
    """The number of the next run."""
    return _add(turns, NEXT * STRIDE)


@njit(nogil=True)
def begin_run(turns, run):  # type: ignore[no-untyped-def]
    """Wait for the lane of a run; False if a thread has failed."""
    lanes = turns[USED_LANES * STRIDE]
    return lanes == 0 or _reached(turns, LANE + run % lanes, run // lanes)


@njit(nogil=True)
def end_run(turns, run):  # type: ignore[no-untyped-def]
    """Pass the lane of a run on."""
    lanes = turns[USED_LANES * STRIDE]
    if lanes > 0:
        _add(turns, (LANE + run % lanes) * STRIDE)


@njit(nogil=True)
def begin(turns, items, item):  # type: ignore[no-untyped-def]
    """Wait for the turns of an item; False if a thread has failed: then no item begins."""
    if _look(turns, FAILED * STRIDE) != 0:
        return False
    first, second = items[item, FIRST], items[item, SECOND]
    if first > 0 and not _reached(turns, first, items[item, FIRST_NEED]):
        return False
    return second == 0 or _reached(turns, second, items[item, SECOND_NEED])


@njit(nogil=True)
def finish(turns, items, item):  # type: ignore[no-untyped-def]
    """Pass the turns of an item on."""
    first, second = items[item, FIRST], items[item, SECOND]
    if first > 0:
        _add(turns, first * STRIDE)
    if second > 0:
        _add(turns, second * STRIDE)


@njit(nogil=True)
def tell(turns, thread, at):  # type: ignore[no-untyped-def]
    """Show the others how far this thread has got."""
    _set(turns, (LANE + thread) * STRIDE, at)


@njit(nogil=True)
def passed(turns, seen, thread, threads, need):  # type: ignore[no-untyped-def]
    """Wait until all other threads have got as far as `need`; False if one has failed. `seen`
    (threads,): how far each was when this thread looked last.
    """
    if _look(turns, FAILED * STRIDE) != 0:
        return False
    for other in range(threads):
        spins = 0
        while other != thread and seen[other] < need:
            seen[other] = _look(turns, (LANE + other) * STRIDE)
            if _look(turns, FAILED * STRIDE) != 0:
                return False
            spins += 1
            if spins > SPINS:
                _yield()
    return True


def side_by_side(threads: int) -> np.ndarray:
    """`turns` of so many threads that go through one list side by side."""
    return np.zeros((LANE + threads) * STRIDE, np.int64)
