"""The order that a worker has given the edges of a part of a partitioned folder, kept beside the
part where edges do not fit in memory: `part-N/order`, with a manifest and one `.npy` per array. A
later run of the same layout maps these files, and neither sorts nor copies.

Nobody changes a file in it. Another order replaces the folder as a whole, and runs that have mapped
the files of the old one keep them until they end.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple, cast

import msgspec
import numpy as np

from tux.arrays.byte_codes import ByteCodes, Column
from tux.arrays.disk_columns import file_of, map_column
from tux.arrays.npy import map_npy, write_npy
from tux.base.checksums import SUMS, check_sums, files_below, seal
from tux.base.disk import PART, new_folder, temporary_path
from tux.base.errors import DataError, DiskError
from tux.graph.ends import End, GroupedEnd, TileEnd, count_edges
from tux.graph.layout import Layout
from tux.graph.manifest import MANIFEST
from tux.graph.stored_arrays import CHECKED
from tux.program.base_program import BaseProgram

ORDER = "order"
VERSION = 1
"""To be raised when the same layout sorts edges in another way, or these files change."""

ROOM = 2
"""The room that there must be on the disk for an order, as a multiple of its bytes."""


class StoredArray(msgspec.Struct):
    """The type and the shape of an array in the manifest."""

    dtype: str
    shape: list[int]


class OrderManifest(msgspec.Struct):
    """The content of `manifest.json`."""

    version: int
    source: str  # digest of the part, and of what the program reads of it
    order: str  # digest of the source, and of the layout
    across: int
    grouped: Literal[0, 1] | None
    arrays: dict[str, StoredArray]


class OrderedEdges(NamedTuple):
    """Edges in the order of a `layout`, with the digest of this `order`; `fields`: those that are
    data.
    """

    order: str
    layout: Layout
    fields: dict[str, Column]


class KeptOrder:
    """The place of the order of edges in the folder of their part. `kind`: the name of their type,
    that of `program`; "" of the first. `rows`: how many either end has. `found`: the order that was
    there at the beginning, of the same edges with the same fields.
    """

    def __init__(
        self, part: Path, program: BaseProgram, rows: Sequence[int], kind: str = ""
    ) -> None:
        self.path = part / (f"{ORDER}.{kind}" if kind else ORDER)
        fields = program.edge.fields.items()
        self._fields = {name: f.dtype for name, f in fields if f.kind == "data"}
        self._rows = rows
        self._source = _digest_source(part, program, kind)
        self.found = self._map_order()

    def digest(self, *layout: object) -> str:
        """Compute the digest of the order of a `layout`, by all that it depends on."""
        return _digest(self._source, *layout)

    def keep(self, order: str, layout: Layout, fields: Mapping[str, Column]) -> OrderedEdges | None:
        """Keep edges that lie in the order of a `layout`, whose digest is `order`, and return them
        as they are mapped. None where they fit in memory, or cannot be written: there is no room,
        the folder may not be changed, or another run replaces the order, too.
        """
        arrays = _arrays_of(layout, {name: fields[name] for name in self._fields})
        if not any(map(file_of, arrays.values())):
            return None
        stored = {name: StoredArray(each.dtype.str, [*each.shape]) for name, each in arrays.items()}
        side = cast(Literal[0, 1] | None, layout.grouped)
        about = OrderManifest(VERSION, self._source, order, layout.across, side, stored)
        with suppress(DiskError, OSError):
            self._remove_left()
            size = sum(each.nbytes for each in arrays.values())
            if ROOM * size > shutil.disk_usage(self.path.parent).free:
                return None
            with self._replacing() as folder:
                for name, array in arrays.items():
                    write_npy(folder / f"{name}.npy", array)
                (folder / MANIFEST).write_bytes(msgspec.json.encode(about))
                seal(folder, files_below(folder))
        found = self._map_order()
        return found if found and found.order == order else None

    def _map_order(self) -> OrderedEdges | None:
        """Map the edges that are kept; None if there are none of this source, or files are damaged,
        or are replaced meanwhile.
        """
        path = self.path / MANIFEST
        try:
            content = path.read_bytes()
            about = msgspec.json.decode(content, type=OrderManifest)
            if (about.version, about.source) != (VERSION, self._source):
                return None
            if not check_sums(self.path):
                return None
            bounds = self._small("bounds", about)
            if bounds.dtype != np.int64:
                return None
            m = int(bounds[-1])
            found = self._layout(about, m), self._columns(about, m)
            return OrderedEdges(about.order, *found) if path.read_bytes() == content else None
        except (OSError, ValueError, LookupError, TypeError, DataError, msgspec.DecodeError):
            return None

    def _layout(self, about: OrderManifest, m: int) -> Layout:
        """Map the layout of m edges."""
        src, dst = (
            np.empty(0, np.int32) if side == about.grouped else self._column(end, about, m)
            for side, end in enumerate(("src", "dst"))
        )
        bounds, blocks = (self._small(name, about) for name in ("bounds", "blocks"))
        first = None
        if "first.0" in about.arrays:
            first = self._small("first.0", about), self._small("first.1", about)
        layout = Layout(src, dst, None, bounds, blocks, about.across, first, about.grouped)
        ends = zip(layout.held_ends(), self._rows, strict=True)
        ranged = (isinstance(end, GroupedEnd) or _are_below(end, rows) for end, rows in ends)
        if not (_has_whole_groups(layout, self._rows) and all(ranged)):
            raise ValueError(self.path)
        return layout

    def _columns(self, about: OrderManifest, m: int) -> dict[str, Column]:
        """Map the fields of m edges."""
        fields: dict[str, Column] = {}
        for name, dtype in self._fields.items():
            if (values := f"fields.{name}.values") in about.arrays:
                codes = f"fields.{name}.codes"
                own = self._column(codes, about, m) if codes in about.arrays else None
                coded = fields[name] = ByteCodes(self._small(values, about), own, m)
                known = _are_below(np.zeros(1, np.uint8) if own is None else own, len(coded.values))
            else:
                fields[name], known = self._column(f"fields.{name}", about, m), True
            if not known or fields[name].dtype != dtype:
                raise ValueError(name)
        return fields

    def _column(self, name: str, about: OrderManifest, m: int) -> np.ndarray:
        """Map an array of m edges, which cannot be written."""
        array = self._map_array(name, about)
        if len(array) != m:
            raise ValueError(name)
        path = self.path / f"{name}.npy"
        return map_column(path, array.dtype, array.shape, array.offset)

    def _small(self, name: str, about: OrderManifest) -> np.ndarray:
        """Read an array that lies in memory."""
        return np.array(self._map_array(name, about))

    def _map_array(self, name: str, about: OrderManifest) -> np.memmap:
        """Map an array. ValueError or DataError if its file has not what the manifest says."""
        array, stored = map_npy(self.path / f"{name}.npy"), about.arrays[name]
        if (array.dtype.str, [*array.shape]) != (stored.dtype, stored.shape):
            raise ValueError(name)
        return array

    @contextmanager
    def _replacing(self) -> Iterator[Path]:
        """Give a new folder, which takes the place of the one that is kept when the block ends."""
        old = temporary_path(self.path)
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, old, ignore_errors=True)
            with new_folder(self.path) as folder:
                _lock(folder, stack)
                yield folder
                with suppress(FileNotFoundError):
                    self.path.rename(old)

    def _remove_left(self) -> None:
        """Remove what runs that were killed have left."""
        for path in self.path.parent.glob(f".{ORDER}*"):
            if PART.fullmatch(path.name):
                with suppress(OSError), ExitStack() as stack:
                    _lock(path, stack)
                    shutil.rmtree(path, ignore_errors=True)


def _lock(folder: Path, stack: ExitStack) -> None:
    """Lock a folder that is being written, until `stack` ends or the process does. OSError if
    another has locked it.
    """
    lock = os.open(folder, os.O_RDONLY)
    stack.callback(os.close, lock)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _has_whole_groups(layout: Layout, rows: Sequence[int]) -> bool:
    """Return whether groups and blocks of a layout are whole: compiled loops do not check
    indices.
    """
    groups, side = len(layout.bounds) - 1, layout.grouped
    for each, last in (layout.bounds, layout.bounds[-1]), (layout.blocks, groups):
        if each.dtype != np.int64 or each[0] != 0 or each[-1] > last or (np.diff(each) < 0).any():
            return False
    if layout.across < 1 or groups % layout.across:
        return False
    if side is not None and groups != rows[side] * layout.across:
        return False
    return all(each.shape == (groups,) for each in layout.first or ())


def _are_below(end: End, n: int) -> bool:
    """Return whether all rows of an end, or codes of a column, are in 0..n-1."""
    for lo in range(0, count_edges(end), CHECKED):
        hi = min(lo + CHECKED, count_edges(end))
        rows = end.rows(lo, hi) if isinstance(end, TileEnd) else np.asarray(end)[lo:hi]
        if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n:
            return False
    return True


def _arrays_of(layout: Layout, fields: Mapping[str, Column]) -> dict[str, np.ndarray]:
    """Collect the arrays of edges in the order of a layout, by file name."""
    out = {"bounds": layout.bounds, "blocks": layout.blocks}
    for side, end in enumerate(("src", "dst")):
        if side != layout.grouped:
            out[end] = (layout.src, layout.dst)[side]
    for side, first in enumerate(layout.first or ()):
        out[f"first.{side}"] = first
    for name, column in fields.items():
        if not isinstance(column, ByteCodes):
            out[f"fields.{name}"] = column
            continue
        out[f"fields.{name}.values"] = column.values
        if column.codes is not None:
            out[f"fields.{name}.codes"] = column.codes
    return out


def _digest_source(part: Path, program: BaseProgram, kind: str) -> str:
    """Compute the digest of the edges of a part, and of what a program reads of them. A folder with
    checksums is known by these, another by the sizes and times of the files of the part.
    """
    sums, known = part.parent / SUMS, b""
    if sums.exists():
        known = sums.read_bytes()
    else:
        states = ((path.name, path.stat()) for path in sorted(part.glob("*.npy")))
        known = repr([(name, s.st_size, s.st_mtime_ns) for name, s in states]).encode()
    manifest, edge = (part.parent / MANIFEST).read_bytes(), program.edge
    columns = [(name, str(dtype)) for name, dtype in edge.columns.items()]
    return _digest(VERSION, manifest, known, part.name, kind, edge.roles, columns, edge.repeats)


def _digest(*content: object) -> str:
    return blake2b(repr(content).encode(), digest_size=16).hexdigest()
