"""Data cut in two from Python: the work of ``tux split``, for tables in memory too."""

from __future__ import annotations

import os
from typing import Any

from tux.base.errors import UsageError
from tux.inputs.held_out_rows import By, HeldOutRule
from tux.inputs.split import split_files, split_table
from tux.options.python_words import in_python


@in_python()
def split(
    data: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    by: By = "random",
    test_share: float | None = None,
    time: str | None = None,
    columns: str | None = None,
    seed: int = 0,
) -> tuple[Any, Any]:
    """Cut pairs, such as ratings or clicks, in two: those to train on, and those to judge by.

    `data` is a file, a folder, a pattern or a list of files, of which two new files in the new
    folder `out` are made, and their paths returned; or a table in memory (DataFrame, table of
    pyarrow, columns or rows), of which two of the same library are returned. All columns are kept,
    and so is the order of rows.

    `by` is "random": each row is held out with probability `test_share` (0.1); "user": so are all
    rows of a user; "leave-one-out": one row of each user who has several, the latest one by the
    column `time`, else a random one; or "time": the latest rows, about `test_share` of all, where
    rows of one time stay together. `columns` ("a,b") names those of users and items, if they are
    not found by their names. Equal arguments give equal rows; another `seed` makes other draws.

    Raises UsageError for arguments that do not fit together, DataError for what is no table, for a
    row without a user, an item or a time, and if all rows or none would be held out.
    """
    if columns is not None and not isinstance(columns, str):
        raise UsageError(f"--columns is {columns!r}", do='give a text: "a,b"')
    rule = HeldOutRule(by, test_share, time, seed)
    files = data if isinstance(data, list | tuple) else [data]
    if not all(isinstance(each, str | os.PathLike) for each in files):
        if out is not None:
            raise UsageError("--out is for files", do="leave it out: two tables are returned")
        return split_table(data, rule, columns)
    if out is None:
        raise UsageError("the files that are made need a folder", do="name a new one with --out")
    made = split_files(data, out, rule, columns)
    return made.train, made.test
