"""What a machine knows of the parts of other machines. It needs that only for held-out edges: they
go where their vertices are, and may add rows and routes to all parts (`tux.graph.parts.hold_out`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from tux.arrays.ids import Ids
from tux.arrays.npy import map_npy, write_npy
from tux.base.disk import writing
from tux.graph.parts import Part, TypePart
from tux.graph.store import part_arrays
from tux.loading.kept import Kept
from tux.loading.plan import Plan

ARRAYS = ("rows", "masters")
"""What held-out edges need of a part: see `tux.graph.parts.TypePart`."""


def rows_of(folder: Path, plan: Plan, loader: int) -> dict[str, np.ndarray]:
    """The rows and masters of the parts that a loader hosts, which lie in `folder`, by names that
    say whose they are.
    """
    return {
        _name(number, kind, array): map_npy(folder / f"part-{number}" / f"types.{kind}.{array}.npy")
        for number in plan.hosted(loader)
        for kind in plan.types
        for array in ARRAYS
    }


def _name(number: int, kind: str, array: str) -> str:
    return f"part-{number}/types.{kind}.{array}"


def write_elsewhere(
    folder: Path,
    plan: Plan,
    ranges: Sequence[Kept],
    fields: Mapping[str, str],
    here: Collection[int],
) -> None:
    """Write the parts of the loaders that are not `here`, with rows and masters and without edges.
    `ranges`: what each loader has sent, with its `rows_of`; `fields`: dtypes by name. Raises
    DiskError.
    """
    for loader in range(plan.loaders):
        for number in plan.hosted(loader) if loader not in here else ():
            part = _bare(plan, number, ranges[loader], fields)
            with writing(folder):
                (folder / f"part-{number}").mkdir()
            for name, array in part_arrays(part).items():
                write_npy(folder / f"part-{number}" / f"{name}.npy", array)


def _bare(plan: Plan, number: int, sent: Kept, fields: Mapping[str, str]) -> Part:
    """A part without edges and routes."""
    none, nowhere = np.empty(0, np.int32), [np.empty(0, np.int32)] * plan.parts
    types = {}
    for kind in plan.types:
        rows, masters = (sent[_name(number, kind, array)] for array in ARRAYS)
        routes = nowhere, nowhere, nowhere, nowhere
        bare = Ids(np.empty(0, np.int64)), none, 0
        types[kind] = TypePart(
            kind, *bare, False, rows, len(rows), masters, *routes, np.empty(0, np.int16), none
        )
    columns = {name: np.empty(0, dtype) for name, dtype in fields.items()}
    return Part(types, (none, none), none, none, columns, none, none, {})
