"""The message of a process that is ended by a signal while compiled code runs: most often, a vertex
function has written out of bounds, or a library could start no thread.

No Python can run then. The handler is a function that numba has compiled to call nothing but
``write``, ``signal`` and ``raise``.
"""

from __future__ import annotations

import ctypes
import faulthandler
import signal
from typing import Any

import numpy as np
from numba import cfunc, types
from numba.core.ccallback import CFunc

from tux.base.compiled import add_disk_cache

CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)
"""Signals by which compiled code dies that reads or writes where it should not."""

BOUNDS = "a vertex function may have read or written out of bounds: try the same with --check"

LIBRARY = (
    "a library has ended it, perhaps as it could start no thread or had no memory: allow more, as "
    f"by ulimit -u, ulimit -v or TasksMax of a service; else {BOUNDS}"
)
"""The advice where a process has aborted itself, which libraries in C do; so does the C library
where its own memory was written to.
"""


def crash_advice(number: int) -> str:
    """Return what to do about a process that one of the `CRASHES` has ended."""
    return LIBRARY if number == signal.SIGABRT else BOUNDS


def _text(number: int) -> np.ndarray:
    words = f"\nerror: the process crashed\n  {crash_advice(number)}\n"
    return np.frombuffer(words.encode(), np.uint8)


_ABORT, _ABORTED, _CRASHED = int(signal.SIGABRT), _text(signal.SIGABRT), _text(signal.SIGSEGV)
_STANDARD_ERROR, _DEFAULT = 2, 0
_write = types.ExternalFunction("write", types.intp(types.int32, types.intp, types.intp))
_signal = types.ExternalFunction("signal", types.intp(types.int32, types.intp))
_raise = types.ExternalFunction("raise", types.int32(types.int32))


def _last_words(number):  # type: ignore[no-untyped-def]
    if number == _ABORT:
        _write(_STANDARD_ERROR, _ABORTED.ctypes.data, len(_ABORTED))
    else:
        _write(_STANDARD_ERROR, _CRASHED.ctypes.data, len(_CRASHED))
    _signal(number, _DEFAULT)
    _raise(number)


_kept: list[Any] = []  # the handler, which numba would free


def advise_on_crash() -> None:
    """Make a crash of this process end with advice on standard error, from now on, and with its
    signal as before.

    Nothing is changed where Python's own `faulthandler` is at work. Takes some milliseconds once
    numba is loaded.
    """
    if faulthandler.is_enabled():
        return
    handler = add_disk_cache(CFunc(_last_words, ((types.int32,), types.void), {}, {}), _last_words)
    try:
        handler.compile()
    except OSError:  # the disk of the cache is full
        handler = cfunc("void(int32)")(_last_words)
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    for number in CRASHES:
        libc.signal(number, handler.address)
    _kept.append(handler)
