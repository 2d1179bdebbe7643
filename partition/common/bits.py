"""Bits of a machine word, by the processor's own instruction."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def lowest(context: Any, word: Any) -> Any:
    """Return the number of the lowest bit that is set in `word`, a uint64 other than 0; int64. For
    compiled code only.
    """

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.int64(types.uint64), emit
