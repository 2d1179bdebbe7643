"""The local edges of one vertex, for per-vertex UDFs: ``for edge in edges: ... edge.item.q[k] ...
edge.value``.

`edges` is an indexable slice with a length. Its elements give the edge's own fields and, under the
other end's name, that end's row. Like rows, both are small values of numba types of their own;
nothing is allocated. `others`, for per-edge UDFs, are such a slice, of a tile.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel.models import StructModel
from numba.core.imputils import (
    RefType,
    iternext_impl,
    lower_builtin,
    lower_getattr_generic,
    lower_setattr_generic,
)
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import intrinsic, register_model
from numba.np.arrayobj import make_array

from tux.rows.row import RAGGED, RowType, fill_row, row_type
from tux.rows.table import RowSpec


class NeighbourType(types.Type):
    """One edge seen from the enumerated vertex: the edge's row, and the other end's row under
    the name `role`.
    """

    def __init__(self, role: str, edge: RowType, other: RowType) -> None:
        self.role, self.edge, self.other = role, edge, other
        super().__init__(f"edge of {edge.name} to {role}: {other.name}")

    @property
    def key(self) -> Any:
        """The values by which numba compares these types: the role and both rows' types."""
        return self.role, self.edge, self.other


@register_model(NeighbourType)
class _NeighbourModel(StructModel):
    def __init__(self, dmm: Any, fe_type: NeighbourType) -> None:
        super().__init__(dmm, fe_type, [("edge", fe_type.edge), ("other", fe_type.other)])


@infer_getattr
class _NeighbourAttributes(AttributeTemplate):
    key = NeighbourType

    def generic_resolve(self, typ: NeighbourType, attr: str) -> types.Type | None:
        if attr == typ.role:
            return typ.other
        return self.context.resolve_getattr(typ.edge, attr)


@lower_getattr_generic(NeighbourType)
def _neighbour_attribute(
    context: Any, builder: Any, typ: NeighbourType, value: Any, attr: str
) -> Any:
    neighbour = cgutils.create_struct_proxy(typ)(context, builder, value=value)
    if attr == typ.role:
        return neighbour.other
    return context.get_getattr(typ.edge, attr)(context, builder, typ.edge, neighbour.edge, attr)


class EdgesType(types.IterableType):
    """The slice lo..hi of a layout: edges of one vertex. `direct`: positions are edge indices,
    otherwise an index lies between.
    """

    def __init__(self, neighbour: NeighbourType, end: types.Type, index: types.Type | None) -> None:
        self.neighbour, self.end, self.index = neighbour, end, index
        super().__init__(f"edges({neighbour.name}, {end}, {index})")

    @property
    def key(self) -> Any:
        """The values by which numba compares these types: the neighbour's type and those of the
        layout's arrays.
        """
        return self.neighbour, self.end, self.index

    @property
    def iterator_type(self) -> _EdgesIteratorType:
        """The type that numba iterates with."""
        return _EdgesIteratorType(self)


@register_model(EdgesType)
class _EdgesModel(StructModel):
    def __init__(self, dmm: Any, fe_type: EdgesType) -> None:
        ends = [
            ("ends", types.CPointer(fe_type.end)),
            ("index", types.CPointer(fe_type.index or types.intp)),
        ]
        rows = [("edge", fe_type.neighbour.edge), ("other", fe_type.neighbour.other)]
        super().__init__(dmm, fe_type, [*ends, *rows, ("lo", types.intp), ("hi", types.intp)])


class _EdgesIteratorType(types.SimpleIteratorType):
    def __init__(self, edges: EdgesType) -> None:
        self.edges = edges
        super().__init__(f"iter({edges.name})", edges.neighbour)

    @property
    def key(self) -> Any:
        """The value by which numba compares iterators' types: the type of the slice that they
        iterate over.
        """
        return self.edges


@register_model(_EdgesIteratorType)
class _EdgesIteratorModel(StructModel):
    def __init__(self, dmm: Any, fe_type: _EdgesIteratorType) -> None:
        super().__init__(
            dmm,
            fe_type,
            [("position", types.EphemeralPointer(types.intp)), ("edges", fe_type.edges)],
        )


def compiled_edges(edge: RowSpec, role: str, other: RowSpec) -> Any:
    """Return a function for kernels: ``edges(edge_arrays, other_arrays, ends, index, lo, hi,
    first)``; `index` is () when positions are edge indices; `ends` count from the row `first`.
    """

    @intrinsic
    def edges(
        typingctx: Any,
        edge_arrays: Any,
        other_arrays: Any,
        ends: Any,
        index: Any,
        lo: Any,
        hi: Any,
        first: Any,
    ) -> Any:
        neighbour = NeighbourType(
            role,
            row_type(edge, edge_arrays),
            row_type(other, other_arrays),
        )
        typ = EdgesType(
            neighbour, ends.dtype, index.dtype if isinstance(index, types.Array) else None
        )

        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            zero = context.get_constant(types.intp, 0)
            begin = context.cast(builder, args[6], sig.args[6], types.intp)
            struct = cgutils.create_struct_proxy(typ)(context, builder)
            struct.edge = fill_row(
                context, builder, neighbour.edge, sig.args[0], args[0], zero
            )._getvalue()
            struct.other = fill_row(
                context, builder, neighbour.other, sig.args[1], args[1], begin
            )._getvalue()
            struct.ends = make_array(sig.args[2])(context, builder, value=args[2]).data
            if typ.index is not None:
                struct.index = make_array(sig.args[3])(context, builder, value=args[3]).data
            struct.lo = context.cast(builder, args[4], sig.args[4], types.intp)
            struct.hi = context.cast(builder, args[5], sig.args[5], types.intp)
            return struct._getvalue()

        return typ(edge_arrays, other_arrays, ends, index, lo, hi, first), codegen

    return edges


def _with_index(context: Any, builder: Any, typ: RowType, value: Any, index: Any) -> Any:
    row = cgutils.create_struct_proxy(typ)(context, builder, value=value)
    row.index = index
    return row._getvalue()


def _end(context: Any, builder: Any, typ: EdgesType, edges: Any, position: Any) -> Any:
    """Emit code for the row of the other end at absolute `position` of the layout."""
    at = builder.load(builder.gep(edges.ends, [position]))
    other = cgutils.create_struct_proxy(typ.neighbour.other)(context, builder, value=edges.other)
    return builder.add(other.index, context.cast(builder, at, typ.end, types.intp))


def _neighbour(context: Any, builder: Any, typ: EdgesType, edges: Any, position: Any) -> Any:
    """Emit code for the neighbour at absolute `position` of the layout; return its value."""
    at = position
    if typ.index is not None:
        at = context.cast(
            builder, builder.load(builder.gep(edges.index, [position])), typ.index, types.intp
        )
    end = _end(context, builder, typ, edges, position)
    neighbour = cgutils.create_struct_proxy(typ.neighbour)(context, builder)
    neighbour.edge = _with_index(context, builder, typ.neighbour.edge, edges.edge, at)
    neighbour.other = _with_index(context, builder, typ.neighbour.other, edges.other, end)
    return neighbour._getvalue()


FETCHED = (0, 64)
"""Bytes from the start of a list whose cache lines are fetched ahead."""


def _fetch_lists(context: Any, builder: Any, typ: EdgesType, edges: Any, position: Any) -> None:
    """Emit code that fetches into the cache the first entries of the lists that UDFs use of the
    neighbour at `position`. Lists lie anywhere in memory, and UDFs branch by what they read there,
    so the processor cannot run ahead.
    """
    other = typ.neighbour.other
    ragged = [
        name for name, _, ndim, _ in other.fields if ndim == RAGGED and name not in other.unused
    ]
    if not ragged:
        return
    byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), (byte, i32, i32, i32))
    fetch = builder.module.declare_intrinsic("llvm.prefetch", (byte,), kind)
    how = i32(0), i32(3), i32(1)  # to read it, near to the processor, and it is data
    end = _end(context, builder, typ, edges, position)
    row = cgutils.create_struct_proxy(other)(context, builder, value=edges.other)
    for name in ragged:
        first = builder.load(builder.gep(getattr(row, f"bounds_{name}"), [end]))
        start = builder.bitcast(builder.gep(getattr(row, f"at_{name}"), [first]), byte)
        for offset in FETCHED:
            line = builder.gep(start, [context.get_constant(types.intp, offset)])
            builder.call(fetch, (line, *how))


@infer_global(len)
class _EdgesLength(AbstractTemplate):
    key = len

    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], EdgesType):
            return signature(types.intp, args[0])
        return None


@lower_builtin(len, EdgesType)
def _length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    edges = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    return builder.sub(edges.hi, edges.lo)


@infer_global(operator.getitem)
class _EdgesGetitem(AbstractTemplate):
    key = operator.getitem

    def generic(self, args: Any, kws: Any) -> Any:
        if len(args) == 2 and isinstance(args[0], EdgesType) and isinstance(args[1], types.Integer):
            return signature(args[0].neighbour, args[0], types.intp)
        return None


@lower_builtin(operator.getitem, EdgesType, types.Integer)
def _getitem(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    edges = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    from_end = builder.icmp_signed("<", args[1], context.get_constant(types.intp, 0))
    return _neighbour(
        context,
        builder,
        sig.args[0],
        edges,
        builder.add(builder.select(from_end, edges.hi, edges.lo), args[1]),
    )


@lower_builtin("getiter", EdgesType)
def _getiter(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    edges = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    iterator = cgutils.create_struct_proxy(sig.return_type)(context, builder)
    iterator.position = cgutils.alloca_once_value(builder, edges.lo)
    iterator.edges = args[0]
    return iterator._getvalue()


@lower_builtin("iternext", _EdgesIteratorType)
@iternext_impl(RefType.BORROWED)
def _iternext(context: Any, builder: Any, sig: Any, args: Any, result: Any) -> None:
    iterator = cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0])
    edges_type = sig.args[0].edges
    edges = cgutils.create_struct_proxy(edges_type)(context, builder, value=iterator.edges)
    position = builder.load(iterator.position)
    more = builder.icmp_signed("<", position, edges.hi)
    result.set_valid(more)
    with builder.if_then(more):
        behind = builder.add(position, context.get_constant(types.intp, 1))
        inside = builder.icmp_signed("<", behind, edges.hi)
        _fetch_lists(context, builder, edges_type, edges, builder.select(inside, behind, position))
        result.yield_(_neighbour(context, builder, edges_type, edges, position))
        builder.store(behind, iterator.position)


@lower_setattr_generic(NeighbourType)
def _store(context: Any, builder: Any, sig: Any, args: Any, attr: str) -> None:
    typ, value_type = sig.args
    neighbour = cgutils.create_struct_proxy(typ)(context, builder, value=args[0])
    inner = signature(types.void, typ.edge, value_type)
    context.get_setattr(attr, inner)(builder, (neighbour.edge, args[1]))
