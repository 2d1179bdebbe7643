"""Rows of tables of vertices, from the shares in which they were read to ranges of vertices, where
they become data of all vertices of a type.

Loader i of n has the range of indices from i / n to (i + 1) / n of all vertices. It gets the index
of each row there, and field by field the values. Vertices without a row get the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tux.io.vertices.shares import read_whole
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan, VertexTableRows
from tux.parallel_load.algorithm.rounds import Messages, Rounds

TABLE_FACT_ROUNDS = 2
"""Rounds before all others, in which loaders tell what they have read of tables."""


def table_rounds(plan: LoadingPlan) -> int:
    """Return the number of rounds that tables of vertices add."""
    if not plan.tables:
        return 0
    return TABLE_FACT_ROUNDS + sum(1 + len(fields) for fields in plan.tables.values())


def join_tables(
    plan: LoadingPlan,
    me: int,
    tables: Mapping[str, VertexTableRows],
    share: NumberedShare,
    keep: ArrayKeeper,
) -> Rounds[None]:
    """Send the rows of the tables of a `share`, whose vertices are numbered, to those who have the
    ranges of their vertices. Keep the fields of this loader's range, ``data.TYPE.FIELD``.

    Raise MustReadWhole for what one process refuses: a table without a vertex of the edges,
    vertices of a table whose other data are not known, and vertices without a row or a default.
    """
    for kind, names in plan.tables.items():
        table, own = tables[kind], share.types[kind]
        index = own.index[own.rows]
        order = np.argsort(index)
        bounds = [share.sizes[kind].count * at // plan.loaders for at in range(plan.loaders + 1)]
        to = np.split(order, np.searchsorted(index[order], bounds[1:-1]))
        feeds = yield from _exchange_places(plan, kind, share, [index[at] for at in to])
        places = [feed.numbers(least=bounds[me], below=bounds[me + 1]) for feed in feeds]
        places = [each - bounds[me] for each in places]
        _check_places(kind, places, bounds[me + 1] - bounds[me], table)
        for name in names:
            whole = np.full(bounds[me + 1] - bounds[me], table.defaults[name] or 0)
            whole = yield from _exchange_field(table.fields.pop(name), to, places, whole)
            keep(f"data.{kind}.{name}", whole)


def _exchange_field(
    values: np.ndarray,
    to: Sequence[np.ndarray],
    places: Sequence[np.ndarray],
    defaults: np.ndarray,
) -> Rounds[np.ndarray]:
    """Send the `values` of rows, those at to[i] to loader i. Return the field (n, ...) of this
    loader's range: values at the `places` of which each loader has told, elsewhere the `defaults`
    (n,).
    """
    shape, dtype = values.shape[1:], values.dtype
    outbox = [[values[at]] for at in to]
    del values
    inbox = yield outbox
    whole = np.empty((len(defaults), *shape), dtype)
    whole.T[:] = defaults
    for feed, at in zip(columns_by_sender(inbox), places, strict=True):
        whole[at] = feed.rows(dtype, (len(at), *shape))
    return whole


def _check_places(
    kind: str, places: Sequence[np.ndarray], count: int, table: VertexTableRows
) -> None:
    """Raise MustReadWhole if of `count` vertices, at these places of which loaders have rows, one
    has two rows; or none, where each must have one.
    """
    there = np.bincount(np.concatenate(places), minlength=count)
    if (there > 1).any():
        raise read_whole(kind, "some vertex has two rows")
    if not there.all() and None in table.defaults.values():
        raise read_whole(kind, "some vertex has no row")


def _exchange_places(
    plan: LoadingPlan, kind: str, share: NumberedShare, indices: list[np.ndarray]
) -> Rounds[list[MessageColumns]]:
    """Send each loader the `indices` of the rows of its range. Return the messages for this one, of
    which the next array is that of the indices of a loader.
    """
    sizes = share.sizes[kind]
    known = int(sizes.starts[-1, 0])  # vertices that are not in the table alone
    hits = sum(int(np.count_nonzero(each < known)) for each in indices)
    outbox: Messages = [[np.array([hits]), each] for each in indices]
    feeds = columns_by_sender((yield outbox))
    hits = sum(feed.number(sizes.count + 1) for feed in feeds)
    if known and not hits:
        raise read_whole(kind, "none of its vertices is one of the data")
    if known < sizes.count and plan.data.get(kind):
        raise read_whole(kind, "the data say more of their own vertices")
    return feeds
