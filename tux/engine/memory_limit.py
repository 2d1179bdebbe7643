"""The memory that a process may take: by `--memory`, else as much as the machine or its control
group has left. What its rows need is known before they are allocated, so a run that cannot fit ends
at once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tux.arrays.disk_columns import SPARE
from tux.base import memory
from tux.base.errors import UsageError
from tux.base.text import plural
from tux.program.base_program import BaseProgram

OF_VERTEX = 32
"""Bytes that a vertex takes beside its fields: its places in orders."""

TAKEN = 0.9
"""The share of the memory that is left which a run takes by itself."""

MOUNTS = Path("/proc/mounts")

LOCAL = ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "xfs", "zfs")
"""File systems of disks of the machine: a file that is replaced stays for those who have mapped it,
and is read again as fast as any.
"""


class RowBytes(NamedTuple):
    """The bytes of rows of vertices; `largest`: the field that takes most of them, in words."""

    total: int = 0
    largest: str = ""


NO_ROWS = RowBytes()


class MemoryLimit(NamedTuple):
    """The bytes that a process may take; whether they are `given`, by `--memory`."""

    size: int
    given: bool

    def check(self, rows: RowBytes = NO_ROWS, of: str = "this process", edges: int = 0) -> int:
        """Return the bytes that `of`, a process, needs beside its edges, which take some `edges` of
        what it has: the rest of that, its `rows`, and what is spare where the limit is given.
        UsageError if that is more than the limit.
        """
        needed = memory.anonymous() - edges + rows.total + (SPARE if self.given else 0)
        if needed > self.size:
            enough = math.ceil(1.1 * needed / 1e8) / 10
            of_rows = (
                f", {in_gigabytes(rows.total)} of them for rows of vertices (above all "
                f"{rows.largest})"
                if rows.largest
                else ""
            )
            by = "--memory gives" if self.given else "this machine leaves it"
            many = rows.total > self.size / 2
            raise UsageError(
                f"{of} needs {in_gigabytes(needed)} of memory beside its edges{of_rows}, and {by} "
                f"{in_gigabytes(self.size)}",
                do=f"give {'' if self.given else '--memory '}{enough:.1f}GB or more"
                + ("" if self.given else ", if it will be free")
                + (", or take more machines, each of which holds a part" if many else ""),
            )
        return needed


def limit_of(given: int | None, folder: Path, processes: int = 1) -> MemoryLimit | None:
    """Return the limit of this process, of so many that begin on this machine; by an option if it
    is `given`. None if there is no limit: where the system does not show its memory, or the
    `folder` for what does not fit lies in memory, too.
    """
    if given is not None:
        return MemoryLimit(given, True)
    free = memory.free()
    if free is None or sys.platform != "linux" or lies_in_memory(folder):
        return None
    return MemoryLimit(memory.anonymous() + int(TAKEN * free) // processes, False)


def count_row_bytes(program: BaseProgram, vertices: Mapping[str, int]) -> RowBytes:
    """Count the bytes of the rows of so many vertices of each type, with a copy of those that the
    model keeps.
    """
    size, sizes = 0, {}
    for name, vertex in program.vertices.items():
        size += OF_VERTEX * vertices.get(name, 0)
        for each, declared in vertex.fields.items():
            field = declared.resolve(program.parameters)
            if not field.is_ragged:
                numbers = math.prod(field.lengths)
                words = f"{name}.{each}, {plural(numbers, 'number')} a row"
                entry = numbers * field.dtype.itemsize * (2 if field.in_model else 1)
                sizes[words] = entry * vertices.get(name, 0)
    return RowBytes(
        size + sum(sizes.values()), max(sizes, key=lambda each: sizes[each], default="")
    )


def in_gigabytes(size: int) -> str:
    """Write a number of bytes."""
    return f"{size / 1e9:,.2f} GB"


def lies_in_memory(folder: Path) -> bool:
    """Return whether a folder lies in memory (tmpfs)."""
    return _find_system(folder) in ("tmpfs", "ramfs")


def lies_on_local_disk(folder: Path) -> bool:
    """Return whether a folder is known to lie on a disk of this machine."""
    return MOUNTS.exists() and _find_system(folder) in LOCAL


def _find_system(folder: Path) -> str:
    """Find the kind of the file system of a folder."""
    kinds = {}
    for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        _, place, kind, *_ = line.split(" ")
        kinds[Path(place)] = kind
    path = folder.resolve()
    nearest = next((each for each in (path, *path.parents) if each in kinds), Path("/"))
    return kinds.get(nearest, "")
