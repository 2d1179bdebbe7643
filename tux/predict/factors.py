"""The factors of a model: the arrays whose inner products are a program's predictions for pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tux.base.errors import ProgramError
from tux.predict.topk import Excluded, recommend, select_queries
from tux.program.naming import place
from tux.program.product import product_of
from tux.program.program import Program


class Factors(NamedTuple):
    """The arrays of a model. Queries are the vertices of the first end, items those of the second:

    score[i, j] = offset + query_bias[i] + item_bias[j] + queries[i] . items[j]
    """

    queries: np.ndarray  # (Q, r)
    items: np.ndarray  # (N, r)
    query_bias: np.ndarray | None = None  # (Q,)
    item_bias: np.ndarray | None = None  # (N,)
    offset: float = 0.0

    def of_items(self, kept: np.ndarray) -> Factors:
        """Return the factors with the items at the places `kept` (k,) alone."""
        bias = None if self.item_bias is None else self.item_bias[kept]
        return self._replace(items=self.items[kept], item_bias=bias)

    def best(
        self,
        rows: np.ndarray,
        n: int,
        exclude: Excluded | None = None,
        progress: Callable[[float], None] = lambda share: None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the best `n` items for some queries, `rows` (k,), as
        `tux.predict.topk.recommend` does. `exclude` is of all queries.
        """
        return recommend(
            self.queries[rows],
            self.items,
            n,
            exclude=None if exclude is None else select_queries(exclude, rows),
            query_bias=None if self.query_bias is None else self.query_bias[rows],
            item_bias=self.item_bias,
            offset=self.offset,
            progress=progress,
        )


def factors_of(program: Program, fields: Mapping[str, Mapping[str, Any]]) -> Factors:
    """Return the factors of a model, whose `fields` are those of `tux.program.report.Model`. Raises
    the errors of `product_of`, and ProgramError for factors of two lengths.
    """
    product = product_of(program)
    queries, items = (
        np.asarray(fields[kind][name])
        for kind, name in zip(product.kinds, product.factors, strict=True)
    )
    if queries.ndim != 2 or queries.shape[1:] != items.shape[1:]:
        raise ProgramError(
            f"{type(program).__name__}.predict() names factors of {queries.shape[1:]} and of "
            f"{items.shape[1:]} numbers",
            where=place(program.predict),
            do="name two fields of one length",
        )
    query_bias, item_bias = (
        np.asarray(fields[kind][name]) if name else None
        for kind, name in zip(product.kinds, product.biases, strict=True)
    )
    offset = np.ravel(fields["tau"][product.offset])[0] if product.offset else 0.0
    return Factors(queries, items, query_bias, item_bias, float(offset))
