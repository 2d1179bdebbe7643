"""Options by name, as a caller gives them. The error for a wrong name proposes the closest one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar

from tux.base.errors import UsageError
from tux.base.text import did_you_mean
from tux.options.options import Reading, RunOptions
from tux.options.rules import options_by_name
from tux.program.params import formers, settable
from tux.program.program import Program


class DefaultData(Enum):
    """The default for the data of a run: small data are made up."""

    MADE_UP = "small data that are made up"

    def __repr__(self) -> str:
        return f"<{self.value}>"


MADE_UP = DefaultData.MADE_UP

Options = TypeVar("Options", bound=Reading)


def options_of(
    kind: type[Options],
    given: Mapping[str, Any],
    program: Program | None = None,
    only: Sequence[str] = (),
    **own: Any,
) -> Options:
    """Return the options that a caller has given, and `own` ones. `only`: those that there are, if
    not all. UsageError for a name that is none, and for a value that cannot be meant.
    """
    known = [name for name, option in options_by_name(kind).items() if option.help]
    known = [name for name in known if name in only or not only]
    for name in given:
        if name in known:
            continue
        former = formers(program.params) if program is not None else {}
        if program is not None and (name in settable(program.params) or name in former):
            app, present = type(program).__name__, former.get(name, name)
            called = "" if name == present else f", called {present} now"
            do = f"{name} is a parameter of {app}{called}: give it to {app}({present}=...)"
        else:
            do = f"{did_you_mean(name, known)}there are: {', '.join(known)}"
        raise UsageError(f"no option {name!r}", do=do)
    return kind(**given, **own)


def data_of(given: Any) -> Any:
    """Return data as `tux.runs` takes them, where None stands for those that are made up.
    UsageError for None itself: it often comes from a function that has returned nothing.
    """
    if given is None:
        raise UsageError(
            "data is None",
            do="give data; or leave the argument out, to train on small data that are made up",
        )
    return None if given is MADE_UP else given


def run_options(program: Program, given: Mapping[str, Any], only: Sequence[str] = ()) -> RunOptions:
    """Return the options of a run, which returns the model so far when the user ends it; `only`:
    those that there are, if not all. UsageError where `program` is none.
    """
    if isinstance(program, type) and issubclass(program, Program):
        name = program.__name__
        do = f"make a program of it: {name}()"
        raise UsageError(f"{name} is a class of programs", do=do)
    if not isinstance(program, Program):
        do = "give a program, such as tux.MF(rank=8)"
        raise UsageError(f"{type(program).__name__} is no program", do=do)
    return options_of(RunOptions, given, program, only, keeps_interrupted=True)
