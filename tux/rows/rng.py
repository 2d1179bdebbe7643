"""`rng` in a UDF: a random stream whose numbers depend on (seed, stage, epoch, the ids of what the
UDF is called on, counter) alone.

The stream is SplitMix64 with its state in a one-element array that the kernel sets anew before each
call of the UDF, so which worker calls it, and in which order, does not matter. Methods:
``rng.uniform()`` in [0, 1), ``rng.normal()``, ``rng.below(n)`` in 0..n-1.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.datamodel.models import StructModel
from numba.extending import intrinsic, overload_method, register_model
from numba.np.arrayobj import make_array

from tux.base.linked import linked_njit

_MASK = (1 << 64) - 1
_GOLDEN, _M1, _M2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class Stream:
    """A stream in plain Python, number for number the compiled one. `state` is an array (1,)
    uint64.
    """

    def __init__(self, state: np.ndarray) -> None:
        self.state = state

    def bits(self) -> int:
        """Return the next 64 random bits."""
        now = (int(self.state[0]) + _GOLDEN) & _MASK
        self.state[0] = now
        return _mix(now)

    def uniform(self) -> float:
        """Return the next number in [0, 1), with 53 random bits."""
        return (self.bits() >> 11) * 2.0**-53

    def normal(self) -> float:
        """Return the next standard normal number (Box-Muller, two uniforms)."""
        u, v = self.uniform(), self.uniform()
        return math.sqrt(-2.0 * math.log1p(-u)) * math.cos(2.0 * math.pi * v)

    def below(self, n: int) -> int:
        """Return the next integer in 0..n-1; for n far below 2^53 the bias is below 2^-53 n."""
        return int(self.uniform() * n)


def _mix(z: int) -> int:
    z = ((z ^ (z >> 30)) * _M1) & _MASK
    z = ((z ^ (z >> 27)) * _M2) & _MASK
    return z ^ (z >> 31)


def seed_stream(state: np.ndarray, key: np.uint64, a: int, b: int) -> None:
    """Start the stream of the pair of ids (a, b) under `key`; for a vertex alone, a = b."""
    first = _mix((int(key) + (int(a) + 1) * _GOLDEN) & _MASK)
    state[0] = _mix((first + (int(b) + 1) * _GOLDEN) & _MASK)


class StreamType(types.Type):
    """`rng` in compiled code: the address of the state."""

    def __init__(self) -> None:
        super().__init__("rng")


@register_model(StreamType)
class _StreamModel(StructModel):
    def __init__(self, dmm: Any, fe_type: StreamType) -> None:
        super().__init__(dmm, fe_type, [("state", types.CPointer(types.uint64))])


@intrinsic
def compiled_stream(typingctx: Any, state: Any) -> Any:
    """Make in a kernel the stream whose state is the array `state` (1,) uint64."""
    typ = StreamType()

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        struct = cgutils.create_struct_proxy(typ)(context, builder)
        struct.state = make_array(sig.args[0])(context, builder, value=args[0]).data
        return struct._getvalue()

    return typ(state), codegen


@intrinsic
def _advance(typingctx: Any, rng: Any) -> Any:
    """Add the golden number to the state and return it."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        address = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).state
        now = builder.add(builder.load(address), context.get_constant(types.uint64, _GOLDEN))
        builder.store(now, address)
        return now

    return types.uint64(rng), codegen


@linked_njit(forceinline=True)
def _compiled_mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_M1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_M2)
    return z ^ (z >> np.uint64(31))


@linked_njit(forceinline=True)
def compiled_seed_stream(state, key, a, b):  # type: ignore[no-untyped-def]
    """Start a stream as `seed_stream` does, compiled."""
    first = _compiled_mix(np.uint64(key) + np.uint64(a + 1) * np.uint64(_GOLDEN))
    state[0] = _compiled_mix(first + np.uint64(b + 1) * np.uint64(_GOLDEN))


@overload_method(StreamType, "uniform", inline="always")
def _uniform(rng):  # type: ignore[no-untyped-def]
    return lambda rng: np.float64(_compiled_mix(_advance(rng)) >> np.uint64(11)) * 2.0**-53


@overload_method(StreamType, "normal")
def _normal(rng):  # type: ignore[no-untyped-def]
    def normal(rng):  # type: ignore[no-untyped-def]
        u = rng.uniform()
        v = rng.uniform()
        return math.sqrt(-2.0 * math.log1p(-u)) * math.cos(2.0 * math.pi * v)

    return normal


@overload_method(StreamType, "below")
def _below(rng, n):  # type: ignore[no-untyped-def]
    return lambda rng, n: np.int64(rng.uniform() * n)
