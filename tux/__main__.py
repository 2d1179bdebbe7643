"""``python -m tux``, and the command ``tux``.

The command line imports numpy and more, which takes some tenths of a second. A signal to end that
comes meanwhile would show where in these imports it came; so handlers are set before them.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

NUMBERS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
"""Signals that ask to end, as `tux.base.signals` has them; to import it takes time already."""


def main() -> int:
    """Run the command line (`tux.cli.main`), and return its exit code: 130 after a signal to end,
    also before it can handle one itself.
    """
    before = {number: signal.getsignal(number) for number in NUMBERS}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _leave)
    from tux.base.errors import TuxError
    from tux.base.limits import check_command

    try:
        check_command()
        from tux.cli.main import main as command

        return command()
    except TuxError as error:
        os.write(2, f"error: {error.what}\n  {error.do}\n".encode())
        return error.exit_code
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, frame: FrameType | None) -> None:
    """End at once: nothing has begun. An exception might be dropped by an import."""
    try:
        os.write(2, b"error: interrupted\n")
    finally:
        os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
