"""The body of ``tux stubs``: a module with the types of a program's rows, for editors and type
checkers.

Heavy imports stand inside the functions: see `tux.cli.main`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tux.base.disk import check_folder, replacing
from tux.base.errors import UsageError
from tux.cli import show
from tux.cli.flags import OUTPUT, Flags

if TYPE_CHECKING:
    from tux.program.program import Program
    from tux.program.sources import Source

_SIGN = "# Made by tux stubs of "
"""The first line of a module begins so, before the name of its program."""
_LONGEST_LINE = 10_000  # bytes that are read to find it


def command(argv: list[str]) -> int:
    """Do what ``tux stubs`` with these arguments says."""
    args = _flags().parse(argv)
    from tux.program.sources import find
    from tux.stages.analysis.row_types import declare_rows

    source = find(args.program)
    name = source.name if source.is_builtin else Path(source.name).name
    out = None if args.out == "-" else Path(args.out or _default_path(source))
    sign = f"{_SIGN}{name}, which writes this file anew"
    if out is not None:
        _check_output(out, sign)
    module = (out or _default_path(source)).stem
    text = f"{sign}\n{declare_rows(_example(source.program), name, module)}"
    if out is None:
        show.line(text.removesuffix("\n"))
        return 0
    with replacing(out) as part:
        part.write_text(text, encoding="utf-8")
    classes = re.findall(r"^class (\w+)", text, re.MULTILINE)
    show.say(f"{out}: {', '.join(classes)}")
    return 0


def _flags() -> Flags:
    about = (
        "Write a Python module with the types of all that the functions of a program get: rows, "
        "edges, tau, p and rng. With it, editors complete user.f, and type checkers find misspelt "
        "fields."
    )
    flags = Flags("tux stubs", about, "PROGRAM [--out FILE]")
    flags.add("program", "an app, file.py, or file.py:Class", metavar="PROGRAM")
    flags.add(
        "--out",
        "module to write, or - for standard output [default: file_rows.py beside file.py; of an "
        "app, app_rows.py here]",
        OUTPUT,
    )
    return flags


def _default_path(source: Source) -> Path:
    """Return the module to write if none is named: one that can be imported."""
    if source.is_builtin:
        return Path(f"{source.name}_rows.py")
    path = Path(source.path)
    return path.with_name(re.sub(r"\W", "_", f"{path.stem}_rows") + ".py")


def _example(program: type[Program]) -> Program:
    """Return the program with the default of each parameter, and any vertices where there is
    none.
    """
    wanted = [n for n, each in program.params.items() if each.vertex and each.default is None]
    return program(**dict.fromkeys(wanted, "0"))


def _check_output(out: Path, sign: str) -> None:
    """Raise UsageError for an output that this command has not written for the same program."""
    check_folder(out)
    if out.stem in sys.stdlib_module_names:
        raise UsageError(
            f"{out} has the name of a module of Python, which programs beside it could not import",
            do="name another file with --out",
        )
    if not out.exists():
        return
    first = b""
    if out.is_file():
        with out.open("rb") as file:
            first = file.readline(_LONGEST_LINE).rstrip()
    if first == sign.encode():
        return
    do = "name another file with --out, or remove it"
    if first.startswith(_SIGN.encode()):
        raise UsageError(f"{out} exists, and has the rows of another program", do=do)
    raise UsageError(f"{out} exists, and is not written by tux stubs", do=do)
