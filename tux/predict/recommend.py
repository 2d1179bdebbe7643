"""The best items for each user of a trained model: `tux predict DIR --top N`.

Users are the vertices of a program's first end, items those of its second; the program gives their
names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import ParquetRows, read_parquet
from tux.arrays.given import ids_of
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, plural
from tux.engine.start_model import model_file
from tux.inputs.pairs import read_pairs, trained_columns
from tux.io.source.input_files import Source
from tux.io.vertices.ids import read_ids as read_vertex_ids
from tux.predict.factors import factors_of
from tux.predict.predict import TrainedModel, reopen_program
from tux.predict.rows import ColumnRows, columns_of_new, new_to_fold_in
from tux.predict.topk import Excluded, group_by_query, keep_positions, select_queries
from tux.program.product import Product, product_of
from tux.program.program import Program, score_of
from tux.run_folder.folder import RunRecord, read_run
from tux.run_folder.model_files import read_ids

PIECE = 1 << 13  # users whose items are held at a time
SHOWN = 5  # names of users that the model does not know

Warn = Callable[[str], None]
Columns = dict[str, np.ndarray]


def top(
    folder: str | os.PathLike[str],
    count: int,
    *,
    users: str | os.PathLike[str] | None = None,
    only: str | os.PathLike[str] | None = None,
    exclude: Source | None = None,
    columns: str | None = None,
    folded: Columns | None = None,
    warn: Warn = lambda text: None,
    progress: Callable[[float], None] = lambda share: None,
) -> Iterator[Columns]:
    """Find the `count` items of the highest scores for each user, by the model in a run's folder.

    `users` is a file of ids (`tux.io.vertices.ids`), None: all users of the model. `only` is one of
    the items that may be found, None: all; no other is read or scored. `exclude` is a file of pairs
    that are not found, such as the ratings of training, whose `columns` ("a,b") are named if need
    be. `folded` has the ids and vectors of new users (`tux.predict.rows.fold_in`), which take the
    place of the model's. Yields pieces of columns of equal length: the users' ids, under the name
    of their end in UDFs, `rank` from 1, the items' ids, and the scores, float32, under the stage's
    name. The items' factors stay in memory; those of users do if `users` are named, and are else
    read piece by piece.

    Raises UsageError for a program whose predictions are no inner products (`product_of`), and
    DataError for files that cannot be read, and if none of the users, or items, of a file is known;
    `warn` names some who are not.
    """
    if count < 1:
        raise UsageError(f"--top {count}: one at least is needed")
    run = read_run(folder)
    program = reopen_program(run, folder, warn)
    product = product_of(program)
    first = product.kinds[0]
    folded = None if folded is None else columns_of_new(folded, program)

    def read_known() -> dict[str, Ids]:
        known = read_ids(folder, program)
        return known if folded is None else {**known, first: ids_of(folded["id"])}

    ids = {} if users is None and only is None and exclude is None else read_known()
    asked = _read_asked(run, program, ids, (users, only, exclude), columns, warn)
    queries, others = _open_factors(folder, product, asked.items, folded)
    factors_of(program, {first: queries.read(0, 0), **others})  # before long work
    rows = asked.users
    size = len(queries) if rows is None else len(rows)
    read = queries.read if rows is None else partial(_cut_columns, queries.take(rows))

    def pieces() -> Iterator[Columns]:
        for at in range(0, size, PIECE):
            end = min(at + PIECE, size)
            numbers = np.arange(at, end) if rows is None else rows[at:end]
            excluded = None if asked.seen is None else select_queries(asked.seen, numbers)

            def report_share(share: float, at: int = at, end: int = end) -> None:
                progress((at + share * (end - at)) / size)

            fields = {first: read(at, end), **others}
            yield _best_items(program, fields, count, excluded, report_share)

    return pieces()


def check_new_users(model: TrainedModel, of: str = "") -> None:
    """Raise UsageError, before vectors are found, unless the best items can be found for new
    vertices of the end `of`, "" for the usual one (`tux.predict.rows.new_to_fold_in`).
    """
    product_of(model.program)
    role, first = new_to_fold_in(model, of).role, model.program.edge.roles[0]
    if role != first:
        raise UsageError(
            f"the best are found for each {first}, and not for each {role}",
            do=f"leave out --of {role}, or --top",
        )


class AskedFor(NamedTuple):
    """The users and the items that are asked for, by their places among the ids of the model, None
    for all: `users` in the order of their file, `items` ascending. `seen`: what is excluded, by
    places among these items.
    """

    users: np.ndarray | None = None
    items: np.ndarray | None = None
    seen: Excluded | None = None

    def without(self, seen: Excluded, count: int) -> AskedFor:
        """Exclude what users have `seen` of all `count` items."""
        if self.items is not None:
            seen = keep_positions(seen, self.items, count)
        return self._replace(seen=seen)


def _read_asked(
    run: RunRecord,
    program: Program,
    ids: dict[str, Ids],
    files: tuple[str | os.PathLike[str] | None, str | os.PathLike[str] | None, Source | None],
    columns: str | None,
    warn: Warn,
) -> AskedFor:
    """Read what is asked for: the files of users, of items, and of what is excluded, as `top` takes
    them. `ids` are those that are known.
    """
    users, only, exclude = files
    asked = AskedFor(
        None if users is None else _known_rows(users, run, program, 0, ids, warn),
        None if only is None else np.sort(_known_rows(only, run, program, 1, ids, warn)),
    )
    if exclude is None:
        return asked
    seen = read_excluded(exclude, run, program, ids, columns, warn)
    return asked.without(seen, len(ids[program.edge.ends[1]]))


def _best_items(
    program: Program,
    fields: Mapping[str, Columns],
    count: int,
    excluded: Excluded | None,
    progress: Callable[[float], None],
) -> Columns:
    """Find the best items for each of the users in `fields`, which has ids and factors by type."""
    users, items = (fields[kind]["id"] for kind in program.edge.ends)
    every = np.arange(len(users))
    places, scores = factors_of(program, fields).best(every, count, excluded, progress)
    there = places >= 0
    of, rank = np.nonzero(there)
    (user, item), score = program.edge.roles, score_of(program).name
    ranks = (rank + 1).astype(np.int32)
    return {user: users[of], "rank": ranks, item: items[places[there]], score: scores[there]}


def _cut_columns(columns: Columns, first: int, end: int) -> Columns:
    """Take a range of the rows of columns."""
    return {name: column[first:end] for name, column in columns.items()}


def _open_factors(
    folder: str | os.PathLike[str],
    product: Product,
    kept: np.ndarray | None,
    folded: Columns | None,
) -> tuple[ParquetRows | ColumnRows, dict[str, Columns]]:
    """Open the ids and factors of users in a run's folder, of which ranges are read, or take those
    that are `folded`; return them, and those of items, or of the ones in the rows `kept`, which
    stay in memory, with the context's term.
    """
    first, second = product.kinds
    wanted = product.columns
    items = ParquetRows(model_file(folder, second), ["id", *wanted[second]])
    others = {second: items.read(0, len(items)) if kept is None else items.take(kept)}
    if "tau" in wanted:
        others["tau"] = read_parquet(model_file(folder, "tau"), wanted["tau"])
    if folded is not None:
        return ColumnRows(folded), others
    return ParquetRows(model_file(folder, first), ["id", *wanted[first]]), others


def _known_rows(
    path: str | os.PathLike[str],
    run: RunRecord,
    program: Program,
    end: int,
    ids: Mapping[str, Ids],
    warn: Warn,
) -> np.ndarray:
    """Read a file of vertices of an end, 0 or 1, and return their places among the `ids` of their
    type, each once, in its order; `warn` names some that the model does not have.
    """
    kind = program.edge.ends[end]
    known = ids[kind]
    asked = read_vertex_ids(path, kind, known, trained_columns(run)[end : end + 1])
    rows = known.encode(asked)
    if not (rows >= 0).any():
        raise DataError(
            f"no {kind} of {data_name(path)} occurred in training: {_first_names(asked)}",
            do=f"the first {kind} of the model is {known.values[0]}",
        )
    if (new := rows < 0).any():
        count = len(set(asked[new].tolist()))
        what = f"{plural(count, kind)} of {data_name(path)} never occurred in training"
        so = "none of them is recommended" if end else "nothing is recommended to them"
        warn(f"{what}, and {so}: {_first_names(asked[new])}")
    rows = rows[~new]
    _, at = np.unique(rows, return_index=True)
    return np.asarray(rows[np.sort(at)])


def _first_names(ids: np.ndarray) -> str:
    """Write the first of some ids as words of a message."""
    different = [str(each) for each in dict.fromkeys(ids.tolist())]
    return ", ".join(different[:SHOWN]) + ", ..." * (len(different) > SHOWN)


def read_excluded(
    pairs: Source,
    run: RunRecord,
    program: Program,
    ids: dict[str, Ids],
    columns: str | None,
    warn: Warn,
) -> Excluded:
    """Read the pairs of a file whose vertices the model knows."""
    read = read_pairs(pairs, run, program, ids, columns, warn)
    sizes = [len(ids[kind]) for kind in program.edge.ends]
    known = (read.src < sizes[0]) & (read.dst < sizes[1])
    if len(known) and not known.any():
        warn(f"{data_name(pairs)} has no pair that the model knows, so nothing is excluded")
    return group_by_query(read.src[known], read.dst[known], sizes[0])
