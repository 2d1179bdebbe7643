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
from tux.base.file_systems import lies_in_memory
from tux.base.text import plural
from tux.program.base_program import BaseProgram

OF_VERTEX = 32
"""Bytes that a vertex takes beside its fields: its places in orders."""

TAKEN = 0.9
"""The share of the memory that is left which a run takes by itself."""


class RowBytes(NamedTuple):
    """The bytes of rows of vertices, and of a copy of those that the model keeps, which some runs
    make; `largest`: the field that takes most of them, in words.
    """

    total: int = 0
    copies: int = 0
    largest: str = ""


NO_ROWS = RowBytes()


class MemoryLimit(NamedTuple):
    """The bytes that a process may take; whether they are `given`, by `--memory`."""

    size: int
    given: bool

    def check(self, rows: RowBytes = NO_ROWS, of: str = "this process", edges: int = 0) -> int:
        """Return the bytes that `of`, a process, needs beside its edges, which take some `edges` of
        what it has: the rest of that and its `rows`; where the limit is given, also what is spare,
        and copies of the rows. UsageError if that is more than the limit.
        """
        own, more = memory.anonymous() - edges + rows.total, rows.copies + SPARE
        needed = own + more if self.given else own
        if needed > self.size:
            raise self._error(of, needed, own + more, rows)
        return needed

    def _error(self, of: str, needed: int, enough: int, rows: RowBytes) -> UsageError:
        """Make the error about a process that needs more; `enough`: what `--memory` has to give."""
        what = f"{of} needs {in_bytes(needed)} of memory beside its edges"
        if rows.largest:
            what += f", {in_bytes(rows.total)} of them for rows of vertices (above all "
            what += f"{rows.largest})"
        by = "--memory gives" if self.given else "this machine, or its control group, leaves it"
        do = f"give {'' if self.given else '--memory '}{math.ceil(1.1 * enough / 1e8) / 10:.1f}GB"
        do += " or more" if self.given else " or more, if it will be free"
        if rows.total > self.size / 2:
            do += ", or take more machines, each of which holds a part"
        return UsageError(f"{what}, and {by} {in_bytes(self.size)}", do=do)


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
    """Count the bytes of the rows of so many vertices of each type."""
    total, copies, sizes = 0, 0, {}
    for name, vertex in program.vertices.items():
        total += OF_VERTEX * vertices.get(name, 0)
        for each, declared in vertex.fields.items():
            field = declared.resolve(program.parameters)
            if not field.is_ragged:
                numbers = math.prod(field.lengths)
                size = numbers * field.dtype.itemsize * vertices.get(name, 0)
                sizes[f"{name}.{each}, {plural(numbers, 'number')} a row"] = size
                copies += size if field.in_model else 0
    total += sum(sizes.values())
    return RowBytes(total, copies, max(sizes, key=lambda words: sizes[words], default=""))


def in_bytes(size: int) -> str:
    """Write a number of bytes."""
    return f"{size / 1e9:,.2f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
