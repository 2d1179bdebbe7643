"""The message of a process that is ended by a signal while compiled code runs: most often, a vertex
function has written out of bounds.

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

ADVICE = "a vertex function may have read or written out of bounds: try the same with --check"

_TEXT = np.frombuffer(f"\nerror: the process crashed\n  {ADVICE}\n".encode(), np.uint8)
_STANDARD_ERROR, _DEFAULT = 2, 0
_write = types.ExternalFunction("write", types.intp(types.int32, types.intp, types.intp))
_signal = types.ExternalFunction("signal", types.intp(types.int32, types.intp))
_raise = types.ExternalFunction("raise", types.int32(types.int32))


def _last_words(number):  # type: ignore[no-untyped-def]
    _write(_STANDARD_ERROR, _TEXT.ctypes.data, len(_TEXT))
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
