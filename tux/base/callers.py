"""Warnings of Python that name the line of the user, and no line of this package."""

from __future__ import annotations

import sys
import warnings

OWN = ("tux", "sklearn", "joblib", "contextlib")
"""Packages whose lines no warning names: they are not the user's. `tux.run` is decorated."""


def warn_caller(text: str, kind: type[Warning] = UserWarning) -> None:
    """A warning of Python, at the caller's line."""
    warnings.warn(text, kind, stacklevel=_outside())


def _outside() -> int:
    """The stack level, for a warning of the caller of this, of the first frame that is not of
    `OWN`.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        level, frame = level + 1, frame.f_back
    return level
