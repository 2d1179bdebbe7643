"""The door to pyarrow: packed streams, Parquet, text, and files that appear whole or not at all."""

import ast
import bz2
import gzip
import os
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.arrays import arrow
from tux.arrays.arrow import STRING, ParquetRows, parquet_writer, write_parquet
from tux.arrays.parquet_footer import seal_set, set_of
from tux.arrays.ragged import Lists
from tux.base.errors import DataError, DiskError, TuxError

DOORS = ("arrow.py", "arrow_values.py", "frames.py", "stores.py")
COLUMNS = {
    "id": np.array([7, 3, 2**40]),
    "p": np.arange(6, dtype=np.float32).reshape(3, 2),
    "name": np.array(["a,b", 'say "x"', "ü"], arrow.STRING),
    "on": np.array([True, False, True]),
    "each": np.array([[True, False], [False, False], [True, True]]),
}


@pytest.mark.slow
def test_no_other_file_imports_pyarrow():
    for path in Path(arrow.__file__).parents[1].glob("*/*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [getattr(node, "module", None) or ""]
            )
            assert path.name in DOORS or not any(
                name.split(".")[0] == "pyarrow" for name in names
            ), path


@pytest.mark.parametrize(
    "pack",
    [bytes, gzip.compress, bz2.compress, lambda b: pa.compress(b, codec="zstd", asbytes=True)],
)
def test_a_stream_is_unpacked_whatever_its_name(tmp_path, pack):
    path = tmp_path / "data.xyz"
    path.write_bytes(pack(b"hello\n" * 100))
    with arrow.open_stream(path) as stream:
        assert stream.read(1 << 20) == b"hello\n" * 100


def test_what_cannot_be_opened_says_why(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04....")
    for path, words in (
        (tmp_path, "folder"),
        (tmp_path / "none", "no such file"),
        (tmp_path / "a.zip", "zip file"),
    ):
        with pytest.raises(DataError, match=words):
            arrow.open_stream(path)


def test_parquet_returns_what_was_written(tmp_path):
    path = tmp_path / "t.parquet"
    arrow.write_parquet(path, COLUMNS)
    back = arrow.read_parquet(path)
    assert list(back) == list(COLUMNS)
    for name, array in COLUMNS.items():
        assert (
            back[name].dtype == array.dtype
            and (back[name] == array).all()
            and back[name].shape == array.shape
        )
    assert list(arrow.read_parquet(path, ["p"])) == ["p"]
    with pytest.raises(DataError, match="'q'"):
        arrow.read_parquet(path, ["q"])


def test_only_floating_point_numbers_are_written_without_a_dictionary(tmp_path):
    lists = {kind: Lists(np.arange(4), np.arange(3).astype(kind)) for kind in ("i4", "f4")}
    write_parquet(tmp_path / "a.parquet", {**COLUMNS, **lists, "n": np.ones((3, 2), np.int8)})
    group = pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    coded = {each.path_in_schema for each in columns if "RLE_DICTIONARY" in each.encodings}
    assert coded == {"id", "name", "i4.list.element", "n.list.element"}


def test_parquet_without_rows_keeps_shapes_and_types(tmp_path):
    path = tmp_path / "t.parquet"
    arrow.write_parquet(path, {name: array[:0] for name, array in COLUMNS.items()})
    back = arrow.read_parquet(path)
    assert {name: (array.dtype, array.shape) for name, array in back.items()} == {
        name: (array.dtype, (0, *array.shape[1:])) for name, array in COLUMNS.items()
    }


def test_ranges_of_rows_of_several_groups(tmp_path):
    columns = {
        "n": np.arange(10),
        "f": np.arange(20.0).reshape(10, 2),
        "s": np.array([f"w{i}" for i in range(10)], STRING),
        "l": Lists(np.arange(11) * 2, np.arange(20)),
    }
    with parquet_writer(tmp_path / "a.parquet") as write:
        for lo, hi in ((0, 4), (4, 8), (8, 10)):
            write({name: column[lo:hi] for name, column in columns.items()})
    rows = ParquetRows(tmp_path / "a.parquet", ["l", "f", "s", "n"])
    assert len(rows) == 10
    for lo, hi in ((0, 10), (0, 0), (3, 4), (4, 8), (3, 9), (9, 10), (10, 10), (0, 1)):
        found = rows.read(lo, hi)
        assert list(found) == ["l", "f", "s", "n"]
        assert found["n"].tolist() == list(range(lo, hi)) and found["f"].shape == (hi - lo, 2)
        assert found["s"].tolist() == columns["s"][lo:hi].tolist()
        assert [each.tolist() for each in found["l"]] == [[2 * i, 2 * i + 1] for i in range(lo, hi)]
    taken = ParquetRows(tmp_path / "a.parquet", ["s", "f"]).take(np.array([9, 0, 5, 0]))
    assert taken["s"].tolist() == ["w9", "w0", "w5", "w0"]
    assert taken["f"].tolist() == [[18, 19], [0, 1], [10, 11], [0, 1]]
    with pytest.raises(DataError, match=message("rows-of-which-to-are")):
        rows.read(5, 11)


def test_writers_take_chunks(tmp_path):
    halves = [
        {name: array[rows] for name, array in COLUMNS.items()}
        for rows in (slice(0, 2), slice(2, 3))
    ]
    with arrow.parquet_writer(tmp_path / "t.parquet") as write:
        for half in halves:
            write(half)
    assert (arrow.read_parquet(tmp_path / "t.parquet")["p"] == COLUMNS["p"]).all()
    with arrow.text_writer(tmp_path / "t.tsv", "\t") as write:
        for half in halves:
            write(half)
    arrow.write_text(tmp_path / "u.tsv", COLUMNS, "\t")
    assert (tmp_path / "t.tsv").read_text() == (tmp_path / "u.tsv").read_text()


def test_text_has_one_column_a_dimension_and_is_packed_by_name(tmp_path):
    arrow.write_text(
        tmp_path / "t.csv.gz", {"id": COLUMNS["id"], "p": COLUMNS["p"] / 10}, header=True
    )
    lines = gzip.decompress((tmp_path / "t.csv.gz").read_bytes()).decode().splitlines()
    assert lines == ["id,p_0,p_1", "7,0,0.1", "3,0.2,0.3", "1099511627776,0.4,0.5"]
    arrow.write_text(tmp_path / "t.txt", {"a": np.array([1, 2])}, header=False)
    assert (tmp_path / "t.txt").read_text() == "1\n2\n"


def test_a_folder_that_is_not_there(tmp_path):
    for write in (arrow.write_parquet, arrow.write_text):
        with pytest.raises(DiskError, match="none"):
            write(tmp_path / "none" / "t", COLUMNS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_one_may_not_write_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DiskError):
        arrow.write_parquet(tmp_path / "t", COLUMNS)


@pytest.mark.parametrize("write", [arrow.write_parquet, arrow.write_text])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, write):
    path = tmp_path / "t"
    path.write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(DiskError, match=message("cannot-be-written")):
            write(path, {"x": np.random.default_rng(0).random(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == ["t"] and path.read_text() == "old"


def test_a_writer_that_fails_leaves_nothing(tmp_path):
    for writer in (arrow.parquet_writer, arrow.text_writer):
        with pytest.raises(KeyError), writer(tmp_path / "t") as write:
            write({"x": np.arange(3)})
            raise KeyError
    assert os.listdir(tmp_path) == []


def test_encode_gives_each_value_once():
    for column in (np.array([5, 2**50, 5]), np.array(["b", "", "b"], arrow.STRING)):
        codes, values = arrow.encode(column)
        assert len(values) == 2 and values[codes].tolist() == column.tolist()


def test_parquet_that_does_not_fit_the_memory_is_not_called_damaged(tmp_path):
    arrow.write_parquet(tmp_path / "x.parquet", {"a": np.arange(3)})
    with pytest.raises(TuxError, match="out of memory: .*x.parquet"):
        with arrow.parquet_file(tmp_path / "x.parquet"):
            raise pa.ArrowMemoryError("malloc of size 99 failed")


def test_a_footer_that_has_changed_is_damaged_whichever_its_bit(tmp_path):
    """Some bits are those of the names and types of columns."""
    path = tmp_path / "t.parquet"
    arrow.write_parquet(path, {"id": np.array([7, 3]), "b": np.array([1, 2], "u2")})
    whole = path.read_bytes()
    behind = 8 + int.from_bytes(whole[-8:-4], "little") + 16  # digest, footer, length and mark
    for bit in range(8 * (len(whole) - behind), 8 * len(whole), 5):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(DataError):
            arrow.read_parquet(path)


def test_a_file_names_the_set_to_which_it_belongs(tmp_path):
    path, digest = tmp_path / "t.parquet", "0a" * 32
    arrow.write_parquet(path, {"id": np.array([7, 3])})
    assert set_of(path) == ""
    for each in ("ff" * 32, digest):  # the later one takes the place of the one before
        seal_set(path, each)
    assert set_of(path) == digest and arrow.read_parquet(path)["id"].tolist() == [7, 3]
    assert pq.read_table(path)["id"].to_pylist() == [7, 3]
    whole = path.read_bytes()
    at = whole.index(bytes.fromhex(digest))
    for bit in range(8 * (at - 8), 8 * (at + 32), 3):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(DataError, match="checksum of its footer"):
            arrow.read_parquet(path)
    for length in (0, 3, 9):
        path.write_bytes(whole[:length])
        assert set_of(path) == ""


def test_parquet_of_others_has_no_digest_of_its_footer(tmp_path):
    path = tmp_path / "t.parquet"
    arrow.write_parquet(path, COLUMNS)
    ours = pq.ParquetFile(path, page_checksum_verification=True).read()
    pq.write_table(ours, path)
    assert arrow.read_parquet(path)["id"].tolist() == COLUMNS["id"].tolist()
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(DataError, match="no readable Parquet"):
        arrow.read_parquet(path)


def test_two_columns_of_one_name_are_told(tmp_path):
    path = tmp_path / "t.parquet"
    one, other = pa.array([1, 2]), pa.array([3, 4])
    pq.write_table(pa.table([one, other, other], names=["user", "item", "item"]), path)
    with pytest.raises(DataError, match=message("two-columns-are-called")):
        arrow.read_parquet(path)
