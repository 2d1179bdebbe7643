"""Many files as one input: which files DATA stands for, and that rows are those of one file."""

import bz2
import gzip
import io
import lzma
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from support.messages import message
from support.oracles.same_edges import check_same_edges

from tux.arrays import stores
from tux.base.errors import DataError, UsageError
from tux.io.edges.read import read_edges
from tux.io.source import text
from tux.io.source.input_files import Files, absolute_source, input_files, list_files, pieces_of

ENDS, FIELDS = ("user", "item"), {"rating": "f4"}


def names(data):
    return [path.rsplit("/", 1)[-1] for path, _ in list_files(data)]


# ---- which files


def test_a_folder_is_its_files_by_name(folder):
    here = folder({"b.csv": "1,2\n", "a.csv": "1,2\n", "_SUCCESS": "", ".c.crc": "x", "c": ""})
    assert names(here) == ["a.csv", "b.csv"]
    assert names(f"{here}/") == ["a.csv", "b.csv"]
    assert names(f"file://{here}") == ["a.csv", "b.csv"]


def test_a_pattern_is_the_files_called_so(folder, monkeypatch):
    files = {"p-2.csv": "x", "p-1.csv": "x", "q.csv": "x", "a/b/p-3.csv": "x", "_t/p-4.csv": "x"}
    here = folder(files)
    assert names(f"{here}/p-*.csv") == ["p-1.csv", "p-2.csv"]
    assert names(f"{here}/p-[2-9].csv") == ["p-2.csv"]
    assert names(f"{here}/**/p-*.csv") == ["p-3.csv", "p-1.csv", "p-2.csv"]
    monkeypatch.chdir(here)
    assert names("p-?.csv") == ["p-1.csv", "p-2.csv"]
    with pytest.raises(DataError, match=message("no-file-is-called-as")):
        list_files("r-*.csv")


def test_a_file_with_the_letters_of_a_pattern_is_itself(folder):
    here = folder({"a[1].csv": "1,2\n", "a1.csv": "3,4\n"})
    assert input_files(here / "a[1].csv") == str(here / "a[1].csv")


def test_a_sequence_is_one_after_the_other(folder):
    here = folder({"b.csv": "x", "a.csv": "x", "c/1": "x", "c/2": "x"})
    data = [here / "b.csv", here / "c", f"{here}/a*"]
    assert names(data) == ["b.csv", "1", "2", "a.csv"]
    assert absolute_source(data) == [f"{here}/b.csv", f"{here}/c", f"{here}/a*"]
    assert "and 2 others" in input_files(data)
    with pytest.raises(UsageError, match=message("no-file-is-named")):
        list_files([])


def test_one_file_is_itself(folder):
    here = folder({"a.csv": "1,2\n"})
    assert not isinstance(input_files(here), Files)
    assert input_files(here) == input_files([here]) == str(here / "a.csv")
    assert input_files("none.csv") == "none.csv"  # which reading it tells
    assert pieces_of("-")[0].path == input_files("-") == "-"


def test_folders_that_are_no_input(folder):
    here = folder({"a/b.csv": "1,2\n", "c.csv": "1,2\n", "_only/_x": "", "e/1": "", "e/2": ""})
    for data, words in (
        (here, "holds folders, such as a"),
        (here / "_only", "holds no file of data"),
        (here / "e", "all 2 files of .* are empty"),
    ):
        with pytest.raises(DataError, match=words):
            read_edges(data, ENDS, {})


def test_folders_that_tux_has_written_are_named_as_such(folder):
    cut, run = '{"format": 2, "parts": 1}', '{"app": "mf", "parameters": {}}'
    here = folder(
        {"cut/manifest.json": cut, "cut/part-0/src.npy": "x\n", "cut/a.home.npy": "x\n"}
        | {"run1/run.json": run, "run1/metrics.jsonl": "{}\n", "run1/model/a.parquet": "x\n"}
        | {"spark/part-0": "1,2\n", "spark/part-1": "1,2\n"}
        | {"mine/manifest.json": '{"parts": 1}', "mine/part-0/a.csv": "1,2\n"}
    )
    for data, code in (
        (here / "cut", "is-a-graph-that-is"),
        (here / "cut" / "part-0", "is-a-graph-that-is"),
        (f"{here}/run1/", "is-the-folder-of-a"),
    ):
        with pytest.raises(DataError, match=message(code)):
            read_edges(data, ENDS, {})
    assert len(read_edges(here / "spark", ENDS, {})) == 2
    assert len(read_edges(here / "mine" / "part-0", ENDS, {})) == 1


# ---- URIs


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """Return a folder of this machine as the store of all URIs that begin with s3://bucket/."""

    def open_bucket(uri):
        base, _ = stores.split_options(uri)
        local = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
        return local, base.removeprefix("s3://bucket/")

    monkeypatch.setattr(stores, "file_system", open_bucket)
    return tmp_path


def test_a_device_is_read_only_where_it_is_named_itself(folder):
    here = folder({"a.csv": "1,2\n"})
    os.symlink("/dev/zero", here / "z.csv")
    for data in (here, here / "*.csv"):
        with pytest.raises(DataError, match="z.csv is a device or a socket"):
            input_files(data)
    assert input_files(here / "z.csv") == str(here / "z.csv")
    (here / "z.csv").unlink()
    os.mkfifo(here / "z.csv")
    assert str(here / "z.csv") in [piece.path for piece in pieces_of(input_files(here))]


def test_uris_of_files_folders_and_patterns(bucket, folder):
    table = io.BytesIO()
    pq.write_table(pa.table({"user": [1, 2], "item": [3, 4], "rating": [5.0, 6.0]}), table)
    files = {"p-1.csv": "1,2,3\n", "p-2.csv.gz": gzip.compress(b"4,5,6\n")}
    packed = {"p-3.csv.xz": lzma.compress(b"7,8,9\n"), "d/p-4.csv": "1,5,2\n", "_SUCCESS": ""}
    folder(files | packed, "x")
    folder({"a.parquet": table.getvalue(), "b.parquet": table.getvalue()}, "y")
    read = lambda data: read_edges(data, ENDS, FIELDS)  # noqa: E731
    assert len(read("s3://bucket/x/p-1.csv")) == 1
    assert read("s3://bucket/x/p-*").fields["rating"].tolist() == [3, 6, 9]
    assert read("s3://bucket/x/**/p-*.csv?region=r").fields["rating"].tolist() == [2, 3]
    assert len(read("s3://bucket/y")) == 4
    check_same_edges(read("s3://bucket/y"), read(bucket / "y"))
    assert absolute_source("s3://bucket/y/*?region=r") == "s3://bucket/y/*?region=r"
    with pytest.raises(DataError, match="no such file: s3://bucket/none.csv"):
        read("s3://bucket/none.csv")
    with pytest.raises(DataError, match=message("the-folder-holds-folders-such", "d")):
        read("s3://bucket/x")
    with pytest.raises(DataError, match="1 column instead of 3") as error:
        (bucket / "x" / "p-0.csv").write_text("only\n")
        read("s3://bucket/x/p-*")
    assert error.value.where == "s3://bucket/x/p-0.csv:1"


def test_a_uri_of_a_format_that_is_read_whole_is_copied(bucket, folder):
    folder({"m.mtx": "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n"}, "m")
    assert len(read_edges("s3://bucket/m/m.mtx", ENDS, FIELDS)) == 1


def test_uris_that_cannot_be_used(monkeypatch):
    with pytest.raises(UsageError, match="password"):
        input_files("s3://key:secret@bucket/x.csv")
    with pytest.raises(UsageError, match=message("is-no-file-of-this")):
        input_files("file://elsewhere/x.csv")
    with pytest.raises(DataError, match="gopher://x/y"):
        list_files("gopher://x/y")


# ---- as one file

LINES = ["1,10,1\n", "2,x,2.5\n", "007,10,3\n", "1,30,4\n", "5,30,5\n", "1,10,6\n"]


@pytest.mark.parametrize("header", ["", "user,item,rating\n", "userId,movieId,rating\r\n"])
@pytest.mark.parametrize("repeated", [True, False])
def test_rows_are_those_of_one_file(folder, header, repeated):
    """Packed or not, with and without a header, in files that are short, empty or without a last
    newline.
    """
    whole = folder({"all.csv": "# a comment\n" + header + "".join(LINES)}, "one")
    again = header if repeated else ""
    parts = {
        "1": header,
        "2": "",
        "3": gzip.compress((again + LINES[0]).encode()),
        "4": bz2.compress((again + LINES[1] + LINES[2].rstrip()).encode()),
        "5": gzip.compress(b""),
        "6": "\ufeff" + "# a comment\n\n" + again + "".join(LINES[3:]).rstrip(),
    }
    if not header:
        parts.pop("1")
    read = lambda data: read_edges(data, ENDS, FIELDS)  # noqa: E731
    check_same_edges(read(folder(parts)), read(whole))


def test_separators_of_all_kinds(folder):
    for separator in (" ", "\t", "::", ";", "|"):
        lines = [separator.join(line.split(",")) for line in LINES]
        parts = {str(at): line for at, line in enumerate(lines)}
        whole = folder({"all": "".join(lines)}, f"one{ord(separator[0])}")
        one, other = (
            read_edges(data, ENDS, FIELDS)
            for data in (whole, folder(parts, f"many{ord(separator[0])}"))
        )
        check_same_edges(one, other)


@pytest.mark.slow
def test_many_small_files_are_parsed_in_large_blocks(folder, monkeypatch):
    """Whatever the size of blocks, and where files end in them."""
    rng = np.random.default_rng(0)
    rows = [f"{a},{b},{a % 5}\n" for a, b in rng.integers(0, 999, (3000, 2)).tolist()]
    parts = {f"{at:03}": "".join(rows[at * 30 : at * 30 + 30]) for at in range(100)}
    many, whole = folder(parts), folder({"all": "".join(rows)}, "one")
    one = read_edges(whole, ENDS, FIELDS)
    for size in (text.BLOCK, 1000, 64):
        monkeypatch.setattr(text, "BLOCK", size)
        check_same_edges(read_edges(many, ENDS, FIELDS), one)


def test_columns_can_be_named(folder):
    here = folder({"a": "x,y,z\n1,2,3\n", "b": "x,y,z\n4,5,6\n"})
    named = read_edges(here, ENDS, FIELDS, columns="z,x,y")
    assert named.ids["user"].values.tolist() == [3, 6]
    here = folder({"a": "1,2,3\n", "b": "4,5,6\n"}, "bare")
    assert read_edges(here, ENDS, FIELDS, columns="3,1,2").fields["rating"].tolist() == [2, 5]


def test_a_bad_row_has_its_file_and_line(folder, monkeypatch):
    parts = {
        "1": "user,item,rating\n1,2,3\n",
        "2": "# c\nuser,item,rating\n4,5,6\n7,8\n",
        "3": "user,item,rating\n1,1,x\n9,9,9\n1,2,",
    }
    here = folder(parts)
    for size in (text.BLOCK, 8):
        monkeypatch.setattr(text, "BLOCK", size)
        with pytest.raises(DataError, match="2 columns instead of 3") as error:
            read_edges(here, ENDS, FIELDS)
        assert error.value.where == f"{here}/2:4"
        edges = read_edges(here, ENDS, FIELDS, on_bad_row="skip")
        assert edges.skipped == 3 and len(edges) == 3
        assert edges.first_skipped == f"{here}/2:4: 2 columns instead of 3"
    (here / "2").write_text("user,item,rating\n")
    edges = read_edges(here, ENDS, FIELDS, on_bad_row="skip")
    assert edges.first_skipped.startswith(f"{here}/3:2: rating is 'x'")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("user,item,rating\n1,2,3\n", "item,user,rating\n4,5,6\n"),
        ("user,item,rating\n1,2,3\n", "user,item,stars,time\n4,5,6,7\n"),
        ("user,thing,rating\n1,2,3\n", "what,ever,number\n4,5,6\n"),
        ("1,2,3\n", "user,item,rating\n4,5,6\n"),
    ],
)
def test_another_header_is_an_error_that_names_both_files(folder, first, second):
    here = folder({"1": first, "2": second})
    with pytest.raises(DataError, match="Give all files the same line of names") as error:
        read_edges(here, ENDS, FIELDS)
    assert f"{here}/1" in error.value.what and f"{here}/2" in error.value.what


def test_damage_and_what_is_no_text_is_told_of_its_file(folder):
    packed = gzip.compress(np.random.default_rng(0).bytes(9000).hex().encode())
    for bad, words in ((packed[:4000], "b is damaged"), (b"1,2,3\n\0", "b is not a text file")):
        with pytest.raises(DataError, match=words):
            read_edges(folder({"a": "1,2,3\n", "b": bad}), ENDS, FIELDS)


def test_parquet_files(folder, tmp_path):
    def table(**columns):
        out = io.BytesIO()
        pq.write_table(pa.table(columns), out)
        return out.getvalue()

    files = {
        "1": table(user=[1, 2], item=["a", "b"], rating=[1.0, None]),
        "2": table(rating=pa.array([], pa.float32()), item=pa.array([], pa.string()), user=[]),
        "3": table(rating=[3.0, np.nan], item=["b", "c"], user=[2, 3]),
    }
    files["2"] = table(
        rating=pa.array([], pa.float32()),
        item=pa.array([], pa.string()),
        user=pa.array([], pa.int64()),
    )
    here = folder(files)
    edges = read_edges(here, ENDS, FIELDS, on_bad_row="skip")
    assert edges.skipped == 2 and edges.fields["rating"].tolist() == [1, 3]
    assert edges.first_skipped.startswith(f"{here}/1:row 2: ")
    (here / "1").write_bytes(table(user=[1], item=["a"], rating=[1.0]))
    with pytest.raises(DataError, match="null, empty") as error:
        read_edges(here, ENDS, FIELDS)
    assert error.value.where == f"{here}/3:row 2"
    (here / "3").write_bytes(table(user=[1], item=["a"], stars=[1.0]))
    with pytest.raises(DataError, match="/3 has no column 'rating', but .*/1 has"):
        read_edges(here, ENDS, FIELDS)
