"""The effects of a UDF, and of all that it calls, on the fields of its rows, by abstract
interpretation.

    read      the field, or an entry of it, is read
    add       x.f += e,  x.f -= e,  x.f = x.f + e
    min, max  x.f = min(x.f, e),  if e < x.f: x.f = e;  the same with max and >
    write     any other change
    unknown   it may be read and changed in any way

The result is sound: a field that a run reads or changes is among those found, with this kind, with
"unknown", or under the field "*", which stands for all fields of its row. So what is not found does
not happen. All kinds but "unknown" stand in the source; that the statement is ever reached is not
claimed. Rows are told apart by the names of parameters, though two of them may be one row.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from tux.stages.analysis.effect_expressions import EVERY, Env, Expressions
from tux.stages.analysis.effect_values import (
    OBJECT,
    PLAIN,
    Edges,
    KnownAtom,
    Row,
    Shape,
    TupleAtom,
    Value,
    View,
    join,
)
from tux.stages.analysis.fold_idioms import fold, guarded_fold, names_in
from tux.stages.analysis.udf_source import read_definition
from tux.stages.kernel.fingerprint import digest_function
from tux.stages.kernel.written import place_in

_CALLS = 20  # calls within calls that are followed
_UNUSUAL = 0x04 | 0x08 | 0x20 | 0x80 | 0x200  # *args, **kwargs, yield, async: flags of a code


@dataclass
class Effects:
    """The kinds of effects by row and field, each with the ``file:line`` where it is found first. A
    row is named like its parameter; "edges" are the edges of a slice, "edges.user" the rows that
    they lead to.
    """

    found: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    def add(self, row: str, field: str, kind: str, where: str) -> None:
        """Note an effect."""
        self.found.setdefault((row, field), {}).setdefault(kind, where)

    def of(self, row: str, field: str) -> dict[str, str]:
        """Return the kinds of effects on a field, each with its ``file:line``."""
        return {**self.found.get((row, EVERY), {}), **self.found.get((row, field), {})}


_FOUND: dict[tuple[types.FunctionType, str, str], Effects] = {}
"""By function, shapes, and a digest of all that the function reads, as its globals may be changed
between two runs.
"""
_KEPT = 4096


def effects(
    udf: Any, shapes: Mapping[str, Shape], meanings: tuple[tuple[str, Any], ...] = ()
) -> Effects:
    """Return the effects of `udf` on those of its parameters that `shapes` describes; nothing is
    claimed of others. `meanings`: by name, what choices of the program's parameters mean in `p`.
    The result is shared, and nobody changes it.
    """
    function = getattr(udf, "py_func", udf)
    # stages and workers ask the same many times
    reached = digest_function((function, *(each for _, each in meanings)))
    fields = [(name, getattr(each, "_fields", ())) for name, each in meanings]
    key = function, repr((sorted(shapes.items()), fields)), reached
    if key not in _FOUND:
        if len(_FOUND) >= _KEPT:
            _FOUND.clear()
        _FOUND[key] = _effects(function, shapes, dict(meanings))
    return _FOUND[key]


def _effects(
    function: types.FunctionType, shapes: Mapping[str, Shape], meanings: Mapping[str, Any]
) -> Effects:
    out = Effects()
    code = function.__code__
    rows: dict[str, Shape] = {}
    env: Env = {}
    for name in code.co_varnames[: code.co_argcount]:
        shape = shapes.get(name)
        env[name] = PLAIN
        if name == "p" and meanings:
            env[name] = frozenset({KnownAtom(SimpleNamespace(**meanings))})
        if shape is not None:
            env[name] = frozenset({Edges(name) if shape.several else Row(name)})
            rows |= {name: shape} | {f"{name}.{end}": of for end, of in shape.ends.items()}
    if _Calls(out, rows).follow(function, env) is not None:
        return out
    for name in env:
        for row in rows:
            if row.split(".")[0] == name:
                out.add(row, EVERY, "unknown", place_in(code.co_filename, code.co_firstlineno))
    return out


class _Calls:
    """The calls of functions in one analysis: those that are being followed, and the results of
    others.
    """

    def __init__(self, out: Effects, rows: Mapping[str, Shape]) -> None:
        self.out, self.rows = out, rows
        self.stack: list[types.CodeType] = []
        self.done: dict[Any, Value] = {}

    def follow(self, function: types.FunctionType, env: Env) -> Value | None:
        """Follow a call and return its result; None if it cannot be followed."""
        code, key = function.__code__, (function, tuple(sorted(env.items())))
        if key in self.done:
            return self.done[key]
        tree = read_definition(code)
        if tree is None or code.co_flags & _UNUSUAL or _holds_functions(tree):
            return None
        if code in self.stack or len(self.stack) >= _CALLS:
            return None
        self.stack.append(code)
        frame = _Frame(function, self.rows, self.out.add, self.follow)
        fell = frame.run(tree.body, dict(env))
        self.stack.pop()
        self.done[key] = join(*frame.returned, OBJECT if fell is not None else frozenset())
        return self.done[key]


@lru_cache(4096)
def _holds_functions(tree: ast.FunctionDef) -> bool:
    """Return whether functions stand in a function: they see the later values of its names."""
    inner = (each for statement in tree.body for each in ast.walk(statement))
    return any(isinstance(each, ast.FunctionDef | ast.Lambda | ast.GeneratorExp) for each in inner)


class _Frame(Expressions):
    """The statements of one call of one function. Each method for a statement returns the values of
    names behind it; None if the code that follows is not reached.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.returned: list[Value] = []
        self.left: list[tuple[list[Env], list[Env]]] = []  # by loop: at breaks, at continues

    def run(self, body: Iterable[ast.stmt], env: Env) -> Env | None:
        """Run through statements in order. Return the values of names behind them; None if the end
        is not reached.
        """
        self.env, at = env, env
        for statement in body:
            self.env = dict(at)
            after = self._statement(statement)
            if after is None:
                return None
            at = after
        return at

    def _statement(self, node: ast.stmt) -> Env | None:
        match node:
            case ast.Expr():
                self.value(node.value)
            case ast.Assign():
                self._assign(node.targets, node.value, node)
            case ast.AnnAssign():
                if node.value is not None:
                    self._assign([node.target], node.value, node)
                elif not isinstance(node.target, ast.Name):
                    self.escape_names(node)
            case ast.AugAssign():
                self._augment(node)
            case ast.If():
                return self._if(node)
            case ast.For() | ast.While():
                return self._loop(node)
            case ast.Return():
                self.returned.append(self.value(node.value) if node.value else OBJECT)
                return None
            case ast.Break() | ast.Continue():
                self.left[-1][isinstance(node, ast.Continue)].append(self.env)
                return None
            case ast.Raise():
                self.use_expression(node.exc)
                self.use_expression(node.cause)
                return None
            case ast.Assert():
                self.use_expression(node.test)
                self.use_expression(node.msg)
            case ast.Pass():
                pass
            case _:
                self.escape_names(node)
        return self.env

    def escape_names(self, node: ast.AST) -> None:
        """Note that source is not followed; it may also leave a loop, or the function."""
        super().escape_names(node)
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return):
                self.returned.append(join(*self.env.values(), OBJECT))
            if isinstance(inner, ast.Break | ast.Continue) and self.left:
                for envs in self.left[-1]:
                    envs.append(self.env)

    def _if(self, node: ast.If) -> Env | None:
        found = guarded_fold(node)
        if found is not None:
            self.use_expression(found.operand)
            self._change(found.target, found.kind, node)
            return self.env
        self.use_expression(node.test)
        before = self.env
        return _either(self.run(node.body, dict(before)), self.run(node.orelse, dict(before)))

    def _loop(self, node: ast.For | ast.While) -> Env | None:
        items = self.value(node.iter) if isinstance(node, ast.For) else PLAIN
        head: Env = self.env
        while True:
            self.env = dict(head)
            if isinstance(node, ast.For):
                self._store(node.target, self.element(items, node.iter), node)
            else:
                self.use_expression(node.test)
            self.left.append(([], []))
            last = self.run(node.body, self.env)
            breaks, continues = self.left.pop()
            if (again := _either(head, last, *continues)) == head:
                break
            assert again is not None
            head = again
        self.env = dict(head)
        if isinstance(node, ast.While):
            self.use_expression(node.test)
        return _either(self.run(node.orelse, self.env), *breaks)

    def _assign(self, targets: list[ast.expr], value: ast.expr, node: ast.stmt) -> None:
        pairs = [(targets[0], value)]
        if (
            len(targets) == 1
            and isinstance(targets[0], ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(targets[0].elts) == len(value.elts)
            and not any(isinstance(e, ast.Starred) for e in (*targets[0].elts, *value.elts))
        ):
            pairs = [*zip(targets[0].elts, value.elts, strict=True)]
        assigned = frozenset(names_in(node, stored=True)) if len(pairs) > 1 else frozenset()
        folds = [
            fold(target, of, self._is, assigned, alone=len(pairs) == 1)
            if len(targets) == 1
            else None
            for target, of in pairs
        ]
        values = []
        for (_, of), found in zip(pairs, folds, strict=True):
            for operand in found.operands if found else ():
                self.use_expression(operand)
            values.append(PLAIN if found else self.value(of))
        for (target, _), found, given in zip(pairs, folds, values, strict=True):
            if found:
                self._change(target, found.kind, node)
            else:
                for each in targets if len(targets) > 1 else [target]:
                    self._store(each, given, node)

    def _is(self, node: ast.expr, thing: Any) -> bool:
        """Return whether an expression is the function `thing`, perhaps as an attribute of a
        module.
        """
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            modules = self.value_of_name(node.value.id)
            found = [getattr(a.thing, node.attr, None) for a in modules if isinstance(a, KnownAtom)]
            return len(found) == len(modules) == 1 and found[0] is thing
        return isinstance(node, ast.Name) and self.value_of_name(node.id) == frozenset(
            {KnownAtom(thing)}
        )

    def _augment(self, node: ast.AugAssign) -> None:
        kinds = ("add",) if isinstance(node.op, ast.Add | ast.Sub) else ("read", "write")
        if not isinstance(node.target, ast.Name):
            for kind in kinds:
                self._change(node.target, kind, node)
            self.use_expression(node.value)
            return
        held = self.value_of_name(node.target.id)
        views = frozenset(atom for atom in held if isinstance(atom, View))
        made = self.combine_values(frozenset(held - views), self.value(node.value), node)
        for atom in views:
            for kind in kinds:
                self.note(atom.row, atom.field, kind, node)  # type: ignore[attr-defined]
        self.env[node.target.id] = join(views, made)

    def _store(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        """Assign a value to a target, and note the effects."""
        match target:
            case ast.Name():
                self.env[target.id] = value
            case ast.Tuple() | ast.List():
                self._unpack(target.elts, value, node)
            case ast.Attribute() | ast.Subscript():
                self.use(value, node)
                if not self._change(target, "write", node):
                    self.escape(value, node)
            case _:
                self.escape(value, node)
                for name in names_in(target, stored=True):
                    self.env[name] = OBJECT

    def _unpack(self, targets: list[ast.expr], value: Value, node: ast.AST) -> None:
        whole = [
            atom.items
            for atom in value
            if isinstance(atom, TupleAtom) and len(atom.items) == len(targets)
        ]
        starred = any(isinstance(each, ast.Starred) for each in targets)
        if len(whole) == len(value) and not starred:
            for at, target in enumerate(targets):
                self._store(target, join(*(items[at] for items in whole)), node)
            return
        item = self.element(value, node)
        if starred:
            self.escape(item, node)
        for target in targets:
            self._store(target, item, node)

    def _change(self, target: ast.expr, kind: str, node: ast.AST) -> bool:
        """Note a change of a field, or of an entry of one; return whether the target can be nothing
        else.
        """
        assert isinstance(target, ast.Attribute | ast.Subscript)
        base, certain = self.value(target.value), True
        if isinstance(target, ast.Subscript):
            self.use_expression(target.slice)
        for atom in base:
            if isinstance(atom, Row) and isinstance(target, ast.Attribute):
                self.note(atom.name, target.attr, kind, node)
            elif isinstance(atom, View) and isinstance(target, ast.Subscript):
                self.note(atom.row, atom.field, kind, node)
            else:
                certain = False
                self.escape(frozenset({atom}), node)
        return certain


def _either(*ways: Env | None) -> Env | None:
    """Return the values of names where several branches meet; None if no branch comes to its
    end.
    """
    reached = [env for env in ways if env is not None]
    if not reached:
        return None
    names = {name for env in reached for name in env}
    return {name: join(*(env[name] for env in reached if name in env)) for name in sorted(names)}
