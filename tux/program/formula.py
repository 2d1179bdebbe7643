"""Formulas: arithmetic on named numbers, written as text in a declaration."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import NamedTuple

from tux.base.errors import ProgramError
from tux.base.syntax import parse_source

FUNCTIONS = {"sqrt": "np.sqrt", "log": "np.log", "exp": "np.exp", "abs": "abs"}
FUNCTIONS |= {"min": "min", "max": "max"}
"""The functions of a formula, each as it is called in a vertex function."""

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
        """Return it as an expression of a vertex function; `places` are the expressions that
        stand for its names.
        """
        return ast.unparse(_Writer(places).visit(_parse(self.text)))


def read_formula(text: object) -> Formula:
    """Read a formula such as "sqrt(sse / n)": numbers, names, + - * / **, comparisons, ``a if b
    else c``, and the calls of FUNCTIONS. Raise ProgramError for anything else.
    """
    if not isinstance(text, str):
        raise ProgramError(
            f"a formula is {text!r}", do='write it as text, e.g. metric("sqrt(sse / n)", ...)'
        )
    nodes = [*ast.walk(_parse(text))]
    for node in nodes:
        wrong = not isinstance(node, _ALLOWED)
        wrong = wrong or (isinstance(node, ast.Call) and not _calls_known(node))
        if wrong or (isinstance(node, ast.Constant) and type(node.value) not in (int, float)):
            raise ProgramError(
                f"the formula {text!r} contains {ast.unparse(node) or type(node).__name__}",
                do="use numbers, names, + - * / **, comparisons, a if b else c, and "
                f"{', '.join(FUNCTIONS)}",
            )
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    in_order = sorted(names, key=lambda node: (node.lineno, node.col_offset))
    return Formula(text, tuple(dict.fromkeys(node.id for node in in_order)))


def _calls_known(node: ast.Call) -> bool:
    """Return whether a call is of one of FUNCTIONS."""
    return isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS


class _Writer(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def visit_Call(self, node: ast.Call) -> ast.Call:  # noqa: N802
        """Write the arguments, and the function as vertex functions call it."""
        assert isinstance(node.func, ast.Name)
        node.args = [self.visit(each) for each in node.args]
        node.func = _parse(FUNCTIONS[node.func.id])
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        """Return the expression for a name."""
        return _parse(self._places[node.id])


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
