"""Operands: the things that the operators of `tux.stages.vectors` name. These are fields of a
vertex type, entries of them, and numbers.

"w"        a field of the vertex type
"s[i]"     an entry of one along its first dimension; i is a whole number, a field of tau, or
           a parameter
0.5        a number
"alpha"    a field of tau, or a parameter
"-alpha"   the same, times -1
"alpha[i]" an entry of such a field of tau
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tux.base.errors import ProgramError
from tux.program.base_program import BaseProgram
from tux.program.fields import Field

_NAMED = re.compile(r"([^\W\d]\w*)(?:\[(\w+)\])?")

KINDS = ("value", "shared", "master", "data")
"""Kinds of fields that masters hold when nothing is gathered."""

WRITTEN = ("value", "shared", "master")
"""Kinds of these fields that may be changed."""


class Operand(NamedTuple):
    """An expression in a UDF on `v`: `name` with the `first` index or "", and the lengths of the
    dimensions that are left.
    """

    name: str
    first: str
    lengths: tuple[int, ...]
    dtype: np.dtype

    def at(self, indices: list[str]) -> str:
        """Return the expression of one number."""
        chosen = ", ".join([self.first] * bool(self.first) + indices)
        return f"{self.name}[{chosen}]" if chosen else self.name


def split(text: object, what: str) -> tuple[str, str]:
    """Split "s" or "s[i]" into the name and the index, or "". Raise ProgramError for anything
    else.
    """
    found = _NAMED.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise ProgramError(
            f"{what} is given {text!r} as a field",
            do='write the name of a field as text, "w", or an entry of one, "s[i]"',
        )
    return found[1], found[2] or ""


def field(
    program: BaseProgram, over: str, text: str, label: str, *, changed: bool = False
) -> Operand:
    """Return a field of the vertex type, or an entry of it. Raise ProgramError where there is none,
    or where masters do not hold it, or if it is `changed` and is read-only.
    """
    if over not in program.vertices:
        raise ProgramError(
            f"{label}: '{over}' is no vertex type",
            do=f"vertex types: {', '.join(program.vertices)}",
        )
    name, index = split(text, label)
    fields = program.vertices[over].fields
    if name not in fields:
        raise ProgramError(
            f"{label}: {over} has no field {name}",
            do=f"fields of {over}: {', '.join(fields) or 'none'}",
        )
    kind = fields[name].kind
    if program.vertices[over].remote:
        raise ProgramError(
            f"{label}: {over} is remote, and workers hold no vectors of it",
            do="declare it without remote=True, or change its rows in `use` of Generate",
        )
    if kind == "delta":
        raise ProgramError(
            f"{label}: {over}.{name} is a delta, which masters get in an Apply alone",
            do=f'keep it in a value or master field first: Apply("{over}", f)',
        )
    if kind not in KINDS:
        raise ProgramError(
            f"{label}: {over}.{name} is a {kind} field, of which each replica has its own",
            do="collect it in a delta, and let an Apply keep it in a value or master field",
        )
    if changed and kind not in WRITTEN:
        raise ProgramError(
            f"{label}: {over}.{name} is a data field, which is read-only",
            do=f"name one of kind {', '.join(WRITTEN)}",
        )
    sized = fields[name].resolve(program.parameters)
    return _entry(program, f"v.{name}", sized, index, label)


def scalar(program: BaseProgram, by: object, label: str) -> Operand:
    """Return a number, or that of a field of tau or of a parameter. Raise ProgramError for anything
    else.
    """
    if isinstance(by, int | float | np.integer | np.floating) and not isinstance(by, bool):
        if by != by:
            raise ProgramError(f"{label} is given NaN as a number", do="give another number")
        number = by.item() if isinstance(by, np.generic) else by
        text = repr(number).replace("inf", "1e999")  # infinity has no literal of its own
        return Operand(text, "", (), np.dtype(type(number)))
    negative = isinstance(by, str) and by.startswith("-")
    name, index = split(by[1:] if negative else by, label)  # type: ignore[index]
    declared, sign = program.params.get(name), "-" if negative else ""
    fields = program.context.fields
    if name in fields and declared is not None:
        raise ProgramError(
            f"{label}: {name} is a field of tau and a parameter", do="rename one of them"
        )
    if name in fields:
        if fields[name].kind == "delta":
            raise ProgramError(
                f"{label}: tau.{name} is a total, which is known after a GlobalSync alone",
                do="let GlobalSync(f) set a value from it, and name that; or declare a reduction",
            )
        found = _entry(
            program, f"tau.{name}", fields[name].resolve(program.parameters), index, label
        )
        if found.lengths:
            raise ProgramError(
                f"{label}: tau.{name} has several numbers, and one is needed",
                do=f'name one of them: "{name}[i]"',
            )
        if found.dtype.kind == "u":  # unsigned numbers are never negative
            sign = "-1 * " if sign else ""
        return found._replace(name=f"{sign}{found.name}")
    numbers = _numbers(program)
    if name not in numbers or index:
        raise ProgramError(
            f"{label}: {by!r} is neither a field of tau nor a parameter that is a number",
            do=f"fields of tau: {_values(fields)}; parameters: {', '.join(numbers) or 'none'}",
        )
    kind = np.dtype("i8" if numbers[name] is int else "f8")
    return Operand(f"{sign}p.{name}", "", (), kind)


def _numbers(program: BaseProgram) -> dict[str, type]:
    return {n: d.type for n, d in program.params.items() if d.type in (int, float)}


def _values(fields: Mapping[str, Field]) -> str:
    return ", ".join(n for n, d in fields.items() if d.kind != "delta") or "none"


def _entry(program: BaseProgram, name: str, sized: Field, index: str, label: str) -> Operand:
    """Return a sized field, or one of its entries."""
    lengths = sized.lengths
    if not index:
        return Operand(name, "", lengths, sized.dtype)
    if not lengths:
        raise ProgramError(
            f"{label}: {name.removeprefix('v.')} is one number, and has no entry [{index}]",
            do="leave the index out, or declare the field with a length",
        )
    first = index
    if index.isdecimal():
        if int(index) >= lengths[0]:
            raise ProgramError(
                f"{label}: {name.removeprefix('v.')} has {lengths[0]} entries, and no [{index}]",
                do=f"name an entry from 0 to {lengths[0] - 1}",
            )
    else:
        chosen = scalar(program, index, label)
        if chosen.dtype.kind not in "iu":
            raise ProgramError(
                f"{label}: the index {index} is no whole number",
                do=f'declare it in tau: {index}=value("i8")',
            )
        first = chosen.at([])
    return Operand(name, first, lengths[1:], sized.dtype)
