"""Small functions that become part of the kernels that call them: to pass them their arrays
would take longer than they run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def inline_njit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for the use of `cached_njit` ones alone, which keep its machine code with
    theirs; same rules of arithmetic.
    """
    return njit(forceinline=True, nogil=True, error_model="numpy")(function)  # type: ignore[no-any-return]
