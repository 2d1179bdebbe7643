"""A folder of parts, as `tux.graph.store` reads it, from what loaders keep: the parts are there
already, and what they share is joined, piece by piece, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tux.arrays.arrow import ROWS, parquet_writer
from tux.arrays.npy import write_pieces
from tux.graph.manifest import EdgeEntry, TypeEntry, write_manifest
from tux.graph.store import edges_prefix
from tux.graph.topology import ARRAYS
from tux.parallel_load.algorithm.kept import Kept, join_ranges, kept_ids
from tux.parallel_load.algorithm.loader import LoadSummary, count_edges
from tux.parallel_load.algorithm.plan import LoadingPlan

SIDES = "held.sides"
"""The sides on which vertices are before links are held out: 1 for sources, and 2 for targets."""

HELD = ("held.src", "held.dst", SIDES)
"""The arrays about held-out links, for the command, which removes them from the folder."""


def join(
    folder: Path,
    kept: Sequence[Kept],
    plan: LoadingPlan,
    loaded: Sequence[LoadSummary],
    fields: Mapping[str, Sequence[str]],
    digest: str,
) -> None:
    """Write what the parts of `folder` share, from what the loaders have `kept` of it, in their
    order, and the manifest, with the `digest` of the edges; names of the `fields` of each edge
    type. Raises DiskError.
    """
    edges = count_edges(loaded)
    types = [_join_type(folder, kept, plan, loaded, name) for name in plan.types]
    for name in plan.by_type:
        for side in (0, 1):
            degrees = f"{edges_prefix(name)}degrees.{side}"
            write_pieces(folder / f"{degrees}.npy", join_ranges(kept, degrees))
    for array in HELD if plan.held_share else ():
        write_pieces(folder / f"{array}.npy", join_ranges(kept, array))
    topology = ARRAYS if plan.topology else ()
    for array in topology:
        row = join_ranges(kept, f"topology.{array}")
        write_pieces(folder / f"topology.{array}.npy", row)
    write_manifest(
        folder,
        parts=plan.parts,
        ends=plan.ends,
        fields=[*fields[""]],
        types=types,
        edges=edges[""],
        digest=digest,
        partitioner=plan.method,
        seed=plan.seed,
        topology=[*topology],
        classes=[*loaded[0].classes],
        numbered=loaded[0].numbered,
        others=[
            EdgeEntry(name, ends, [*fields[name]], edges[name])
            for name, ends in plan.others.items()
        ],
    )


def _join_type(
    folder: Path,
    kept: Sequence[Kept],
    plan: LoadingPlan,
    loaded: Sequence[LoadSummary],
    name: str,
) -> TypeEntry:
    """Write what the parts share of one vertex type; return its entry in the manifest."""
    with parquet_writer(folder / f"{name}.ids.parquet") as write:
        for ids in _row_groups(kept_ids(kept, name, len(plan.groups_of(name)))):
            write({"id": ids})
    for array in ("order", "home", "number"):
        write_pieces(folder / f"{name}.{array}.npy", join_ranges(kept, f"{array}.{name}"))
    for field in plan.data_of(name):
        own = f"data.{name}.{field}"
        write_pieces(folder / f"{name}.data.{field}.npy", join_ranges(kept, own))
    told = [each.types[name] for each in loaded]
    rows, cut = [rows for each in told for rows in each.rows], any(each.cut for each in told)
    words = loaded[0].categories.get(name, {})
    return TypeEntry(name, told[0].ids, told[0].ids, cut, rows, plan.data_of(name), words)


def _row_groups(pieces: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the rows of `pieces` in row groups, as a Parquet file has them that is written at
    once. Of pieces, which are mapped, no more than a row group is copied at a time.
    """
    waiting: list[np.ndarray] = []
    rows = 0
    for piece in pieces:
        while rows + len(piece) > ROWS:
            room = ROWS - rows
            yield np.concatenate([*waiting, piece[:room]])
            waiting, rows, piece = [], 0, piece[room:]
        waiting.append(piece)
        rows += len(piece)
    yield np.concatenate(waiting)
