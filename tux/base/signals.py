"""Signals that ask a run to end or to pause, as the process that the user started handles them.

Ctrl-C, SIGTERM (from a scheduler or `kill`) and SIGHUP (the terminal was closed) all end a run in
the same way: KeyboardInterrupt is raised, and the command ends with exit code 130. Training that
can keep its results ends by itself at the first one (`defer_ending`). A signal that was ignored
when the command started, as SIGHUP is under nohup, stays ignored.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Signals that ask a run to end."""

IMPATIENT = 0.5
"""Seconds in which a second signal to end is the same wish as the first, which is under way."""

_deferred: list[FirstSignal] = []  # one entry for each body of `defer_ending`
_received: list[int] = []  # signals of ENDING that have come since `handle_ending` began
_raised = [float("-inf")]  # time at which one of them last raised KeyboardInterrupt
_handled = [float("-inf")]  # time at which one of them was last handled
_terminated: list[int] = []  # signals that have come and ask the whole process to end
_noting: list[None] = []  # the bodies of `note_ending` that are under way


class FirstSignal:
    """The time of the first signal to end within the body of `defer_ending`; None as long as
    none has come.
    """

    def __init__(self) -> None:
        self.moment: float | None = None

    def seconds(self) -> float | None:
        """Return the seconds since a signal has asked to end; None if none has."""
        return None if self.moment is None else time.monotonic() - self.moment


@contextmanager
def defer_ending() -> Iterator[FirstSignal]:
    """Only note the first signal to end during the body, so that the body can come to an end that
    keeps its results. A second signal raises KeyboardInterrupt.
    """
    restore, noted = handle_ending(), FirstSignal()
    _deferred.append(noted)
    try:
        yield noted
    finally:
        _deferred.remove(noted)
        restore()


@contextmanager
def pass_on_termination() -> Iterator[None]:
    """End the process after the body if SIGTERM or SIGHUP came during it: by the handler that was
    there before, or, if there was none, by SystemExit with code 143 or 129. Unlike Ctrl-C, these
    signals are not meant for one run alone, after which a script might go on with incomplete
    results.
    """
    _terminated.clear()
    try:
        yield
    finally:
        number = _terminated[-1] if _terminated else None
        _terminated.clear()
        handler = number and signal.getsignal(number)
        if number and handler is signal.SIG_DFL:
            raise SystemExit(128 + number)
        if number and handler is not _interrupt:
            signal.raise_signal(number)


def handle_ending() -> Callable[[], None]:
    """Make the signals of ENDING raise KeyboardInterrupt from now on. Returns the function that
    restores the handlers.

    Only the main thread may set handlers; called in another thread, this does nothing.
    """
    before: dict[int, object] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number in ENDING}
    outermost = bool(before) and _interrupt not in before.values()
    if outermost:
        _raised[0] = float("-inf")
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _interrupt)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if outermost:  # later code in this process was not asked to end
            _received.clear()

    return restore


def _interrupt(number: int, frame: FrameType | None) -> None:
    _handled[0] = time.monotonic()
    if number != signal.SIGINT:
        _terminated.append(number)
    if _deferred:
        first = _deferred[-1].seconds()
        if first is None:
            _deferred[-1].moment = time.monotonic()
        if first is None or first < IMPATIENT:
            return
    _received.append(number)
    if not _noting and time.monotonic() - _raised[0] >= IMPATIENT:
        _raised[0] = time.monotonic()
        raise KeyboardInterrupt


def resend_signal() -> None:
    """Send the main thread the last signal once more, as the exception that it raised was
    dropped.
    """
    main = threading.main_thread().ident
    assert main is not None
    _raised[0] = float("-inf")
    signal.pthread_kill(main, last_signal() or signal.SIGINT)


def last_signal() -> int | None:
    """Return the last signal that asked to end; None if there is none.

    Python drops an exception that a handler raises in a destructor or in a callback of the
    compiler; so code that waits in a loop asks this too.
    """
    return _received[-1] if _received else None


def check_ending_since(moment: float) -> None:
    """Raise KeyboardInterrupt if a signal has asked to end since a moment of `time.monotonic`,
    whatever became of it.
    """
    if _handled[0] >= moment:
        raise KeyboardInterrupt


def is_handled_since(number: int, moment: float) -> bool:
    """Return whether a signal has been handled since a moment of `time.monotonic`; True also if
    another module handles it.
    """
    return _handled[0] >= moment or signal.getsignal(number) is not _interrupt


def check_ending() -> None:
    """Raise KeyboardInterrupt if a signal has asked to end."""
    if _received:
        raise KeyboardInterrupt


@contextmanager
def ignore_ending() -> Iterator[None]:
    """Ignore the signals of ENDING during the body: a second Ctrl-C must not stop the clean-up
    after the first.

    Handlers that the body sets itself are kept.
    """
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ENDING if main}
    try:
        yield
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)


@contextmanager
def note_ending() -> Iterator[None]:
    """Keep a signal to end during the body from interrupting it. The signal is not lost:
    `check_ending` raises it afterwards, or `defer_ending` notes it.
    """
    _noting.append(None)
    try:
        yield
    finally:
        _noting.pop()


@contextmanager
def hold_ctrl_c() -> Iterator[None]:
    """Hold the first Ctrl-C during the body, and handle it afterwards. This is for imports, which
    leave large libraries half there when they are interrupted. Another Ctrl-C, after IMPATIENT
    seconds, is handled at once, as an import may hang.

    Only the main thread handles signals; in another one, and where Python handles no Ctrl-C, this
    does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[float] = []

    def hold(number: int, frame: FrameType | None) -> None:
        came.append(time.monotonic())
        if came[-1] - came[0] >= IMPATIENT:
            came.clear()
            before(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is hold:  # one that the body has set stays
            signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextmanager
def handle_pause(pause: Callable[[], None], resume: Callable[[], None]) -> Iterator[None]:
    """Handle Ctrl-Z (SIGTSTP) during the body: call `pause`, stop this process, and call `resume`
    when it is continued.

    The shell continues it on `fg` or `bg`. Where no shell could continue it (its process group is
    orphaned), the system does not stop it, and `resume` is called at once.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGTSTP"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        pause()
        try:
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            # takes effect before it returns
            signal.pthread_kill(threading.get_ident(), signal.SIGTSTP)
            signal.signal(signal.SIGTSTP, stop)
        finally:
            resume()

    before = signal.getsignal(signal.SIGTSTP)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
