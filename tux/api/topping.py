"""The best of many by a model in memory: items for users, and vertices like others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import index
from typing import Any

import numpy as np

from tux.api.folded import as_arrays, is_table
from tux.api.predicting import pairs_of
from tux.api.table import Table, Vertices
from tux.arrays.given import ids_of
from tux.base.errors import DataError, UsageError
from tux.base.text import plural
from tux.predict.factors import factors_of
from tux.predict.neighbours import choose_vectors
from tux.predict.predict import TrainedModel
from tux.predict.rows import columns_of_new
from tux.predict.topk import Excluded, group_by_query, keep_positions
from tux.predict.topk import similar as nearest_rows
from tux.program.product import product_of

Fields = Mapping[str, Mapping[str, Any]]
"""The fields of a model, as `tux.program.report.Model` has them."""

KNOWN = 3  # ids that an error about an unknown one names


def recommend(
    model: TrainedModel,
    fields: Fields,
    vertices: Mapping[str, Vertices],
    users: Any,
    n: int,
    exclude: Any,
    only: Any,
) -> Table:
    """Find the best items for users: see `tux.Run.recommend`."""
    program = model.program
    if is_table(users):
        return recommend(*_put_in_place(users, model, fields, vertices), None, n, exclude, only)
    first, second = (vertices[kind] for kind in program.edge.ends)
    factors = factors_of(program, fields)
    rows = _rows(first, users, program.edge.ends[0])
    seen = None if exclude is None else _group_excluded(exclude, model, len(first), len(second))
    among = second.ids
    if only is not None:
        kept = np.unique(_rows(second, only, program.edge.ends[1]))
        factors, among = factors.of_items(kept), among[kept]
        seen = None if seen is None else keep_positions(seen, kept, len(second))
    places, scores = factors.best(rows, whole_number(n), seen)
    user, item = program.edge.roles
    return _ranking_table(user, first.ids[rows], item, among, places, {model.stage.name: scores})


def _put_in_place(
    folded: Any, model: TrainedModel, fields: Fields, vertices: Mapping[str, Vertices]
) -> tuple[TrainedModel, Fields, Mapping[str, Vertices]]:
    """Put vertices whose vectors were found later in the place of those of the first end: in a
    model, its fields and its vertices.
    """
    product, kind = product_of(model.program), model.program.edge.ends[0]
    wanted = model.program.edge.roles[0], product.factors[0], product.biases[0]
    columns = as_arrays(folded, *wanted, np.shape(fields[kind][wanted[1]])[-1])
    new = Vertices(columns_of_new(columns, model.program))
    ids = {**model.ids, kind: ids_of(new.ids)}
    own = {name: new[name] for name in new.fields}
    return (
        replace(model, read_ids=lambda: ids),
        {**fields, kind: own},
        {**vertices, kind: new},
    )


def similar(
    fields: Fields,
    vertices: Mapping[str, Vertices],
    ids: Any,
    n: int,
    field: str,
    preferred: Sequence[str] = (),
) -> Table:
    """Find the nearest vertices: see `tux.Run.similar`. `preferred`: vertex types whose vectors are
    taken first.
    """
    kind, name = choose_vectors(fields, field, preferred)
    rows = _rows(vertices[kind], ids, kind)
    places, cosines = nearest_rows(fields[kind][name], rows, whole_number(n))
    known = vertices[kind].ids
    return _ranking_table(kind, known[rows], "similar", known, places, {"cosine": cosines})


def whole_number(n: Any) -> int:
    """Return the number of items asked for. UsageError for anything but a whole number."""
    try:
        return index(n)
    except TypeError:
        raise UsageError(f"the best {n!r} are asked for", do="give a whole number") from None


def _rows(vertices: Vertices, ids: Any, kind: str) -> np.ndarray:
    """Return the rows of some ids, or of all; one id alone is one of several. DataError for one
    that training has not seen.
    """
    if ids is None:
        return np.arange(len(vertices))
    asked = [ids] if np.ndim(ids) == 0 else ids
    rows = vertices.positions(asked)
    if (unknown := np.flatnonzero(rows < 0)).size:
        first = np.asarray(asked)[unknown[0]]
        what = f"the {kind} {first!s}"
        if len(unknown) > 1:
            what = f"{plural(len(unknown), kind)}; the first is {first!s}"
        known, more = vertices.ids[:KNOWN], len(vertices) - KNOWN
        told = ", ".join(map(str, known)) + (f" and {plural(more, 'other')}" if more > 0 else "")
        raise DataError(f"training has not seen {what}", do=f"the model knows {told}")
    return rows


def _group_excluded(pairs: Any, model: TrainedModel, users: int, items: int) -> Excluded:
    """Group pairs as the items that are excluded for each user; pairs of ids that training has not
    seen are left out.
    """
    edges = pairs_of(model, pairs)
    known = (edges.src < users) & (edges.dst < items)
    if not known.any():
        warnings.warn("exclude has no pair that the model knows: nothing is excluded", stacklevel=4)
    return group_by_query(edges.src[known], edges.dst[known], users)


def _ranking_table(
    query: str,
    queries: np.ndarray,
    found: str,
    among: np.ndarray,
    places: np.ndarray,
    scores: Mapping[str, np.ndarray],
) -> Table:
    """Make a table, a row for each item found, of the places and scores (q, n) of queries; places
    of -1 are left out.
    """
    there = places >= 0
    of, rank = np.nonzero(there)
    columns = {query: queries[of], "rank": rank + 1, found: among[places[there]]}
    return Table(columns | {name: each[there] for name, each in scores.items()})
