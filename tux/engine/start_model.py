"""The model with which a worker begins, and the files from which it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tux.arrays.arrow import parquet_names, read_parquet
from tux.arrays.parquet_footer import set_of
from tux.base.errors import DataError

Stored = Callable[[str, Sequence[str]], tuple[Mapping[str, Any], str]]
"""Named columns of a vertex type, or of "tau", in a model, those that it has; and where they are
stored.
"""


class StartModel(NamedTuple):
    """The model with which a worker begins: the number of vertices of each type that it has, which
    come first among the worker's, and its columns. Of a type that it does not name it has none.
    """

    known: Mapping[str, int]
    read: Stored


NOTHING = StartModel({}, lambda name, fields: ({}, ""))
"""A model of nothing."""


def model_file(folder: str | os.PathLike[str], name: str) -> Path:
    """Return the file of a vertex type's, or "tau"'s, part of a model. DataError if it is not
    there, or if there are files of other models beside it.
    """
    path = Path(folder, "model", f"{name}.parquet")
    if not path.is_file():
        raise DataError(
            f"no such file: {path}",
            do="the model is not whole: copy the folder again, or run it again",
        )
    _check_same_model(path)
    return path


def _check_same_model(path: Path) -> None:
    """Raise DataError if a file of a model lies beside one of another model, as that of another
    run, or of an earlier end of the same one. Files of earlier versions do not name their model.
    """
    with suppress(OSError):  # whoever reads the file tells it
        found = {set_of(each): each.name for each in sorted(path.parent.glob("*.parquet"))}
        own = set_of(path)
        others = [name for digest, name in found.items() if digest not in ("", own)]
        if own and others:
            raise DataError(
                f"{path.name} and {others[0]} are files of two models",
                where=str(path),
                do="copy the whole folder of the run again; tux info RUN --verify tells which file "
                "is another",
            )


def model_reader(folder: str | os.PathLike[str]) -> Stored:
    """Return a function that reads columns of the model in a run's folder; models of earlier
    versions of a program may have fewer.
    """

    def read(name: str, fields: Sequence[str]) -> tuple[Mapping[str, Any], str]:
        path = model_file(folder, name)
        there = {*parquet_names(path)}
        return read_parquet(path, [field for field in fields if field in there]), str(path)

    return read
