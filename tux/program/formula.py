"""Formulas: arithmetic on named numbers, written as text in a declaration."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from tux.base.errors import ProgramError
from tux.base.syntax import parse_source
from tux.base.text import plural
from tux.program.naming import describe_value

FUNCTIONS = {"sqrt": "_np.sqrt", "log": "_np.log", "exp": "_np.exp", "abs": "_abs"}
FUNCTIONS |= {"min": "_np.minimum", "max": "_np.maximum"}
"""The functions of a formula, each as it is called in a vertex function, whose rows have names
without `_` before them. NaN goes through all.
"""
CONSTANTS = {"nan": "_np.nan"}
_SEVERAL = ("min", "max")
_EXPONENTS = range(-8, 9)
"""Whole numbers to which a number is raised by multiplications."""

_ALLOWED = (
    *(ast.Expression, ast.Name, ast.Load, ast.Constant, ast.IfExp, ast.Call, ast.Compare),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UnaryOp, ast.USub, ast.UAdd),
    *(ast.BoolOp, ast.And, ast.Or, ast.Not, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)


class Formula(NamedTuple):
    """A formula, and the names of its numbers in the order in which they come first."""

    text: str
    names: tuple[str, ...]

    def write(self, places: Mapping[str, str]) -> str:
        """Return it as an expression of a vertex function, in double precision; `places` are the
        expressions that stand for its names.
        """
        return ast.unparse(_Writer(places).visit(_parse(self.text)))


def read_formula(text: object) -> Formula:
    """Read a formula such as "sqrt(sse / n)": numbers, names, + - * / **, comparisons, ``a if b
    else c``, the calls of FUNCTIONS, and nan. Raise ProgramError for anything else.
    """
    if not isinstance(text, str):
        raise ProgramError(
            f"a formula is {describe_value(text)}",
            do='write it as text, e.g. metric("sqrt(sse / n)", ...)',
        )
    nodes = [*ast.walk(_parse(text))]
    for node in nodes:
        wrong = not isinstance(node, _ALLOWED)
        wrong = wrong or (isinstance(node, ast.Call) and not _calls_known(node))
        if isinstance(node, ast.Call) and not wrong:
            _check_arguments(text, node)
        if wrong or (isinstance(node, ast.Constant) and type(node.value) not in (int, float)):
            raise ProgramError(
                f"the formula {text!r} contains {ast.unparse(node) or type(node).__name__}",
                do="use numbers, names, + - * / **, comparisons, a if b else c, and "
                f"{', '.join(FUNCTIONS)}",
            )
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    in_order = sorted(names, key=lambda node: (node.lineno, node.col_offset))
    found = dict.fromkeys(node.id for node in in_order if node.id not in CONSTANTS)
    return Formula(text, tuple(found))


def _check_arguments(text: str, node: ast.Call) -> None:
    """Raise ProgramError for a call with too few or too many numbers."""
    assert isinstance(node.func, ast.Name)
    name, count = node.func.id, len(node.args)
    if count != 1 if name not in _SEVERAL else count < 2:
        wanted = "two numbers or more" if name in _SEVERAL else "one number"
        raise ProgramError(
            f"the formula {text!r} calls {name} with {plural(count, 'number')}",
            do=f"give {name} {wanted}",
        )


def _calls_known(node: ast.Call) -> bool:
    """Return whether a call is of one of FUNCTIONS."""
    return isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS


class _Writer(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        """Write the arguments, and the function as vertex functions call it; of more than two
        arguments, one call in another.
        """
        assert isinstance(node.func, ast.Name)
        first, *others = (self.visit(each) for each in node.args)
        function = FUNCTIONS[node.func.id]
        made: ast.expr = first if others else ast.Call(_parse(function), [first], [])
        for each in others:
            made = ast.Call(_parse(function), [made, each], [])
        return made

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        """Return the expression for a name."""
        if node.id in CONSTANTS:
            return _parse(CONSTANTS[node.id])
        return _parse(f"_np.float64({self._places[node.id]})")

    def visit_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802
        """Return a number, which numpy divides by 0 as it does others."""
        return _parse(f"_np.float64({node.value!r})")

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        """Leave small whole exponents, for which compilers multiply."""
        exponent = node.right.value if isinstance(node.right, ast.Constant) else None
        small = type(exponent) is int and exponent in _EXPONENTS
        node.left = self.visit(node.left)
        if not (isinstance(node.op, ast.Pow) and small):
            node.right = self.visit(node.right)
        return node


def _parse(text: str) -> ast.expr:
    try:
        body = parse_source(text.strip()).body
    except (SyntaxError, ValueError):
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.Expr):
        raise ProgramError(
            f"the formula {text!r} cannot be read", do='write one expression, e.g. "sqrt(sse / n)"'
        )
    return body[0].value
