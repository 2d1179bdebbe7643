"""Data of a program with several edge types: those of each type, by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from tux.base.errors import UsageError
from tux.base.text import did_you_mean
from tux.program.base_program import BaseProgram

Data = Any


def split_by_type(program: BaseProgram, data: Data) -> dict[str, Data] | None:
    """Return the data of each edge type by name, if data name edge types: a dict with their names,
    or texts such as ``"tag=tags.csv"``, several of one type being its files; else None.

    UsageError for names of which some are no edge types.
    """
    if len(program.edge_types) < 2:
        return None
    if isinstance(data, Mapping):
        named = {str(name): each for name, each in data.items()}
    else:
        named = _split_texts([data] if isinstance(data, str) else data) or {}
    if not named.keys() & program.edge_types.keys():
        return None
    for name in named:
        if name not in program.edge_types:
            raise UsageError(
                f"data are given for {name}, which is no edge type of {type(program).__name__}",
                do=f"{did_you_mean(name, [*program.edge_types])}edge types: "
                f"{', '.join(program.edge_types)}",
            )
    return named


def _split_texts(texts: Any) -> dict[str, Any] | None:
    """Return the files by name of texts ``NAME=FILE``, a list of files for a name that is there
    several times; None if these are other data, or not all texts are so.
    """
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        return None
    named: dict[str, list[str]] = {}
    for text in texts:
        name, sign, file = text.partition("=")
        if not sign or not name.isidentifier():
            return None
        named.setdefault(name, []).append(file)
    return {name: files[0] if len(files) == 1 else files for name, files in named.items()}


def check_types_given(program: BaseProgram, data: Data) -> None:
    """Raise UsageError unless data are given for each edge type of a program with several."""
    given = data if isinstance(data, Mapping) else {}
    missing = [name for name in program.edge_types if name not in given]
    if len(program.edge_types) < 2 or not missing:
        return
    files = " ".join(f"{name}=FILE" for name in program.edge_types)
    columns = ", ".join(f'"{name}": ...' for name in program.edge_types)
    raise UsageError(
        f"{type(program).__name__} has the edge types {', '.join(program.edge_types)}, and no data "
        f"are given for {missing[0]}",
        do=f"name a file of each: {files}; in Python {{{columns}}}",
    )


def held_out_data(program: BaseProgram, test: Data) -> Data:
    """Return the held-out data, which are edges of the first type; UsageError for others by
    name.
    """
    if not isinstance(test, dict):
        return test
    first = next(iter(program.edge_types))
    if others := [name for name in test if name != first]:
        raise UsageError(
            f"held-out edges are given for {others[0]}: only edges of {first}, the first edge type "
            f"of {type(program).__name__}, are held out",
            do=f"give those of {first}, or declare {others[0]} before it",
        )
    return test[first]


def name_files(data: Mapping[str, Data], path_of: Callable[[Data], str]) -> list[str]:
    """Write data by type as texts that `split_by_type` reads; `path_of` a file is its name."""
    texts = []
    for name, each in data.items():
        several = isinstance(each, list | tuple) and all(isinstance(file, str) for file in each)
        texts += [f"{name}={path_of(file)}" for file in (each if several else [each])]
    return texts


def origin_of_types(data: Mapping[str, Data], origin: Callable[[Data], Any]) -> str | list[str]:
    """Return the origin of data by type, as texts that `split_by_type` reads; "memory" if some of
    them have no file.
    """
    out = []
    for name, each in data.items():
        found = origin(each)
        files = found if isinstance(found, list) else [found]
        if any(not os.path.isabs(file) and "://" not in file for file in files):
            return "memory"
        out += [f"{name}={file}" for file in files]
    return out
