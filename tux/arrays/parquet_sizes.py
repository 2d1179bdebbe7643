"""The memory that columns of a Parquet file take, by what the file says of itself.

A file of some kilobytes may have columns of many gigabytes: a run of equal numbers takes a few
bytes, and a string that stands once in a dictionary may come up in each row. Numbers are counted
with their widths. What strings of dictionaries take, only the dictionaries show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tux.arrays.packed import ROOM, most_unpacked
from tux.base import memory
from tux.base.errors import DataError

WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
"""Bytes of a number in memory, by its type in Parquet."""

OFFSET = 4
"""Bytes in memory that a string takes beside its own."""

SHARE = 4
"""A file that may have been made to fill memory is read if it takes no more than one of so many
parts of the free memory.
"""


class ColumnChunk(NamedTuple):
    """A column of one row group. `leaf`: its name, with those of the columns in which it lies;
    `numbers`: bytes that all `values` take beside the strings; `start`, `packed`: the place of its
    pages in the file, and their bytes there; `unpacked`: their bytes when they are unpacked;
    `least_entry`: bytes that an entry of a dictionary has at least.
    """

    group: int
    leaf: str
    values: int
    numbers: int
    start: int
    packed: int
    unpacked: int
    least_entry: int
    has_strings: bool
    has_dictionary: bool

    @property
    def least(self) -> int:
        """The bytes that it takes at least, as far as numbers and offsets show."""
        if self.has_strings:
            return self.numbers + self.unpacked
        return max(self.numbers, self.unpacked)  # a page is unpacked whole

    @property
    def most(self) -> int:
        """The bytes that it takes at most: each string may be as long as all pages."""
        coded = self.has_strings and self.has_dictionary
        return self.least + (self.values * self.unpacked if coded else 0)


def column_chunks(
    metadata: Any, groups: Sequence[int] | None, columns: Sequence[str] | None
) -> Iterator[ColumnChunk]:
    """Yield the columns of row groups of a file, by the metadata of its footer as pyarrow has them.
    None: all groups, or all columns.
    """
    for group in range(metadata.num_row_groups) if groups is None else groups:
        row_group = metadata.row_group(group)
        for at in range(row_group.num_columns):
            chunk = row_group.column(at)
            leaf, kind = chunk.path_in_schema, chunk.physical_type
            if columns is None or any(leaf == c or leaf.startswith(f"{c}.") for c in columns):
                width = WIDTHS.get(kind, OFFSET)
                if kind == "FIXED_LEN_BYTE_ARRAY":
                    width = metadata.schema.column(at).length
                places = (chunk.dictionary_page_offset, chunk.data_page_offset)
                yield ColumnChunk(
                    group,
                    leaf,
                    chunk.num_values,
                    chunk.num_values * width,
                    min(filter(None, places), default=0),
                    chunk.total_compressed_size,
                    chunk.total_uncompressed_size,
                    min(width, OFFSET),
                    kind == "BYTE_ARRAY",
                    chunk.has_dictionary_page,
                )


def check_sizes(
    path: str,
    chunks: Sequence[ColumnChunk],
    size: Callable[[], int],
    strings_of: Callable[[ColumnChunk, bool], int],
) -> None:
    """Raise `DataError` if columns of a file take more memory than a packed file of its size may
    hold (`most_unpacked`), and more than a `SHARE` of the free memory. `size`: that of the file.
    `strings_of` returns the bytes of the strings of a chunk with a dictionary: exactly, or, with
    False, what they take at most, from the dictionary alone.
    """
    if sum(chunk.most for chunk in chunks) <= ROOM:
        return
    most = max(most_unpacked(size()), (memory.free() or 0) // SHARE)
    coded = [chunk for chunk in chunks if chunk.most > chunk.least]
    plain = sum(chunk.least for chunk in chunks)
    for exactly in (False, True):
        total = plain
        for chunk in coded if plain <= most else ():
            total += strings_of(chunk, exactly)
            if total > most:
                break
        if total <= most:
            return
    raise DataError(
        f"its columns take over {most:,} bytes of memory, and the file has {size():,}: it may have "
        "been made to fill memory",
        where=path,
        do="if it is what you want to read, do so where more memory is free",
    )
