"""Data of a program with several edge types: those of each type, by its name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.integers import distinct_integers
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, did_you_mean, plural
from tux.inputs.memory import MemoryData, is_matrix
from tux.io.bags.numbering import ColumnNumbering
from tux.io.edges.columns import ITEMS, USERS, plain_name
from tux.io.source.input_files import Source
from tux.program.base_program import BaseProgram, first_edge, other_types
from tux.program.types import Edge

Data = Any


SourceOfTypes = Source | dict[str, Source]
"""Files, or those of each edge type of a program that has several."""


def sources_by_type(program: BaseProgram, data: SourceOfTypes) -> dict[str, Source]:
    """Return the files of each edge type by name, those of the first as ""."""
    if not isinstance(data, dict):
        return {"": data}
    others = {name: data[name] for name in other_types(program) if name in data}
    return {"": data[program.edge_name], **others}


def split_by_type(program: BaseProgram, data: Data) -> dict[str, Data] | None:
    """Return the data of each edge type by name, if data name edge types: a dict with their names,
    or texts such as ``"tag=tags.csv"``, several of one type being its files; else None. A dict of
    columns is a table, also if one is called as an edge type.

    UsageError for names of which some are no edge types, and for data that are None.
    """
    if len(program.edge_types) < 2:
        return None
    if isinstance(data, Mapping):
        return _data_by_type(program, data)
    named = _split_texts([data] if isinstance(data, str) else data) or {}
    if not named.keys() & program.edge_types.keys():
        return None
    return _check_named(program, named)


def _data_by_type(program: BaseProgram, data: Mapping[Any, Data]) -> dict[str, Data] | None:
    """Return the data of a dict by edge type; None if it is a table."""
    named = {str(name): each for name, each in data.items()}
    types = program.edge_types.keys()
    of_types = any(map(_is_table, named.values()))
    if not of_types and named.keys() & types and not named.keys() >= {*program.edge.roles}:
        of_types = named.keys() <= types or not all(map(_is_column, named.values()))
    return _check_named(program, named) if of_types else None


def _check_named(program: BaseProgram, named: dict[str, Data]) -> dict[str, Data]:
    """Return data by name as they are. UsageError for a name that is no edge type, and for data
    that are None.
    """
    own = type(program)
    for name, each in named.items():
        if name not in program.edge_types:
            kin = [kind.__name__ for kind in own.__subclasses__() if name in kind.edge_types]
            advice = f"{kin[0]} has it; " if kin else did_you_mean(name, [*program.edge_types])
            raise UsageError(
                f"data are given for {name}, which is no edge type of {own.__name__}",
                do=f"{advice}edge types: {', '.join(program.edge_types)}",
            )
        if each is None:
            out = "leave it out, or " if program.edge_types[name].optional else ""
            raise UsageError(f"no data are given for {name}, but None", do=f"{out}give its edges")
    return named


def _split_texts(texts: Any) -> dict[str, Any] | None:
    """Return the files by name of texts ``NAME=FILE``, a list of files for a name that is there
    several times; None if these are other data, or no text is so. UsageError if some are not.
    """
    if not isinstance(texts, list | tuple) or not all(isinstance(each, str) for each in texts):
        return None
    named: dict[str, list[str]] = {}
    pairs = {text: _split_text(text) for text in texts}
    if not any(pairs.values()):
        return None
    for text, pair in pairs.items():
        if pair is None:
            raise UsageError(f"{text} names no edge type", do=f"write TYPE={text}")
        name, file = pair
        if not file:
            raise UsageError(f"no file is named for {name}", do=f"write {name}=FILE")
        named.setdefault(name, []).append(file)
    return {name: files[0] if len(files) == 1 else files for name, files in named.items()}


def _split_text(text: str) -> tuple[str, str] | None:
    """Return the name and the file of a text ``NAME=FILE``; None if it is not so."""
    name, sign, file = text.partition("=")
    return (name, file) if sign and name.isidentifier() else None


def _is_table(data: Data) -> bool:
    """Return whether data are a table, a matrix or a file of their own, and not a column of a
    table.
    """
    return isinstance(data, str | os.PathLike | EdgeData | MemoryData) or (
        hasattr(data, "columns") or is_matrix(data)
    )


def _is_column(data: Data) -> bool:
    """Return whether data may be a column of a table: a sequence of numbers or texts."""
    if isinstance(data, list | tuple):
        return not any(isinstance(each, list | tuple) or np.ndim(each) for each in data[:1])
    return getattr(data, "ndim", 1) == 1 and hasattr(data, "__len__") and not _is_table(data)


def without_type(program: BaseProgram, data: Data) -> Data:
    """Return data that are named by the one edge type of a program alone: a text ``TYPE=FILE``, if
    no file is called so, or a dict; other data as they are. Raises what `split_by_type` does.
    """
    if len(program.edge_types) != 1:
        return data
    if isinstance(data, Mapping):
        named = _data_by_type(program, data)
        return data if named is None else named[program.edge_name]
    pair = _split_text(data) if isinstance(data, str) else None
    named_so = pair and pair[0] == program.edge_name and not os.path.lexists(data)
    return pair[1] if pair and named_so else data


def check_types_given(program: BaseProgram, data: Data, *, every: bool = False) -> None:
    """Raise UsageError unless data are given for each edge type of a program with several that is
    not optional; or for `every` one.
    """
    given = data if isinstance(data, Mapping) else {}
    missing = [
        name
        for name, edge in program.edge_types.items()
        if given.get(name) is None and (every or not edge.optional)
    ]
    if len(program.edge_types) < 2 or not missing:
        return
    wanted = [name for name, edge in program.edge_types.items() if every or not edge.optional]
    file = data if isinstance(data, str) else "FILE"
    files = " ".join(f"{name}={file if name == missing[0] else 'FILE'}" for name in wanted)
    of_file = f"{data_name(data)} is named for none of them"
    columns = ", ".join(f'"{name}": ...' for name in wanted)
    raise UsageError(
        f"{type(program).__name__} has the edge types {', '.join(program.edge_types)}, and "
        + (of_file if isinstance(data, str) else f"no data are given for {missing[0]}"),
        do=f"write {files}; in Python {{{columns}}}",
    )


def no_edges(edge: Edge, known: EdgeData) -> EdgeData:
    """Return the edges of an optional type of which no data are given, beside `known` edges."""
    src, dst = (known.ids[end].values[:0] if end in known.ids else () for end in edge.ends)
    columns = {name: np.empty(0, dtype) for name, dtype in edge.columns.items()}
    return EdgeData.of(edge.ends, src, dst, columns, against=known.ids)


def held_out_data(program: BaseProgram, test: Data) -> Data:
    """Return the held-out data, which are edges of the first type; UsageError for others by
    name.
    """
    if not isinstance(test, dict):
        return test
    first = first_edge(program)
    if others := [name for name in test if name != first]:
        raise UsageError(
            f"held-out edges are given for {others[0]}: only edges of {first}, the first edge type "
            f"of {type(program).__name__}, are held out",
            do=f"give those of {first}, or declare {others[0]} before it",
        )
    return test[first]


def check_shapes(program: BaseProgram, data: Mapping[str, Data]) -> None:
    """Raise DataError if the first edge type and another are given as matrices, and the other has
    fewer rows or columns than the first has for the same vertices: it is short, or transposed.
    """
    first = first_edge(program)
    sizes = _matrix_sizes(program, first, data.get(first))
    for name in data.keys() & program.edge_types.keys() - {first}:
        own = _matrix_sizes(program, name, data[name])
        for kind in own.keys() & sizes.keys():
            (side, count), (other, needed) = own[kind], sizes[kind]
            if count < needed:
                raise DataError(
                    f"{name} is a matrix of {_shape(own)}, and {first} one of {_shape(sizes)}: it "
                    f"has fewer {side} than {first} has {other}",
                    do=f"give one of the {side[:-1]}s of each {kind}",
                )


def _matrix_sizes(program: BaseProgram, name: str, data: Data) -> dict[str, tuple[str, int]]:
    """Return, by vertex type, whether its vertices are the rows or the columns of a matrix, and how
    many there are; nothing for other data, and for edges between vertices of one type.
    """
    given = data.first if isinstance(data, MemoryData) else data
    ends = program.edge_types[name].ends
    if not is_matrix(given) or ends[0] == ends[1] or len(given.shape) != 2:
        return {}
    rows, columns = map(int, given.shape)
    return {ends[0]: ("rows", rows), ends[1]: ("columns", columns)}


def _shape(sizes: Mapping[str, tuple[str, int]]) -> str:
    """Write the shape of a matrix."""
    return " x ".join(f"{count:,}" for _, count in sizes.values())


def check_named_ends(program: BaseProgram, edges: EdgeData) -> None:
    """Raise DataError for a column that was taken for an end of an edge type, and is called as a
    vertex type at no end of it: the data of users, say, were given as those of items.
    """
    first = first_edge(program)
    for name, each in {first: edges, **edges.others}.items():
        ends = program.edge_types[name].ends
        for kind in program.vertices.keys() - {*ends}:
            called = next((names for names in (USERS, ITEMS) if plain_name(kind) in names), set())
            called = {plain_name(kind), f"{plain_name(kind)}id", *called}
            for end in ends:
                if plain_name(each.columns.get(end, "")) in called:
                    raise DataError(
                        f"column {each.columns[end]} of {name} is called as a {kind}, and would be "
                        f"read as {end}",
                        do=f"give edges between {' and '.join(ends)} as {name}, with their names",
                    )


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


def swapped_notes(program: BaseProgram, edges: EdgeData) -> Iterator[str]:
    """Yield a line for each column of the data of an edge type that was taken for one of its
    fields, and is called as a field of another edge type.
    """
    first = first_edge(program)
    for name, each in {first: edges, **edges.others}.items():
        own = program.edge_types[name].columns
        for field, column in each.columns.items():
            if field not in own or column in own:
                continue
            for other, edge in program.edge_types.items():
                if column in edge.columns:
                    yield (
                        f"column {column}, read as {field} of {name}, is called as a field of "
                        f"{other}: the data of {name} and {other} may be swapped"
                    )


def compare_ids(known: EdgeData, each: EdgeData, own: str) -> Iterator[str]:
    """Yield lines about vertices of `each` edges whose ids, for their most part, are not those of
    the `known` edges of other types; `own`: the name of their data. DataError for ids that were
    given in another type.
    """
    for kind in dict.fromkeys(each.ends):
        before = known.ids.get(kind)
        if before is None:
            continue
        had, has = known.id_types.get(kind, "plain"), each.id_types.get(kind, "plain")
        if had != has and not all(map(_may_be_integers, (had, has))):
            raise DataError(
                f"ids of {kind} are {has} in {own}, and {had} in edges of another type",
                do="give the ids of a vertex type in one type",
            )
        firsts = {first for one in (each, *known.by_type.values()) for first in _firsts(one, kind)}
        if len(firsts) > 1:
            raise DataError(
                f"ids of {kind} are numbered from 0 in some edges and from 1 in others",
                where=own,
                do="give all edge types as matrices, or all as Matrix Market files or tables",
            )
        sides = zip(each.ends, (each.src, each.dst), strict=True)
        codes = distinct_integers(np.concatenate([side for of, side in sides if of == kind]))
        new = int(np.count_nonzero(codes >= len(before)))
        yield from describe_new_ids(kind, own, len(codes), new)
        if before.values.dtype.kind == "i" and each.ids[kind].values.dtype.kind == "T":
            yield (
                f"ids of {kind} are numbers in edges of other types, and texts in {own}: all are "
                "compared as texts, so 7 and 007 are two"
            )


def _firsts(edges: EdgeData, kind: str) -> set[int]:
    """Return the numbers from which the ids of a vertex type are counted at ends of edges, as far
    as the form of these says it.
    """
    if (form := ColumnNumbering.parse(edges.numbered)) is None:
        return set()
    numbers = zip(edges.ends, (form.first_row, form.first), strict=True)
    return {first for end, first in numbers if end == kind}


def _may_be_integers(given: str) -> bool:
    """Return whether ids of a type, as `EdgeData.id_types` has it, may be integers. Those of all
    widths are compared as numbers.
    """
    return given == "plain" or np.dtype(given).kind in "iu"


def describe_new_ids(kind: str, own: str, count: int, new: int) -> Iterator[str]:
    """Yield a line if, of `count` vertices of a type in the data `own`, most are `new`: they occur
    in no edge of the types before.
    """
    if new and new == count:
        yield (
            f"no {kind} of {own} occurs in the edges of other types: its columns may be swapped, "
            "or its ids written otherwise"
        )
    elif 2 * new > count:
        yield f"{new:,} of {plural(count, kind)} of {own} occur in no edge of other types"
