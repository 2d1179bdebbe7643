"""Data as a user gives them: names of files, edges, or objects of other libraries, which become
`tux.inputs.memory.MemoryData`.
"""

from __future__ import annotations

import os
from typing import Any

from tux.arrays import stores
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.inputs.by_type import split_by_type, without_type
from tux.inputs.memory import MemoryData, is_matrix
from tux.io.source.input_files import PATTERN, Files
from tux.program.base_program import along, first_edge
from tux.program.input import Bags, Samples
from tux.program.program import Program

LOOKED_AT = 10  # entries of a list of strings by which texts are told from names of files


def wrap_data(program: Program, data: Any) -> Any:
    """Wrap data as `MemoryData`. None, names of files and edges are returned as they are. A ~ in
    the name of a file is expanded. For a program with several edge types data may be a dict of the
    data of each, or texts that name them (`tux.inputs.by_type`): these become such a dict.
    """
    if isinstance(data, list) and len(data) == 1 and isinstance(data[0], str | os.PathLike):
        several = len(program.edge_types) > 1
        data = data[0] if several else data  # the one argument of a command
    if named := split_by_type(program, data):
        return {name: _wrap(along(program, name), each) for name, each in named.items()}
    return _wrap(program, without_type(program, data))


def wrap_first(program: Program, data: Any) -> Any:
    """Wrap data of which the first edge type alone is read, as `wrap_data` does: of data by type,
    those of the others are left out. UsageError if none are of the first.
    """
    given, first = wrap_data(program, data), first_edge(program)
    if not isinstance(given, dict):
        return given
    if first not in given:
        raise UsageError(
            f"only edges of {first} are read here, and none are given", do=f"give those of {first}"
        )
    return given[first]


def _wrap(program: Program, data: Any) -> Any:
    """Wrap the data of one edge type."""
    if isinstance(data, str | os.PathLike) and not isinstance(data, Files):
        return stores.local_path(data)
    if data is None or isinstance(data, MemoryData | EdgeData) or _are_files(program, data):
        return data
    kind = program.input
    several = isinstance(data, tuple) and len(data) > 1
    if several and (isinstance(kind, Samples) or isinstance(kind, Bags) and is_matrix(data[0])):
        return MemoryData(tuple(data))
    return MemoryData((data,))


def _are_files(program: Program, data: Any) -> bool:
    """Return whether data are the name of a file or a list of such names. A list of strings for a
    program of documents is a list of texts if a string has a blank in it, and none of the first is
    a file.
    """
    if isinstance(data, str | os.PathLike):
        return True
    if not isinstance(data, list | tuple) or not data:
        return False
    if not all(isinstance(each, str | os.PathLike) for each in data):
        return False
    if not isinstance(program.input, Bags) or not any(" " in os.fspath(each) for each in data):
        return True
    return any(_may_be_file(os.fspath(each)) for each in data[:LOOKED_AT])


def _may_be_file(name: str) -> bool:
    """Return whether a string is the name of a file that is there, or a pattern or a URI without a
    blank.
    """
    return (
        os.path.lexists(name) or " " not in name and (bool(PATTERN.search(name)) or "://" in name)
    )
