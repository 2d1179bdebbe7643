"""The largest or the smallest value with its key: what an `argmax` or `argmin` total is in UDFs.

    tau.far.add(distance, v.id)    keeps the larger value; of equal values the smaller key
    tau.far.value, tau.far.key     -inf (of argmin: inf) and -1 as long as nothing is added
    tau.far[g].add(distance, v.id) of several, that of index g

In memory it is two float64, both infinite at the start; so keys are exact up to 2**53. In compiled
code it is a numba type of its own that holds the address of the two. NaN is never kept.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
from numba.core import cgutils, types
from numba.core.datamodel.models import StructModel
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload, overload_attribute, overload_method, register_model


def assignment_message(name: str) -> str:
    """Return the message for a UDF that assigns to a field of this name."""
    return f"{name} cannot be assigned: write {name}.add(value, key)"


class Extreme:
    """The plain counterpart of one value with its key: `entry` (2,) float64 has both; `largest`: of
    an argmax.
    """

    __slots__ = ("_entry", "_largest")

    def __init__(self, entry: Any, *, largest: bool) -> None:
        self._entry, self._largest = entry, largest

    @property
    def value(self) -> float:
        """The value kept."""
        return float(self._entry[0])

    @property
    def key(self) -> int:
        """Its key, -1 if there is none."""
        return -1 if math.isinf(self._entry[1]) else int(self._entry[1])

    def add(self, value: float, key: int) -> None:
        """Keep `value` and `key` if they are better than what is kept."""
        key = operator.index(key)  # TypeError for a float
        held, better = self._entry[0], operator.gt if self._largest else operator.lt
        if better(value, held) or value == held and key < self.key:
            self._entry[0], self._entry[1] = value, key


class Extremes:
    """The plain counterpart of several: `entries` (n, 2)."""

    __slots__ = ("_entries", "_largest")

    def __init__(self, entries: Any, *, largest: bool) -> None:
        self._entries, self._largest = entries, largest

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, i: int) -> Extreme:
        return Extreme(self._entries[operator.index(i)], largest=self._largest)

    @property
    def values(self) -> np.ndarray:
        """All values kept, (n,)."""
        return np.array(self._entries[:, 0])

    @property
    def keys(self) -> np.ndarray:
        """Their keys, (n,) int64, -1 where there is none."""
        keys = self._entries[:, 1]
        return np.where(np.isinf(keys), -1, keys).astype(np.int64)


def plain_extreme(entry: Any, *, largest: bool) -> Extreme | Extremes:
    """Return the object that a UDF in plain Python gets for an entry (2,) or (n, 2)."""
    return (Extreme if np.ndim(entry) == 1 else Extremes)(entry, largest=largest)


class ExtremeType(types.Type):
    """The address of a value and its key. `name`: the field's, for messages."""

    def __init__(self, name: str, *, largest: bool, writable: bool) -> None:
        self.largest, self.writable = largest, writable
        super().__init__(f"{name} ({'argmax' if largest else 'argmin'})")

    @property
    def key(self) -> Any:
        """The values by which numba compares these types; the name is for messages, too."""
        return self.name, self.largest, self.writable


@register_model(ExtremeType)
class _ExtremeModel(StructModel):
    def __init__(self, dmm: Any, fe_type: ExtremeType) -> None:
        super().__init__(dmm, fe_type, [("at", types.CPointer(types.float64))])


class ExtremesType(types.Type):
    """The address of several values with their keys, and how many they are. `each`: the type of
    one of them.
    """

    def __init__(self, each: ExtremeType) -> None:
        self.each = each
        super().__init__(f"several of {each}")

    @property
    def key(self) -> Any:
        """The values by which numba compares these types."""
        return self.each.key


@register_model(ExtremesType)
class _ExtremesModel(StructModel):
    def __init__(self, dmm: Any, fe_type: ExtremesType) -> None:
        members = [("at", types.CPointer(types.float64)), ("length", types.intp)]
        super().__init__(dmm, fe_type, members)


@intrinsic
def _entry_at(typingctx: Any, extremes: Any, index: Any) -> Any:
    """Return the value and key of an index from 0."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        several = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
        one = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        entry = builder.mul(args[1], context.get_constant(types.intp, 2))
        one.at = builder.gep(several.at, [entry], inbounds=True)
        return one._getvalue()

    return extremes.each(extremes, types.intp), codegen


@intrinsic
def _length(typingctx: Any, extremes: Any) -> Any:
    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).length

    return types.intp(extremes), codegen


@overload(len)
def _len(extremes):  # type: ignore[no-untyped-def]
    if isinstance(extremes, ExtremesType):
        return lambda extremes: _length(extremes)
    return None


@overload(operator.getitem)
def _getitem(extremes, index):  # type: ignore[no-untyped-def]
    if not isinstance(extremes, ExtremesType) or not isinstance(index, types.Integer):
        return None

    def one(extremes, index):  # type: ignore[no-untyped-def]
        at = np.intp(index)
        return _entry_at(extremes, at if at >= 0 else at + _length(extremes))

    return one


@intrinsic
def _load(typingctx: Any, extreme: Any, number: Any) -> Any:
    """Return the value (0) or the key (1) as it is in memory."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).at
        return builder.load(builder.gep(at, [args[1]], inbounds=True))

    return types.float64(extreme, types.intp), codegen


@intrinsic
def _store(typingctx: Any, extreme: Any, value: Any, key: Any) -> Any:
    """Keep a value and its key."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        at = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).at
        for number, each in enumerate(args[1:]):
            place = context.get_constant(types.intp, number)
            builder.store(each, builder.gep(at, [place], inbounds=True))
        return context.get_dummy_value()

    return types.void(extreme, types.float64, types.float64), codegen


@overload_attribute(ExtremeType, "value")
def _value(extreme):  # type: ignore[no-untyped-def]
    return lambda extreme: _load(extreme, 0)


@overload_attribute(ExtremeType, "key")
def _key(extreme):  # type: ignore[no-untyped-def]
    def key(extreme):  # type: ignore[no-untyped-def]
        held = _load(extreme, 1)
        return -1 if math.isinf(held) else np.int64(held)

    return key


@overload_method(ExtremeType, "add")
def _add(extreme, value, key):  # type: ignore[no-untyped-def]
    if not extreme.writable:
        raise TypingError(f"{extreme.name} is read-only here")
    if not isinstance(key, types.Integer):
        raise TypingError(f"the key of {extreme.name} cannot be {key}: it is an integer")
    largest = extreme.largest

    def add(extreme, value, key):  # type: ignore[no-untyped-def]
        held = _load(extreme, 0)
        better = value > held if largest else value < held
        if better or value == held and key < _load(extreme, 1):
            _store(extreme, np.float64(value), np.float64(key))

    return add
