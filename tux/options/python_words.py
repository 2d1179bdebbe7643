"""Errors in the words of a Python program: options instead of flags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tux.base.disk import machine_error
from tux.base.errors import TuxError
from tux.base.text import flags_to_arguments
from tux.io.source.text import ADVICE
from tux.program.sources import error_in_method


@contextmanager
def in_python() -> Iterator[None]:
    """Make errors inside name the options as Python does, not the flags of the command line. Errors
    that the machine has caused, such as a lack of memory, become those of the command line, and
    errors from a method of a program, such as its `stages`, ProgramErrors.
    """
    try:
        yield
    except TuxError as error:
        error.what, error.do = _to_python_words(error.what), _to_python_words(error.do)
        raise
    except Exception as error:
        if found := machine_error(error) or error_in_method(error):
            raise found from error
        raise


def _to_python_words(text: str) -> str:
    """Write a message with arguments of Python instead of flags."""
    text = text.replace(ADVICE, 'Correct the data, or leave such rows out with on_bad_row="skip".')
    return flags_to_arguments(text)
