"""The parts of other machines, as far as a machine needs them. It needs them only for held-out
edges: they go where their vertices are, and may add rows and routes to all parts
(`tux.graph.parts.hold_out`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from tux.arrays.ids import Ids
from tux.arrays.integers import index_dtype
from tux.arrays.npy import map_npy, write_npy
from tux.base.disk import writing
from tux.graph.parts import EdgePart, Part, TypePart
from tux.graph.store import part_arrays
from tux.parallel_load.algorithm.columns import BadColumns, MessageColumns
from tux.parallel_load.algorithm.kept import Kept
from tux.parallel_load.algorithm.plan import LoadingPlan

ARRAYS = ("rows", "masters")
"""The arrays of a part that held-out edges need: see `tux.graph.parts.TypePart`."""


def rows_of(folder: Path, plan: LoadingPlan, loader: int) -> dict[str, np.ndarray]:
    """Return the rows and masters of the parts that a loader hosts, which lie in `folder`, by names
    that say whose they are.
    """
    return {
        _name(number, kind, array): map_npy(folder / f"part-{number}" / f"types.{kind}.{array}.npy")
        for number in plan.hosted_parts(loader)
        for kind in plan.types
        for array in ARRAYS
    }


def _name(number: int, kind: str, array: str) -> str:
    return f"part-{number}/types.{kind}.{array}"


def write_elsewhere(
    folder: Path,
    plan: LoadingPlan,
    ranges: Sequence[Kept],
    fields: Mapping[str, Mapping[str, str]],
    here: Collection[int],
) -> None:
    """Write the parts of the loaders that are not `here`, with rows and masters and without edges.
    `ranges`: what each loader has sent, with its `rows_of`; `fields`: of each edge type, dtypes by
    name. Raises DiskError, and BadColumns for rows and masters that no loader sends.
    """
    vertices = {kind: sum(len(each[f"home.{kind}"]) for each in ranges) for kind in plan.types}
    for loader in range(plan.loaders):
        for number in plan.hosted_parts(loader) if loader not in here else ():
            rows = {
                kind: [
                    _ascending(loader, ranges[loader], _name(number, kind, array), below)
                    for array in ARRAYS
                ]
                for kind, below in vertices.items()
            }
            part = _empty_part(plan, rows, fields)
            with writing(folder):
                (folder / f"part-{number}").mkdir()
            for name, array in part_arrays(part).items():
                write_npy(folder / f"part-{number}" / f"{name}.npy", array)


def _ascending(loader: int, sent: Kept, name: str, below: int) -> np.ndarray:
    """Return the array that a loader has sent under a name, checked: ascending positions less than
    `below`.
    """
    if name not in sent:
        raise BadColumns(loader, f"there is no {name}")
    row = MessageColumns([sent[name]], loader).like(index_dtype(below))
    if len(row) and (row[0] < 0 or row[-1] >= below or (row[1:] <= row[:-1]).any()):
        raise BadColumns(loader, f"{name} does not have ascending numbers less than {below:,}")
    return row


def _empty_part(
    plan: LoadingPlan,
    sent: Mapping[str, Sequence[np.ndarray]],
    fields: Mapping[str, Mapping[str, str]],
) -> Part:
    """Make a part without edges and routes."""
    none, nowhere = np.empty(0, np.int32), [np.empty(0, np.int32)] * plan.parts
    types = {}
    for kind, (rows, masters) in sent.items():
        routes = nowhere, nowhere, nowhere, nowhere
        bare = Ids(np.empty(0, np.int64)), none, 0
        types[kind] = TypePart(
            kind, *bare, False, rows, len(rows), masters, *routes, np.empty(0, np.int16), none
        )
    columns = {
        edges: {name: np.empty(0, dtype) for name, dtype in own.items()}
        for edges, own in fields.items()
    }
    others = {
        name: EdgePart(ends, (none, none), none, none, columns[name])
        for name, ends in plan.others.items()
    }
    return Part(types, (none, none), none, none, columns[""], none, none, {}, others=others)
