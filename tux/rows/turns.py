"""Turns, by which the threads of a kernel share its items: each thread takes the next run of items,
waits for the turns of an item, runs it, and passes the turns on.

An item is a row of `items` (n, 8) int64: a range of edges or rows LO..HI, shares PART..PART_END of
the other end (of a tile, the first row of either end), and up to two tickets. A ticket says which
turn is waited for (a place in `turns`; 0: none) and how many items have it before this one. So
items that share a ticket run in the order of the list, whatever the number of threads, and none
waits for a later one. A run is some items in a row that one thread should run, as they touch the
same rows: most are of one item.

`turns` is one array of int64, of which each eighth is used, so that no two share a cache line:

    0       the next run
    1       not 0: a thread has failed, and all end
    2       the number of lanes: run i waits for run i - lanes, whose lane it has; 0: for none
    3...    turns of the lanes, then of the tickets
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from tux.base.compiled import cached_njit
from tux.base.linked import linked_njit

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


def new_turns(tickets: int, lanes: int) -> np.ndarray:
    """Return `turns` before the first item, with room for so many tickets."""
    turns = np.zeros((TICKETS + tickets) * STRIDE, np.int64)
    turns[USED_LANES * STRIDE] = lanes
    return turns


def compile_turns() -> None:
    """Compile the functions on turns that kernels call, for this process and its forks."""
    turns, number = types.Array(types.int64, 1, "C"), types.int64
    items = types.Array(types.int64, 2, "C")
    for function, arguments in (
        (take, (turns,)),
        (begin_run, (turns, number)),
        (end_run, (turns, number)),
        (begin, (turns, items, number)),
        (finish, (turns, items, number)),
    ):
        function.compile(arguments)


class PlainTurns:
    """The functions on turns in plain Python, for one thread, which waits for nobody."""

    @staticmethod
    def take(turns: Any) -> int:
        """Take the next run and return its number."""
        run = int(turns[NEXT])
        turns[NEXT] = run + 1
        return run

    @staticmethod
    def begin_run(turns: Any, run: int) -> bool:
        """Wait for nothing: the runs before have ended."""
        return True

    @staticmethod
    def end_run(turns: Any, run: int) -> None:
        """Do nothing: nobody waits."""

    @staticmethod
    def begin(turns: Any, items: Any, item: int) -> bool:
        """Wait for nothing: the items before have ended."""
        return True

    @staticmethod
    def finish(turns: Any, items: Any, item: int) -> None:
        """Do nothing: nobody waits."""


@intrinsic
def _add(typingctx: Any, array: Any, at: Any) -> Any:
    """Add 1 to ``array[at]``; return the number before. Other threads that see the sum also see all
    that this thread has written before.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = make_array(sig.args[0])(context, builder, value=args[0]).data
        place = builder.gep(data, [args[1]], inbounds=True)
        return builder.atomic_rmw("add", place, context.get_constant(types.int64, 1), "acq_rel")

    return types.int64(array, types.int64), codegen


@intrinsic
def _look(typingctx: Any, array: Any, at: Any) -> Any:
    """Return ``array[at]``; all that another thread wrote before it set this entry is seen from
    here on.
    """

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = make_array(sig.args[0])(context, builder, value=args[0]).data
        place = builder.gep(data, [args[1]], inbounds=True)
        return builder.load_atomic(place, "acquire", 8)

    return types.int64(array, types.int64), codegen


@linked_njit(nogil=True)
def _wait_for_turn(turns, place, need):  # type: ignore[no-untyped-def]
    """Wait until a turn is `need`; return False if a thread has failed."""
    spins = 0
    while _look(turns, place * STRIDE) != need:
        if _look(turns, FAILED * STRIDE) != 0:
            return False
        spins += 1
        if spins > SPINS:
            _yield()
    return True


@cached_njit
def has_changed(board, at, value, yields):  # type: ignore[no-untyped-def]
    """Wait until ``board[at]`` is another number than `value`, for SPINS looks and then while the
    core is offered to others `yields` times. Return whether it is another.
    """
    for _ in range(SPINS):
        if _look(board, at) != value:
            return True
    for _ in range(yields):
        if _look(board, at) != value:
            return True
        _yield()
    return _look(board, at) != value


@linked_njit(nogil=True)
def take(turns):  # type: ignore[no-untyped-def]
    """Take the next run and return its number."""
    return _add(turns, NEXT * STRIDE)


@linked_njit(nogil=True)
def begin_run(turns, run):  # type: ignore[no-untyped-def]
    """Wait for the lane of a run; return False if a thread has failed."""
    lanes = turns[USED_LANES * STRIDE]
    return lanes == 0 or _wait_for_turn(turns, LANE + run % lanes, run // lanes)


@linked_njit(nogil=True)
def end_run(turns, run):  # type: ignore[no-untyped-def]
    """Pass the lane of a run on."""
    lanes = turns[USED_LANES * STRIDE]
    if lanes > 0:
        _add(turns, (LANE + run % lanes) * STRIDE)


@linked_njit(nogil=True)
def begin(turns, items, item):  # type: ignore[no-untyped-def]
    """Wait for the turns of an item; return False if a thread has failed: then no item begins."""
    if _look(turns, FAILED * STRIDE) != 0:
        return False
    first, second = items[item, FIRST], items[item, SECOND]
    if first > 0 and not _wait_for_turn(turns, first, items[item, FIRST_NEED]):
        return False
    return second == 0 or _wait_for_turn(turns, second, items[item, SECOND_NEED])


@linked_njit(nogil=True)
def finish(turns, items, item):  # type: ignore[no-untyped-def]
    """Pass the turns of an item on."""
    first, second = items[item, FIRST], items[item, SECOND]
    if first > 0:
        _add(turns, first * STRIDE)
    if second > 0:
        _add(turns, second * STRIDE)
