"""The rows of data sets on their way to machines of Ray, as tables of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tux.backends.contract import EngineRows
from tux.base.errors import DataError


class DataSet(EngineRows):
    """The rows of a `ray.data.Dataset`: tables of Arrow, which Ray holds. DataError if there are
    none, or they cannot be computed.
    """

    def __init__(self, data: Any) -> None:
        try:
            self._data = data.materialize()
        except Exception as error:  # of Ray, of the user's functions, of files
            raise DataError(
                f"the data set cannot be computed: {cause_in_report(error)}",
                do="see that its own materialize() works",
            ) from None
        if not self._data.count():
            raise DataError("the data set has no rows", do="look at its filters")

    @property
    def whole(self) -> Any:
        """See `EngineRows`."""
        return self._data.to_arrow_refs()

    def size(self) -> int:
        """See `EngineRows`: the bytes of the tables."""
        return int(self._data.size_bytes() or 0)

    def shares(self, machines: int) -> Sequence[Any]:
        """See `EngineRows`."""
        if (rows := self._data.count()) < machines:
            return ()
        cuts = [rows * rank // machines for rank in range(1, machines)]
        return [share.to_arrow_refs() for share in self._data.split_at_indices(cuts)]


def matching_tables(tables: Iterable[Any]) -> Iterator[Any]:
    """Yield the tables that have rows; one whose rows were filtered out may have no columns.
    DataError where a table has other columns than the first, whose columns they would become.
    """
    first: list[tuple[str, str]] = []
    for table in tables:
        if not table.num_rows:
            continue
        columns = [(field.name, str(field.type)) for field in table.schema]
        first = first or columns
        known = [*map(_fill_type, columns, first)] if len(columns) == len(first) else columns
        if known != first:
            one, other = (", ".join(map(" ".join, each)) for each in (first, columns))
            raise DataError(
                f"a block of the data set has the columns {other}, and another one has {one}",
                do="give all blocks the same columns and types, for example with map_batches",
            )
        yield table


def _fill_type(column: tuple[str, str], first: tuple[str, str]) -> tuple[str, str]:
    """Return the column; with the type of the first one if all its values are missing."""
    return first if column == (first[0], "null") else column


def cause_in_report(error: Exception) -> str:
    """Return the last line of a report of Ray that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
