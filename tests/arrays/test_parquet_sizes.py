"""Small Parquet files whose columns would fill memory: they are refused before a column is read."""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.arrays import arrow
from tux.arrays.parquet_sizes import SHARE, column_chunks
from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples
from tux.io.source.input_files import FilePiece
from tux.io.vertices.arrays import parquet_columns

ENDS = ("user", "item")
SMALL, RATIO = 1 << 20, 16
LONG, ROWS = 1 << 12, 1 << 14  # 64 MiB of one string


@pytest.fixture(autouse=True)
def little_room(monkeypatch):
    """Let files hold little, so that small ones are bombs, and leave little memory free."""
    monkeypatch.setattr("tux.arrays.packed.ROOM", SMALL)
    monkeypatch.setattr("tux.arrays.packed.RATIO", RATIO)
    monkeypatch.setattr("tux.arrays.parquet_sizes.ROOM", SMALL)
    monkeypatch.setattr("tux.base.memory.free", lambda: 1 << 16)


def write(tmp_path, **columns):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def make_coded(length, rows=ROWS):
    """Return a column of one word, which lies once in its dictionary."""
    return pa.DictionaryArray.from_arrays(np.zeros(rows, np.int32), ["x" * length])


def in_lists(column):
    return pa.ListArray.from_arrays(np.arange(len(column) + 1, dtype=np.int32), column)


def take_edges(path):
    return [*arrow.parquet_edges(path, ["user", "item"], [None, None])]


READERS = {
    "read_parquet": arrow.read_parquet,
    "rows": lambda path: arrow.ParquetRows(path, ["item"]).read(0, 1),
    "edges": take_edges,
    "read_edges": lambda path: read_edges(path, ENDS, {}),
    "columns": lambda path: parquet_columns(FilePiece(str(path))),
    "samples": read_samples,
    "table": arrow.parquet_table,
    "where": lambda path: [*arrow.rows_where([path], np.ones(ROWS, bool))],
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("wrap", [make_coded, lambda *size: in_lists(make_coded(*size))])
def test_a_string_of_a_dictionary_that_comes_up_in_each_row(tmp_path, reader, wrap):
    item = wrap(LONG, ROWS)
    first = "label" if reader == "samples" else "user"
    path = write(tmp_path, **{first: pa.array(np.arange(ROWS) % 7), "item": item})
    if reader in ("edges", "read_edges", "samples") and wrap is not make_coded:
        pytest.skip("lists are refused by their type")
    with pytest.raises(DataError, match=message("its-columns-take-over-bytes")) as caught:
        READERS[reader](path)
    assert caught.value.where == str(path)


@pytest.mark.parametrize("kind", ["i8", "f4", "bool", "lists"])
def test_numbers_that_repeat(tmp_path, kind):
    rows = 1 << 20
    if kind == "lists":
        bounds = np.array([0, rows], np.int32)
        column = pa.ListArray.from_arrays(bounds, pa.array(np.zeros(rows, "i8")))
    else:
        column = pa.array(np.zeros(rows, kind))
    path = write(tmp_path, a=pa.chunked_array([column] * (2 if kind == "i8" else 5)))
    with pytest.raises(DataError, match=message("its-columns-take-over-bytes")):
        arrow.read_parquet(path)


def test_what_fits_is_read(tmp_path, monkeypatch):
    rows = 1 << 12
    path = write(tmp_path, user=pa.array(np.arange(rows) % 7), item=make_coded(100, rows))
    assert arrow.read_parquet(path)["item"][5] == "x" * 100
    path = write(tmp_path, user=pa.array(np.arange(ROWS) % 7), item=make_coded(LONG))
    assert arrow.read_parquet(path, ["user"])["user"].tolist() == (np.arange(ROWS) % 7).tolist()
    assert arrow.parquet_names(path) == ["user", "item"]
    # where memory is free for it, nobody has to prove that it is what it seems
    monkeypatch.setattr("tux.base.memory.free", lambda: SHARE * 2 * LONG * ROWS)
    with arrow.parquet_file(path) as file:
        arrow.check_columns(file, path)


def test_one_long_string_among_many_is_counted_as_often_as_it_is_there(tmp_path):
    """The longest one in each row would take more than a file of its size may hold."""
    few = np.zeros(1 << 16, np.int32)
    few[7] = 1
    column = pa.DictionaryArray.from_arrays(few, ["ab", "x" * LONG])
    path = write(tmp_path, user=pa.array(few), item=column)
    assert LONG * len(few) > SMALL + RATIO * path.stat().st_size
    assert arrow.ParquetRows(path, ["user"]).read(7, 8)["user"].tolist() == [1]
    with arrow.parquet_file(path) as file:
        (chunk,) = column_chunks(file.metadata, None, ["item"])
        count = partial(arrow._bytes_of_strings, file, path, chunk)
        assert count(exactly=False) == len(few) * LONG
        assert count(exactly=True) == 2 * (len(few) - 1) + LONG
        arrow.check_columns(file, path)


def test_columns_of_columns_are_counted_by_their_first_name(tmp_path):
    inner = pa.StructArray.from_arrays([make_coded(9, 3), pa.array([1, 2, 3])], ["s", "n"])
    path = write(tmp_path, ab=pa.array([1.5, 2, 3]), a=inner, b=in_lists(make_coded(5, 3)))
    with arrow.parquet_file(path) as file:
        told = {
            name: [chunk.leaf for chunk in column_chunks(file.metadata, None, [name])]
            for name in ("a", "ab", "b")
        }
        strings = [each for each in column_chunks(file.metadata, [0], None) if each.has_strings]
        counted = [arrow._bytes_of_strings(file, path, each, exactly=True) for each in strings]
    assert told == {"a": ["a.s", "a.n"], "ab": ["ab"], "b": ["b.list.element"]}
    assert counted == [27, 15]
