"""Flags: a command line parser whose mistakes are told as any other error, and one flag for each
parameter of a program.

It is argparse and not tyro: flags come from `Param` and not from type hints, an unknown one is told
in the same three lines as every other error, and the parser costs 5 ms where tyro's import and
first call cost 75.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from tux.arrays import stores
from tux.base.errors import ProgramError, UsageError
from tux.base.text import plural_noun
from tux.cli.foreign_flags import meant_flag
from tux.cli.overwrites import refuse_overwrites
from tux.cli.widths import join_paragraphs, room, wrap_text
from tux.options.rules import INPUT as INPUT
from tux.options.rules import OUTPUT as OUTPUT
from tux.options.rules import FlagKind, whole
from tux.options.rules import number as number
from tux.program.naming import place_of_member
from tux.program.params import Param, formers, use_present_names
from tux.program.program import Program

HELP = 80  # columns of a help text where there is no terminal

# prefix of the names under which a program's parameters are kept apart from the command's own
OWN = "parameter "


VALUE = re.compile(r"-\.?\d", re.ASCII)
"""How values begin that are no flags."""


def real(text: str) -> float:
    """Parse a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"a number is needed, not {text!r}")
    return value


TEXT: FlagKind = {"metavar": "NAME"}
"""The kind of flags that take any text."""

REAL: FlagKind = {"type": real, "metavar": "X"}
"""The kind of flags that take any finite number."""


class Flags(argparse.ArgumentParser):
    """The arguments of one command; `parse` raises UsageError where argparse would print its usage
    and leave.

    Help shows `sections` in their order; what belongs to no app stands in the last.
    """

    def __init__(self, prog: str, about: str, usage: str, sections: Sequence[str] = ()) -> None:
        def layout(prog: str) -> argparse.HelpFormatter:
            return argparse.RawDescriptionHelpFormatter(
                prog, max_help_position=30, width=room(HELP) - 2
            )

        super().__init__(
            prog,
            f"{prog} {usage}",
            wrap_text(join_paragraphs(about), room(HELP), hang=0),
            formatter_class=layout,
            allow_abbrev=False,
            add_help=False,
        )
        # "-3s" is a value, whose flag says what is wrong with it; argparse knows "-3" alone
        self._negative_number_matcher = VALUE
        self.former: set[str] = set()  # flags that no answer names
        self._sections = {name: self.add_argument_group(name) for name in sections}
        last = sections[-1] if sections else ""
        self.section(last).add_argument("-h", "--help", action="help", help="show this text")
        self.switch("--debug", "show the whole traceback of an error", section=last)

    def section(self, name: str) -> argparse._ActionsContainer:
        """Return the section of that name, to add arguments to; "": that without a name."""
        return self._sections[name] if name else self

    def add(
        self, name: str, text: str, kind: FlagKind = TEXT, *, section: str = "", **more: Any
    ) -> None:
        """Declare a flag or an argument by its name, its help and the kind of its value; `more` are
        words of argparse instead of the kind's.
        """
        self.section(section).add_argument(name, help=text, **{**kind, **more})

    def switch(self, name: str, text: str, *, section: str = "", **more: Any) -> None:
        """Declare a flag without a value."""
        self.add(name, text, {"action": "store_true"}, section=section, **more)

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Parse the arguments, and return them by name. Raises UsageError with the closest known
        flag, or with what the value should be, and if a file to be written is read or named twice.
        """
        try:
            args, extra = self.parse_known_intermixed_args(argv)
        except UsageError as error:
            # argparse tells that an argument is missing before it looks at misspelt flags
            if error.what.startswith("the following arguments are required"):
                self._refuse([word for word in argv if self._is_unknown_flag(word)])
            raise
        self._refuse(sorted(extra, key=lambda word: not word.startswith("-")))
        refuse_overwrites(
            {name: path for name, path in self._paths(args, OUTPUT)},
            [path for _, path in self._paths(args, INPUT)],
        )
        return args

    def _paths(self, args: argparse.Namespace, kind: FlagKind) -> Iterator[tuple[str, str]]:
        """Yield the flags of a kind whose values are paths, with each path that was given; none of
        new folders, which have a check of their own.
        """
        for action in self._actions:
            if action.type is kind["type"] and (kind is INPUT or action.metavar != "DIR"):
                given = getattr(args, action.dest, None)
                paths = given if isinstance(given, list) else [given]
                name = action.option_strings[0] if action.option_strings else action.dest
                yield from ((name, path) for path in paths if isinstance(path, str))

    def _is_unknown_flag(self, word: str) -> bool:
        """Return whether a word is a long flag that the command does not have."""
        return word.startswith("--") and word.split("=")[0] not in {
            "--",
            *self._option_string_actions,
        }

    def _refuse(self, words: Sequence[str]) -> None:
        """Raise UsageError for the first of these words, if there is one."""
        for word in words:
            flag = word.split("=")[0]
            kind = "flag" if word.startswith("-") else "argument"
            meant = meant_flag(flag, self._option_string_actions.keys() - self.former)
            if kind == "argument":
                meant += advise_pattern(word)
            raise UsageError(f"unknown {kind} {flag}", do=f"{meant}see {self.prog} --help")

    def error(self, message: str) -> NoReturn:
        """Raise argparse's report as a UsageError."""
        what = message.removeprefix("argument ")
        what = what.replace("ignored explicit argument", "it takes no value, but is given")
        raise UsageError(what, do=f"see {self.prog} --help")


def advise_pattern(word: str) -> str:
    """Return how many files are named, if an argument too many is a file, else ""."""
    advice = "to read many files, quote a pattern, as '*.csv', or name their folder; "
    return advice if os.path.exists(word) else ""


def vertex_tables(given: Sequence[str] | None, kinds: Sequence[str]) -> dict[str, str] | None:
    """Return the tables of ``--vertices TYPE=FILE``, by vertex type; FILE alone where there is one
    type. None if there are none.
    """
    tables: dict[str, str] = {}
    for text in given or ():
        kind, equals, file = text.partition("=")
        if not equals and len(kinds) == 1:
            kind, file = kinds[0], text
        if not kind or not file:
            raise UsageError(
                f"--vertices {text} does not say whose vertices these are",
                do=f"say --vertices TYPE=FILE{'; types: ' * bool(kinds)}{', '.join(kinds)}",
            )
        if kind in tables:
            raise UsageError(
                f"--vertices {text}: the {plural_noun(kind)} have a table already, {tables[kind]}",
                do="give one table for each vertex type",
            )
        tables[kind] = stores.local_path(file)
    return tables or None


def add_parameters(flags: Flags, program: type[Program], section: str) -> None:
    """One flag for each `param` of the program that is not internal, in a section, and one that
    help does not show for each former name. ProgramError if the command has a flag of that name
    already.
    """
    group = flags.section(section)
    for name, declared in program.params.items():
        if declared.internal:
            continue
        try:
            _add(group, name, declared, _help(declared))
        except argparse.ArgumentError:
            raise ProgramError(
                f"{program.__name__}: parameter {name} has the name of a flag of {flags.prog}",
                where=place_of_member(program, name),
                do=f"rename it, for instance to {name}_",
            ) from None
    before = {*flags._option_string_actions}
    for former, name in formers(program.params).items():
        with suppress(argparse.ArgumentError):  # then it is a flag of the command itself
            _add(group, former, program.params[name], argparse.SUPPRESS)
    flags.former |= {*flags._option_string_actions} - before


def _add(group: argparse._ActionsContainer, name: str, declared: Param, text: str) -> None:
    """The flag of one parameter, with its help `text`."""
    kind: dict[str, Any] = {
        "type": {int: whole, float: real}.get(declared.type, str),
        "metavar": _metavar(declared),
    }
    if declared.type is bool:
        kind = {"action": argparse.BooleanOptionalAction if declared.default else "store_true"}
    how: dict[str, Any] = {"dest": OWN + name, "default": argparse.SUPPRESS}
    # nobody needs to be told how to ask for what is the case
    if declared.type is bool and not declared.default:
        negated = f"--no-{name.replace('_', '-')}"
        group.add_argument(negated, help=argparse.SUPPRESS, action="store_false", **how)
    group.add_argument(_flag(name), help=text, **how, **kind)


def _flag(name: str) -> str:
    """The flag of a parameter."""
    return "--" + name.replace("_", "-")


def parameters(
    args: argparse.Namespace, program: type[Program], warn: Callable[[str], None]
) -> dict[str, Any]:
    """The program's parameters that were given, by name; `warn` is told of former names. UsageError
    where one was given by both of its names.
    """
    given = {
        name.removeprefix(OWN): value for name, value in vars(args).items() if name.startswith(OWN)
    }
    return use_present_names(program.params, given, warn, _flag)


def _metavar(declared: Param) -> str:
    if declared.metavar:
        return declared.metavar
    if declared.choices:
        return "|".join(map(str, declared.choices))
    return {int: "N", float: "X"}.get(declared.type, "NAME")


def _help(declared: Param) -> str:
    """Return help text, range and default."""
    notes = " ".join(
        f"{word} {bound:g}"
        for word, bound in (("from", declared.low), ("to", declared.high))
        if bound is not None
    )
    if declared.default is None:
        return f"{declared.help} [must be given]".strip().replace("%", "%%")
    default = (
        {True: "yes", False: "", "": ""}.get(declared.default, declared.default)
        if declared.type in (bool, str)
        else f"{declared.default:g}"
    )
    notes = ", ".join(part for part in (notes, f"default {default}" if default else "") if part)
    return f"{declared.help}{f' [{notes}]' if notes else ''}".strip().replace("%", "%%")
