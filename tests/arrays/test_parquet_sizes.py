"""Small Parquet files whose columns would fill memory: they are refused before a column is read."""

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.arrays import arrow
from tux.arrays.parquet_pages import read_header
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
    monkeypatch.setattr("tux.arrays.parquet_pages.ROOM", SMALL)
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


def write_varint(number):
    """Return a whole number as headers of pages have it."""
    out, number = [], 2 * number if number >= 0 else -2 * number - 1
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def change_header(path, *, size=None, entries=None):
    """Let the first page of a file, a dictionary of few entries in few bytes, say that it has more:
    of bytes, or entries.
    """
    content = path.read_bytes()
    head, old = content[4:40], read_at(path, 4)
    begin = bytes([0x15, 4, 0x15]) + write_varint(old.unpacked) + b"\x15" + write_varint(old.packed)
    assert head.startswith(begin)
    size = old.unpacked if size is None else size
    new = bytes([0x15, 4, 0x15]) + write_varint(size) + b"\x15" + write_varint(old.packed)
    rest = content[4 + len(begin) :]
    if entries is not None:
        at = rest.index(own := b"\x15" + write_varint(old.entries))
        rest = rest[:at] + b"\x15" + write_varint(entries) + rest[at + len(own) :]
    path.write_bytes(content[:4] + new + rest)


def read_at(path, place):
    with open(path, "rb") as file:
        return read_header(file.fileno(), place)


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ({"size": 2**31 - 1}, "a page of item says that it has 2,147,483,647 bytes, and its"),
        ({"entries": 2**31 - 1}, "a dictionary of item says that it has 2,147,483,647 entries in"),
        ({"size": -(2**30)}, "the header of a page cannot be read"),
    ],
)
@pytest.mark.parametrize("reader", ["read_parquet", "rows", "columns", "table"])
def test_a_page_that_claims_more_than_its_column_has(tmp_path, reader, told, why):
    path = write(tmp_path, item=pa.array(np.arange(64) % 7))
    assert READERS[reader](path) is not None
    change_header(path, **told)
    with pytest.raises(DataError, match=message("is-no-readable-parquet-file", why)):
        READERS[reader](path)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("options", [{}, {"use_dictionary": False}, {"data_page_size": 100}])
def test_headers_are_those_that_the_footer_counts(tmp_path, version, options):
    columns = {
        "n": pa.array(np.arange(3000) % 50),
        "s": make_coded(9, 3000),
        "l": pa.array([[1.5, 2.5], None, []] * 1000),
        "f": pa.array([b"ab"] * 3000, pa.binary(2)),
        "none": pa.array([None] * 3000, pa.int32()),
    }
    path = tmp_path / "x.parquet"
    options = {"write_statistics": True, "write_page_checksum": True, **options}
    pq.write_table(pa.table(columns), path, data_page_version=version, **options)
    with arrow.parquet_file(path) as file:
        chunks = [*column_chunks(file.metadata, None, None)]
        arrow.check_columns(file, path)
    for chunk in chunks:
        at, unpacked = chunk.start, 0
        while at < chunk.start + chunk.packed:
            header = read_at(path, at)
            at += header.length + header.packed
            unpacked += header.length + header.unpacked
        assert (at, unpacked) == (chunk.start + chunk.packed, chunk.unpacked)


@pytest.mark.parametrize(
    "content", [b"", b"\x15", b"\x15\x00\x00", b"\x1c" * 9, b"\x19\x05", b"\x15" + b"\xff" * 20]
)
def test_what_is_no_header_of_a_page(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(OSError, match="the header of a page cannot be read"):
        read_at(path, 0)


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
