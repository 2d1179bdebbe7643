"""Reports of numba and of checks, retold: one line of reason at the file and line of the user's
function.
"""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tux.base.errors import DataError, ProgramError, TuxError
from tux.program.params import is_meaning
from tux.stages.analysis.udf_source import definition
from tux.stages.check.checks import BecameNan, OutOfBounds, UnfitNumber, UnlikeShapes
from tux.stages.check.reasons import reason_of
from tux.stages.check.sites import Site
from tux.stages.kernel.bind import place
from tux.stages.kernel.written import origin, place_in

_PLACES = (
    re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)'),
    re.compile(r"(at|from) (?P<file>/[^\n]*?\.py) \((?P<line>\d+)\)"),  # it may have blanks
    re.compile(r"(at|from) (?P<file>\S+\.py) \((?P<line>\d+)\)"),
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def compile_error(error: Exception, udfs: Iterable[Any]) -> ProgramError:
    """Return `error`, which compiling `udfs` raised, as a ProgramError: one line of reason, with
    the line that caused it, or else the function's.
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
    reason, do, name = reason_of(text)
    where = (name and _place_of(name, udfs)) or (
        f"{found[0][0]}:{found[0][1]}" if found else place(udfs[0])
    )
    names = ", ".join(udf.__name__ for udf in udfs)
    return ProgramError(f"UDF {names} cannot be compiled: {reason}", where=where, do=do)


def _place_of(name: str, udfs: Iterable[Any]) -> str:
    """Return ``file:line`` where one of the `udfs` has this name or attribute last; "" if none has:
    numba does not tell the line of each fault.
    """
    for udf in udfs:
        tree = definition(udf.__code__)
        for node in ast.walk(tree) if tree else ():
            if name in (getattr(node, "id", ""), getattr(node, "attr", "")):
                return place_in(udf.__code__.co_filename, node.lineno)  # type: ignore[attr-defined]
    return ""


def failed_check_error(
    error: IndexError | BecameNan | UnfitNumber | UnlikeShapes,
    sites: Sequence[Site],
    udfs: Sequence[Any],
) -> TuxError:
    """Return the fault that a check in one of the `udfs` has found as an error for the user, with
    the line that caused it, or else the first UDF's.
    """
    if isinstance(error, BecameNan):
        site = sites[error.args[0]]
        what = f"NaN replaces a number in `{site.text}`"
        return DataError(
            site.message(what),
            where=site.where,
            do="look for 0/0, inf - inf, a root or logarithm below 0, or a step too large",
        )
    if isinstance(error, UnlikeShapes):
        site = sites[error.args[0]]
        return ProgramError(
            site.message(f"`{site.text}` is changed by an array of another shape"),
            where=site.where,
            do="give both the same lengths, or change the entries in a loop",
        )
    if isinstance(error, UnfitNumber):
        number, new, low, high = error.args
        site = sites[number]
        if new != int(new):
            what = f"{new:g} is stored in `{site.text}`, which holds whole numbers"
            do = "declare the field as f4 or f8, or write int(...) to cut the number"
        else:
            what = f"{new:.0f} is stored in `{site.text}`, which holds {low:,} to {high:,}"
            kind = "signed" if new < low == 0 else "larger"
            do = f"declare the field with a {kind} dtype, such as i4 or i8"
        return ProgramError(site.message(what), where=site.where, do=do)
    if isinstance(error, OutOfBounds):
        number, axis, index, length = error.args
        site = sites[number]
        what = bounds_message(site.text, index, length, axis)
        return ProgramError(
            site.message(what),
            where=site.where,
            do=f"correct the index, or make `{site.text}` larger",
        )
    names = ", ".join(udf.__name__ for udf in udfs)
    return ProgramError(
        f"an index in UDF {names} is out of bounds", where=place(udfs[0]), do="correct the index"
    )


def udf_error(error: Exception, udfs: Sequence[Any]) -> ProgramError:
    """Return as a ProgramError what `udfs` have raised, or numba's own code in them, such as that
    for arrays whose lengths do not go together: with the line, if it is known, as Python's is.
    """
    files = {udf.__code__.co_filename for udf in udfs}
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
    names = ", ".join(udf.__name__ for udf in udfs)
    said = str(error).partition("\n")[0]
    do = "correct the function"
    if isinstance(error, KeyError) and is_meaning(*error.args):
        said = "a function is no key"
        do = (
            "p.NAME of a parameter with choices={...} is the function that was chosen, not its "
            "name: call it, or let choices hold NamedTuples"
        )
    what = f"has raised {type(error).__name__}{said and ': '}{said}"
    if frames:
        file, line = frames[-1].filename, frames[-1].lineno or 0
        made_for = origin(file)
        who = made_for.stage if made_for else f"UDF {names}"
        return ProgramError(f"{who} {what}", where=place_in(file, line), do=do)
    if not re.match(r"expected .*, got None", said):
        return ProgramError(
            f"UDF {names} {what}",
            where=place(udfs[0]),
            do=f"{do}; --no-jit tells the line",
        )
    return ProgramError(
        f"a name in UDF {names} is None, and a field of it is read or changed",
        where=place(udfs[0]),
        do="test the name for None first, or keep the number that you need instead of the row; "
        "--no-jit tells the line",
    )


@contextmanager
def program_errors(udfs: Sequence[Any]) -> Iterator[None]:
    """Turn an error that `udfs` raise inside, as plain Python, into a ProgramError. A TuxError is
    raised as it is, and so is a MemoryError, as too little memory is no mistake of theirs.
    """
    try:
        yield
    except (TuxError, MemoryError):
        raise
    except Exception as error:
        raise udf_error(error, udfs) from error


def bounds_message(text: str, index: int, length: int, axis: int = 0) -> str:
    """Return one line that says that an index of `text` is out of bounds."""
    entries = "1 entry" if length == 1 else f"{length:,} entries"
    where = f"axis {axis} of " if axis else ""
    return f"index {index:,} is out of bounds for {where}`{text}`, which has {entries}"
