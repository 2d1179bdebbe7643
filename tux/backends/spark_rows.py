"""The rows of DataFrames on their way to machines: all of them to each, or to each its share.

Spark numbers the rows of a DataFrame by their partition and their place in it, in order. So the
share of a machine is what lies between two such numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from tux.arrays.arrow import write_tables
from tux.backends.contract import EngineRows
from tux.backends.remote_run import TEST, TRAIN
from tux.backends.spark_reports import cause_of_failure
from tux.base.errors import DataError

ROW, PLACE, HELD_OUT = "__tux_row", "__tux_place", "__tux_held_out"
"""Columns beside those of the DataFrame: the order of the rows, their machine, and which of the two
DataFrames they are of.
"""

IN_PARTITION = 33
"""Bits of a row's number that say its place in its partition; those above them are the partition's
number (`monotonically_increasing_id`).
"""


class DataFrame(EngineRows):
    """The rows of a DataFrame. `first`: of each machine but the first, the number of its first row,
    where each gets a share of them.
    """

    def __init__(self, frame: Any) -> None:
        self._frame, self._counts, self.first = frame, dict[int, int](), list[int]()

    @property
    def whole(self) -> Any:
        """See `EngineRows`."""
        return self._frame

    def size(self) -> int:
        """See `EngineRows`: as Spark knows the size of a row by its types."""
        try:
            self._counts = count_rows(self._frame)
            return sum(self._counts.values()) * int(self._frame._jdf.schema().defaultSize())
        except Exception as error:
            raise DataError(
                f"the DataFrame cannot be computed: {cause_of_failure(str(error))}",
                do="see that its own count() works, and that tux is installed in the Python of "
                "each node, which PYSPARK_PYTHON names",
            ) from None

    def shares(self, machines: int) -> Sequence[Any]:
        """See `EngineRows`."""
        if sum(self._counts.values()) < machines:
            return ()
        self.first = cuts(self._counts, machines)
        return [self._frame] * machines

    def check(self, rows: Sequence[int]) -> None:
        """Check how many rows the machines have got. DataError if they should have got other
        numbers.
        """
        if not (now := sum(rows)):
            raise DataError("the DataFrame has no rows", do="look at its filters")
        if not self.first:
            return
        before, machines = sum(self._counts.values()), len(rows)
        if now != before:
            raise DataError(
                f"the DataFrame had {before:,} rows when they were counted, and has {now:,} now",
                do="persist() it, or read it from files, so that it has the same rows each time",
            )
        for rank, got in enumerate(rows):
            planned = before * (rank + 1) // machines - before * rank // machines
            if got != planned:
                raise DataError(
                    "the rows of the DataFrame were in other partitions when they were counted: "
                    f"machine {rank} has got {got:,} of them, and should have {planned:,}",
                    do="persist() it, so that its rows are in the same partitions each time",
                )


def count_rows(frame: Any) -> dict[int, int]:
    """Return how many rows each partition of a DataFrame has. It is computed for that.

    All columns are computed, as they are for `place_rows`: by the bytes of what it shuffles, Spark
    decides how many partitions there are. It does not know that Python code looks at none of them.
    """
    from pyspark.sql import functions as f

    column = PLACE

    def partitions(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield batch.select([column])

    number = f.shiftright(f.monotonically_increasing_id(), IN_PARTITION)
    numbers = frame.withColumn(PLACE, number).mapInArrow(partitions, f"{PLACE} long")
    return {int(place): int(rows) for place, rows in numbers.groupBy(PLACE).count().collect()}


def cuts(counts: Mapping[int, int], machines: int) -> list[int]:
    """Return the number of the first row of each machine but the first, so that shares have as many
    rows, give or take one. `counts`: the rows of each partition. There are as many rows as
    machines, or more.
    """
    total, found, before = sum(counts.values()), list[int](), 0
    for partition in sorted(counts):
        behind = before + counts[partition]
        while (rank := len(found) + 1) < machines and (row := total * rank // machines) < behind:
            found.append((partition << IN_PARTITION) + row - before)
        before = behind
    return found


def check_alike(frames: Sequence[Any]) -> None:
    """Check that the held-out DataFrame has the columns and types of the one to train on: Spark
    would give both the wider types. DataError.
    """
    columns = [sorted(frame.dtypes) for frame in frames]
    if columns[1:] and columns[1] != columns[0]:
        first, other = (", ".join(map(" ".join, frame.dtypes)) for frame in frames)
        raise DataError(
            f"the held-out DataFrame has the columns {other}, and the one to train on has {first}",
            do="give both the same columns and types, by select and cast",
        )


def place_rows(
    session: Any, machines: int, frames: Sequence[Any], first: Sequence[int] = ()
) -> Any:
    """Return a DataFrame with a partition for each machine: all rows of the DataFrames, in their
    order; or one row of none. With the numbers of the `first` rows of all machines but one, each
    has a share of the first DataFrame.

    Spark deals rows out by the hash of a column, so a value is sought for each machine.
    """
    from pyspark.sql import functions as f

    if not frames:
        return session.range(machines, numPartitions=machines)
    place = f.pmod(f.hash(f.col("value").cast("int")), f.lit(machines))
    hashed = session.range(64 * machines).select(f.col("id").cast("int").alias("value"))
    found = {row[1]: row[0] for row in hashed.select("value", place).collect()}
    values = [f.lit(found[rank]).cast("int") for rank in range(machines)]
    own: Any = f
    for row, value in reversed([*zip(first, values[1:], strict=bool(first))]):
        own = own.when(f.col(ROW) >= f.lit(row), value)
    each = f.explode(f.array(*values))
    dealt = [own.otherwise(values[0]) if first and not at else each for at in range(len(frames))]
    numbered = [
        frame.withColumns({ROW: f.monotonically_increasing_id(), HELD_OUT: f.lit(at)})
        for at, frame in enumerate(frames)
    ]
    to = [frame.withColumn(PLACE, place) for frame, place in zip(numbered, dealt, strict=True)]
    both = reduce(lambda one, other: one.unionByName(other), to)
    return both.repartition(machines, PLACE).sortWithinPartitions(HELD_OUT, ROW)


def spool(
    batches: Iterator[Any],
    folder: Path,
    spooled: Callable[[int], None],
    notes: Mapping[str, str],
) -> None:
    """Write the rows to the files of the machine, batch by batch; those held out come last.
    `spooled` is told how many are to train on; their file has `notes`.
    """

    def pieces() -> Iterator[tuple[str, Any]]:
        for batch in batches:
            names = batch.schema.names
            if HELD_OUT not in names:
                continue
            own = batch.select([name for name in names if name not in (ROW, PLACE, HELD_OUT)])
            first = batch.num_rows - sum(batch.column(names.index(HELD_OUT)).to_pylist())
            spooled(first)
            for name, rows in ((TRAIN, own.slice(0, first)), (TEST, own.slice(first))):
                if rows.num_rows:
                    yield name, rows

    for name, each in groupby(pieces(), itemgetter(0)):
        write_tables(folder / name, (rows for _, rows in each), notes if name == TRAIN else {})
