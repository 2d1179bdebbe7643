"""Held-out edges of a graph whose parts lie in a folder already: only the files are written that
these edges add or change.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from numpy.typing import ArrayLike

from tux.arrays.arrow import write_parquet
from tux.arrays.npy import write_npy
from tux.base.disk import writing
from tux.graph.manifest import MANIFEST, change_manifest, read_manifest
from tux.graph.parts import Part
from tux.graph.store import part_arrays

ADDED = ("test_", "types.")
"""The beginnings of the names of arrays that held-out edges may add to a part, or change."""


def add_held_out(folder: Path, parts: Sequence[Part], which: Iterable[int]) -> None:
    """Add to a folder of parts, which holds no held-out edges, those of `parts`, or of `which` of
    them, and the data of their vertices. All other files stay as they are. Raises DiskError.

    Arrays of the folder may be mapped, so an array that changes is written to a new file.
    """
    manifest = read_manifest(folder)
    with writing(folder):
        (folder / MANIFEST).unlink()  # it comes last: with one, all is there
    types = []
    for entry in manifest.types:
        grown = parts[0].types[entry.name]
        if len(grown.ids) > entry.ids:
            write_parquet(folder / f"{entry.name}.ids.parquet", {"id": grown.ids.values})
            _write_anew(folder / f"{entry.name}.order.npy", grown.order)
            for field, values in grown.data.items():
                _write_anew(folder / f"{entry.name}.data.{field}.npy", values)
        types.append(msgspec.structs.replace(entry, ids=len(grown.ids)))
    for number in which:
        part, same = parts[number], _unchanged_names(parts[number])
        for name, values in part_arrays(part).items():
            if name.startswith(ADDED) and name.removesuffix(".bounds") not in same:
                _write_anew(folder / f"part-{number}" / f"{name}.npy", values)
    fields = [*parts[0].test_fields]
    change_manifest(folder, manifest, types=types, test_fields=fields, has_test=True)


def _unchanged_names(part: Part) -> set[str]:
    """List the names of arrays of vertex types that held-out edges have not changed."""
    same = set()
    for name, each in part.types.items():
        same |= {f"types.{name}.{array}" for array in ("masters", "up", "down")}
        if len(each.rows) == each.n_train:  # no held-out edge needs another row
            same.add(f"types.{name}.rows")
    return same


def _write_anew(path: Path, values: ArrayLike) -> None:
    """Write an array to a new file in place of the one of that name."""
    with writing(path):
        path.unlink(missing_ok=True)
    write_npy(path, values)
