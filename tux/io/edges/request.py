"""The edges that a file is read for: what every reader of a format of edges is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np

from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.io.bags.rare import RareRule
from tux.io.edges.columns import Bare
from tux.io.edges.field_values import field_values
from tux.io.source.text import OnBadRow

Undirected = Literal["both", "once"]
"""The number of edges that one without a direction becomes."""


class EdgeOptions(TypedDict, total=False):
    """The options of an `EdgeRequest`."""

    columns: str | None
    on_bad_row: OnBadRow
    against: Mapping[str, Ids] | None
    numbered: str
    undirected: Undirected
    rare: RareRule | None
    bare: Bare


@dataclass(frozen=True)
class EdgeRequest:
    """The arguments of `tux.io.edges.read.read_edges`, which explains them."""

    path: str
    ends: tuple[str, str]
    fields: Mapping[str, Any] = field(default_factory=dict)
    columns: str | None = None
    on_bad_row: OnBadRow = "stop"
    against: Mapping[str, Ids] | None = None
    numbered: str = ""
    undirected: Undirected = "both"
    rare: RareRule | None = None  # of a table: which targets are left out
    bare: Bare = ""  # of a table or a matrix

    @property
    def both(self) -> bool:
        """True if an edge without a direction becomes one in each."""
        return self.undirected == "both"

    def refuse_columns(self, what: str) -> None:
        """Raise UsageError if columns are named, as the file, `what` it is, has none."""
        if self.columns is not None:
            raise UsageError(
                f"{self.path} has no columns to name", do=f"leave --columns out: this is {what}"
            )

    def check_one_number(self) -> None:
        """Raise DataError if more numbers of an edge are needed than the one that it has."""
        if len(self.fields) > 1:
            names = ", ".join(self.fields)
            raise DataError(f"{self.path} has one number an edge, but {names} are needed")

    def numbers(self, values: np.ndarray) -> dict[str, np.ndarray]:
        """Return the numbers of edges (m,) as the fields that are needed. Raises DataError for a
        number that a field cannot hold.
        """
        kinds = {name: np.dtype(dtype) for name, dtype in self.fields.items()}
        return {name: field_values(values, name, kind, self.path) for name, kind in kinds.items()}
