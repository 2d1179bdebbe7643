"""Compiled code that does not end. While it runs in the main thread, Python handles no signal, so a
run whose vertex function loops for ever could only be killed.

Python's own C handler writes each signal to a pipe at once; a thread reads it.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tux.base.signals import ENDING, is_handled_since

GRACE = 10.0
"""Seconds that compiled code may go on after a signal that asks to end."""

_POLL = 0.1
_TEXT = (
    "\nerror: compiled code goes on {} s after it was asked to end\n"
    "  a vertex function may loop for ever: look at its while loops; with --no-jit a debugger can "
    "stop in it\n"
)


@contextmanager
def end_by_signals() -> Iterator[None]:
    """End the process, during the body, with code 130 and a message if the main thread has not
    handled a signal of ENDING after GRACE seconds.

    Only the main thread may ask for this; in another one, nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    thread = threading.Thread(target=_watch, args=(reader,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        os.close(writer)  # the thread reads the end


def _watch(reader: int) -> None:
    with open(reader, "rb", buffering=0) as pipe:
        while number := pipe.read(1):
            if number[0] in ENDING and not _is_handled(number[0]):
                os.write(2, _TEXT.format(int(GRACE)).encode())
                os._exit(130)


def _is_handled(number: int) -> bool:
    """Return whether Python handles, within GRACE seconds, a signal that has just come."""
    came = time.monotonic()
    while time.monotonic() - came < GRACE:
        if is_handled_since(number, came - 1):
            return True
        time.sleep(_POLL)
    return False
