"""Meanings of choices: a parameter whose choices are functions, or NamedTuples of functions and
numbers, is such a thing in functions on rows: ``p.loss.slope(y, m)``. In compiled code it is known
when the kernel is compiled, so a call through it is inlined as any other.
"""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.datamodel.models import OpaqueModel
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import register_model


class MeaningType(types.Type):
    """A NamedTuple of functions that numba knows, and of numbers, without a value at run time."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        super().__init__(f"{type(thing).__name__} ({', '.join(thing._fields)})")

    @property
    def key(self) -> Any:
        """The values by which numba compares types: kinds and values of the members."""
        return tuple((type(each), each) for each in self.thing)


@register_model(MeaningType)
class _MeaningModel(OpaqueModel):
    pass


@infer_getattr
class _MeaningAttributes(AttributeTemplate):
    key = MeaningType

    def generic_resolve(self, typ: MeaningType, attr: str) -> types.Type | None:
        if attr not in typ.thing._fields:
            return None
        found: types.Type = self.context.resolve_value_type(getattr(typ.thing, attr))
        return found


@lower_getattr_generic(MeaningType)
def _load_member(context: Any, builder: Any, typ: MeaningType, value: Any, attr: str) -> Any:
    member = getattr(typ.thing, attr)
    return context.get_constant_generic(
        builder, context.typing_context.resolve_value_type(member), member
    )
