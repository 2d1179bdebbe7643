"""Standard output and error that cannot be written to: closed before the command began, on a full
disk, or in an encoding that lacks a character.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from tux.base.disk import disk_error


def open_missing() -> None:
    """Let what is written to a stream vanish if it was closed before the command began (``>&-``).

    In this order each gets its usual number, so that no file which is opened later becomes one of
    them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def escape_unknown() -> None:
    """Let standard output and error write a character that their encoding lacks as Python does in
    source, such as \\xe7: an id of any language must not end a command within its results.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def results() -> Iterator[None]:
    """Turn an OSError about standard output into a DiskError; what is still in its buffer is lost.

    A reader that has left (``| head``) remains a BrokenPipeError.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        discard()
        raise disk_error("standard output", error) from error


def discard(stream: TextIO | None = None) -> None:
    """Let what is written to a stream, by default standard output, vanish, and what its buffer
    still holds.
    """
    with suppress(OSError, ValueError):  # no file, as in a notebook
        os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def tell(text: str) -> None:
    """Write to standard error. If that fails, there is nobody to tell it to."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # what its buffer holds would change the exit code when Python ends
        discard(sys.stderr)
