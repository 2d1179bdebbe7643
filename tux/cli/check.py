"""The body of ``tux check``: what a run would read of a file, and what of it is odd.

Heavy imports stand inside the functions: see `tux.cli.main`.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from tux.arrays.stores import local_path
from tux.base.errors import UsageError
from tux.cli import show
from tux.cli.flags import Flags, add_parameters, parameters

if TYPE_CHECKING:
    from argparse import Namespace

    from tux.options.options import Reading
    from tux.program.program import Program
    from tux.program.sources import Source

USAGE = "DATA [APP] [flags]"
NAMED = re.compile(r"[A-Za-z_]\w*=.+", re.DOTALL)  # TYPE=FILE
ABOUT = (
    "Tell how DATA are read: the format, the first rows, the columns that are used and those that "
    "are not, ids, numbers, bad rows and what is odd. With APP, an app or file.py, as tux run APP "
    "reads them, with the same flags; without, as edges."
)


def command(argv: list[str]) -> int:
    """Do what ``tux check`` with these arguments says. Raises what `tux.inputs.load.load` does."""
    if argv and argv[0] in ("-h", "--help"):
        Flags("tux check", ABOUT, USAGE).parse(argv)
    if not argv or argv[0].startswith("-"):
        raise UsageError("tux check: name the file first", do=f"tux check {USAGE}")
    typed = [*takewhile(NAMED.fullmatch, argv[1:])] if NAMED.fullmatch(argv[0]) else []
    paths, rest = [local_path(path) for path in [argv[0], *typed]], argv[1 + len(typed) :]
    named = rest[:1] if rest and not rest[0].startswith("-") else []
    source = _find_program(named[0]) if named else None
    args = _flags(source, *named).parse(rest[len(named) :])
    from tux.inputs.examination import examine

    if typed and not source:
        raise UsageError(
            "files of several edge types without APP", do="name the program behind them"
        )
    for number, each in enumerate(_inputs(paths, source, args)):
        if typed:
            show.say(f"{chr(10) * bool(number)}{paths[number]}:")
        show.phase(f"look at {each[0]}")
        for name, text in examine(*each):
            show.pairs({f"{name:<{show.NAMES}}": text})
    return 0


def _inputs(
    paths: list[str], source: Source | None, args: Namespace
) -> list[tuple[str, Program | None, Reading]]:
    """Return the file of each text TYPE=FILE, the program as if it had this edge type alone, and
    what the flags say of how it is read. UsageError for a file alone where a program has several
    edge types, and for what is no type of it.
    """
    from tux.cli.run_flags import chosen_options
    from tux.inputs.by_type import split_by_type
    from tux.options.options import Reading
    from tux.program.base_program import first_edge, with_one_type

    if source is None:
        return [(paths[0], None, Reading())]
    program = source.program(**parameters(args, source.program, show.warn))
    reading = Reading(**chosen_options(args, Reading, [*program.vertices]))
    if len(program.edge_types) < 2 and len(paths) == 1:
        return [(paths[0], program, reading)]
    if split_by_type(program, paths) is None:
        raise UsageError(
            f"{type(program).__name__} has the edge types {', '.join(program.edge_types)}",
            do=f"say of which one the file is: {first_edge(program)}={paths[0]}",
        )
    named = (path.partition("=") for path in paths)
    return [(file, with_one_type(program, name), reading) for name, _, file in named]


def _find_program(name: str) -> Source:
    from tux.program import sources

    return sources.find(name)


def _flags(source: Source | None, app: str = "") -> Flags:
    """Return the flags of one app that say how data are read, and its parameters."""
    if source is None:
        return Flags("tux check", ABOUT, USAGE)
    from tux.cli.run_flags import data_flags

    own = f"parameters of {source.program.__name__}"
    flags = Flags(f"tux check DATA {app}", ABOUT, "[flags]", ("data", own, "other"))
    data_flags(flags, source.program)
    add_parameters(flags, source.program, own)
    return flags
