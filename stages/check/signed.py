"""Differences of unsigned numbers, as Python has them: a ``u1``, ``u2`` or ``u4`` that is negated,
inverted or subtracted is a signed number of 64 bits first.

    -x       ->  -_tux_signed(x)
    ~x       ->  ~_tux_signed(x)
    x - y    ->  _tux_signed(x) - _tux_signed(y)
    x -= y   ->  x -= _tux_signed(y), and before it x = _tux_signed(x)

numba's -x of a ``u1`` is 256 - x, and its x - y of two of them 2**64 + x - y where y is larger.
Other operators take unsigned numbers as Python does. No machine has a larger signed type for a
``u8``, which stays as it is; other values too.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import lower_builtin, type_callable

_SIGNED = "_tux_signed"


def to_signed(x: Any) -> Any:
    """Return an unsigned number of at most 32 bits as a signed one; anything else as it is."""
    return int(x) if isinstance(x, np.uint8 | np.uint16 | np.uint32) else x


@type_callable(to_signed)
def _type_of(context):  # type: ignore[no-untyped-def]
    def typer(x):  # type: ignore[no-untyped-def]
        kind = types.unliteral(x)
        unsigned = isinstance(kind, types.Integer) and not kind.signed and kind.bitwidth < 64
        return types.int64 if unsigned else kind

    return typer


@lower_builtin(to_signed, types.Any)
def _lower(context, builder, sig, args):  # type: ignore[no-untyped-def]
    value = context.cast(builder, args[0], sig.args[0], sig.return_type)
    return impl_ret_borrowed(context, builder, sig.return_type, value)


FUNCTIONS = {_SIGNED: to_signed}
"""The names under which rewritten UDFs find them."""


def has_unsigned(arguments: Any) -> bool:
    """Return whether UDFs find a ``u1``, ``u2`` or ``u4`` in the arrays of a kernel's arguments."""
    if isinstance(arguments, tuple):
        return any(map(has_unsigned, arguments))
    return (
        isinstance(arguments, np.ndarray)
        and arguments.dtype.kind == "u"
        and arguments.dtype.itemsize < 8
    )


def sign_differences(found: ast.FunctionDef) -> bool:
    """Rewrite the differences of a function; return whether there was any."""
    differences = Differences()
    differences.visit(found)
    return differences.any


class Differences(ast.NodeTransformer):
    """Rewriter of the differences of a function. `any`: whether there was one."""

    any = False

    def _call_signed(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Constant):
            return node
        self.any = True
        return ast.copy_location(ast.Call(ast.Name(_SIGNED, ast.Load()), [node], []), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # noqa: N802  ast's word
        """Rewrite -x and ~x."""
        self.generic_visit(node)
        if isinstance(node.op, ast.USub | ast.Invert):
            node.operand = self._call_signed(node.operand)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        """Rewrite x - y."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Sub):
            node.left, node.right = self._call_signed(node.left), self._call_signed(node.right)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt | list[ast.stmt]:  # noqa: N802
        """Rewrite x -= y of a local name. A field's value is cut to its type anyhow."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Sub) or not isinstance(node.target, ast.Name):
            return node
        node.value = self._call_signed(node.value)
        name = ast.Name(node.target.id, ast.Load())
        first = ast.Assign([ast.Name(node.target.id, ast.Store())], self._call_signed(name))
        return [ast.copy_location(first, node), node]
