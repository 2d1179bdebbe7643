"""Samples of the instruction that the main thread runs, taken by a timer.

Compiled functions do not tell which of their lines they run. A signal interrupts the main thread
each millisecond, and a compiled handler notes the address of the instruction that it
has interrupted. The timer runs only between `start` and `stop`, around one call of a compiled
function; it first fires after a random time, so that calls shorter than this are sampled too.
"""

from __future__ import annotations

import ctypes
import platform
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

INTERVAL_SECONDS = 1e-3  # each interrupt takes some 10 us

ROOM = 1 << 20
"""Samples of one call that are kept."""

PLACES = {"x86_64": 21, "aarch64": 55}
"""Where the address stands in what Linux gives the handler of a signal, in 8 bytes, by processor
(`ucontext_t` in the headers of Linux).
"""


class _Action(ctypes.Structure):
    """The `struct sigaction` of Linux."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_SIGINFO, _RESTART = 0x4, 0x10000000  # flags of an action, on both processors


@intrinsic  # type: ignore[untyped-decorator]
def _words_at(typing: Any, address: Any) -> Any:
    """Make the pointer to words of 8 bytes from an address."""

    def cast(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int64)(types.int64), cast


@cache
def _handler() -> tuple[Any, np.ndarray]:
    """Compile the handler; return it, and what it writes: the number of samples, then these."""
    notes = np.zeros(ROOM + 1, np.int64)
    address, place = notes.ctypes.data, PLACES[platform.machine()]

    def note(number, info, context):  # type: ignore[no-untyped-def]
        words = _words_at(address)
        count = words[0]
        if count < ROOM:
            words[count + 1] = context[place]
            words[0] = count + 1

    pointer = types.CPointer(types.int64)
    return numba.cfunc(types.void(types.int32, pointer, pointer), nogil=True)(note), notes


class InstructionSamples:
    """The sampler of this process."""

    def __init__(self) -> None:
        self._handler, notes = _handler()
        self._notes = memoryview(notes.data)  # whose numbers are read faster
        flags = _SIGINFO | _RESTART
        action = _Action(self._handler.address, (ctypes.c_ulong * 16)(), flags, None)
        self._before, self._set = _Action(), _sigaction()
        self._set(signal.SIGALRM, ctypes.byref(action), ctypes.byref(self._before))

    def for_kernel(self) -> InstructionSamples:
        """Return the sampler of one kernel, which is that of all."""
        return self

    def start(self) -> None:
        """Begin to sample, on the main thread; other threads are not sampled."""
        if _is_main():
            self._notes[0] = 0
            first = INTERVAL_SECONDS * random.uniform(0.001, 1.0)
            signal.setitimer(signal.ITIMER_REAL, first, INTERVAL_SECONDS)

    def stop(self) -> Mapping[int, int]:
        """End sampling; return the number of samples since the start by address."""
        if not _is_main():
            return {}
        signal.setitimer(signal.ITIMER_REAL, 0)
        count = self._notes[0]
        return Counter(self._notes[1 : count + 1].tolist()) if count else {}

    def close(self) -> None:
        """Give the signal back."""
        self._set(signal.SIGALRM, ctypes.byref(self._before), None)


def can_sample() -> bool:
    """Return whether this system can sample, and nobody else uses the signal and its timer."""
    known = sys.platform == "linux" and platform.machine() in PLACES
    return (
        known
        and sys.maxsize > 1 << 32
        and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL
        and not any(signal.getitimer(signal.ITIMER_REAL))
        and _is_main()
    )


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


@cache
def _sigaction() -> Callable[..., int]:
    return ctypes.CDLL(None).sigaction  # type: ignore[no-any-return]
