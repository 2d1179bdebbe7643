"""Arithmetic of UDFs: ``x @ y`` of two vectors is `tux.dot`; and in a program with
``precision = "f4"`` what has no type of its own takes the type of what it meets, as in JAX and in
NumPy 2.

    0.5 * x, x < 0.5    the literal has the type of x; beside a whole number it is float32
    RATE * x, np.pi * x a constant of the file, or of a library, does as a literal does
    1 / 12, 2.0**-24    so does a number that literals make
    0.5                 elsewhere it is float32
    n * x, max(n, x)    a whole number beside a float32 is float32
    n / m, np.sqrt(n)   of whole numbers is float32
    np.zeros(k)         is of float32, where no type is given
    rng.uniform()       is float32, of 24 random bits; rng.normal() is float32, too

What meets a float64 is float64: a field of "f8", or ``np.float64(0)``, in which a sum may begin.

UDFs are rewritten to call the functions that stand here, after `tux.stages.check.rewrite`: in plain
Python as they are, and by numba as they are declared below.
"""

from __future__ import annotations

import ast
import dis
import math
import operator
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import lower_builtin, register_jitable, type_callable

from tux.rows.vectors import dot
from tux.stages.analysis.reads import global_names

PRECISION = "f4"
"""The one that a program may choose."""
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@register_jitable
def larger(a, b):  # type: ignore[no-untyped-def]
    """Return max(a, b): Python's own takes any number of arguments, which numba declares apart."""
    return b if b > a else a


@register_jitable
def smaller(a, b):  # type: ignore[no-untyped-def]
    """Return min(a, b)."""
    return b if b < a else a


EXTREMES = {"max": larger, "min": smaller}
EMPTY = ("zeros", "ones", "empty")
REAL = {
    name
    for name in dir(math)
    if isinstance(getattr(np, name, None), np.ufunc) and name not in ("gcd", "lcm", "ldexp")
} | {"cbrt", "power", "arctan2", "logaddexp"}
"""Functions of numpy and math whose results are real numbers, also of whole ones."""
_LIBRARIES = ("np", "numpy", "math", "_np")
_CONSTANTS = {name for name in dir(np) if isinstance(getattr(np, name), float)} | {"tau"}


# ---- types


def _kind(kind: Any) -> str:
    """Return "f4" or "f8" for numbers, and arrays of numbers, of this type, "i" for whole numbers,
    "" for anything else.
    """
    kind = types.unliteral(kind)
    kind = kind.dtype if isinstance(kind, types.Array) else kind
    if isinstance(kind, types.Float):
        return "f4" if kind.bitwidth == 32 else "f8"
    return "i" if isinstance(kind, types.Integer | types.Boolean) else ""


def _kind_of(value: Any) -> str:
    """Return the same of a value in plain Python."""
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return {"f": f"f{dtype.itemsize}", "i": "i", "u": "i", "b": "i"}.get(dtype.kind, "")
    return "f8" if isinstance(value, float) else "i" if isinstance(value, int) else ""


def target(own: str, other: str, *, weak: bool, quotient: bool) -> str:
    """Return the kind to which an operand of kind `own` is brought beside `other`: "f4", "f8", or
    "" as it is. `weak`: it is a literal float; `quotient`: two whole numbers make a real one.
    """
    if weak:
        return other if other in ("f4", "f8") else "f4"
    if own == "i" and (other == "f4" or (quotient and other == "i")):
        return "f4"
    return ""


_NUMBA = {"f4": types.float32, "f8": types.float64}
_NUMPY: dict[str, Callable[[Any], Any]] = {"f4": np.float32, "f8": np.float64}


def _as_kind(value: Any, kind: str) -> Any:
    if not kind:
        return value
    return value.astype(kind) if isinstance(value, np.ndarray) else _NUMPY[kind](value)


# ---- functions of two operands


class Operation:
    """An operator whose operands meet as described above. `weak`: the place, 0 or 1, of an operand
    that is a literal float; None without one. `gives`: the place of the operand that is its result,
    brought to the other's kind; None for the operator's.
    """

    def __init__(
        self, apply: Callable[..., Any], weak: int | None = None, gives: int | None = None
    ) -> None:
        self.apply, self.weak, self.gives = apply, weak, gives
        self.quotient = apply in (operator.truediv, operator.pow)

    def targets(self, kinds: tuple[str, str]) -> tuple[str, str]:
        """Return the kinds to which the operands are brought."""
        left, right = (
            target(kinds[at], kinds[1 - at], weak=self.weak == at, quotient=self.quotient)
            for at in (0, 1)
        )
        return left, right

    def __call__(self, a: Any, b: Any) -> Any:
        """Apply it in plain Python."""
        each = [
            _as_kind(value, kind)
            for value, kind in zip((a, b), self.targets((_kind_of(a), _kind_of(b))), strict=True)
        ]
        if self.gives is None:
            return self.apply(*each)
        # what is added to a number of tau: numpy would take a float of Python for a literal
        return np.float64(each[self.gives]) if type(a) is float else each[self.gives]

    def types_of(self, given: tuple[Any, ...]) -> list[Any]:
        """Return the types of the operands where they meet."""
        plain = [types.unliteral(each) for each in given]
        targets = self.targets((_kind(given[0]), _kind(given[1])))
        return [
            _NUMBA[kind] if kind and not isinstance(each, types.Array) else each
            for each, kind in zip(plain, targets, strict=True)
        ]


def _declare(operation: Operation) -> Callable[..., Any]:
    """Declare an operation to numba, and return the function that it knows."""

    def function(a: Any, b: Any) -> Any:
        return operation(a, b)

    @type_callable(function)
    def _type_of(context):  # type: ignore[no-untyped-def]
        def typer(a, b):  # type: ignore[no-untyped-def]
            met = operation.types_of((a, b))
            if operation.gives is not None:
                return met[operation.gives]
            found = context.resolve_function_type(operation.apply, tuple(met), {})
            return found and found.return_type

        return typer

    @lower_builtin(function, types.Any, types.Any)
    def _lower(context, builder, sig, args):  # type: ignore[no-untyped-def]
        met = operation.types_of(sig.args)
        values = [
            context.cast(builder, value, own, to)
            for value, own, to in zip(args, sig.args, met, strict=True)
        ]
        if operation.gives is not None:
            value = values[operation.gives]
            return impl_ret_borrowed(context, builder, sig.return_type, value)
        known = context.typing_context.resolve_value_type(operation.apply)
        inner = known.get_call_type(context.typing_context, tuple(met), {})
        values = [
            context.cast(builder, value, own, to)
            for value, own, to in zip(values, met, inner.args, strict=True)
        ]
        return context.get_function(known, inner)(builder, values)

    return function


@register_jitable
def to_single(x):  # type: ignore[no-untyped-def]
    """Return a float32."""
    return np.float32(x)


@register_jitable
def to_unit(x):  # type: ignore[no-untyped-def]
    """Return a number in [0, 1) as a float32 in [0, 1), cut to 24 bits."""
    return np.float32(np.floor(x * 16777216.0) * 5.9604644775390625e-08)


_WEAK = {None: "", 0: "_left", 1: "_right"}
_METHODS = {"uniform": "_tux_unit", "normal": "_tux_single"}
FUNCTIONS: dict[str, Any] = {
    "_tux_dot": dot,
    "_tux_single": to_single,
    "_tux_unit": to_unit,
    "_tux_f4": np.float32,
    **{
        f"_tux_{apply.__name__}{name}": _declare(Operation(apply, weak))
        for apply in (*OPERATORS.values(), *EXTREMES.values())
        for weak, name in _WEAK.items()
    },
    **{
        f"_tux_beside{name}": _declare(Operation(operator.add, weak, gives=1))
        for weak, name in ((None, ""), (1, "_right"))
    },
    "_tux_real": _declare(Operation(operator.truediv, gives=0)),
}
"""The names under which rewritten UDFs find them."""


# ---- rewriting


def constants(function: python_types.FunctionType) -> frozenset[str]:
    """Return the names of the constant floats that a function reads."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    seen = {name: function.__globals__.get(name) for name in global_names(code)}
    seen |= {name: cell.cell_contents for name, cell in cells}
    return frozenset(name for name, value in seen.items() if type(value) is float)


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(f"_tux_{name}", ast.Load()), [*arguments], [])


def _is_real_number(node: ast.expr) -> bool:
    """Return whether literals alone make a real number, as in 1 / 12 and 1 - 2.0**-24."""
    parts = [each for each in ast.walk(node) if isinstance(each, ast.expr)]
    return all(isinstance(each, ast.BinOp | ast.UnaryOp | ast.Constant) for each in parts) and any(
        type(getattr(each, "value", None)) is float
        or isinstance(getattr(each, "op", None), ast.Div)
        for each in parts
    )


class Arithmetic(ast.NodeTransformer):
    """Rewriter of one function. `single`: literals and whole numbers meet float32; without it only
    products of vectors are rewritten. `weak`: names of constants, which do as literals do. `any`:
    whether there was anything to rewrite.
    """

    def __init__(self, *, single: bool, weak: frozenset[str] = frozenset()) -> None:
        self.single, self.weak, self.any = single, weak, False

    def _literal(self, node: ast.expr) -> bool:
        """Return whether an expression is a literal float, a constant, or made of literals."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node = node.operand
        if isinstance(node, ast.BinOp):
            return _is_real_number(node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.value.id in _LIBRARIES and node.attr in _CONSTANTS
        if isinstance(node, ast.Name):
            return node.id in self.weak
        return isinstance(node, ast.Constant) and type(node.value) is float

    def _replace(self, node: ast.expr, new: ast.expr) -> ast.expr:
        self.any = True
        return ast.copy_location(new, node)

    def _meet(self, node: ast.expr, apply: Callable[..., Any], *sides: ast.expr) -> ast.expr:
        """Return the call that applies an operator to two operands."""
        weak = [at for at, side in enumerate(sides) if self._literal(side)]
        if len(weak) == 2:
            return self.generic_visit(node)  # type: ignore[return-value]
        each = [side if at in weak else self.visit(side) for at, side in enumerate(sides)]
        name = f"{apply.__name__}{_WEAK[weak[0] if weak else None]}"
        return self._replace(node, _call(name, *each))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802  ast's word
        """Rewrite x + y and the like. A power of a constant whole number stays: numba multiplies
        for it.
        """
        if isinstance(node.op, ast.MatMult):
            self.generic_visit(node)
            return self._replace(node, _call("dot", node.left, node.right))
        if self._literal(node):
            return self._visit_alone(node)
        is_constant = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        if not self.single or type(node.op) not in OPERATORS:
            return self.generic_visit(node)  # type: ignore[return-value]
        if isinstance(node.op, ast.Pow) and is_constant:
            return self.generic_visit(node)  # type: ignore[return-value]
        return self._meet(node, OPERATORS[type(node.op)], node.left, node.right)

    def visit_Compare(self, node: ast.Compare) -> ast.expr:  # noqa: N802
        """Rewrite x < y and the like; a chain of comparisons stays, but for its literals."""
        if not self.single or len(node.ops) > 1 or type(node.ops[0]) not in OPERATORS:
            return self.generic_visit(node)  # type: ignore[return-value]
        return self._meet(node, OPERATORS[type(node.ops[0])], node.left, node.comparators[0])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:  # noqa: N802
        """Bring what is added to the type of what it is added to; the change stays in place."""
        if not self.single or any(isinstance(each, ast.Call) for each in ast.walk(node.target)):
            return self.generic_visit(node)  # type: ignore[return-value]
        weak = self._literal(node.value)
        held = ast.parse(ast.unparse(node.target), mode="eval").body
        value = node.value if weak else self.visit(node.value)
        name = "beside_right" if weak else "beside"
        node.value = self._replace(node.value, _call(name, held, value))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802
        """Leave an index as it is: it is a whole number."""
        node.value = self.visit(node.value)
        return node

    def _visit_alone(self, node: ast.expr) -> ast.expr:
        """Rewrite a literal that meets nothing, with its sign."""
        if self.single and self._literal(node):
            return self._replace(node, _call("single", node))
        return self.generic_visit(node)  # type: ignore[return-value]

    visit_UnaryOp = visit_Constant = visit_Name = visit_Attribute = _visit_alone  # noqa: N815

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        """Rewrite arguments and results of functions that know no types."""
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        of = getattr(getattr(node.func, "value", None), "id", "")
        plain = isinstance(node.func, ast.Name)
        if not self.single or (plain and name in ("range", "float")):
            return node if plain and name in ("range", "float") else self._visit_parts(node)
        if of in _LIBRARIES and name.startswith(("float", "int", "uint", "bool")):
            return node  # a type that is asked for
        if plain and name in EXTREMES and len(node.args) == 2 and not node.keywords:
            return self._meet(node, EXTREMES[name], *node.args)
        self._visit_parts(node)
        if of == "rng" and name in _METHODS:
            return self._replace(node, _call(_METHODS[name].removeprefix("_tux_"), node))
        if of in ("np", "numpy") and name in EMPTY and len(node.args) == 1 and not node.keywords:
            node.keywords = [ast.keyword("dtype", ast.Name("_tux_f4", ast.Load()))]
            self.any = True
        elif name in REAL and (plain or of in _LIBRARIES):
            node.args = [
                self._replace(each, _call("real", each, ast.Constant(1))) for each in node.args
            ]
        return node

    def _visit_parts(self, node: ast.Call) -> ast.Call:
        return self.generic_visit(node)  # type: ignore[return-value]


def rewrite(found: ast.FunctionDef, function: python_types.FunctionType, *, single: bool) -> bool:
    """Rewrite the arithmetic of `function`, whose definition is `found`; return whether there was
    anything to rewrite.
    """
    arithmetic = Arithmetic(single=single, weak=constants(function) if single else frozenset())
    arithmetic.visit(found)
    ast.fix_missing_locations(found)
    return arithmetic.any


def has_products(code: python_types.CodeType) -> bool:
    """Return whether a function's own code may multiply vectors by ``@``."""
    return any(
        each.opname == "BINARY_OP" and "@" in each.argrepr for each in dis.get_instructions(code)
    )
