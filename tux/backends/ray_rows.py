"""The rows of data sets on their way to machines of Ray, as tables of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tux.backends.contract import EngineRows
from tux.base.errors import DataError


class TablesOfRay(NamedTuple):
    """Rows that a machine gets: references to the tables, and the `columns` of all tables of the
    data set, a schema of Arrow.
    """

    columns: Any
    references: Sequence[Any]


class DataSet(EngineRows):
    """The rows of a `ray.data.Dataset`: tables of Arrow, which Ray holds. DataError if there are
    none, they cannot be computed, or they have different columns.
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
        how = {"batch_format": "pyarrow", "batch_size": None}
        first = self._data.map_batches(first_row, **how)
        self._columns = join_columns(first.iter_batches(**how))

    @property
    def whole(self) -> Any:
        """See `EngineRows`."""
        return self._tables(self._data)

    def size(self) -> int:
        """See `EngineRows`: the bytes of the tables."""
        return int(self._data.size_bytes() or 0)

    def shares(self, machines: int) -> Sequence[Any]:
        """See `EngineRows`."""
        if (rows := self._data.count()) < machines:
            return ()
        cuts = [rows * rank // machines for rank in range(1, machines)]
        return [self._tables(share) for share in self._data.split_at_indices(cuts)]

    def _tables(self, data: Any) -> TablesOfRay:
        return TablesOfRay(self._columns, data.to_arrow_refs())


def first_row(block: Any) -> Any:
    """Return the first row of a block, which is a table of Arrow."""
    return block.slice(0, min(1, block.num_rows))


def join_columns(tables: Iterable[Any]) -> Any:
    """Return the columns of all tables, of which one at least has rows: a column has the type of
    the tables that have a value of it. A table without rows may have no columns. DataError where
    one has other columns than the first.
    """
    first: Any = None
    for table in tables:
        if table.num_rows:
            schema = table.schema.remove_metadata()
            first = schema if first is None else _join_two(first, schema)
    return first


def _join_two(first: Any, other: Any) -> Any:
    """Return the columns of tables of which some have the columns `first`, others the `other`."""
    if first.names == other.names:
        for at, (known, new) in enumerate(zip(first, other, strict=True)):
            if str(known.type) == "null":
                first = first.set(at, new)
            elif str(new.type) not in ("null", str(known.type)):
                break
        else:
            return first
    one, two = (", ".join(f"{c.name} {c.type}" for c in each) for each in (first, other))
    raise DataError(
        f"a block of the data set has the columns {two}, and another one has {one}",
        do="give all blocks the same columns and types, for example with map_batches",
    )


def matching_tables(tables: Iterable[Any], columns: Any) -> Iterator[Any]:
    """Yield the tables that have rows, with these columns: one that has no value of a column may
    have another type for it.
    """
    return (table.cast(columns) for table in tables if table.num_rows)


def cause_in_report(error: Exception) -> str:
    """Return the last line of a report of Ray that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
