"""Checks of the flags of ``tux partition`` before anything is read."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from tux.arrays import stores
from tux.arrays.packed import head_of
from tux.arrays.piped import is_read_once
from tux.base import disk
from tux.base.errors import UsageError
from tux.base.text import plural
from tux.cli.flags import vertex_tables
from tux.cli.overwrites import refuse_overwrites
from tux.cli.partition_samples import asks_for_samples, check_sample_flags
from tux.inputs.untyped import ONE, SAMPLED, TWO
from tux.inputs.vertices import check_types
from tux.partition.common.capacity import check_parts
from tux.program.program import Program

SEE = "see tux partition --help"
EXAMPLES = {
    "--row-bytes": "64, or 64,256 for two types, or 68/64 for up and down",
    "--syncs": "1, or 1,20 for two types",
}
"""Values of the flags that have an entry for each vertex type."""

USUAL = {"row_bytes": "4", "syncs": "1"}
DIGITS = 10  # of an entry, at most
MOST_BYTES = 10**9
"""The most bytes of a vertex an epoch: 64 bits hold the sum over 4 billion mirrors, up and down."""


def check_graph_flags(args: Namespace, program: Program | None) -> None:
    """Refuse flags about the graph and its parts, and files that are not there. `program`: of
    several edge types. UsageError and DataError.
    """
    if args.bipartite and args.one_type:
        raise UsageError(
            "--bipartite and --one-type contradict each other", do="leave one of them out"
        )
    check_sample_flags(args)
    try:
        check_parts(args.parts)
    except ValueError as error:
        raise UsageError(str(error), do=SEE) from None
    if args.cap is not None and args.cap < 1:
        raise UsageError(
            f"--cap {args.cap:g}: the largest part cannot be below the mean",
            do="give 1 or more, as 1.05",
        )
    for path in [*(args.imports or []), *_tables(args, program), args.labels]:
        if path and not is_read_once(path):
            head_of(path, 1)


def check_outputs(args: Namespace) -> None:
    """Refuse names of files to write that cannot be written. UsageError."""
    outputs = {flag: getattr(args, flag) for flag in ("json", "plot", "assignment", "out")}
    refuse_overwrites({f"--{flag}": path for flag, path in outputs.items() if path}, [])
    for flag, path in outputs.items():
        if path and not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            raise UsageError(
                f"--{flag} {path}: there is no folder {os.path.dirname(path)}", do="make it first"
            )
        if path and flag != "out" and os.path.isdir(path):
            raise UsageError(f"--{flag} {path} is a folder", do="name a file")
    if args.out:
        disk.check_new(Path(args.out))


def fill_volume(args: Namespace) -> None:
    """Set --row-bytes and --syncs where they are not given."""
    for name, usual in USUAL.items():
        if getattr(args, name) is None:
            setattr(args, name, usual)


def check_volume(args: Namespace, program: Program | None) -> None:
    """Refuse wrong entries of --row-bytes and --syncs, as far as the number of types is known.
    UsageError.
    """
    largest, types = 1, _count_types(args, program)
    for flag, text in {"--row-bytes": args.row_bytes, "--syncs": args.syncs}.items():
        entries = _entries(flag, text)
        entries_by_type(flag, text, types or min(len(entries), 2))
        largest *= max(map(max, entries))
    if largest > MOST_BYTES:
        raise UsageError(
            f"--row-bytes {args.row_bytes} and --syncs {args.syncs} are {largest:,} bytes of a "
            f"vertex an epoch, more than {MOST_BYTES:,}",
            do="give smaller numbers",
        )


def entries_by_type(flag: str, text: str, types: int) -> list[tuple[int, int]]:
    """Return the entries of --row-bytes or --syncs, one for each type: up and down, which are the
    same unless there is a stroke between them. UsageError for other numbers of entries.
    """
    entries = _entries(flag, text)
    if len(entries) not in (1, types):
        raise UsageError(
            f"{flag} {text} has {plural(len(entries), 'entry')} for {plural(types, 'vertex type')}",
            do="give one for all, or one for each",
        )
    return entries * (types // len(entries))


def _entries(flag: str, text: str) -> list[tuple[int, int]]:
    """Parse the entries of --row-bytes or --syncs. UsageError for what is no whole number."""
    entries = []
    for entry in text.split(","):
        numbers = [each.strip() for each in (entry.split("/") if "row" in flag else [entry])]
        if len(numbers) > 2 or not all(number.isdecimal() for number in numbers):
            do = f"as {EXAMPLES[flag]}"
            raise UsageError(f"{flag} {text}: whole numbers are needed", do=do)
        if too_long := next((each for each in numbers if len(each) > DIGITS), ""):
            raise UsageError(
                f"{flag}: an entry of {len(too_long)} digits is too large",
                do=f"{DIGITS} digits are the most, as {EXAMPLES[flag]}",
            )
        entries.append((int(numbers[0]), int(numbers[-1])))
    return entries


def _count_types(args: Namespace, program: Program | None) -> int:
    """Return the number of vertex types of the graph, 0 if the flags do not say it."""
    if program:
        return len(_types_of(program))
    return 2 if args.bipartite or asks_for_samples(args) else int(args.one_type)


def _types_of(program: Program) -> list[str]:
    """Return the vertex types at ends of edges of a program."""
    return [*dict.fromkeys(end for edge in program.edge_types.values() for end in edge.ends)]


def _tables(args: Namespace, program: Program | None) -> list[str]:
    """Return the files of tables of vertices. UsageError for a type that the graph cannot have."""
    kinds: Sequence[str] = (*ONE[:1], *TWO, *SAMPLED)
    if program:
        kinds = _types_of(program)
    elif asks_for_samples(args):
        kinds = SAMPLED
    elif args.one_type or args.bipartite:
        kinds = ONE[:1] if args.one_type else (*TWO, *SAMPLED)
    given, known = args.vertices or [], _count_types(args, program)
    # a table may be without its type where there is one, which reading the graph may tell
    alone = [] if known else [text for text in given if "=" not in text]
    tables = vertex_tables([text for text in given if text not in alone], kinds) or {}
    check_types(
        tables, dict.fromkeys(kinds), "this graph has" if known else "a graph without --program has"
    )
    return [*tables.values(), *map(stores.local_path, alone)]
