"""The values of a UDF's expressions: which rows, fields and functions each may be, and which fields
it reads. `tux.stages.analysis.effects` goes through the statements around them.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Mapping
from typing import Any

from tux.rows.vectors import meaning_in_udf
from tux.stages.analysis.effect_values import (
    DEEPEST,
    NUMBERS,
    NUMERIC_METHODS,
    OBJECT,
    PLAIN,
    READING_METHODS,
    Edges,
    IterableAtom,
    KnownAtom,
    OtherAtom,
    Row,
    Shape,
    TupleAtom,
    Value,
    View,
    constant,
    depth,
    is_numeric,
    join,
    parts,
    read_by,
    rows_in,
)
from tux.stages.analysis.fold_idioms import names_in
from tux.stages.kernel.written import place_in

Env = dict[str, Value]
Note = Callable[[str, str, str, str], None]
"""Called with a row, a field, a kind of effect, and ``file:line``."""

EVERY = "*"
"""Stands for all fields of a row."""


_SEE_NAMES = ("eval", "exec", "locals", "vars")
"""Functions that reach local names without being given their values."""


class Expressions:
    """The expressions of one call of one function; `env`: the value that each local name stands
    for.

    `rows`: the shapes of rows, by their names. `call` is called at each call of a function with a
    source, with the function and its parameters; it returns what the function returns, or None
    where it cannot be followed.
    """

    def __init__(
        self,
        function: types.FunctionType,
        rows: Mapping[str, Shape],
        note: Note,
        call: Callable[[types.FunctionType, Env], Value | None],
    ) -> None:
        self.function, self.rows, self._note, self._call = function, rows, note, call
        self.env: Env = {}
        code = function.__code__
        self._locals = frozenset((*code.co_varnames, *code.co_cellvars))
        self._closed = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))

    def note(self, row: str, field: str, kind: str, node: ast.AST) -> None:
        """Note an effect."""
        where = place_in(self.function.__code__.co_filename, node.lineno)  # type: ignore[attr-defined]
        self._note(row, field, kind, where)

    def escape(self, value: Value, node: ast.AST) -> None:
        """Note that anything may happen to the rows in `value`: they are not followed from here."""
        for atom in rows_in(value):
            if isinstance(atom, View):
                self.note(atom.row, atom.field, "unknown", node)
                continue
            self.note(atom.name, EVERY, "unknown", node)
            for end in self.rows[atom.name].ends:
                self.note(f"{atom.name}.{end}", EVERY, "unknown", node)

    def use(self, value: Value, node: ast.AST) -> None:
        """Note that a value is computed with: fields are read, and rows are not followed."""
        for atom in value:
            if isinstance(atom, View):
                self.note(atom.row, atom.field, "read", node)
            elif isinstance(atom, Row | Edges):
                self.escape(frozenset({atom}), node)
            for item in parts(atom):
                self.use(item, node)

    def use_expression(self, node: ast.expr | None) -> None:
        """Evaluate an expression and note that its value is computed with."""
        if node is not None:
            self.use(self.value(node), node)

    def escape_names(self, node: ast.AST) -> None:
        """Note that source is not followed: it may do anything to the values of local names."""
        self.escape(join(*self.env.values()), node)
        for name in names_in(node, stored=True):
            self.env[name] = OBJECT

    def value(self, node: ast.expr) -> Value:
        """Return the value that an expression may have, and note the fields that it reads."""
        match node:
            case ast.Constant():
                return PLAIN if isinstance(node.value, int | float | complex) else OBJECT
            case ast.Name():
                return self.value_of_name(node.id)
            case ast.Attribute():
                return join(*(self._attribute(a, node) for a in self.value(node.value)))
            case ast.Subscript():
                return self._entry(node)
            case ast.Call():
                return self._value_of_call(node)
            case ast.BinOp():
                return self.combine_values(self.value(node.left), self.value(node.right), node)
            case ast.UnaryOp() | ast.Compare() | ast.Slice():
                return self._compute(node)
            case ast.JoinedStr() | ast.FormattedValue():
                self._compute(node)
                return OBJECT
            case ast.BoolOp():
                values = [self.value(each) for each in node.values]
                for each, of in zip(values, node.values, strict=True):
                    self.use(each, of)
                return join(*values)
            case ast.IfExp():
                self.use_expression(node.test)
                return join(self.value(node.body), self.value(node.orelse))
            case ast.Tuple() if not any(isinstance(each, ast.Starred) for each in node.elts):
                return self._tuple(tuple(self.value(each) for each in node.elts), node)
            case ast.NamedExpr():
                found, name = self.value(node.value), node.target.id
                # what stands beside it may be computed before, and `and` may leave it out
                self.env[name] = join(self.env.get(name, frozenset()), found)
                return found
            case ast.ListComp():
                return self._comprehension(node)
            case ast.List() | ast.Set() | ast.Tuple():
                for part in node.elts:
                    inner = part.value if isinstance(part, ast.Starred) else part
                    self.escape(self.value(inner), part)
                return OBJECT
        self.escape_names(node)
        return OBJECT

    def value_of_name(self, name: str) -> Value:
        """Return the value that a name stands for."""
        if name in self.env:
            return self.env[name]
        if name in self._locals:
            return PLAIN  # not assigned yet: Python would say so
        if name in self._closed:
            try:
                return constant(self._closed[name].cell_contents)
            except ValueError:  # not assigned yet
                return OBJECT
        known = self.function.__globals__
        return constant(known[name] if name in known else getattr(builtins, name, None))

    def element(self, value: Value, node: ast.AST) -> Value:
        """Return the value that a loop over `value` gives at each turn."""
        return join(*(self._element(atom, node) for atom in value))

    def _element(self, atom: Any, node: ast.AST) -> Value:
        match atom:
            case Edges():
                return frozenset({Row(atom.name)})
            case View() if atom.ndim > 1:
                return frozenset({View(atom.row, atom.field, atom.ndim - 1)})
            case TupleAtom() | IterableAtom():
                return join(*parts(atom))
        self.use(frozenset({atom}), node)
        return PLAIN if is_numeric(frozenset({atom})) else OBJECT

    def _tuple(self, items: tuple[Value, ...], node: ast.AST) -> Value:
        if max(map(depth, items), default=0) >= DEEPEST:
            self.escape(join(*items), node)
            return OBJECT
        return frozenset({TupleAtom(items)})

    def combine_values(self, left: Value, right: Value, node: ast.AST) -> Value:
        """Return the value that an operator makes: a number, or a new array, tuple or list."""
        both = join(left, right)
        self.use(both, node)
        if is_numeric(both):
            return PLAIN
        self.escape(both, node)
        return OBJECT

    def _compute(self, node: ast.expr) -> Value:
        """Evaluate an expression that makes a number or a text of its parts."""
        told_apart = isinstance(node, ast.Compare) and all(
            isinstance(op, ast.Is | ast.IsNot) for op in node.ops
        )
        for each in ast.iter_child_nodes(node):
            if isinstance(each, ast.expr):
                value = self.value(each)
                if not told_apart:
                    self.use(value, each)
        return PLAIN

    def _comprehension(self, node: ast.ListComp) -> Value:
        targets = [inner for each in node.generators for inner in ast.walk(each.target)]
        if any(isinstance(each, ast.NamedExpr) for each in ast.walk(node)) or any(
            isinstance(each, ast.Attribute | ast.Subscript) for each in targets
        ):
            self.escape_names(node)
            return OBJECT
        outer = dict(self.env)
        for each in node.generators:
            items = self.element(self.value(each.iter), each.iter)
            for name in names_in(each.target, stored=True):
                self.env[name] = OBJECT
            if isinstance(each.target, ast.Name):
                self.env[each.target.id] = items
            else:
                self.escape(items, each.target)
            for test in each.ifs:
                self.use_expression(test)
        item = self.value(node.elt)
        self.env = outer
        if depth(item) >= DEEPEST:
            self.escape(item, node)
            return OBJECT
        return frozenset({IterableAtom(join(item, OBJECT))})  # the list may be given other elements

    # ---- parts of things

    def _attribute(self, atom: Any, node: ast.Attribute) -> Value:
        name = node.attr
        match atom:
            case Row() if name in self.rows[atom.name].ends:
                return frozenset({Row(f"{atom.name}.{name}")})
            case Row() if ndim := self.rows[atom.name].fields.get(name, 0):
                return frozenset({View(atom.name, name, ndim)})
            case Row() if not name.startswith("__"):
                self.note(atom.name, name, "read", node)
                return PLAIN
            case View() if name in ("value", "key"):  # of an argmax or argmin
                self.note(atom.row, atom.field, "read", node)
                return PLAIN
            case View() | OtherAtom(numeric=True) if name in ("shape", "strides"):
                return NUMBERS
            case View() if name in ("size", "ndim"):
                return PLAIN
            case OtherAtom(numeric=True) if not name.startswith("__"):
                return PLAIN
            case KnownAtom() if isinstance(atom.thing, types.ModuleType):
                return constant(getattr(atom.thing, name, None))
            case KnownAtom() if isinstance(atom.thing, types.SimpleNamespace):  # parameters
                meaning = getattr(atom.thing, name, 0)
                known = isinstance(meaning, tuple)
                return frozenset({KnownAtom(meaning)}) if known else constant(meaning)
            case KnownAtom() if isinstance(atom.thing, tuple):
                return constant(getattr(atom.thing, name, None))
            case View() if name != "dtype":
                self.escape(frozenset({atom}), node)
            case Row() | Edges() | TupleAtom() | IterableAtom():
                self.escape(frozenset({atom}), node)
        return OBJECT

    def _entry(self, node: ast.Subscript) -> Value:
        base, index = self.value(node.value), self.value(node.slice)
        self.use(index, node.slice)
        return join(*(self._at(atom, node.slice, index, node) for atom in base))

    def _at(self, atom: Any, at: ast.expr, index: Value, node: ast.Subscript) -> Value:
        match atom:
            case View():
                return self._part(atom, at, index, node)
            case Edges() if index == PLAIN and not isinstance(at, ast.Slice):
                return frozenset({Row(atom.name)})
            case TupleAtom() if isinstance(at, ast.Constant) and isinstance(at.value, int):
                if -len(atom.items) <= at.value < len(atom.items):
                    return atom.items[at.value]
            case TupleAtom() | IterableAtom() if isinstance(at, ast.Slice):
                return frozenset({IterableAtom(join(*parts(atom)))})
            case TupleAtom() | IterableAtom() if index == PLAIN:
                return join(*parts(atom))
            case OtherAtom(numeric=True):
                return PLAIN
        self.escape(frozenset({atom}), node)
        return OBJECT

    def _part(self, view: View, at: ast.expr, index: Value, node: ast.Subscript) -> Value:
        """Return the value of an entry, or of a part, of a field that is an array."""
        each = at.elts if isinstance(at, ast.Tuple) else [at]
        numbers = tuple(PLAIN for _ in each)
        if index != (frozenset({TupleAtom(numbers)}) if isinstance(at, ast.Tuple) else PLAIN):
            self.escape(frozenset({view}), node)
            return OBJECT
        left = view.ndim - sum(not isinstance(i, ast.Slice) for i in each)
        if left > 0:
            return frozenset({View(view.row, view.field, left)})
        self.note(view.row, view.field, "read", node)
        return PLAIN

    # ---- calls

    def _value_of_call(self, node: ast.Call) -> Value:
        # Python, too, looks at the function before it computes what it is given
        base = self.value(node.func.value if isinstance(node.func, ast.Attribute) else node.func)
        unusual = any(isinstance(each, ast.Starred) for each in node.args) or any(
            each.arg is None for each in node.keywords
        )
        given = [
            self.value(each.value if isinstance(each, ast.Starred) else each) for each in node.args
        ]
        named = {
            each.arg or f"**{i}": self.value(each.value) for i, each in enumerate(node.keywords)
        }
        functions = base
        if isinstance(node.func, ast.Attribute):
            if not all(isinstance(atom, KnownAtom) for atom in base):
                return self._method(base, node.func.attr, [*given, *named.values()], node)
            functions = join(*(self._attribute(atom, node.func) for atom in base))
        if unusual or not all(isinstance(atom, KnownAtom) for atom in functions):
            for value in (functions, *given, *named.values()):
                self.escape(value, node)
            return OBJECT
        return join(
            *(
                self._call_of(atom.thing, given, named, node)
                for atom in functions
                if isinstance(atom, KnownAtom)
            )
        )

    def _method(self, base: Value, name: str, given: list[Value], node: ast.Call) -> Value:
        """Note the effects of a method of an array, or of anything else; return its result."""
        for value in given:
            self.escape(value, node)
        reads = name in READING_METHODS and (name != "astype" or len(given) == 1)  # copy=False
        for atom in base:
            if isinstance(atom, View) and reads:
                self.note(atom.row, atom.field, "read", node)
            elif isinstance(atom, View) and name == "add":  # to an argmax or argmin
                self.note(atom.row, atom.field, "add", node)
            elif isinstance(atom, View) and name == "fill":
                self.note(atom.row, atom.field, "write", node)
            elif not isinstance(atom, OtherAtom):
                self.escape(frozenset({atom}), node)
        return PLAIN if name in NUMERIC_METHODS and is_numeric(join(base, *given)) else OBJECT

    def _call_of(
        self, thing: Any, given: list[Value], named: dict[str, Value], node: ast.Call
    ) -> Value:
        values, thing = (*given, *named.values()), meaning_in_udf(thing)
        if isinstance(thing, types.FunctionType) and (env := _bind_arguments(thing, given, named)):
            returned = self._call(thing, env)
            if returned is not None:
                return returned
        elif thing is len and len(given) == 1:
            return PLAIN
        elif (thing is zip or thing is enumerate) and given and not named:
            items = [self.element(value, node) for value in given[: None if thing is zip else 1]]
            inner = self._tuple(tuple(items if thing is zip else [PLAIN, *items]), node)
            if depth(inner) < DEEPEST:
                return frozenset({IterableAtom(inner)})
        elif getattr(thing, "__name__", "") in _SEE_NAMES:
            self.escape_names(node)
        elif (read := read_by(thing, given, named)) is not None:
            for value in values:
                self.use(value, node)
            return read
        for value in values:
            self.escape(value, node)
        return OBJECT


def _bind_arguments(
    function: types.FunctionType, given: list[Value], named: dict[str, Value]
) -> Env | None:
    """Return the parameters of a call by name; None where the arguments do not fit."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    every = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    env = {
        name: constant(value)
        for name, value in (
            *zip(names[len(names) - len(defaults) :], defaults, strict=True),
            *(function.__kwdefaults__ or {}).items(),
        )
    }
    positional = dict(zip(names, given, strict=False))
    fits = len(given) <= len(names) and not positional.keys() & named.keys()
    env |= positional | named
    return env if fits and set(env) == set(every) else None
