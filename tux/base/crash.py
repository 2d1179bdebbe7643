"""The message of a process that is ended by a signal while compiled code runs: most often, a vertex
function has written out of bounds, or a library could start no thread.

No Python can run then. The handler is a function that numba has compiled to call nothing but
``write``, ``signal`` and ``raise``.
"""

from __future__ import annotations

import ctypes
import faulthandler
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cfunc, types
from numba.core.ccallback import CFunc

from tux.base.compiled import add_disk_cache
from tux.base.limits import is_short_of_addresses

CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)
"""Signals by which compiled code dies that reads or writes where it should not."""

BOUNDS = "a vertex function may have read or written out of bounds: try the same with --check"

LIBRARY = (
    "a library has ended it, perhaps as it could start no thread or had no memory: allow more, as "
    f"by ulimit -u, ulimit -v or TasksMax of a service; else {BOUNDS}"
)
"""The advice where a process has aborted itself, as libraries in C do, and the C library where its
own memory was written to; and wherever addresses are limited, by which libraries may crash.
"""


def crash_advice(number: int) -> str:
    """Return what to do about a process that one of the `CRASHES` has ended."""
    return LIBRARY if number == signal.SIGABRT or is_short_of_addresses() else BOUNDS


def _text(advice: str) -> np.ndarray:
    return np.frombuffer(f"\nerror: the process crashed\n  {advice}\n".encode(), np.uint8)


_OF_LIBRARY, _OF_BOUNDS = _text(LIBRARY), _text(BOUNDS)
_STANDARD_ERROR, _DEFAULT = 2, 0
_write = types.ExternalFunction("write", types.intp(types.int32, types.intp, types.intp))
_signal = types.ExternalFunction("signal", types.intp(types.int32, types.intp))
_raise = types.ExternalFunction("raise", types.int32(types.int32))


def _tell_of_library(number):  # type: ignore[no-untyped-def]
    _write(_STANDARD_ERROR, _OF_LIBRARY.ctypes.data, len(_OF_LIBRARY))
    _signal(number, _DEFAULT)
    _raise(number)


def _tell_of_bounds(number):  # type: ignore[no-untyped-def]
    _write(_STANDARD_ERROR, _OF_BOUNDS.ctypes.data, len(_OF_BOUNDS))
    _signal(number, _DEFAULT)
    _raise(number)


_kept: list[Any] = []  # the handlers, which numba would free


def advise_on_crash() -> None:
    """Make a crash of this process end with advice on standard error, from now on, and with its
    signal as before.

    Nothing is changed where Python's own `faulthandler` is at work. Takes some milliseconds once
    numba is loaded.
    """
    if faulthandler.is_enabled():
        return
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    handlers = {LIBRARY: _compile(_tell_of_library), BOUNDS: _compile(_tell_of_bounds)}
    for number in CRASHES:
        libc.signal(number, handlers[crash_advice(number)].address)
    _kept.extend(handlers.values())


def _compile(function: Callable[[int], None]) -> Any:
    """Compile a handler of a signal."""
    handler = add_disk_cache(CFunc(function, ((types.int32,), types.void), {}, {}), function)
    try:
        handler.compile()
    except OSError:  # the disk of the cache is full
        return cfunc("void(int32)")(function)
    return handler
