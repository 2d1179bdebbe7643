"""Queries of samples, which are ranked within their query: what a program reads of them."""

from __future__ import annotations

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.io.samples.samples import SampleData
from tux.options.options import Reading
from tux.program.input import Samples
from tux.program.program import Program
from tux.program.returns import call_hook

FIELD = "query"
"""The data field of a sample with the number of its query."""


def is_ranked(program: Program) -> bool:
    """Return whether samples belong to queries, within which a program ranks them."""
    given = program.input
    return isinstance(given, Samples) and bool(call_hook(given, "ranked", program))


def check_query(program: Program, reading: Reading) -> None:
    """Raise UsageError where a column of queries is named, and a program reads none."""
    if reading.query is not None and not is_ranked(program):
        raise UsageError(
            f"{type(program).__name__} does not rank samples here, and {reading.query} is to be "
            "the column of their queries",
            do="leave it out, or choose a loss that ranks, as --loss lambdarank of gbdt",
        )


def query_numbers(samples: SampleData, train: EdgeData | None, kind: str) -> dict[str, np.ndarray]:
    """Return the queries of samples of type `kind` by the name of their field, (n,) int32; nothing
    if they have none. Those of held-out samples are other ones than those of training, whatever
    they are called: their numbers follow.
    """
    if samples.query is None:
        return {}
    before = () if train is None else train.vertex_fields[kind].get(FIELD, ())
    first = int(np.max(before)) + 1 if len(before) else 0
    return {FIELD: samples.query + np.int32(first)}


def refuse_unknown_queries(program: Program, source: str, do: str) -> None:
    """Raise UsageError where a program ranks samples, of whose queries a `source` tells nothing."""
    if is_ranked(program):
        raise UsageError(
            f"{type(program).__name__} ranks samples within queries, which {source} do not tell",
            do=do,
        )
