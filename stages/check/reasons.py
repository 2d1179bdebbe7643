"""Reasons for which numba cannot compile a function: the innermost one of its report, in words
about rows, with advice.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tux.rows.extreme import assignment_message

_BORING = (
    "Failed in",
    "During:",
    "File ",
    "<source",
    "Invalid use of",
    "Overload",
    "- ",
    "There are",
    "^",
    "def ",
    "No implementation",
)
_TELLING = re.compile(
    r"Unknown attribute|read-only|readonly|several entries|NameError|Cannot|cannot|Undecided|no "
    r"attribute|not supported|not defined|lowering parameters"
)
_LIBRARY = re.compile(r"(built-in|frozen|lib/python)")
_SEE = (
    "write it with numbers, arrays and loops: see Functions in docs/program.md; --debug shows "
    "numba's whole report"
)


class Reason(NamedTuple):
    """The fault, the advice to the user, and the name in the source that the fault is about, or
    "".
    """

    what: str
    do: str = _SEE
    name: str = ""


def reason_of(text: str) -> Reason:
    """Return the innermost reason that numba gives in its report `text`."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if re.search(r"Cannot cast \S+ to array\(", text):
        stored = re.search(r'lowering "\(?(\w+)\)?\.(\w+) = ', text)
        name = f"{stored[1]}.{stored[2]}" if stored else "row.field"
        return Reason(
            f"{name} has several entries: assign to {name}[k], or {name}[:]", "set them in a loop"
        )
    if assigned := re.search(r"Cannot cast \S+ to (\S+) \(arg(max|min)\)", text):
        return Reason(assignment_message(assigned[1]), "take its value in a GlobalSync")
    telling = [line for line in lines if not line.startswith(_BORING) and len(line) > 3]
    marked = [line for line in telling if _TELLING.search(line)]
    reason = re.sub(
        r"^(\w+\.)*\w*(Error|Exception): ",
        "",
        (marked or telling or lines or ["no reason given"])[0],
    )
    return _reword(re.sub(r"\.*\s*Raised from .*", "", reason))


def _reword(reason: str) -> Reason:
    """Return a reason in words about rows, where such words are known; else as numba says it."""
    if found := re.search(r"Unknown attribute '(\w+)' of type parameters", reason):
        return Reason(
            f"p.{found[1]} is no number that the program declares",
            f"declare {found[1]} with param(...); a text stays outside of functions: choose by it "
            "in stages; the id of a vertex is a vertex_param",
            found[1],
        )
    if found := re.search(r"lowering parameters \(.*\)\.(\w+) = ", reason):
        return Reason(
            f"p.{found[1]} is assigned, and parameters do not change",
            "keep what changes in a field of tau or of a vertex",
            found[1],
        )
    if found := re.search(r"Unknown attribute '(\w+)' of type Module\(<module '(\S+)'", reason):
        if _LIBRARY.search(reason):
            return Reason(f"numba does not know {found[2]}.{found[1]}")
        return Reason(f"{reason}: import functions by name, from MODULE import FUNCTION")
    if found := re.search(r"Unknown attribute '(\w+)' of type (\w+) (\(fields: .*\))", reason):
        what = f"{found[2]} has no field {found[1]} {found[3]}"
        return Reason(what, "correct the name, or declare the field")
    of_edge = r"edge of \w+ \(fields: (?P<fields>.*?)\) to (?P<end>\w+): "
    if found := re.search(rf"Unknown attribute '(?P<name>\w+)' of type {of_edge}", reason) or (
        re.search(rf"setattr: \({of_edge}.*\)\)\.(?P<name>\w+) = ", reason)
    ):
        name, fields, end = (found[group] for group in ("name", "fields", "end"))
        what = f"an edge of `edges` has no field {name} (fields: {fields})"
        return Reason(what, f"correct the name; fields of the other end are edge.{end}.FIELD")
    if found := re.search(r"setattr: \((\w+) (\(fields: .*\))\)\.(\w+) = ", reason):
        what = f"{found[1]} has no field {found[3]} {found[2]}"
        return Reason(what, "correct the name, or declare the field")
    if found := re.search(r"(\S+)\.(\w+) is read-only here", reason):
        return Reason(reason, _who_writes(found[1], found[2]))
    if found := re.search(r"name '(\w+)' is not defined", reason):
        return Reason(reason, "define it at the top of the file, or import it", found[1])
    if found := re.search(r"module '\S+' has no attribute '(\w+)'", reason):
        return Reason(reason, "correct the name", found[1])
    if re.match(r">>> (static_)?setitem\(readonly array\(", reason):
        what = "an entry of a field is set that is read-only here"
        return Reason(what, _who_writes("", ""))
    if re.match(r">>> (static_)?(get|set)item\((readonly )?array\([^)]*\), float\d+[,)]", reason):
        return Reason("an index is a float, not a whole number", "write int(...) around it")
    if found := re.match(r">>> (\w+?)_?\((.*)\)$", reason):
        types = re.sub(r"<iv=\w+>|\[unichr\]", "", found[2])
        return Reason(f"numba knows no operation or function {found[1]} of ({types})")
    return Reason(reason)


def _who_writes(row: str, field: str) -> str:
    """Return advice on where a field may be written that may not be written here."""
    if field == "id":
        return "leave it out: the number of a vertex does not change"
    if row == "tau":
        return "add to a total instead; a GlobalSync sets values and metrics"
    return (
        "Exchange changes delta, shared and mirror fields, Apply those of kind value and master; "
        "see the kinds of fields in docs/program.md"
    )
