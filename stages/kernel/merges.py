"""Functions of the user that combine two values of a delta of vertices, compiled as a loop over
rows: the masters combine what replicas have gathered, and a worker what it has set aside of a
clock.

Numbers are combined as Python's, in double precision, and sums are not reordered: compiled code and
plain Python make the same bits, but for what exp, log and the like round differently.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.engine.partition import Partition
from tux.program.combining import Merge
from tux.program.fields import Field
from tux.rows.table import MergeRows, freeze
from tux.stages.analysis.random_sources import refuse_unseeded
from tux.stages.analysis.texts import refuse_texts
from tux.stages.kernel.arithmetic import PRECISION
from tux.stages.kernel.bind import place, returns_nothing
from tux.stages.kernel.compile import InjectedGlobal, build

_NUMBER = {"f": "float", "i": "int", "u": "int", "b": "bool"}


def compile_merges(partition: Partition, vertex: str) -> None:
    """Compile the functions that combine deltas of a vertex type, if it was not done before, for
    this worker's rows of it and its masters. Raise ProgramError where that is not possible.
    """
    tables = [partition.tables[vertex]]
    if vertex in partition.server.tables:
        tables.append(partition.server.tables[vertex])
    for name, field in tables[0].declared.items():
        if isinstance(field.combine, str) or name in tables[0].merges:
            continue
        make = partial(_compile, partition, field.combine, field, tables[0].arrays[name])
        merge = partition.make_once((vertex, name), make)
        for table in tables:
            table.merges[name] = merge


def _compile(partition: Partition, merge: Merge, field: Field, own: np.ndarray) -> MergeRows:
    """Return the loop that combines rows of a field, whose array is like `own`, by `merge`."""
    refuse_unseeded(merge)
    refuse_texts(merge)
    _refuse_wrong_return(merge, field)
    call = "merge(own[r], given[j])"
    if not field.lengths:
        number = _NUMBER[field.dtype.kind]
        call = f"own[r] = merge({number}(own[r]), {number}(given[j]))"
    source = (
        f'"""{merge.__name__} combines rows"""\n\n\ndef kernel(own, rows, given):\n'
        f"    for j in range(len(rows)):\n        r = rows[j]\n        {call}\n"
    )
    none = own, freeze(np.empty(0, np.int64)), freeze(np.empty((0, *field.lengths), field.dtype))
    with partition.timing("compile"):
        kernel = build(
            source,
            {"merge": InjectedGlobal("udf", (merge,))},
            none,
            jit=partition.jit,
            check=partition.check,
            single=partition.program.precision == PRECISION,
            exact=True,
        )

    def merge_rows(own: np.ndarray, rows: np.ndarray, given: np.ndarray) -> None:
        given = np.ascontiguousarray(given).reshape(len(rows), *field.lengths)
        kernel(own, freeze(rows.astype(np.int64, copy=False)), freeze(given))

    _refuse_changed_init(merge, field, merge_rows)
    return merge_rows


def _refuse_changed_init(merge: Merge, field: Field, merge_rows: MergeRows) -> None:
    """Raise ProgramError where a function makes something else of `init` and `init`: what a worker
    sets aside of a clock has such rows.
    """
    none = np.full((1, *field.lengths), field.identity, field.dtype)
    made = none.copy()
    merge_rows(made, np.zeros(1, np.int64), none)
    if not np.array_equal(made, none):
        raise ProgramError(
            f"`{merge.__name__}` makes {made[0].tolist()} of two values that are "
            f"init={field.identity:g}",
            where=place(merge),
            do="give an init that it leaves unchanged: f(init, x) and f(x, init) are x",
        )


def _refuse_wrong_return(merge: Any, field: Field) -> None:
    """Raise ProgramError where a function on numbers returns none, or one on arrays something."""
    nothing = returns_nothing(merge)
    if field.lengths and not nothing:
        raise ProgramError(
            f"`{merge.__name__}` combines two arrays, and returns something",
            where=place(merge),
            do="change the first of its arrays, and return nothing",
        )
    if nothing and not field.lengths:
        raise ProgramError(
            f"`{merge.__name__}` combines two numbers, and returns nothing",
            where=place(merge),
            do="return the number that both make",
        )
