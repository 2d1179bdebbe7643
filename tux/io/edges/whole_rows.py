"""The rows of tables of edges as they stand in their files, with all columns: the columns by which
rows are chosen are read, and then the rows are written to new files of the same format.

Of text, the bytes of a row stay, and what stands before the first row, such as names of columns, is
the beginning of each new file. Lines below it that are no rows are left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from tux.arrays import arrow, stores
from tux.arrays.frame_columns import DATES, FLOATS, TIMES
from tux.base.errors import DataError
from tux.io.edges.columns import (
    WantedColumns,
    find_column,
    find_columns,
    refuse_guess,
    unused_notes,
)
from tux.io.edges.layout import beginning, edge_layout
from tux.io.edges.table import parquet_pieces, read_by_layout
from tux.io.formats.format import name_ending
from tux.io.source.cells import TextLayout
from tux.io.source.first_lines import first_lines
from tux.io.source.input_files import pieces_of
from tux.io.source.table_lines import JUDGED, TableLines
from tux.io.source.text import NO_ROW, BadRows, blocks, without_skipping

USUAL = {",": ".csv", "\t": ".tsv"}
"""The ending of a new file by the separator of its cells, if the name of the first file has none.
"""


class TextTable:
    """A table of edges as text, in one file or several."""

    def __init__(self, path: str, ends: tuple[str, str], columns: str | None) -> None:
        """Find the layout by the first lines; see `tux.io.edges.read.read_edges`."""
        first = first_lines(path, JUDGED)
        wanted = WantedColumns(ends, {}, columns)
        if (table := edge_layout(first, wanted)) is None:
            raise DataError(f"{path} holds no edge", do=NO_ROW)
        refuse_guess(table.layout.header or [], wanted, path)
        self.path, self.first, self.wanted, self.table = path, first.path, wanted, table
        self.notes: tuple[str, ...] = ()  # sentences that the user should know, once it is read

    @property
    def ending(self) -> str:
        """The ending of the name of a new file, with that of its packing."""
        base = stores.split_options(self.first)[0] if stores.is_uri(self.first) else self.first
        packing = os.path.splitext(base.lower())[1]
        usual = USUAL.get(self.table.layout.separator, ".txt")
        return (name_ending(base) or usual) + packing * (packing in arrow.WRITTEN)

    def read(self, further: str | None) -> list[arrow.Column]:
        """Read the columns of both ends, and the one that the caller calls `further`: whole numbers
        or words. Raises `DataError` for a bad row.
        """
        layout, wanted = self.table.layout, self.wanted
        if further is not None:
            names = layout.header or [""] * layout.width
            place = find_column(names, further, self.first)
            layout = layout._replace(picks=[*layout.picks, place])
            wanted = wanted._replace(fields={further: None})
        bad, table = BadRows(self.path, stop=True), self.table._replace(layout=layout)
        try:
            found = read_by_layout(bad, table, wanted, self.first, self.path)
        except DataError as error:
            raise without_skipping(error) from None
        names = layout.header or [f"column {at + 1}" for at in range(layout.width)]
        unused = unused_notes(names, self.table.layout.picks)  # though they are written
        notes = (note for note in found.notes if note not in unused)
        self.notes = (*notes, *found.passed.notes("row"))
        return found.pieces.columns()

    def write(self, paths: Sequence[Path], side: np.ndarray) -> None:
        """Write row i to the new file ``paths[side[i]]``. `side` (m,) int8."""
        done, head = 0, list[bytes]()
        with ExitStack() as stack:
            streams = [stack.enter_context(arrow.packed_stream(path)) for path in paths]
            for block in self._blocks(head):
                above = b"".join(head)
                head.clear()  # it is written once
                texts, rows = self._texts(block, side[done:], len(paths))
                for stream, text in zip(streams, texts, strict=True):
                    stream.write(above + text)
                done += rows
        if done < len(side):
            raise arrow.changed_error(self.path)

    def _texts(self, block: bytes, side: np.ndarray, count: int) -> tuple[list[bytes], int]:
        """Return the text of a block's rows for each of `count` files, and their number; `side` is
        that of these rows and of all below. Raises `DataError` for more rows.
        """
        lengths, is_row = _cut_lines(block, self.table.layout)
        rows = int(is_row.sum())
        if rows > len(side):
            raise arrow.changed_error(self.path)
        of_line = np.full(len(lengths), -1, np.int8)
        of_line[is_row] = side[:rows]
        of_byte, text = np.repeat(of_line, lengths), np.frombuffer(block, np.uint8)
        parts = [text[of_byte == at].tobytes() for at in range(count)]
        return [part.replace(arrow.BREAK, b"\n") for part in parts], rows

    def _blocks(self, head: list[bytes]) -> Iterator[bytes]:
        """Yield blocks of lines that are rows or blank (`TableLines`). `head` gets the lines before
        the first row.
        """
        lines = TableLines(self.table.layout, self.table.title)
        begin = beginning(lines, self.wanted, self.first)
        ended = False

        def keep_head(block: bytes, path: str) -> int | None:
            nonlocal ended
            start = begin(block, path)
            if not ended and path == self.first:
                head.append(block if start is None else block[:start])
                ended = start is not None
            return start

        return lines.blocks(map(self._check_bytes, blocks(self.path, begin=keep_head)))

    def _check_bytes(self, block: bytes) -> bytes:
        """Return a block. Raises `DataError` for the byte that stands for breaks inside of rows."""
        if arrow.BREAK in block:
            raise DataError(
                "a row holds the byte 0x1e, at which rows are not to be cut",
                where=self.path,
                do="Remove it, or write the table as Parquet.",
            )
        return block


def _cut_lines(block: bytes, layout: TextLayout) -> tuple[np.ndarray, np.ndarray]:
    """Return the length of each line of a block, its end included, and whether it is a row, as all
    lines are that are not blank.
    """
    text = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(text == 10) + 1
    begins = np.concatenate([[0], ends[:-1]])
    is_row = np.logical_or.reduceat((text > 32) & (text < 127), begins)  # as almost all rows
    lengths = ends - begins
    for at in np.flatnonzero(~is_row & (lengths > 1)):
        line = block[begins[at] : ends[at] - 1].decode(errors="replace")
        is_row[at] = not layout.is_blank(line.removesuffix("\r"))
    return lengths, is_row


class ParquetTable:
    """A table of edges as Parquet, in one file or several."""

    ending = ".parquet"
    notes: tuple[str, ...] = ()

    def __init__(self, path: str, ends: tuple[str, str], columns: str | None) -> None:
        """Find the columns of the ends; see `tux.io.edges.read.read_edges`."""
        self.path, self.ends = path, ends
        self.files = [piece.path for piece in pieces_of(path)]
        self.types = arrow.parquet_types(self.files[0])
        kinds = [*self.types.values()]
        wanted = WantedColumns(ends, {}, columns)
        refuse_guess([*self.types], wanted, path)
        self.picks = find_columns(
            [*self.types], wanted, self.files[0], lambda at: arrow.is_number(kinds[at])
        )

    def read(self, further: str | None) -> list[arrow.Column]:
        """Read the columns of both ends, and the one that the caller calls `further`: numbers,
        words, or dates and times. Raises `DataError` for a bad row.
        """
        picks, fields = self.picks, dict[str, np.dtype | None]()
        if further is not None:
            place = find_column([*self.types], further, self.files[0])
            picks = [*picks, place]
            fields[further] = _time_type([*self.types.values()][place])
        columns = ",".join(str(place + 1) for place in picks)
        wanted = WantedColumns(self.ends, fields, columns)
        bad = BadRows(self.path, stop=True)
        try:
            return parquet_pieces(bad, wanted, self.path).pieces.columns()
        except DataError as error:
            raise without_skipping(error) from None

    def write(self, paths: Sequence[Path], side: np.ndarray) -> None:
        """Write row i to the new file ``paths[side[i]]``. `side` (m,) int8."""
        for at, path in enumerate(paths):
            arrow.write_tables(path, arrow.rows_where(self.files, side == at))


def _time_type(kind: str) -> np.dtype | None:
    """Return the type as which a column of times is read, from its type as Arrow writes it; None:
    whole numbers or words.
    """
    if times := TIMES.match(kind):
        return np.dtype(f"M8[{times[1]}]")
    name = DATES.get(kind) or FLOATS.get(kind)
    return None if name is None else np.dtype(name)
