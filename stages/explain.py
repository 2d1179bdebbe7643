"""Reports of numba and of checks, retold: one line of reason at the file and line of the user's
function.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tux.base.errors import DataError, ProgramError, TuxError
from tux.rows.extreme import only_added_to
from tux.stages.bind import place
from tux.stages.checks import BecameNan, OutOfBounds
from tux.stages.sites import Site

_PLACES = (
    re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)'),
    re.compile(r"at (?P<file>\S+\.py) \((?P<line>\d+)\)"),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
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
    r"attribute|not supported"
)


def explained(error: Exception, udfs: Iterable[Any]) -> ProgramError:
    """`error`, which compiling `udfs` raised, as one line of reason with the line that caused
    it, or else the function's.
    """
    udfs = list(udfs)
    text = _COLOUR.sub("", str(error))
    own = {os.path.abspath(udf.__code__.co_filename) for udf in udfs}
    found = [
        (os.path.abspath(m["file"]), m["line"])
        for pattern in _PLACES
        for m in pattern.finditer(text)
        if "tux_kernel_" not in m["file"]
    ]
    found.sort(key=lambda at: at[0] not in own)
    where = f"{found[0][0]}:{found[0][1]}" if found else place(udfs[0])
    names = ", ".join(udf.__name__ for udf in udfs)
    return ProgramError(
        f"UDF {names} cannot be compiled: {_reason(text)}",
        where=where,
        do="run with --debug for numba's whole report",
    )


def broken(error: IndexError | BecameNan, sites: Sequence[Site], udfs: Sequence[Any]) -> TuxError:
    """What a check in one of the `udfs` found, with the line that caused it, or else the first
    UDF's.
    """
    if isinstance(error, BecameNan):
        site = sites[error.args[0]]
        what = f"NaN replaces a number in `{site.text}`"
        return DataError(
            what,
            where=site.where,
            do="look for 0/0, inf - inf, a root or logarithm below 0, or a step too large",
        )
    if isinstance(error, OutOfBounds):
        number, axis, index, length = error.args
        site = sites[number]
        what = out_of_bounds(site.text, index, length, axis)
        return ProgramError(
            what, where=site.where, do=f"correct the index, or make `{site.text}` larger"
        )
    names = ", ".join(udf.__name__ for udf in udfs)
    return ProgramError(
        f"an index in UDF {names} is out of bounds", where=place(udfs[0]), do="correct the index"
    )


def out_of_bounds(text: str, index: int, length: int, axis: int = 0) -> str:
    """That an index of `text` is wrong, in one line."""
    entries = "1 entry" if length == 1 else f"{length:,} entries"
    where = f"axis {axis} of " if axis else ""
    return f"index {index:,} is out of bounds for {where}`{text}`, which has {entries}"


def _reason(text: str) -> str:
    """The innermost reason that numba gives, in words about rows."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if re.search(r"Cannot cast \S+ to array\(", text):
        stored = re.search(r'lowering "\(?(\w+)\)?\.(\w+) = ', text)
        name = f"{stored[1]}.{stored[2]}" if stored else "row.field"
        return f"{name} has several entries: assign to {name}[k]"
    if assigned := re.search(r"Cannot cast \S+ to (\S+) \(arg(max|min)\)", text):
        return only_added_to(assigned[1])
    telling = [line for line in lines if not line.startswith(_BORING) and len(line) > 3]
    marked = [line for line in telling if _TELLING.search(line)]
    reason = re.sub(
        r"^(\w+\.)*\w*(Error|Exception): ",
        "",
        (marked or telling or lines or ["no reason given"])[0],
    )
    if parameter := re.search(r"Unknown attribute '(\w+)' of type parameters", reason):
        reason = (
            f"p.{parameter[1]} is no number that the program declares (texts stay outside: choose "
            "by them in stages; the id of a vertex is a vertex_param)"
        )
    if re.search(r"Unknown attribute '\w+' of type Module", reason):
        reason += ": import functions by name, from MODULE import FUNCTION"
    return reason
