"""The sizes of a run's data for its messages and its record: counts of vertices and edges, and
lines about odd edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.edges import TOGETHER, EdgeData
from tux.base.text import data_name, plural, plural_noun
from tux.graph.manifest import read_manifest
from tux.inputs.by_type import swapped_notes
from tux.program.base_program import along
from tux.program.program import Program

MANY = 0.01  # of all rows: the end of a run tells if more than these were bad
COUNTED = 20_000_000  # edges up to which duplicates are counted: 8 bytes and about 50 ns an edge


class EdgeTotals(NamedTuple):
    """The number of edges in a folder, and how many of them repeat an earlier one's ends, if that
    is known; `others`: the same of each other type. `repeated`: how many there are where a column
    says how often each is there, if that is known.
    """

    edges: int
    duplicates: int | None = None
    others: Mapping[str, EdgeTotals] = MappingProxyType({})
    repeated: int | None = None


def count_edges(folder: Path) -> EdgeTotals:
    """Return the numbers of edges of each type in a partitioned folder."""
    manifest = read_manifest(folder)
    others = {each.name: EdgeTotals(each.edges) for each in manifest.others}
    return EdgeTotals(manifest.edges, others=others)


def sizes_of(
    train: EdgeData, test: EdgeData | None, stored: EdgeTotals | None = None, repeats: str = ""
) -> dict[str, Any]:
    """Count the vertices of each type known in training, edges, duplicates (unless too many to
    count), rows skipped; the test's likewise. `stored`: edges that lie in a folder, and are not in
    `train`.

    `others`: the number of edges of each other type. `rows`, where some were skipped: how many the
    file has. `repeated`, where the column `repeats` says how often each edge is there: how many
    there are so.
    """
    edges = len(train) if stored is None else stored.edges
    sizes: dict[str, Any] = {
        "vertices": {name: len(ids) for name, ids in train.ids.items()},
        "edges": edges,
        **(_sum_repeats(train, repeats) if stored is None else {}),
    }
    if stored is not None and stored.repeated is not None:
        sizes["repeated"] = stored.repeated
    if edges <= COUNTED and (stored is None or stored.duplicates is not None):
        sizes["duplicates"] = train.duplicates if stored is None else stored.duplicates
    if train.others:
        counts = {name: len(each) for name, each in train.others.items()}
        if stored is not None:
            counts = {name: each.edges for name, each in stored.others.items()}
        sizes["others"] = counts
    sizes["skipped"] = train.skipped
    if train.skipped:
        sizes["rows"] = train.skipped + (edges if train.rows is None else train.rows)
    if grouped := {name: groups for name in train.ids if (groups := count_groups(train, name))}:
        sizes["groups"] = grouped
    if test is not None:
        sizes["test"] = {"edges": len(test), "skipped": test.skipped, "unseen": dict(test.unseen)}
        sizes["test"] |= _sum_repeats(test, repeats)
    return sizes


def _sum_repeats(edges: EdgeData, repeats: str) -> dict[str, int]:
    """Add up how often each edge is there; {} where no column says it."""
    if repeats not in edges.fields:
        return {}
    return {"repeated": int(edges.fields[repeats].sum(dtype="i8"))}


def describe_edges(sizes: Mapping[str, Any], program: Program | str) -> str:
    """Write the number of edges of each type in words, "" if none. A row that stands for several is
    counted as often; where a folder does not say how often, rows are counted, under another name.
    `program`: or why there is none.
    """
    if not (edges := sizes.get("edges")):
        return ""
    if isinstance(program, str):
        return plural(edges, "edge")
    if program.edge.repeats and "repeated" not in sizes:
        return f"{plural(edges, 'pair')} of {' and '.join(program.edge.roles)}"
    counts = {program.edge_name or "edge": sizes.get("repeated", edges), **sizes.get("others", {})}
    vertices = {plural_noun(kind) for kind in program.vertices}
    return ", ".join(
        f"{plural(count, 'edge')} of {name}" if name in vertices else plural(count, name)
        for name, count in counts.items()
    )


def bad_rows_note(sizes: Mapping[str, Any]) -> str:
    """Return the line at the end of a run about bad rows if more than a hundredth of all rows were
    left out, else "".
    """
    skipped, rows = sizes.get("skipped", 0), sizes.get("rows", 0)
    if skipped <= MANY * rows:
        return ""
    return f"{skipped:,} of {rows:,} rows ({skipped / rows:.0%}) were bad and left out"


def oddities(
    program: Program, sizes: dict[str, Any], read: tuple[tuple[EdgeData | None, str], ...]
) -> Iterator[str]:
    """Yield one line for each odd thing about the edges read: bad rows, rows that repeat a pair,
    ids that only the test has.
    """
    for edges, name in read:
        yield from (f"{name}: {note}" for note in (edges.notes if edges is not None else ()))
        if edges is not None and edges.skipped:
            yield (
                f"{plural(edges.skipped, 'bad row')} of {name} skipped; the first is "
                f"{edges.first_skipped}"
            )
    (_, train), (held_out, test) = read
    if repeated := sizes.get("duplicates"):
        yield repeats_line(repeated, train, program.edge.roles)
    for kind, count in (held_out.unseen if held_out else {}).items():
        if count:
            yield (
                f"{plural(count, kind)} of {test} never occur{'s' * (count == 1)} in training; of "
                "these the model knows nothing"
            )


def untyped_oddities(edges: EdgeData, data: Any, repeated: int) -> Iterator[str]:
    """Yield one line for each odd thing about edges that no program describes, of which so many are
    `repeated`.
    """
    name = data_name(data)
    yield from (f"{name}: {note}" for note in edges.notes)
    if repeated:
        first, second = edges.ends
        roles = (first, second) if first != second else ("source", "target")
        yield repeats_line(repeated, name, roles)


def repeats_line(count: int, name: str, roles: tuple[str, str]) -> str:
    """Return the line about rows that repeat a pair, of which there are some."""
    first, second = roles
    repeat = f"repeat{'s' * (count == 1)}"
    return f"{plural(count, 'row')} of {name} {repeat} a ({first}, {second}) pair"


def oddities_by_type(
    program: Program,
    sizes: dict[str, Any],
    read: tuple[EdgeData, Any],
    held_out: tuple[EdgeData | None, str],
    stored: EdgeTotals | None = None,
) -> Iterator[str]:
    """Yield one line for each odd thing about the edges of each type; `stored`: see `sizes_of`."""
    train, data = read
    yield from swapped_notes(program, train)
    by_name = data if isinstance(data, dict) else {}
    first = {program.edge_name: by_name[program.edge_name]} if by_name else data
    yield from oddities(program, sizes, ((train, data_name(first)), held_out))
    for name, each in train.others.items():
        told = (each, data_name({name: by_name.get(name)})), (None, "")
        totals = stored.others[name] if stored else None
        yield from oddities(along(program, name), sizes_of(each, None, totals), told)


def count_groups(edges: EdgeData, kind: str) -> int:
    """Count the groups of two vertices or more of a type."""
    together = edges.vertex_fields.get(kind, {}).get(TOGETHER)
    if together is None:
        return 0
    return int(np.count_nonzero(np.unique(together, return_counts=True)[1] > 1))
