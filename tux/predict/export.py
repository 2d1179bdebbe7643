"""A trained model for other programs, as arrays in one file: `tux export`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.arrays.arrow import STRING, parquet_names, read_parquet
from tux.arrays.ids import Ids
from tux.arrays.ragged import Lists
from tux.base.disk import replacing
from tux.base.errors import ProgramError, UsageError
from tux.base.text import did_you_mean
from tux.engine.start_model import model_file
from tux.figures import figures, plots
from tux.io.vertices.labels import read_vertex_labels
from tux.io.vertices.word2vec import write_binary, write_text
from tux.predict.column_files import check_new
from tux.predict.predict import reopen_program
from tux.program.naming import describe_value, place
from tux.program.program import Program
from tux.program.report import GANTT, INDEXES, Document, Export, Model
from tux.program.returns import check_exports
from tux.run_folder.folder import drop_nonfinite, read_run
from tux.run_folder.model_columns import LazyColumns
from tux.run_folder.model_files import check_model, read_type_ids

ENDINGS = (".npz", ".json")
WORD2VEC = {"word2vec": write_text, "word2vec-binary": write_binary}
"""Forms with a kind of file of their own: of the arrays `id` and `vector`."""

ARRAYS = "arrays"
"""The form that every model has."""

PICTURE = "picture"
"""The form that is a picture of the arrays."""


def export(
    folder: str | os.PathLike[str], form: str, *, warn: Callable[[str], None] = lambda text: None
) -> dict[str, np.ndarray]:
    """Make arrays by name of the model in a run's folder. `form` is one of the program's `exports`,
    or "arrays".

    Raises UsageError naming the formats there are for another, DataError if there is no model,
    ProgramError for a result that is no array of numbers or text.
    """
    check_format(folder, form)
    program, formats = _formats(folder, warn)
    return _as_arrays(form, formats[form], formats[form](program, read_model(folder, program)))


def _as_arrays(form: str, function: Export, exported: Any) -> dict[str, np.ndarray]:
    """Turn the result of a format's function into arrays of numbers or of text. ProgramError for
    anything else, and for a form with a kind of file of its own without the arrays that it needs.
    """

    def fault(what: str, do: str) -> ProgramError:
        return ProgramError(what, where=place(function), do=do)

    if isinstance(exported, Document):
        return exported
    if not isinstance(exported, Mapping):
        what = f"the function of the format {form} returns {describe_value(exported)}"
        raise fault(what, "return arrays by name")
    arrays = {}
    for name, given in exported.items():
        try:
            array = np.asarray(given)
        except ValueError as error:  # rows of several lengths
            do = "give arrays of numbers or of text"
            raise fault(f"{name} of {form} is no array: {error}", do) from None
        array = np.array(array.tolist(), "U") if array.dtype == STRING else array
        if array.dtype.kind not in "biufU":
            what = f"{name} of {form} holds {array.dtype}"
            raise fault(what, "give arrays of numbers or of text")
        arrays[str(name)] = array
    if form in (*WORD2VEC, PICTURE):
        id_, vector = arrays.get("id"), arrays.get("vector")
        if id_ is None or vector is None or vector.ndim != 2 or id_.shape != vector.shape[:1]:
            what = f"the format {form} needs the arrays id (n,) and vector (n, width), but has "
            has = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            raise fault(what + (has or "none"), 'return {"id": ids, "vector": vectors}')
    return arrays


def check_format(folder: str | os.PathLike[str], form: str) -> Export:
    """Return the function of a format. Raise UsageError if the model in a run's folder has no such
    format, and name the formats that it has.
    """
    _, formats = _formats(folder, lambda text: None)
    if form not in formats:
        near = did_you_mean(form, [*formats, *INDEXES, GANTT])
        raise UsageError(
            f"no format {form!r}",
            do=f"{near}formats of this model: {', '.join(formats)}; "
            f"of its vectors: {', '.join(INDEXES)}; of its run: {GANTT}",
        )
    return formats[form]


def _formats(
    folder: str | os.PathLike[str], warn: Callable[[str], None]
) -> tuple[Program, dict[str, Export]]:
    """Return the program of a run, and the formats of its model."""
    program = reopen_program(read_run(folder), folder, warn)
    return program, formats_of(program)


def formats_of(program: Program) -> dict[str, Export]:
    """Return the formats of a program's model: the exports that its report names, and the arrays as
    they are.
    """
    return {ARRAYS: _arrays, **check_exports(program)}


def _arrays(program: Program, model: Model) -> dict[str, Any]:
    """Return all fields of the model as ``TYPE.FIELD``, and ids as ``TYPE.id``; lists as
    ``TYPE.FIELD`` and their ``TYPE.FIELD.bounds``.
    """
    arrays: dict[str, Any] = {f"{name}.id": values for name, values in model.ids.items()}
    for name, columns in model.fields.items():
        for field, column in columns.items():
            if isinstance(column, Lists):
                arrays |= {
                    f"{name}.{field}": column.values,
                    f"{name}.{field}.bounds": column.bounds,
                }
            else:
                arrays[f"{name}.{field}"] = column
    return arrays


def read_model(folder: str | os.PathLike[str], program: Program) -> Model:
    """Read the model in a run's folder, without the training edges: each column when a format asks
    for it.
    """
    check_model(folder)
    has_context = any(field.in_model for field in program.context.fields.values())
    fields = {}
    for name in [*program.vertices, *(["tau"] if has_context else [])]:
        path = model_file(folder, name)
        names = [field for field in parquet_names(path) if field != "id"]
        fields[name] = LazyColumns(names, partial(_read_column, path))
    ids = LazyColumns(program.vertices, lambda name: read_type_ids(folder, name).values)
    return Model({"tau": {}, **fields}, ids, categories=read_run(folder).categories)


def _read_column(path: Path, name: str) -> Any:
    """Read one column of a file of the model."""
    return read_parquet(path, [name])[name]


def exporter(
    path: str | os.PathLike[str],
    form: str = "",
    labels: str | None = None,
    *,
    warn: Callable[[str], None] = lambda text: None,
) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that writes arrays to a new file: .npz (numpy's, of plain arrays), or .json
    (nested lists; no NaN); of some forms, their own kind.

    `labels`: a file of labels of the vertices, by which a picture is coloured. Raises UsageError
    for another ending, if the file exists, for labels where no picture is drawn, and if matplotlib
    is missing where one is; writing raises DiskError, and DataError for labels.
    """
    check_new(path)
    name = Path(path)
    if labels is not None and form != PICTURE:
        raise UsageError(
            f"--labels colour a picture, not {form}",
            do=f"leave them out, or say --format {PICTURE}",
        )
    if form == PICTURE:
        return _painter(path, labels, warn)
    if form in WORD2VEC:
        return lambda arrays: WORD2VEC[form](path, arrays["id"], arrays["vector"])
    if name.suffix not in ENDINGS:
        raise UsageError(
            f"{path} does not say which kind of file to write",
            do=f"end its name in {' or '.join(ENDINGS)}",
        )

    def write(arrays: Mapping[str, Any]) -> None:
        if isinstance(arrays, Document) and name.suffix != ".json":
            raise UsageError(f"{form or path} is a document", do="end the file's name in .json")
        with replacing(path) as part, open(part, "wb") as file:
            if isinstance(arrays, Document):
                file.write(msgspec.json.encode(arrays))
            elif name.suffix == ".npz":
                np.savez(file, **arrays)
            else:
                file.write(
                    msgspec.json.encode(
                        drop_nonfinite({each: array.tolist() for each, array in arrays.items()})
                    )
                )

    return write


def _painter(
    path: str | os.PathLike[str], labels: str | None, warn: Callable[[str], None]
) -> Callable[[Mapping[str, Any]], None]:
    """Return a function that draws the array `vector`, coloured by the labels that the vertices
    `id` have in a file.
    """
    figures.check(path)

    def draw(arrays: Mapping[str, Any]) -> None:
        ids = arrays["id"]
        colours = (
            read_vertex_labels(labels, Ids(ids.astype(STRING) if ids.dtype.kind == "U" else ids))
            if labels is not None
            else None
        )
        if colours is not None and colours.unknown:
            warn(f"{colours.unknown:,} ids in {labels} have no vector")
        plots.save_vectors(path, arrays["vector"], colours)

    return draw
