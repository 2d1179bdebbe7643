"""Statements that combine a field with something, whatever it holds: sums, least and greatest.

x.f = x.f + e,  x.f = e + x.f,  x.f = x.f - e
x.f = min(x.f, e),  x.f = max(e, x.f), and np.minimum, np.maximum
x.f = e if e < x.f else x.f  and with >, <=, >=, the sides exchanged
if e < x.f: x.f = e          likewise
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

_SELECT = {"min": (min, np.minimum), "max": (max, np.maximum)}
_LESS, _GREATER = (ast.Lt, ast.LtE), (ast.Gt, ast.GtE)


class FieldFold(NamedTuple):
    """The kind ("add", "min" or "max"), and the expressions that are combined with the target."""

    kind: str
    operands: list[ast.expr]


class GuardedFold(NamedTuple):
    """An assignment behind a comparison. The kind is "unknown" where the operand calls a function:
    the effect of the second call would depend on the field.
    """

    kind: str
    target: ast.Attribute | ast.Subscript
    operand: ast.expr


def names_in(node: ast.AST, *, stored: bool = False) -> Iterator[str]:
    """Yield the names in a piece of source, or only those that it assigns."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and (not stored or isinstance(each.ctx, ast.Store)):
            yield each.id


def fold(
    target: ast.expr,
    value: ast.expr,
    is_function: Callable[[ast.expr, Any], bool],
    assigned: frozenset[str],
    *,
    alone: bool,
) -> FieldFold | None:
    """Return the way in which ``target = value`` combines something with the target; None if it
    does not.

    `assigned`: names that the statement assigns too. `alone`: no other field is assigned beside it,
    which an index of the target could depend on.
    """
    inside = [*ast.walk(value)]
    if any(isinstance(each, ast.NamedExpr) for each in inside):
        return None
    # a call may change what an index of the target is; that of min or max itself does not
    calls = [each for each in inside if isinstance(each, ast.Call) and each is not value]
    if not isinstance(target, ast.Attribute | ast.Subscript) or not _same_later(
        target, assigned, alone=alone and not calls
    ):
        return None
    if isinstance(value, ast.Call) and len(value.args) > 1 and not value.keywords:
        kind = next(
            (
                kind
                for kind, functions in _SELECT.items()
                if any(is_function(value.func, function) for function in functions)
            ),
            "",
        )
        others = [each for each in value.args if not _same(each, target)]
        if kind and len(others) == len(value.args) - 1:
            starred = any(isinstance(each, ast.Starred) for each in others)
            return None if starred else FieldFold(kind, others)
        return None
    if isinstance(value, ast.IfExp):
        return _conditional_fold(value, target)
    others = _addends(value, target) or []
    return FieldFold("add", others) if others else None


def guarded_fold(node: ast.If) -> GuardedFold | None:
    """Return the way in which ``if e < x.f: x.f = e`` changes its target; None for another
    statement.
    """
    if node.orelse or len(node.body) != 1 or not isinstance(node.test, ast.Compare):
        return None
    inner, test = node.body[0], node.test
    if not isinstance(inner, ast.Assign) or len(inner.targets) != 1 or len(test.ops) != 1:
        return None
    target, operand, op = inner.targets[0], inner.value, test.ops[0]
    if not isinstance(target, ast.Attribute | ast.Subscript) or not isinstance(
        op, _LESS + _GREATER
    ):
        return None
    first, second = test.left, test.comparators[0]
    if not _same_later(target, frozenset(), alone=True):
        return None
    less = isinstance(op, _LESS)
    if _same(first, target) and _same(second, operand):
        less = not less
    elif not (_same(first, operand) and _same(second, target)):
        return None
    calls = any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(operand))
    return GuardedFold("unknown" if calls else "min" if less else "max", target, operand)


def _conditional_fold(value: ast.IfExp, target: ast.expr) -> FieldFold | None:
    """Return the way in which ``e if e < x.f else x.f`` combines something with the target; None
    for another expression.
    """
    test = value.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _LESS + _GREATER):
        return None
    pair, compared = (value.body, value.orelse), (test.left, test.comparators[0])
    others = [each for each in pair if not _same(each, target)]
    if len(test.ops) != 1 or len(others) != 1:
        return None
    if any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(others[0])):
        return None
    less = isinstance(test.ops[0], _LESS)
    if all(_same(one, other) for one, other in zip(pair, reversed(compared), strict=True)):
        less = not less
    elif not all(_same(one, other) for one, other in zip(pair, compared, strict=True)):
        return None
    return FieldFold("min" if less else "max", others)


def _addends(value: ast.expr, target: ast.expr) -> list[ast.expr] | None:
    """Return the expressions that are added to the target, or subtracted from it; None for another
    expression.
    """
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add | ast.Sub):
        return None
    if _same(value.left, target):
        return [value.right]
    if (inner := _addends(value.left, target)) is not None:
        return [*inner, value.right]
    if not isinstance(value.op, ast.Add):
        return None
    if _same(value.right, target):
        return [value.left]
    if (inner := _addends(value.right, target)) is not None:
        return [value.left, *inner]
    return None


def _same(one: ast.expr, other: ast.expr) -> bool:
    """Return whether two expressions are written alike, be they read or assigned to; x.f[:] is
    x.f.
    """
    return ast.unparse(_entire(one)) == ast.unparse(_entire(other))


def _entire(node: ast.expr) -> ast.expr:
    """Return ``x`` of ``x[:]``, and any other expression as it is."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == ":":
        return node.value
    return node


def _same_later(target: ast.expr, assigned: frozenset[str], *, alone: bool) -> bool:
    """Return whether the target is still the same when it is assigned to as when it was read."""
    if any(isinstance(each, ast.Call | ast.NamedExpr) for each in ast.walk(target)):
        return False
    if assigned & set(names_in(target)):
        return False
    inner = target
    while isinstance(inner, ast.Attribute | ast.Subscript):
        index = inner.slice if isinstance(inner, ast.Subscript) else None
        if not alone and index is not None:
            if any(isinstance(each, ast.Attribute | ast.Subscript) for each in ast.walk(index)):
                return False
        inner = inner.value
    return True
