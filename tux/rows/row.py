"""Rows: how a UDF reads and writes vertices, edges and the context at the speed of a hand-written
loop.

A table is a tuple of plain arrays, one per field, each ``(n, *shape)`` and C-contiguous: struct of
arrays. A row is a small value made of the fields' addresses and an index; its attributes load,
store, or give a view. In compiled code a row is a numba type of its own whose views carry no
reference counts, so after inlining nothing of it is left but address arithmetic. `tux.rows.plain`
has the same rows in plain Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba.core import cgutils, types
from numba.core.datamodel.models import StructModel
from numba.core.errors import LoweringError
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model
from numba.np.arrayobj import make_array, populate_array

from tux.rows.extreme import ExtremesType, ExtremeType
from tux.rows.meanings import MeaningType
from tux.rows.table import RowSpec

# (name, element type, dimensions of one entry or RAGGED or one of EXTREMES; writable)
FieldTypes = tuple[tuple[str, types.Type, int, bool], ...]

RAGGED = -1
"""Stands for one dimension whose length differs from row to row."""

CODED, EQUAL = -6, -7
"""Stand for a number that a byte an entry tells, and for one that all rows have."""

EXTREMES = {("argmax", 2): -2, ("argmin", 2): -3, ("argmax", 3): -4, ("argmin", 3): -5}
"""Numbers that stand for a value and its key, and for several of them (`tux.rows.extreme`): by the
combination, and the dimensions of the array of all rows.
"""
LARGEST, SMALLEST, LARGEST_OF_EACH, SMALLEST_OF_EACH = EXTREMES.values()
EACH = (LARGEST_OF_EACH, SMALLEST_OF_EACH)


class RowType(types.Type):
    """One row of a table: per field an address and the lengths of an entry's dimensions, and the
    row's index. `visible` names all fields that a UDF may ask for, those that no UDF uses too.
    `changing`: read-only fields that the kernel changes by other rows; `unused`: those that its
    UDFs do not use by this row.
    """

    def __init__(
        self,
        table: str,
        fields: FieldTypes,
        visible: str,
        changing: tuple[str, ...] = (),
        unused: tuple[str, ...] = (),
    ) -> None:
        self.table, self.fields, self.visible = table, fields, visible
        self.changing, self.unused = changing, unused
        super().__init__(f"{table} (fields: {visible})")

    @property
    def key(self) -> Any:
        """The values by which numba compares row types; the name, which users read, leaves out
        dtypes and dimensions.
        """
        return self.table, self.fields, self.visible, self.changing, self.unused


@register_model(RowType)
class _RowModel(StructModel):
    def __init__(self, dmm: Any, fe_type: RowType) -> None:
        members: list[tuple[str, types.Type]] = [("index", types.intp)]
        for name, element, ndim, _ in fe_type.fields:
            members.append((f"at_{name}", types.CPointer(element)))
            members += [(f"dim_{name}_{j}", types.intp) for j in range(_lengths(ndim))]
            if ndim == RAGGED:
                members.append((f"bounds_{name}", types.CPointer(types.int64)))
            if ndim == CODED:
                members.append((f"codes_{name}", types.CPointer(types.uint8)))
        super().__init__(dmm, fe_type, members)


class ParametersType(types.Type):
    """The program's parameters as one value: a struct of scalars. `meanings`: those whose choices
    are functions or NamedTuples, with the chosen one.
    """

    def __init__(
        self, fields: tuple[tuple[str, types.Type], ...], meanings: tuple[tuple[str, Any], ...]
    ) -> None:
        self.fields, self.meanings = fields, dict(meanings)
        names = [*(name for name, _ in fields), *self.meanings]
        super().__init__(f"parameters ({', '.join(names)})")

    @property
    def key(self) -> Any:
        """The values by which numba compares parameters' types: names and types, and meanings."""
        return self.fields, tuple(self.meanings.items())


@register_model(ParametersType)
class _ParametersModel(StructModel):
    def __init__(self, dmm: Any, fe_type: ParametersType) -> None:
        super().__init__(dmm, fe_type, list(fe_type.fields))


@infer_getattr
class _ParametersAttributes(AttributeTemplate):
    key = ParametersType

    def generic_resolve(self, typ: ParametersType, attr: str) -> types.Type | None:
        if attr not in typ.meanings:
            return dict(typ.fields).get(attr)
        return _type_of_meaning(self.context, typ.meanings[attr])


def _type_of_meaning(context: Any, meaning: Any) -> types.Type:
    """Return the type of a chosen NamedTuple or function."""
    if hasattr(meaning, "_fields"):
        return MeaningType(meaning)
    found: types.Type = context.resolve_value_type(meaning)
    return found


@lower_getattr_generic(ParametersType)
def _load_parameter(context: Any, builder: Any, typ: ParametersType, value: Any, attr: str) -> Any:
    if attr in typ.meanings:
        return context.get_dummy_value()
    return getattr(cgutils.create_struct_proxy(typ)(context, builder, value=value), attr)


def _lengths(ndim: int) -> int:
    """Return the number of lengths that a row keeps of a field with so many dimensions."""
    return 1 if ndim in EACH else max(ndim, 0)


def _extreme(typ: RowType, attr: str) -> ExtremeType | ExtremesType | None:
    """Return the type of a field that is a value with its key, or several; None for others."""
    for name, _, ndim, writable in typ.fields:
        if name == attr and ndim in EXTREMES.values():
            largest = ndim in (LARGEST, LARGEST_OF_EACH)
            one = ExtremeType(f"{typ.table}.{attr}", largest=largest, writable=writable)
            return ExtremesType(one) if ndim in EACH else one
    return None


@infer_getattr
class _RowAttributes(AttributeTemplate):
    key = RowType

    def generic_resolve(self, typ: RowType, attr: str) -> types.Type | None:
        for name, element, ndim, writable in typ.fields:
            if name == attr:
                if ndim in (0, CODED, EQUAL):
                    return element
                array = types.Array(element, abs(ndim), "C", readonly=not writable)
                return _extreme(typ, attr) or array
        return None


def _entry(
    context: Any, builder: Any, typ: RowType, row: Any, attr: str
) -> tuple[Any, types.Type, list[Any]]:
    """Emit code for the address of this row's entry of field `attr`; return it with the element
    type and the lengths.
    """
    element, ndim = next((element, ndim) for name, element, ndim, _ in typ.fields if name == attr)
    if ndim == RAGGED:
        bounds = getattr(row, f"bounds_{attr}")
        first, last = (
            builder.load(builder.gep(bounds, [at], inbounds=True))
            for at in (row.index, builder.add(row.index, row.index.type(1)))
        )
        return (
            builder.gep(getattr(row, f"at_{attr}"), [first], inbounds=True),
            element,
            [builder.sub(last, first)],
        )
    if ndim in (CODED, EQUAL):
        number = row.index.type(0)
        if ndim == CODED:
            code = builder.load(builder.gep(getattr(row, f"codes_{attr}"), [row.index]))
            number = builder.zext(code, number.type)
        return builder.gep(getattr(row, f"at_{attr}"), [number], inbounds=True), element, []
    shape = [getattr(row, f"dim_{attr}_{j}") for j in range(_lengths(ndim))]
    offset = row.index
    if ndim in EXTREMES.values():
        offset = builder.add(offset, offset)
    for length in shape:
        offset = builder.mul(offset, length)
    return builder.gep(getattr(row, f"at_{attr}"), [offset], inbounds=True), element, shape


@lower_getattr_generic(RowType)
def _load(context: Any, builder: Any, typ: RowType, value: Any, attr: str) -> Any:
    row = cgutils.create_struct_proxy(typ)(context, builder, value=value)
    address, element, shape = _entry(context, builder, typ, row, attr)
    if found := _extreme(typ, attr):
        pair = cgutils.create_struct_proxy(found)(context, builder)
        pair.at = address
        if shape:
            pair.length = shape[0]
        return pair._getvalue()
    if not shape:
        stored = builder.load(address)
        writable = next(writable for name, _, _, writable in typ.fields if name == attr)
        if not writable and attr not in typ.changing:
            # No kernel writes what its UDFs may only read: such loads may move out of loops, past
            # stores to other fields.
            stored.set_metadata("invariant.load", builder.module.add_metadata([]))
        return context.data_model_manager[element].from_data(builder, stored)
    itemsize = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(element))
    )
    strides = [itemsize]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    arrays = types.Array(element, len(shape), "C")
    view = make_array(arrays)(context, builder)
    populate_array(
        view, data=address, shape=shape, strides=strides, itemsize=itemsize, meminfo=None
    )
    return view._getvalue()


@lower_setattr_generic(RowType)
def _store(context: Any, builder: Any, sig: Any, args: Any, attr: str) -> None:
    typ, value_type = sig.args
    row = cgutils.create_struct_proxy(typ)(context, builder, value=args[0])
    address, element, shape = _entry(context, builder, typ, row, attr)
    if shape:
        raise LoweringError(
            f"{typ.table}.{attr} has several entries: assign to {typ.table}.{attr}[k]"
        )
    if not dict((name, writable) for name, _, _, writable in typ.fields)[attr]:
        raise LoweringError(f"{typ.table}.{attr} is read-only here")
    context.pack_value(
        builder, element, context.cast(builder, args[1], value_type, element), address
    )


def row_type(spec: RowSpec, arrays: types.BaseTuple) -> RowType:
    """Return the type of a row, whose arrays (n, *shape) have the numba tuple type `arrays`."""
    fields, pairs = [], dict(spec.pairs)
    for name, array in zip(spec.names, arrays, strict=True):
        several = isinstance(array, types.BaseTuple)
        values = array[0] if several else array
        paired = pairs.get(name, ""), values.ndim
        ndim = RAGGED if several else EXTREMES.get(paired, values.ndim - 1)
        if name in spec.coded:
            ndim = CODED if len(array) > 1 else EQUAL
        fields.append((name, values.dtype, ndim, values.mutable))
    return RowType(spec.table, tuple(fields), spec.visible, spec.changing, spec.unused)


def fill_row(
    context: Any, builder: Any, typ: RowType, arrays_type: Any, arrays: Any, index: Any
) -> Any:
    """Emit code for the struct of row `index`: addresses within the `arrays` of its fields."""
    row = cgutils.create_struct_proxy(typ)(context, builder)
    row.index = index
    for j, (name, _, ndim, _) in enumerate(typ.fields):
        kind, value = arrays_type[j], builder.extract_value(arrays, j)
        if ndim == RAGGED:
            bounds = make_array(kind[1])(context, builder, value=builder.extract_value(value, 1))
            setattr(row, f"bounds_{name}", bounds.data)
        if ndim == CODED:
            codes = make_array(kind[1])(context, builder, value=builder.extract_value(value, 1))
            setattr(row, f"codes_{name}", codes.data)
        if ndim in (RAGGED, CODED, EQUAL):
            kind, value = kind[0], builder.extract_value(value, 0)
        array = make_array(kind)(context, builder, value=value)
        setattr(row, f"at_{name}", array.data)
        shape = cgutils.unpack_tuple(builder, array.shape)
        for d in range(_lengths(ndim)):
            setattr(row, f"dim_{name}_{d}", shape[d + 1])
    return row


def _lane_address(context: Any, builder: Any, array: Any, lane: Any) -> Any:
    """Emit code for the address of entry `lane` along the first axis of an array with any
    strides.
    """
    byte, step = context.get_data_type(types.int8).as_pointer(), array.strides
    first = builder.extract_value(step, 0)
    at = builder.gep(builder.bitcast(array.data, byte), [builder.mul(lane, first)])
    return builder.bitcast(at, array.data.type)


def compiled_lane(spec: RowSpec) -> Any:
    """Return a function for kernels: ``lane(arrays, i)`` is the context in its copy i; each array
    has an axis of copies with a stride of its own (`tux.stages.kernel.lanes`).
    """

    @intrinsic
    def lane(typingctx: Any, arrays: Any, index: Any) -> Any:
        typ = row_type(spec, arrays)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            zero, at = (
                context.get_constant(types.intp, 0),
                context.cast(builder, args[1], sig.args[1], types.intp),
            )
            row = fill_row(context, builder, typ, sig.args[0], args[0], zero)
            for j, (name, *_) in enumerate(typ.fields):
                kind, value = sig.args[0][j], builder.extract_value(args[0], j)
                array = make_array(kind)(context, builder, value=value)
                setattr(row, f"at_{name}", _lane_address(context, builder, array, at))
            return row._getvalue()

        return typ(arrays, index), codegen

    return lane


def compiled_row(spec: RowSpec) -> Any:
    """Return a function for kernels: ``row(arrays, i)`` is row i of the table whose arrays come as
    a tuple in the order of the names.
    """

    @intrinsic
    def row(typingctx: Any, arrays: Any, index: Any) -> Any:
        typ = row_type(spec, arrays)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            at = context.cast(builder, args[1], sig.args[1], types.intp)
            return fill_row(context, builder, typ, sig.args[0], args[0], at)._getvalue()

        return typ(arrays, index), codegen

    return row


def compiled_parameters(names: Sequence[str], meanings: tuple[tuple[str, Any], ...] = ()) -> Any:
    """Return a function for kernels: ``parameters(values)`` makes `p` from a tuple of scalars in
    the order of `names`. `meanings`: names and meanings of the other parameters.
    """

    @intrinsic
    def parameters(typingctx: Any, values: Any) -> Any:
        typ = ParametersType(tuple(zip(names, values, strict=True)), meanings)

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            struct = cgutils.create_struct_proxy(typ)(context, builder)
            for j, name in enumerate(names):
                setattr(struct, name, builder.extract_value(args[0], j))
            return struct._getvalue()

        return typ(values), codegen

    return parameters
