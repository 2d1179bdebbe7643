"""The origin of a run's data: the names by which they are found again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tux.arrays.edges import EdgeData
from tux.arrays.piped import STANDARD, input_name
from tux.arrays.stores import is_uri
from tux.graph.manifest import is_partitioned
from tux.inputs.by_type import origin_of_types
from tux.inputs.memory import MemoryData
from tux.io.source.input_files import absolute_source, lookup_path
from tux.program.input import Samples
from tux.program.program import Program


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


def origin_files(origin: str | list[str]) -> str | list[str] | None:
    """Return the files that an origin names; None where it is none of files."""
    found = not isinstance(origin, str) or os.path.isabs(origin) or is_uri(origin)
    return origin if found else None


def are_files(data: Any) -> bool:
    """Return whether data are files, or files of each edge type."""
    each = data.values() if isinstance(data, dict) else [data]
    return not any(isinstance(own, EdgeData | MemoryData) for own in each)


def whole_parameters(program: Program, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a program's parameters in a form that means the same in any folder: the path
    of a file is absolute.
    """
    return {
        name: absolute_source(value) if name in _file_parameters(program, parameters) else value
        for name, value in parameters.items()
    }


def _file_parameters(program: Program, parameters: Mapping[str, Any]) -> list[str]:
    """Return the parameters that name a file."""
    groups = program.input.groups if isinstance(program.input, Samples) else ""
    return [
        name
        for name, value in parameters.items()
        if value and (name == groups or program.params[name].is_file(value))
    ]


def files_beside(program: Program, options: Mapping[str, Any]) -> list[str]:
    """Return the files that are read beside the data, as `run.json` names them: those of labels, of
    vertices, and those that parameters name.
    """
    named = whole_parameters(program, program.parameters)
    own = [named[name] for name in _file_parameters(program, program.parameters)]
    files = [options.get("labels"), *options.get("vertices", {}).values(), *own]
    return [file for file in files if file]
