"""The memory of a run that has a limit (`--memory`): what its rows need is known before they are
allocated, so a run that cannot fit ends at once.
"""

from __future__ import annotations

import math

from tux.base.errors import UsageError
from tux.base.memory import anonymous
from tux.inputs.load import Inputs
from tux.program.program import Program
from tux.runs.context import RunContext

OF_VERTEX = 32
"""Bytes that a vertex takes beside its fields: its places in orders."""

SPARE = 1 << 28
"""Bytes for kernels that are compiled, and for edges that are read ahead."""


def check_memory(run: RunContext) -> None:
    """Say how much of its memory a run needs, if it has a limit. UsageError if that is more."""
    if (limit := run.options.memory) is None:
        return
    rows = count_row_bytes(run.program, run.inputs)
    needed = anonymous() + rows + SPARE
    if needed > limit:
        raise UsageError(
            f"{_in_gigabytes(needed)} of memory are needed, {_in_gigabytes(rows)} of them for the "
            f"rows of vertices, and --memory gives {_in_gigabytes(limit)}",
            do=f"give {_in_gigabytes(needed)} or more, or cut the graph: --workers N on several "
            "machines",
        )
    run.watch.say(
        f"memory: {_in_gigabytes(needed)} of {_in_gigabytes(limit)} for rows and the program; "
        "edges lie on disk, and what is left holds some of them"
    )


def count_row_bytes(program: Program, inputs: Inputs) -> int:
    """Return the bytes of the rows of all vertices, with a copy of those that the model keeps."""
    size = 0
    for name, vertex in program.vertices.items():
        each = OF_VERTEX
        for declared in vertex.fields.values():
            field = declared.resolve(program.parameters)
            if not field.is_ragged:
                entry = math.prod(field.lengths) * field.dtype.itemsize
                each += entry * (2 if field.in_model else 1)
        size += each * inputs.sizes["vertices"].get(name, 0)
    return size


def _in_gigabytes(size: int) -> str:
    """Write a number of bytes."""
    return f"{size / 1e9:.2f} GB"
