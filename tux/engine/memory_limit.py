"""The memory of a process that has a limit (`--memory`): what its rows need is known before they
are allocated, so a run that cannot fit ends at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from tux.arrays.disk_columns import disk_folder
from tux.base.errors import UsageError
from tux.base.memory import anonymous
from tux.program.base_program import BaseProgram

OF_VERTEX = 32
"""Bytes that a vertex takes beside its fields: its places in orders."""

SPARE = 3 * 10**8
"""Bytes for kernels that are compiled, and for edges that are read ahead."""

MOUNTS = Path("/proc/mounts")


def check_memory(limit: int | None, rows: int = 0, of: str = "this process") -> int:
    """Return the bytes that `of`, a process, needs beside its edges: what it has, its `rows` and
    what is spare. UsageError if that is more than the `limit`.
    """
    needed = anonymous() + rows + SPARE
    if limit is not None and needed > limit:
        enough = math.ceil(1.1 * needed / 1e8) / 10
        of_rows = f", {in_gigabytes(rows)} of them for rows of vertices" if rows else ""
        raise UsageError(
            f"{of} needs {in_gigabytes(needed)} of memory beside its edges{of_rows}, and --memory "
            f"gives {in_gigabytes(limit)}",
            do=f"give {enough:.1f}GB or more"
            + (", or take more machines, each of which holds a part" if rows > limit / 2 else ""),
        )
    return needed


def count_row_bytes(program: BaseProgram, vertices: Mapping[str, int]) -> int:
    """Return the bytes of the rows of so many vertices of each type, with a copy of those that the
    model keeps.
    """
    size = 0
    for name, vertex in program.vertices.items():
        each = OF_VERTEX
        for declared in vertex.fields.values():
            field = declared.resolve(program.parameters)
            if not field.is_ragged:
                entry = math.prod(field.lengths) * field.dtype.itemsize
                each += entry * (2 if field.in_model else 1)
        size += each * vertices.get(name, 0)
    return size


def in_gigabytes(size: int) -> str:
    """Write a number of bytes."""
    return f"{size / 1e9:.2f} GB"


def memory_disk() -> Path | None:
    """Return the folder where edges lie, if it is one in memory (tmpfs); else None."""
    if (folder := disk_folder()) is None:
        return None
    kinds = {}
    for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        _, place, kind, *_ = line.split(" ")
        kinds[Path(place)] = kind
    path = folder.resolve()
    nearest = next((each for each in (path, *path.parents) if each in kinds), Path("/"))
    return folder if kinds.get(nearest) in ("tmpfs", "ramfs") else None
