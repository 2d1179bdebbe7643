"""Declarations of options: the values that one may have, the flag that says it, and what is told of
it to a run's record, to a run that goes on, and to the workers of a job.
"""

from __future__ import annotations

import math
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import stores
from tux.checkpoint.schedule import CheckpointInterval
from tux.clock.clock import ENDLESS
from tux.program.program import Program

FlagKind = Mapping[str, Any]
"""Words of argparse for flags whose values are of one kind."""

ProgramFact = Callable[[type[Program]], bool]
"""A function that tells something about a program which a flag may concern."""


class OptionRule(NamedTuple):
    """The values that an option may have: `form` describes them in words. `read` returns the value
    as the run keeps it; None for a value that is not allowed. `argument` has argparse's words for
    its flag.
    """

    form: str
    read: Callable[[Any], Any]
    argument: FlagKind = {}


class Option(NamedTuple):
    """The declaration of one option."""

    rule: OptionRule
    help: str | Callable[[type[Program]], str] = ""  # of its flag; "" if it has none
    default: Any = None
    section: str = "the run"  # of the help text
    exists: ProgramFact = lambda program: True  # which programs' commands have the flag,
    shown: ProgramFact = lambda program: True  # and their help shows it
    recorded: bool = True  # whether `run.json` has it, if it is given
    resumed: str = ""  # help of its flag where a run goes on; "" where it cannot be another then
    of_job: bool = False  # whether workers need it, and all machines must have the same


def option(*declared: Any, **more: Any) -> Any:
    """Declare an option as the field of a dataclass: the fields of an `Option`."""
    made = Option(*declared, **more)
    return field(default=made.default, metadata={"option": made})


def options_by_name(kind: Any) -> dict[str, Option]:
    """Return the options that a dataclass, or an object of one, declares."""
    return {each.name: each.metadata["option"] for each in fields(kind)}


def whole(text: str) -> int:
    """Parse a whole number."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"a whole number is needed, not {text!r}") from None


def number(low: int | None = None, most: int | None = None, metavar: str = "N") -> FlagKind:
    """Return the kind of flags that take whole numbers, from `low` and to `most` if there are
    any.
    """

    def read(text: str) -> int:
        value = whole(text)
        if low is not None and value < low:
            raise ArgumentTypeError(f"at least {low} is needed, not {text}")
        if most is not None and value > most:
            raise ArgumentTypeError(f"at most {most:,} is allowed, not {text}")
        return value

    return {"type": read, "metavar": metavar}


INPUT: FlagKind = {"type": stores.local_path, "metavar": "FILE"}
"""The kind of flags that name a file or folder which is read."""

TABLE: FlagKind = {**INPUT, "metavar": "TYPE=FILE", "action": "append"}
"""The kind of flags that name tables of vertices, which are read."""

OUTPUT: FlagKind = {"type": stores.output_path, "metavar": "FILE"}
"""The kind of flags that name a file or folder which is written."""


def _interval(text: str) -> str:
    """Check a number of epochs or, with s after it, of seconds."""
    if CheckpointInterval.parse(text) is None:
        raise ArgumentTypeError(
            f"a number of epochs (5) or of seconds (30s, 0.5s), above 0, is needed, not {text!r}"
        )
    return text


SIZE = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT]?)(i?)B?")
"""A size in bytes as users write it: 3GB, 500MB, 2GiB, 3000000000."""

SMALLEST_SIZE = 10**6
"""The fewest bytes of a size. Smaller numbers are no bytes: --memory 3 may mean gigabytes."""


def _size(value: Any) -> int | None:
    """Return a size in bytes, which may be text; None for one that is none, or too small."""
    if isinstance(value, str) and (
        found := SIZE.fullmatch(value.strip().upper().replace("IB", "iB"))
    ):
        base = 1024 if found[3] else 1000
        value = int(float(found[1]) * base ** " KMGT".index(found[2] or " "))
    return integer_rule(SMALLEST_SIZE).read(value)


def _size_argument(text: str) -> int:
    """Parse a size."""
    if (size := _size(text)) is None:
        raise ArgumentTypeError(f"a size such as 3GB or 500MB is needed, not {text!r}")
    return size


def integer_rule(low: int | None = None, high: int | None = None, metavar: str = "N") -> OptionRule:
    """Allow whole numbers, both bounds included; those of numpy too."""
    bounds = [f"at {w} {x:,}" for w, x in (("least", low), ("most", high)) if x is not None]

    def read(value: Any) -> int | None:
        if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            return None
        number = int(value)
        inside = (low is None or number >= low) and (high is None or number <= high)
        return number if inside else None

    form = " ".join(["a whole number", " and ".join(bounds)]).strip()
    return OptionRule(form, read, number(low, high, metavar))


def endless_rule(low: int, high: int) -> OptionRule:
    """Allow whole numbers, both bounds included, and "inf", also as a float: no bound."""
    numbers = integer_rule(low, high)

    def read(value: Any) -> int | str | None:
        endless = value == ENDLESS or isinstance(value, float | np.floating) and value == math.inf
        return ENDLESS if endless else numbers.read(value)

    def parse(text: str) -> int | str:
        if text == ENDLESS:
            return ENDLESS
        try:
            int(text)
        except ValueError:
            raise ArgumentTypeError(f"a whole number or inf is needed, not {text!r}") from None
        return numbers.argument["type"](text)

    return OptionRule(f"{numbers.form}, or inf", read, {"type": parse, "metavar": "N"})


AUTO = "auto"
"""The value of an option that is chosen by trials (`tux.runs.tuning`)."""


def open_rule(rule: OptionRule) -> OptionRule:
    """Allow "auto" beside the values of another rule: the run chooses."""
    parse_other = rule.argument["type"]

    def parse(text: str) -> Any:
        if text == AUTO:
            return AUTO
        try:
            return parse_other(text)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{error}; auto lets trials choose") from None

    argument = {**rule.argument, "type": parse}
    return OptionRule(
        f"{rule.form}, or auto",
        lambda value: AUTO if isinstance(value, str) and value == AUTO else rule.read(value),
        argument,
    )


def choice_rule(*values: str) -> OptionRule:
    """Allow some words."""
    return OptionRule(
        " or ".join(f'"{value}"' for value in values),
        lambda value: value if isinstance(value, str) and value in values else None,
        {"choices": values, "metavar": "|".join(values)},
    )


def text_rule(metavar: str = "NAME") -> OptionRule:
    """Allow any text."""
    return OptionRule(
        "a str", lambda value: value if isinstance(value, str) else None, {"metavar": metavar}
    )


def object_rule(form: str, fits: Callable[[Any], bool]) -> OptionRule:
    """Allow objects that fit, which no flag says."""
    return OptionRule(form, lambda value: value if fits(value) else None)


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    return float(value) if math.isfinite(value) and value > 0 else None


def _tables(value: Any) -> Mapping[str, Any] | None:
    if not isinstance(value, Mapping) or not all(isinstance(kind, str) for kind in value):
        return None
    return {kind: _source(table) or table for kind, table in value.items()}


def _source(value: Any) -> str | None:
    return stores.local_path(value) if isinstance(value, str | os.PathLike) else None


def _output(value: Any) -> str | os.PathLike[str] | None:
    if not isinstance(value, str | os.PathLike):
        return None
    name = stores.output_path(value)
    return value if name == os.fspath(value) else name


def _is_place(value: Any) -> bool:
    from tux.cluster.rendezvous.place import Place

    return isinstance(value, Place)


def is_list_of_texts(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


_PATH = "a path: a str or an os.PathLike"
FILE = OptionRule(_PATH, _source, INPUT)
RUN = OptionRule(_PATH, _source, {**INPUT, "metavar": "RUN"})
PATHS = FILE, RUN
"""The rules of options that name what is read."""
FOLDER = OptionRule(_PATH, _output, {**OUTPUT, "metavar": "DIR"})
TABLES = OptionRule("tables by vertex type, as in {'page': 'pages.csv'}", _tables, TABLE)
SWITCH = OptionRule(
    "True or False", lambda value: bool(value) if isinstance(value, bool | np.bool_) else None
)
BYTES = OptionRule(
    "a number of bytes from 1,000,000 on, or a text such as '3GB'",
    _size,
    {"type": _size_argument, "metavar": "SIZE"},
)
PLACE = object_rule("a tux.cluster.rendezvous.place.Place", _is_place)
SECONDS = OptionRule("a number of seconds above 0", _seconds, number(1, metavar="S"))
INTERVAL = OptionRule(
    'a number of epochs, "5", or of seconds, "30s" or "0.5s", above 0',
    lambda value: value if isinstance(value, str) and CheckpointInterval.parse(value) else None,
    {"type": _interval, "metavar": "N|Ns"},
)
