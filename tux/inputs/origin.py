"""The origin of a run's data: the names by which they are found again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tux.arrays.edges import EdgeData
from tux.arrays.piped import STANDARD, input_name
from tux.graph.manifest import is_partitioned
from tux.inputs.by_type import origin_of_types
from tux.inputs.memory import MemoryData
from tux.io.source.input_files import absolute_source, lookup_path


def cut_folder(data: Any) -> Path | None:
    """Return the folder of `tux partition` that the data are; None if they are something else."""
    if not isinstance(data, str | os.PathLike):
        return None
    folder = Path(lookup_path(data))
    return folder if is_partitioned(folder) else None


def origin(data: Any) -> str | list[str]:
    """Return the origin of edges, to find them again by. See `tux.run_folder.folder.Origin`."""
    if data is None:
        return "generated"
    if isinstance(data, dict):
        return origin_of_types(data, origin)
    if isinstance(data, EdgeData | MemoryData):
        return "memory"
    if isinstance(data, str | os.PathLike) and os.fspath(data) == STANDARD:
        return input_name(data)
    return absolute_source(data)


def are_files(data: Any) -> bool:
    """Return whether data are files, or files of each edge type."""
    each = data.values() if isinstance(data, dict) else [data]
    return not any(isinstance(own, EdgeData | MemoryData) for own in each)
