"""The operators on vectors of docs/vectors.md, for the interpreter: each changes a field of all
masters of a type, or sets a number of the context.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from support.prove.memory import FieldRow, Taus, VertexReplicas
from support.prove.spec import VectorSpec

NUMBERS: dict[str, Callable[..., float]] = {
    "Dot": lambda x, y: x * y,
    "Norm2": lambda x: x * x,
    "Sum": lambda x: x,
    "Nnz": lambda x: x != 0,
}
CHANGES: dict[str, Callable[..., float]] = {
    "Axpy": lambda to, x, by: to + by * x,
    "Copy": lambda to, x, by: x,
    "Add": lambda to, x, by: to + x,
    "Sub": lambda to, x, by: to - x,
    "Mul": lambda to, x, by: to * x,
    "Div": lambda to, x, by: _divide(to, x),
    "Fill": lambda to, x, by: x,
}


class Arguments(NamedTuple):
    """The arguments of an operator: a vertex type, then fields or numbers, and those with names."""

    vertex: str
    rest: list[Any]
    named: dict[str, Any]


def read_arguments(stage: VectorSpec) -> Arguments:
    """Read the arguments of an operator from their source text. The name of a function is a text
    here, as names of fields are.
    """
    call = ast.parse(f"operator({stage.arguments})", mode="eval").body
    assert isinstance(call, ast.Call)
    vertex, *rest = [_read_literal(node) for node in call.args]
    named = {word.arg or "": _read_literal(word.value) for word in call.keywords}
    return Arguments(vertex, rest, named)


def operate(
    stage: VectorSpec, types: dict[str, VertexReplicas], taus: Taus, p: SimpleNamespace
) -> None:
    """Run an operator other than Zip on all masters of its type."""
    vertex, rest, named = read_arguments(stage)
    replicas = types[vertex]
    if stage.operator in NUMBERS:
        total = 0.0
        for row in replicas.masters:
            fields = [_entries(row, name, taus.root, p) for name in rest]
            total += float(sum(map(NUMBERS[stage.operator], *fields)))
        for row in [taus.root, *taus.rows]:
            row.store(named["into"], math.sqrt(total) if stage.operator == "Norm2" else total)
        return
    by = _number(named.get("by", 0), taus.root, p)
    for v, row in enumerate(replicas.masters):
        old = _entries(row, rest[0], taus.root, p)
        if stage.operator == "Fill":
            other = [_number(rest[1] if rest[1:] else named["by"], taus.root, p)] * len(old)
        else:
            other = _entries(row, rest[1], taus.root, p) if rest[1:] else [by] * len(old)
        f = CHANGES[stage.operator]
        new = [f(to, x, by) for to, x in zip(old, other, strict=True)]
        _set_entries(row, rest[0], new, taus.root, p)
        replicas.send(v)


def _read_literal(node: ast.expr) -> Any:
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


def _split(text: str) -> tuple[str, str, str]:
    """Split "-alpha[i]" into the sign, the name and the index."""
    found = re.fullmatch(r"(-?)(\w+)(?:\[(-?\w+)\])?", text)
    if found is None:
        raise ValueError(f"{text!r} is no field and no entry of one")
    return found[1], found[2], found[3] or ""


def _number(written: Any, tau: FieldRow, p: SimpleNamespace) -> float:
    """Return the number that an argument names: itself, or that of a field of tau or of a
    parameter.
    """
    if not isinstance(written, str):
        return written
    sign, name, index = _split(written)
    found = tau.__dict__[name] if name in tau.__dict__ else getattr(p, name)
    if index:
        found = found[_index(index, tau, p)]
    return -found if sign else found


def _index(text: str, tau: FieldRow, p: SimpleNamespace) -> int:
    return int(text) if text.lstrip("-").isdigit() else int(_number(text, tau, p))


def _entries(row: FieldRow, field: str, tau: FieldRow, p: SimpleNamespace) -> list[Any]:
    """Return the numbers of a field of one vertex, or the one entry that "s[i]" names."""
    _, name, index = _split(field)
    x = row.__dict__[name]
    if index:
        return [x[_index(index, tau, p)]]
    return list(x) if row.lengths[name] else [x]


def _set_entries(
    row: FieldRow, field: str, numbers: list[Any], tau: FieldRow, p: SimpleNamespace
) -> None:
    _, name, index = _split(field)
    if index:
        row.__dict__[name][_index(index, tau, p)] = numbers[0]
    else:
        row.store(name, numbers if row.lengths[name] else numbers[0])


def _divide(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.divide(a, b))
