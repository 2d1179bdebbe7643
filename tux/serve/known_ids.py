"""Ids of a vertex type, and the rows in which they stand, for questions about one id at a time."""

from __future__ import annotations

import re

import numpy as np

from tux.arrays.given import ids_of, to_given_type

_WRITTEN = re.compile(r"0|-?[1-9]\d{0,19}", re.ASCII)  # an integer that may be of 64 bits


class KnownIds:
    """The ids of a vertex type by rows, `values` (n,): integers, or strings. 7 is "7", as in files.
    Dates are strings here, as numpy writes them. Memory: 16 bytes an integer; of a string, about
    100 bytes.
    """

    def __init__(self, ids: np.ndarray, given: str = "") -> None:
        """Take `ids` (n,) of a model. `given`: the type in which training was given them, as
        `RunRecord.id_types` has it.
        """
        values = to_given_type(np.asarray(ids), given)
        if values.dtype.kind == "M":
            values = values.astype(str)
        else:
            values = ids_of(values).values
        self.values = values
        self._rows: dict[str, int] = {}
        if values.dtype.kind in "iu":
            self._order = np.argsort(values, kind="stable")
            self._ascending = values[self._order]
        else:
            self._rows = {text: row for row, text in enumerate(values.tolist())}

    def __len__(self) -> int:
        return len(self.values)

    def row_of(self, asked: int | str) -> int:
        """Return the row of an id, -1 if there is no such id."""
        if self.values.dtype.kind not in "iu":
            return self._rows.get(str(asked), -1)
        if isinstance(asked, str):
            if not _WRITTEN.fullmatch(asked):
                return -1
            asked = int(asked)
        limits = np.iinfo(self.values.dtype)
        if not (len(self) and limits.min <= asked <= limits.max):
            return -1
        at = int(np.searchsorted(self._ascending, self.values.dtype.type(asked)))
        found = at < len(self) and int(self._ascending[at]) == asked
        return int(self._order[at]) if found else -1

    def rows_of(self, asked: list[int | str]) -> np.ndarray:
        """Return the rows of ids, (m,) int64, -1 where there is no such id."""
        return np.array([self.row_of(each) for each in asked], np.int64)

    def at(self, rows: np.ndarray) -> list[int | str]:
        """Return the ids in some rows."""
        found: list[int | str] = self.values[rows].tolist()
        return found
