"""The gauge of a kernel in a run with a profile: how many bytes its functions touch for each edge
and each vertex that it visits.

The bytes are those of whole fields that the analysis finds in use, and of the arrays of the layout
that the loop reads. A field that is written counts twice, as memory is read before it is written.
The context and parameters are left out, as they stay in the cache.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tux.engine.profile import Meter
from tux.program.fields import ID
from tux.rows.table import RowSpec

if TYPE_CHECKING:
    from tux.stages.kernel.tickets import Items

Row = tuple[RowSpec, tuple[Any, ...]]
"""The fields of a row in a kernel, and their arrays."""

OF_VERTICES = ("bounds", "rows", "visited", "frontier", "starts", "_counts", "beside")
"""The ends of names of arrays that a loop reads once a vertex, or once a tile; others it reads once
an edge.
"""


class Touched(NamedTuple):
    """The bytes that are read and written for an edge and for a vertex, and `held`, those of all
    arrays of which they are a part.
    """

    edge: int
    vertex: int
    held: int

    def size(self, edges: int, vertices: int) -> int:
        """Return the bytes of so many edges and vertices."""
        return edges * self.edge + vertices * self.vertex


class KernelGauge:
    """The meter of a kernel, and what its functions touch."""

    def __init__(self, meter: Meter, touched: Touched) -> None:
        self.meter, self._touched = meter, touched

    def count(self, items: Items) -> None:
        """Count a call of the kernel with `items`."""
        vertices = 0 if items.of_edges else items.size
        self.meter.count(items.edges, vertices, self._touched.size(items.edges, vertices))


def touched_by(
    rows: Mapping[str, Row], along: Container[str], each: int, read: Mapping[str, np.ndarray]
) -> Touched:
    """Return what the functions of a kernel touch: of the `rows` that they get by name, `along`
    edges, or else `each` times a vertex; and of the arrays of the layout that its loop has `read`.
    """
    edge, vertex, held = 0, 0, 0
    for name, row in rows.items():
        if name in ("tau", "topology"):
            continue
        size, whole = _row_bytes(*row)
        held += whole
        if name in along:
            edge += size
        else:
            vertex += size * each
    for name, array in read.items():
        held += array.nbytes
        if name.endswith(OF_VERTICES):
            vertex += array.itemsize
        else:
            edge += array.itemsize
    return Touched(edge, vertex, held)


def arrays_read(varying: Mapping[str, Any], loop: Sequence[str]) -> dict[str, np.ndarray]:
    """Return those of the arrays `varying` that the lines of a loop name."""
    words = {*re.findall(r"\w+", " ".join(loop))}
    return {n: each for n, each in varying.items() if n in words and isinstance(each, np.ndarray)}


def _row_bytes(spec: RowSpec, arrays: Sequence[Any]) -> tuple[int, int]:
    """Return the bytes of the fields of one row that are in use, and those of their arrays."""
    size, held = 0.0, 0
    for name, passed in zip(spec.names, arrays, strict=True):
        if name in spec.coded:
            size += len(passed) - 1  # a code
            held += sum(array.nbytes for array in passed)
            continue
        ragged = isinstance(passed, tuple)
        array = passed[0] if ragged else passed
        rows = len(passed[1]) - 1 if ragged else len(array)
        if name in spec.unused or name == ID or not rows:
            continue
        size += array.nbytes / rows * (2 if array.flags.writeable else 1)
        held += array.nbytes
    return round(size), held
