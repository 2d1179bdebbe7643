"""Checks of the values that the hooks of inputs and reports return, where tux calls them: a wrong
return is an error of the user's program.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sized
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.program.base_program import BaseProgram
from tux.program.hooks import check_parameters
from tux.program.input import Input
from tux.program.naming import describe_value, place
from tux.program.report import GANTT, INDEXES, Report


def call_hook(owner: Input | Report, hook: str, *arguments: Any) -> Any:
    """Call the hook of an input or a report and return its result. Raise ProgramError, with the
    place of the hook, for a result that it may not return.
    """
    returned = getattr(owner, hook)(*arguments)
    fault, form, do = RETURNS[hook]
    if wrong := fault(returned, arguments):
        raise ProgramError(
            f"{type(owner).__name__}.{hook}() must return {form}, not {wrong}",
            where=place(getattr(owner, hook)),
            do=do,
        )
    return returned


def check_exports(program: BaseProgram) -> dict[str, Callable[..., Any]]:
    """Return the report's functions by the name of a format. Raise ProgramError for a format that
    is no function, and for one with other parameters than tux gives it.
    """
    report = program.report
    formats = call_hook(report, "exports")
    for name, function in formats.items():
        what = f"{type(report).__name__}.exports(), format {name}: {_function_name(function)}"
        given = ("program", "model", *(["rows"] if takes_rows(function) else []))
        check_parameters(what, function, given, f"give it {len(given)}: {', '.join(given)}")
    return dict(formats)


def takes_rows(function: Callable[..., Any]) -> bool:
    """Return whether a format is about new rows: its function has a parameter `rows`."""
    try:
        return "rows" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # compiled code does not say
        return False


def _function_name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


# Each says what is wrong with a return, or nothing; the second argument is what the hook was given.


def _topology(returned: Any, arguments: tuple[Any, ...]) -> str:
    if isinstance(returned, str):
        return "" if returned in ("directed", "undirected", "") else repr(returned)
    return describe_value(returned)


def _extra_tables(returned: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(returned, Mapping):
        return describe_value(returned)
    for name, table in returned.items():
        if not isinstance(name, str) or not name.isidentifier():
            return f"one named {name!r}, which UDFs cannot read as topology.NAME"
        if name in ("bounds", "ends", "sums"):
            return f"one named {name}, which the topology has already"
        if isinstance(table, int | float | np.generic):
            return f"a single number as {name}"
        if not _is_numbers(table):
            return f"{describe_value(table)} as {name}"
    return ""


def _is_numbers(table: Any) -> bool:
    """Return whether something is an array of numbers, or can be made one."""
    try:
        return np.asarray(table).dtype.kind in "biuf" and np.ndim(table) > 0
    except ValueError:  # rows of several lengths
        return False


def _hold_out(returned: Any, arguments: tuple[Any, ...]) -> str:
    if isinstance(returned, bool) or not isinstance(returned, int | float | np.number):
        return describe_value(returned)
    return "" if 0 <= returned < 1 else f"{returned:g}"


def _number(returned: Any, arguments: tuple[Any, ...]) -> str:
    wrong = isinstance(returned, bool) or not isinstance(returned, int | float | np.number)
    return describe_value(returned) if wrong else ""


def _truth(returned: Any, arguments: tuple[Any, ...]) -> str:
    return "" if isinstance(returned, bool | np.bool_) else describe_value(returned)


def _specialise(returned: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(returned, BaseProgram):
        return describe_value(returned)
    one, other = returned.edge, arguments[0].edge
    if one.ends != other.ends or one.columns != other.columns:
        return f"a {type(returned).__name__}, whose edge type differs"
    if returned.input.topology(returned) != arguments[0].input.topology(arguments[0]):
        return f"a {type(returned).__name__}, whose topology differs"
    return ""


def _tables(returned: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(returned, Mapping):
        return describe_value(returned)
    for name, table in returned.items():
        if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name):
            return f"a table named {name!r}, which cannot be a file's name"
        if not isinstance(table, Mapping):
            return f"{describe_value(table)} as {name}"
        for column, values in table.items():
            if not isinstance(column, str):
                return f"a column named {column!r} in {name}"
            if not isinstance(values, Sized) or isinstance(values, str):
                return f"{describe_value(values)} as the column {column} of {name}"
        if len({len(values) for values in table.values()}) > 1:
            return f"columns of several lengths in {name}"
    return ""


def _numbers(returned: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(returned, Mapping):
        return describe_value(returned)
    for name, value in returned.items():
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(name, str):
            return f"one named {name!r}"
        if not isinstance(number, bool | int | float | str):
            return f"{describe_value(value)} as {name}"
    return ""


def _remarks(returned: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(returned, list | tuple):
        return describe_value(returned)
    wrong = [each for each in returned if not isinstance(each, str)]
    return f"one with {describe_value(wrong[0])} in it" if wrong else ""


def _exports(returned: Any, arguments: tuple[Any, ...]) -> str:
    if not isinstance(returned, Mapping):
        return describe_value(returned)
    for name, function in returned.items():
        if not isinstance(name, str):
            return f"one named {name!r}"
        if not callable(function):
            return f"{describe_value(function)} as {name}"
    taken = [name for name in (GANTT, *INDEXES) if name in returned]
    return f"one named {taken[0]}, which each run has already" if taken else ""


def _nothing(returned: Any, arguments: tuple[Any, ...]) -> str:
    return ""


_TABLES = (
    "tables by name, each with columns of equal length",
    'e.g. return {"ranks": {"page": pages, "rank": ranks}}; return {} for none',
)
_SCORES = "numbers by name", 'e.g. return {"error": 0.5}; return {} for none'

RETURNS: dict[str, tuple[Callable[[Any, tuple[Any, ...]], str], str, str]] = {
    "topology": (
        _topology,
        '"directed", "undirected" or ""',
        'return "" if UDFs do not read the topology',
    ),
    "extra_tables": (
        _extra_tables,
        "arrays of numbers by name",
        'e.g. return {"degree": np.diff(topology.bounds)}; return {} for none',
    ),
    "hold_out": (
        _hold_out,
        "a share of the edges, from 0 to below 1",
        "e.g. return 0.1; return 0 to hold out none",
    ),
    "counts_pairs": (_truth, "a truth value", "e.g. return program.implicit"),
    "numeric": (_truth, "a truth value", 'e.g. return program.loss == "squared"'),
    "least_label": (_number, "a number", "e.g. return 0.0; return -math.inf for none"),
    "multiclass": (_truth, "a truth value", 'e.g. return program.loss == "softmax"'),
    "ranked": (_truth, "a truth value", 'e.g. return program.loss == "lambdarank"'),
    "specialise": (
        _specialise,
        "a program of the same edge type and topology",
        "return the program, or an instance of another one with the same edge type",
    ),
    "doubts": (
        _remarks,
        "a list of sentences",
        'e.g. return ["all ages are 0"]; return [] for none',
    ),
    "tables": (_tables, *_TABLES),
    "history": (_tables, *_TABLES),
    "summary": (_numbers, *_SCORES),
    "judge": (_numbers, *_SCORES),
    "opening": (
        _remarks,
        "a list of sentences",
        'e.g. return ["mini-batches of 20 samples"]; return [] for none',
    ),
    "remarks": (
        _remarks,
        "a list of sentences",
        'e.g. return ["the run has ended early"]; return [] for none',
    ),
    "exports": (
        _exports,
        "functions by the name of a format",
        'e.g. return {"ranks": ranks_of}; return {} for none',
    ),
    "write": (_nothing, "nothing", ""),
}
"""For each hook: the function that finds a wrong return, what it must return, and what to do."""
