"""Data of vertices that are there before a run or a prediction: in a partitioned folder, and in the
tables that a model's run has read.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.base.text import plural_noun
from tux.inputs.vertices import check_types, missing_row_error, reshape_rows, wanted_fields
from tux.io.source.text import OnBadRow
from tux.io.vertices.columns import wrong_width
from tux.io.vertices.table import read_vertices
from tux.options.options import MEMORY
from tux.program.input import Samples
from tux.program.program import Program
from tux.run_folder.folder import RunRecord

Warn = Callable[[str], None]


def shape_folder_data(bare: EdgeData, program: Program, folder: Path) -> EdgeData:
    """Bring the vertex data of a partitioned folder into the shapes that the program declares.

    Raises DataError for a field that the folder does not have, or that has another width.
    """
    fields = {kind: dict(given) for kind, given in bare.vertex_fields.items()}
    for kind, given in fields.items():
        for wanted in wanted_fields(program, kind, {}):
            values = given.get(wanted.name)
            if values is None:
                if wanted.optional or _of_samples(program, wanted.name):
                    continue
                raise DataError(
                    f"its {plural_noun(kind)} have no {wanted.name}, which "
                    f"{type(program).__name__} reads",
                    where=str(folder),
                    do="partition the file again, with a table of them: --vertices TYPE=FILE",
                )
            if wanted.name in bare.categories.get(kind, {}) and wanted.holds_reals:
                raise DataError(
                    f"its {plural_noun(kind)} have words as {wanted.name}, such as "
                    f"{bare.categories[kind][wanted.name][0]}, not numbers",
                    where=str(folder),
                    do=f'declare whole numbers: {wanted.name} = data("i4")',
                )
            width = math.prod(values.shape[1:])
            if wanted.width not in (None, 0, width):
                raise wrong_width(wanted, width, kind, str(folder))
            given[wanted.name] = reshape_rows(
                values, program.vertices[kind].fields[wanted.name], program
            )
    return replace(bare, vertex_fields=fields)


def _of_samples(program: Program, name: str) -> bool:
    """Return whether a field is one that samples bring with them."""
    return isinstance(program.input, Samples) and name in ("label", "weight", "query")


def data_to_predict(
    asked: EdgeData,
    known: Mapping[str, Any],
    run: RunRecord,
    program: Program,
    tables: Mapping[str, Any] | None,
    warn: Warn,
    on_bad_row: OnBadRow = "stop",
) -> dict[str, dict[str, np.ndarray]]:
    """Read the data fields of the vertices of `asked`, by type: from `tables`, else from those that
    the run has read, which are read again.

    `known`: the model's ids, by type, which come first. Fields without a value in a table have
    their defaults, or else 0; `warn` tells if new vertices lack a table that training had. Raises
    UsageError for a table that was in memory, and DataError for vertices that a table does not
    have.
    """
    check_types(tables or {}, program.vertices, f"{type(program).__name__} has")
    found = {kind: _defaults(asked, kind, program) for kind in program.vertices}
    for kind, fields in found.items():
        wanted = [
            each for each in wanted_fields(program, kind, {}) if not _of_samples(program, each.name)
        ]
        before = (run.options.get("vertices") or {}).get(kind)
        if kind not in (tables or {}) and (before is None or not len(known[kind])):
            if before is not None:
                warn(
                    f"data of new {plural_noun(kind)} count as 0; --vertices {kind}=FILE "
                    "names a table of "
                    "them"
                )
            continue
        source = tables[kind] if tables and kind in tables else _table_of_run(kind, str(before))
        words = {
            name: np.array(names, STRING) for name, names in run.categories.get(kind, {}).items()
        }
        table = read_vertices(source, kind, wanted, on_bad_row=on_bad_row, categories=words)
        needed = _mark_needed(asked, kind, len(known[kind]))
        place = asked.ids[kind].encode(table.ids)
        here = place >= 0
        needed[place[here]] = False
        for name, values in table.fields.items():
            declared = program.vertices[kind].fields[name]
            if needed.any() and declared.default is None:
                raise missing_row_error(kind, name, asked.ids[kind].values[needed], table.name)
            fields[name][place[here]] = reshape_rows(values, declared, program)[here]
    return found


def _defaults(asked: EdgeData, kind: str, program: Program) -> dict[str, np.ndarray]:
    """Return the data fields of the vertices of a type with their defaults."""
    declared = {
        name: field.resolve(program.parameters)
        for name, field in program.vertices[kind].fields.items()
        if field.kind == "data"
    }
    return {
        name: np.full((len(asked.ids[kind]), *field.lengths), field.default or 0, field.dtype)
        for name, field in declared.items()
    }


def _table_of_run(kind: str, source: str) -> str:
    """Return the file of vertices of a type that the run has read, which must be there."""
    do = f"name a table of them: --vertices {kind}=FILE"
    if source == MEMORY:
        raise UsageError(f"the model's {plural_noun(kind)} had their data from memory", do=do)
    if not os.path.exists(source):
        raise DataError(
            f"no such file: {source}, the table of {plural_noun(kind)} of the run", do=do
        )
    return source


def _mark_needed(asked: EdgeData, kind: str, known: int) -> np.ndarray:
    """Mark the vertices of a type that a prediction looks at, (n,) bool: ends of edges, and new
    ones.
    """
    needed = np.zeros(len(asked.ids[kind]), np.bool_)
    needed[known:] = True
    for end, column in zip(asked.ends, (asked.src, asked.dst), strict=True):
        if end == kind:
            needed[column] = True
    return needed
