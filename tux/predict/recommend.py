"""The best items for each user of a trained model: `tux predict DIR --top N`.

Users are the vertices of a program's first end, items those of its second; the program gives their
names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

from tux.arrays.arrow import read_parquet
from tux.arrays.given import to_given_type
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, plural
from tux.inputs.pairs import read_pairs, trained_columns
from tux.io.source.input_files import Source
from tux.io.vertices.ids import read_ids as read_vertex_ids
from tux.predict.factors import Factors, factors_of
from tux.predict.predict import reopen_program
from tux.predict.topk import Excluded, group_by_query
from tux.program.product import Product, product_of
from tux.program.program import Program, score_of
from tux.run_folder.folder import RunRecord, read_run
from tux.run_folder.model_files import model_file, read_ids

PIECE = 1 << 13  # users whose items are held at a time
SHOWN = 5  # names of users that the model does not know

Warn = Callable[[str], None]
Columns = dict[str, np.ndarray]


def top(
    folder: str | os.PathLike[str],
    count: int,
    *,
    users: str | os.PathLike[str] | None = None,
    exclude: Source | None = None,
    columns: str | None = None,
    warn: Warn = lambda text: None,
    progress: Callable[[float], None] = lambda share: None,
) -> Iterator[Columns]:
    """Find the `count` items of the highest scores for each user, by the model in a run's folder.

    `users` is a file of ids (`tux.io.vertices.ids`), None: all users of the model. `exclude` is a
    file of pairs that are not found, such as the ratings of training, whose `columns` ("a,b") are
    named if need be. Yields pieces of columns of equal length: the users' ids, under the name of
    their end in UDFs, `rank` from 1, the items' ids, and the scores, float32, under the stage's
    name. All files are read before the first piece.

    Raises UsageError for a program whose predictions are no inner products (`product_of`), and
    DataError for files that cannot be read, and if none of the users is known; `warn` names some
    who are not.
    """
    if count < 1:
        raise UsageError(f"--top {count}: one at least is needed")
    run = read_run(folder)
    program = reopen_program(run, folder, warn)
    product = product_of(program)
    ids = read_ids(folder, program)
    first, second = (ids[kind] for kind in product.kinds)
    factors = _factors(folder, program, product)
    rows = np.arange(len(first)) if users is None else _user_rows(users, run, program, first, warn)
    seen = None if exclude is None else _read_excluded(exclude, run, program, ids, columns, warn)
    user, item = program.edge.roles
    score = score_of(program).name

    def restore_types(end: int, found: np.ndarray) -> np.ndarray:
        return to_given_type(found, run.id_types.get(product.kinds[end], ""))

    def pieces() -> Iterator[Columns]:
        for at in range(0, len(rows), PIECE):
            piece = rows[at : at + PIECE]

            def report_share(share: float, at: int = at, size: int = len(piece)) -> None:
                progress((at + share * size) / len(rows))

            places, scores = factors.best(piece, count, seen, report_share)
            there = places >= 0
            of, rank = np.nonzero(there)
            yield {
                user: restore_types(0, first.decode(piece[of])),
                "rank": (rank + 1).astype(np.int32),
                item: restore_types(1, second.decode(places[there])),
                score: scores[there],
            }

    return pieces()


def _factors(folder: str | os.PathLike[str], program: Program, product: Product) -> Factors:
    """Read the factors of the model in a run's folder."""
    fields = {
        kind: read_parquet(model_file(folder, kind), names)
        for kind, names in product.columns.items()
    }
    return factors_of(program, fields)


def _user_rows(
    path: str | os.PathLike[str], run: RunRecord, program: Program, known: Ids, warn: Warn
) -> np.ndarray:
    """Read a file of users, and return their places among the ids `known`, each once, in its order;
    `warn` names some that the model does not have.
    """
    kind = program.edge.ends[0]
    asked = read_vertex_ids(path, kind, known, trained_columns(run)[:1])
    rows = known.encode(asked)
    if not (rows >= 0).any():
        raise DataError(
            f"no {kind} of {data_name(path)} occurred in training: {_first_names(asked)}",
            do=f"the first {kind} of the model is {known.values[0]}",
        )
    if (new := rows < 0).any():
        count = len(set(asked[new].tolist()))
        warn(
            f"{plural(count, kind)} of {data_name(path)} never occurred in training, and "
            "nothing is "
            f"recommended to them: {_first_names(asked[new])}"
        )
    rows = rows[~new]
    _, at = np.unique(rows, return_index=True)
    return np.asarray(rows[np.sort(at)])


def _first_names(ids: np.ndarray) -> str:
    """Write the first of some ids as words of a message."""
    different = [str(each) for each in dict.fromkeys(ids.tolist())]
    return ", ".join(different[:SHOWN]) + ", ..." * (len(different) > SHOWN)


def _read_excluded(
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
