"""The one way in which functions of tux that are not generated become machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` in machine code: no GIL, no bounds checks, kept between runs, the same result on
    every machine (no fast-math).

    Where no folder can be written, code is compiled anew in every process; that is slower, never an
    error.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # numba found no place for its cache
        return njit(**options)(function)  # type: ignore[no-any-return]
