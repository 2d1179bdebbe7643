"""UDFs with checks: a function's source, rewritten so that each index and each stored number passes
a function of `tux.stages.check.checks`.

    x[i]            ->  x[_tux_index(x, i, 0, site)]
    x[i, :, j]      ->  x[_tux_index(x, i, 0, site), :, _tux_index(x, j, 2, site)]
    x[3]            -> _tux_held(x, 3, site)[3] # a tuple wants its index as a constant
    f(y)[i]         -> _tux_load(f(y), i, site) # an expression with a call is evaluated once
    row.x[:] += v   ->  view = row.x[:];  new = v;  _tux_alike(view, new, site);  view += new
    row.n += v      ->  new = row.n + v;  _tux_fits(row.n, new, site);  row.n = new

Values, types and the order of evaluation stay as they are. Numbers are tested where a field is
stored to, by attribute or through a view.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def _is_pure(node: ast.expr) -> bool:
    """Return whether evaluating an expression twice gives the same as once."""
    return not any(
        isinstance(part, ast.Call | ast.NamedExpr | ast.Await | ast.Yield)
        for part in ast.walk(node)
    )


def _is_constant(node: ast.expr) -> bool:
    inner = (
        node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    )
    return isinstance(inner, ast.Constant)


def _names_nan(node: ast.expr) -> bool:
    """Return whether NaN is written out, as a value that the program means."""
    return any(
        isinstance(part, ast.Attribute) and part.attr == "nan"
        or isinstance(part, ast.Name) and part.id == "nan"
        or isinstance(part, ast.Constant) and str(part.value).lower() == "nan"
        for part in ast.walk(node)
    )  # fmt: skip


def _call(name: str, *arguments: ast.expr | int) -> ast.Call:
    given = [ast.Constant(each) if isinstance(each, int) else each for each in arguments]
    return ast.Call(ast.Name(f"_tux_{name}", ast.Load()), given, [])


def _root(node: ast.expr) -> ast.expr:
    """Return the expression that is indexed, below all indices: `x` of ``x[i][j]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


class Rewriter(ast.NodeTransformer):
    """Rewriter of one function of `file`. `add(where, text)` gives a new site's number; with
    `ticks` each iteration of a loop calls _tux_tick().
    """

    def __init__(
        self,
        add: Callable[[str, str], int],
        file: str,
        definition: ast.FunctionDef,
        *,
        ticks: bool,
    ) -> None:
        self.add, self.file, self.ticks, self.names = add, file, ticks, 0
        self.bound: dict[str, list[ast.expr]] = {}  # the values assigned to each local name
        for node in ast.walk(definition):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                for name, value in _pairs(target, node.value):  # type: ignore[attr-defined]
                    if isinstance(name, ast.Name):
                        self.bound.setdefault(name.id, []).append(value)

    # ---- places and names

    def _text(self, what: ast.expr) -> str:
        """Return as text the expression that is indexed or stored to; asked before its parts are
        rewritten.
        """
        values = self.bound.get(what.id, []) if isinstance(what, ast.Name) else []
        is_alias = len(values) == 1 and isinstance(values[0], ast.Attribute)
        return ast.unparse(values[0] if is_alias else what)

    def _site(self, node: ast.AST, text: str) -> int:
        return self.add(f"{self.file}:{node.lineno}", text)  # type: ignore[attr-defined]

    def _is_field(self, target: ast.expr) -> bool:
        """Return whether a target may be a field: a name may be a parameter, or bound to an
        attribute.
        """
        root = _root(target)
        if not isinstance(root, ast.Name):
            return isinstance(root, ast.Attribute)
        values = self.bound.get(root.id)
        return values is None or any(isinstance(_root(value), ast.Attribute) for value in values)

    def _name(self) -> str:
        self.names += 1
        return f"_tux_{self.names}"

    # ---- loads

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Rewrite an index that is read by; stores are rewritten with their statements."""
        text, is_pure, is_load = (
            self._text(node.value),
            _is_pure(node.value),
            isinstance(node.ctx, ast.Load),
        )
        node.value = self.visit(node.value)
        if isinstance(node.slice, ast.Slice) or not is_load and not is_pure:
            node.slice = self.visit(node.slice)
        elif isinstance(node.slice, ast.Tuple):
            if is_pure:
                node.slice.elts = self._indices(node, text, node.slice.elts)
            else:
                node.slice = self.visit(node.slice)  # numba's own check sees it
        elif _is_constant(node.slice):
            if is_load and isinstance(getattr(node.slice, "value", 0), int):
                node.value = _call("held", node.value, node.slice, self._site(node, text))
        elif is_pure:
            node.slice = _call(
                "index", node.value, self.visit(node.slice), 0, self._site(node, text)
            )
        else:
            return ast.copy_location(
                _call("load", node.value, self.visit(node.slice), self._site(node, text)), node
            )
        return node

    def _indices(self, node: ast.Subscript, text: str, parts: list[ast.expr]) -> list[ast.expr]:
        """Return the rewritten entries of a tuple of indices; behind an ellipsis axes are counted
        from the end.
        """
        out: list[ast.expr] = []
        axis = 0
        for at, part in enumerate(parts):
            if isinstance(part, ast.Constant) and part.value is None:
                out.append(part)
                continue
            if isinstance(part, ast.Constant) and part.value is Ellipsis:
                axis = -sum(
                    not (isinstance(each, ast.Constant) and each.value is None)
                    for each in parts[at + 1 :]
                )
                out.append(part)
                continue
            if isinstance(part, ast.Slice | ast.Starred):
                out.append(self.visit(part))
            else:
                out.append(
                    _call("index", node.value, self.visit(part), axis, self._site(node, text))
                )
            axis += 1
        return out

    # ---- stores

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """Rewrite an assignment: values are computed first, then stored from left to right, as
        Python does.
        """
        targets = [
            each
            for target in node.targets
            for each in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
        if all(isinstance(target, ast.Name) for target in targets):
            return self.generic_visit(node)
        out: list[ast.stmt] = []
        if len(node.targets) > 1:
            first = self._visit_to_name(node.value, out)
            return [
                *out,
                *(
                    each
                    for target in node.targets
                    for each in self._stores(target, first, node.value, node)
                ),
            ]
        return [*out, *self._stores(node.targets[0], node.value, node.value, node)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt] | None:
        """Rewrite it as an assignment; the annotation means nothing here."""
        return (
            self.visit(ast.copy_location(ast.Assign([node.target], node.value), node))
            if node.value
            else None
        )

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """Rewrite ``x += e`` and the like: the old value is read, the new one computed, checked and
        stored.
        """
        target = node.target
        if isinstance(target, ast.Name) or _is_part(target):
            return self._rewrite_in_place(node)
        out: list[ast.stmt] = []
        text, is_field = ast.unparse(target), self._is_field(target)
        place = self._place(target, out)
        if place is None:
            return self.generic_visit(node)
        old = self._assign_to_name(place, out)
        new = self._assign_to_name(ast.BinOp(old, node.op, self.visit(node.value)), out)
        if is_field:
            out.append(ast.Expr(_call("fits", old, new, self._site(node, text))))
        out.append(ast.Assign([_store(place)], new))
        return [ast.copy_location(each, node) for each in out]

    def _rewrite_in_place(self, node: ast.AugAssign) -> list[ast.stmt]:
        """Rewrite the change in place of a name, or of a part of an array: it may be an array,
        whose shape numba does not compare.
        """
        target, out = node.target, list[ast.stmt]()
        text = ast.unparse(target)
        if isinstance(target, ast.Subscript):
            held = self._visit_to_name(ast.Subscript(target.value, target.slice, ast.Load()), out)
        else:
            assert isinstance(target, ast.Name)
            held = ast.Name(target.id, ast.Load())
        for each in out:
            ast.copy_location(each, node)
        new = self._visit_to_name(node.value, out)
        out.append(ast.Expr(_call("alike", held, new, self._site(node, text))))
        out.append(ast.AugAssign(ast.Name(held.id, ast.Store()), node.op, new))
        return [ast.copy_location(each, node) for each in out]

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """Rewrite a call of a function of numpy that writes into its last argument: np.add(x, y,
        out).
        """
        call, out = node.value, list[ast.stmt]()
        if not isinstance(call, ast.Call) or call.keywords or not _writes_last(call):
            return self.generic_visit(node)
        text = ast.unparse(call.args[-1])
        call.args = [self._visit_to_name(each, out) for each in call.args]
        for each in call.args[:-1]:
            out.append(ast.Expr(_call("alike", call.args[-1], each, self._site(node, text))))
        return [ast.copy_location(each, node) for each in (*out, node)]

    def _stores(
        self, target: ast.expr, value: ast.expr, said: ast.expr, node: ast.stmt
    ) -> list[ast.stmt]:
        """Return the statements of ``target = value``; `said` is the value as it was written."""
        out: list[ast.stmt] = []
        if isinstance(target, ast.Tuple):
            pairs = list(_pairs(target, value))
            if len(pairs) == len(target.elts) and not any(
                isinstance(each, ast.Starred) for each in target.elts
            ):
                said_of = [each for _, each in pairs]
                kept = [self._visit_to_name(each, out) for each in said_of]
            else:
                kept = [ast.Name(self._name(), ast.Load()) for _ in target.elts]
                names: list[ast.expr] = [ast.Name(each.id, ast.Store()) for each in kept]
                out.append(ast.Assign([ast.Tuple(names, ast.Store())], self.visit(value)))
                said_of = [value] * len(kept)
            for each, name, text in zip(target.elts, kept, said_of, strict=True):
                out += self._store_one(each, name, text, node)
        else:
            kept_value = value if value is not said else self._visit_to_name(value, out)
            out += self._store_one(target, kept_value, said, node)
        return [ast.copy_location(each, node) for each in out]

    def _store_one(
        self, target: ast.expr, value: ast.expr, said: ast.expr, node: ast.stmt
    ) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        text, is_number = ast.unparse(target), self._is_field(target) and not _names_nan(said)
        place = None if isinstance(target, ast.Name) else self._place(target, out)
        if place is None:
            return [ast.Assign([self.visit(target)], value)]
        if is_number:
            out.append(ast.Expr(_call("fits", place, value, self._site(node, text))))
        return [*out, ast.Assign([_store(place)], value)]

    def _place(self, target: ast.expr, out: list[ast.stmt]) -> Any:
        """Return an expression that can be read and stored to, its parts evaluated and its indices
        checked once; None for other targets.
        """
        if isinstance(target, ast.Attribute):
            return ast.Attribute(self._base(target.value, out), target.attr, ast.Load())
        if not isinstance(target, ast.Subscript) or isinstance(target.slice, ast.Slice):
            return None
        text = self._text(target.value)
        base = self._base(target.value, out)
        if isinstance(target.slice, ast.Tuple):
            if any(isinstance(part, ast.Slice | ast.Starred) for part in target.slice.elts):
                return None
            indexed = ast.copy_location(ast.Subscript(base, target.slice, ast.Load()), target)
            parts = [
                self._assign_to_name(part, out)
                for part in self._indices(indexed, text, target.slice.elts)
            ]
            return ast.Subscript(base, ast.Tuple(parts, ast.Load()), ast.Load())
        checked = _call("index", base, self.visit(target.slice), 0, self._site(target, text))
        return ast.Subscript(base, self._assign_to_name(checked, out), ast.Load())

    def _base(self, node: ast.expr, out: list[ast.stmt]) -> ast.expr:
        """Return the expression that is stored into, under a name of its own unless it is a name,
        or a name's attribute.
        """
        inner = node
        while isinstance(inner, ast.Attribute):
            inner = inner.value
        return node if isinstance(inner, ast.Name) else self._visit_to_name(node, out)

    def _visit_to_name(self, value: ast.expr, out: list[ast.stmt]) -> Any:
        return self._assign_to_name(self.visit(value), out)

    def _assign_to_name(self, value: ast.expr, out: list[ast.stmt]) -> Any:
        name = self._name()
        out.append(ast.Assign([ast.Name(name, ast.Store())], value))
        return ast.Name(name, ast.Load())

    # ---- loops, and what is not rewritten

    def visit_For(self, node: ast.For) -> ast.AST:
        """Rewrite a loop."""
        return self._tick_in_loop(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        """Rewrite a loop."""
        return self._tick_in_loop(node)

    def _tick_in_loop(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        if self.ticks:
            node.body.insert(0, ast.copy_location(ast.Expr(_call("tick")), node))
        return node


def _writes_last(call: ast.Call) -> bool:
    """Return whether a call is one of a numpy function by its name, with an array for the
    result.
    """
    name = getattr(call.func, "attr", getattr(call.func, "id", ""))
    function = getattr(np, name, None)
    return isinstance(function, np.ufunc) and len(call.args) == function.nin + 1


def _is_part(target: ast.expr) -> bool:
    """Return whether a target is a slice of something."""
    if not isinstance(target, ast.Subscript):
        return False
    at = target.slice
    return any(isinstance(i, ast.Slice) for i in (at.elts if isinstance(at, ast.Tuple) else [at]))


def _store(place: Any) -> Any:
    """Return the expression `place` as a target of an assignment."""
    if isinstance(place, ast.Attribute):
        return ast.Attribute(place.value, place.attr, ast.Store())
    return ast.Subscript(place.value, place.slice, ast.Store())


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield targets and values one by one, where both are written as tuples of one length; else the
    target with the whole value.
    """
    if (
        isinstance(target, ast.Tuple)
        and isinstance(value, ast.Tuple)
        and len(target.elts) == len(value.elts)
    ):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value
