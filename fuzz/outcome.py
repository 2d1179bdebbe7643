"""The outcome of one input, and whether it may be: a value, or an error of tux in one line for each
of what, where and what to do.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tux.base.errors import TuxError
from tux.base.text import LONGEST

ROOT = Path(__file__).parent.parent


class InputFault(NamedTuple):
    """An outcome that may not be: its kind, which is the same for all inputs that show one fault,
    and all that is known of it.
    """

    kind: str
    detail: str


def fault_of(read: Callable[[bytes], object], content: bytes) -> InputFault | None:
    """Return the fault in the outcome of an input, if there is one."""
    try:
        read(content)
    except TuxError as error:
        if why := fault_in_words(error):
            return InputFault(f"{why} {_place(error)}", "".join(traceback.format_exception(error)))
    except Exception as error:  # all that a user would see as a traceback
        kind = f"{type(error).__name__} {_place(error)}"
        return InputFault(kind, "".join(traceback.format_exception(error)))
    return None


def fault_in_words(error: TuxError) -> str:
    """Return what is wrong with the words of an error, or ""."""
    if not error.what.strip():
        return "an error without words"
    for name, line in (("what", error.what), ("where", error.where), ("do", error.do)):
        if len(line.splitlines()) > 1:
            return f"several lines ({name})"
        if len(line) > LONGEST:
            return f"a line of over {LONGEST:,} characters ({name})"
    try:
        str(error).encode()
    except UnicodeEncodeError:
        return "text that is no Unicode"
    return ""


def _place(error: BaseException) -> str:
    """Return the last line of this repository that an error has passed."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(str(ROOT)) and "/.venv/" not in frame.filename
    ]
    if not frames:
        return "at an unknown place"
    return f"at {Path(frames[-1].filename).resolve().relative_to(ROOT)}:{frames[-1].lineno}"
