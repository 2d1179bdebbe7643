"""Words that occur rarely in all documents, and features of few samples: the option to leave them
out (``--min-count``).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST
from tux.base.errors import UsageError
from tux.base.text import plural_noun
from tux.io.bags.rare import RareFound, RareRule
from tux.options.options import Reading
from tux.program.input import Bags, Samples
from tux.program.program import Program


def rare_rule(program: Program, reading: Reading) -> RareRule | None:
    """Return the rule by which a program's words or features are left out, if they are to be.
    UsageError for a program that reads neither.
    """
    if reading.min_count is None:
        return None
    if not isinstance(program.input, Bags | Samples):
        raise UsageError(
            f"{type(program).__name__} reads neither documents nor samples",
            do="leave --min-count out",
        )
    fields = program.edge.columns if isinstance(program.input, Bags) else {}
    counts = [name for name, dtype in fields.items() if np.dtype(dtype).kind in "iu"]
    return RareRule(reading.min_count, next(iter(counts), ""), *program.edge.ends)


def refuse_rare(program: Program, reading: Reading, source: str) -> None:
    """Raise UsageError where rare columns are to be left out of a `source` that is cut already."""
    if reading.min_count is not None:
        raise UsageError(
            f"{source} is cut already, so no {plural_noun(program.edge.ends[1])} can be left out",
            do="name the files instead, or leave --min-count out",
        )


def leave_out_rare(edges: EdgeData, rule: RareRule | None, name: str) -> EdgeData:
    """Return edges without those of rare columns, if a rule says so. Raises `DataError` if all
    columns of the input, called `name`, are rare.
    """
    if rule is None:
        return edges
    kind = edges.ends[1]
    ids = edges.ids[kind].values
    amounts = rule.amounts(edges.dst, len(ids), edges.fields)
    kept = amounts >= rule.least
    found = RareFound.of(amounts, kept)
    if not found.kept:
        raise rule.nothing_left(name)
    there = kept[edges.dst]
    places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    known = {name: values[kept] for name, values in edges.vertex_fields.get(kind, {}).items()}
    return replace(
        edges,
        ids={**edges.ids, kind: Ids(_narrow_ids(ids[kept]))},
        src=edges.src[there],
        dst=places[edges.dst[there]],
        fields={name: values[there] for name, values in edges.fields.items()},
        vertex_fields={**edges.vertex_fields, **({kind: known} if known else {})},
        rows=len(edges) if edges.rows is None else edges.rows,
        notes=(*edges.notes, *rule.notes(found)),
    )


def _narrow_ids(values: np.ndarray) -> np.ndarray:
    """Return ids as int64 if they were uint64 for others' sake."""
    large = values.dtype.kind == "u" and int(values.max()) > LAST
    return values.astype(np.int64) if values.dtype.kind == "u" and not large else values
