"""Labels of vertices out of a file, for programs that judge their model by them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tux.arrays import stores
from tux.arrays.arrow import STRING
from tux.arrays.given import to_id_type
from tux.arrays.ids import Ids
from tux.io.vertices.labels import VertexLabels, read_vertex_labels


def vertex_labels(path: str | os.PathLike[str], ids: Any) -> VertexLabels:
    """Read the labels of the vertices with these ids from a file: `member[v, k]` says whether the
    vertex of ``ids[v]`` has the label ``names[k]``, and `unknown` how many ids of the file are not
    among them.

    The file is one that `labels=` takes; a report gets its path as `truth.labels`. Raises
    DataError, with file and line, and if none of the ids is known.
    """
    held = np.asarray(to_id_type(ids))
    return read_vertex_labels(
        stores.local_path(path), Ids(held.astype(STRING) if held.dtype.kind in "UO" else held)
    )
