"""Indices that are one number for all rows of a stage's call, such as the `tau.i` of `v.q[tau.i]`:
before each call they are compared with the lengths of the fields.

The look at a kernel's first edges or vertices (`tux.stages.check.sample`) sees early values of
`tau` alone, and an index of later ones would write over the next row. What is found here is a
suspicion too, as an index may stand behind a condition: the call then runs compiled with checks.
"""

from __future__ import annotations

import ast
import copy
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from tux.engine.partition import Partition
from tux.rows.table import RowTable
from tux.stages.analysis.reads import functions_reached
from tux.stages.analysis.udf_source import read_definition

Number = Callable[[], Any]

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


class StageIndices:
    """The indices that `udfs` write as expressions of `tau`, numbers and parameters. A field is
    known by its name: of several, the shortest counts.

    Called, it tells whether one of them is out of bounds now. That takes microseconds.
    """

    def __init__(self, partition: Partition, udfs: Iterable[Any], tau: RowTable) -> None:
        self._tau, self._parameters = tau.arrays, partition.parameters
        edge = {
            n: f.resolve(partition.program.parameters)
            for n, f in partition.program.edge.fields.items()
        }
        self._lengths: dict[tuple[str, int], int] = {}
        for declared in (edge, *(table.declared for table in partition.tables.values())):
            for name, field in declared.items():
                for axis, length in enumerate(() if field.is_ragged else field.lengths):
                    known = self._lengths.get((name, axis), length)
                    self._lengths[name, axis] = min(known, length)
        self._found = {
            (ast.dump(index), length): (number, length)
            for function in functions_reached(*udfs)
            for index, length in self._indices(function)
            if (number := self._number(index)) is not None
        }

    def __call__(self) -> bool:
        """Return whether an index is out of bounds by the present values of the context."""
        return any(_is_outside(number, length) for number, length in self._found.values())

    def _indices(self, function: types.FunctionType) -> Iterator[tuple[ast.expr, int]]:
        """Yield expressions of `tau` that are indices of fields, each with the field's length
        there.
        """
        code = function.__code__
        tree = read_definition(code) if "tau" in code.co_varnames[: code.co_argcount] else None
        if tree is None:
            return
        bound = _SingleBindings(tree)
        for node in ast.walk(tree):
            if not isinstance(node, ast.Subscript):
                continue
            field = bound.put_into(node.value)
            chosen = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            for axis, each in enumerate(chosen if isinstance(field, ast.Attribute) else ()):
                index = bound.put_into(each)
                length = self._lengths.get((field.attr, axis))  # type: ignore[attr-defined]
                if length is not None and _names_tau(index):
                    yield index, length

    def _number(self, node: ast.expr) -> Number | None:
        """Return a function that evaluates an expression; None for an expression of another
        form.
        """
        match node:
            case ast.Constant(value=int(value)):
                return lambda: value
            case ast.Attribute(value=ast.Name(id="tau"), attr=name) if name in self._tau:
                array = self._tau[name]
                return lambda: _plain(array[0])
            case ast.Attribute(value=ast.Name(id="p"), attr=name) if name in self._parameters:
                number = self._parameters[name]
                return lambda: number
            case ast.Subscript(value=of, slice=at):
                array_of, index = self._number(of), self._number(at)
                if array_of is not None and index is not None:
                    return lambda: _plain(array_of()[int(index())])
            case ast.UnaryOp(op=ast.USub(), operand=of):
                if (positive := self._number(of)) is not None:
                    return lambda: -positive()
            case ast.Call(func=ast.Name(id="int"), args=[of]):
                return self._number(of)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                one, other, apply = self._number(left), self._number(right), _OPERATORS[type(op)]
                if one is not None and other is not None:
                    return lambda: apply(one(), other())
        return None


def _plain(number: Any) -> Any:
    """Return a number as Python's, which does not overflow; an array as it is."""
    return number.item() if isinstance(number, np.generic) else number


def _is_outside(number: Number, length: int) -> bool:
    """Return whether a number, or one of an array, is no index of an axis with `length` entries."""
    try:
        index = number()
        if isinstance(index, np.ndarray):
            outside = (index < -length) | (index >= length)
            return index.dtype.kind in "iu" and bool(outside.any())
        return not -length <= int(index) < length
    except IndexError:  # of an entry of tau
        return True
    except (TypeError, ValueError, ArithmeticError):  # not a number, or a division by 0
        return False


class _SingleBindings(ast.NodeTransformer):
    """The local names of a function that are bound once, each with the expression it is bound
    to.
    """

    def __init__(self, function: ast.FunctionDef) -> None:
        nodes = list(ast.walk(function))
        names = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        names += [n.arg for n in nodes if isinstance(n, ast.arg)]
        self._values = {
            target.id: node.value
            for node in nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and names.count(target.id) == 1
        }

    def put_into(self, node: ast.expr) -> ast.expr:
        """Return a copy of an expression with these values for their names."""
        return self.visit(copy.deepcopy(node))  # type: ignore[no-any-return]

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802  ast's word
        value = self._values.pop(node.id, None)  # so that no name is put into its own value
        if value is None:
            return node
        try:
            return self.put_into(value)
        finally:
            self._values[node.id] = value


def _names_tau(index: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "tau" for node in ast.walk(index))
