"""Input that can be read only once, and input packed as xz or zip: the same edges as from a
plain file.
"""

import gzip
import lzma
import os
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections import namedtuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from support.messages import message

from tux.arrays import packed, piped
from tux.arrays.piped import readable_path, remove_copies
from tux.base.errors import DataError, DiskError
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples

TEXT = "".join(f"{at % 9},{at % 7},{at % 5}\n" for at in range(80))
SVM = "1 2:1 5:2\n0 1:1\n1 3:2\n"
ENDS, FIELDS = ("user", "item"), {"value": "f4"}


@pytest.fixture
def plain(tmp_path):
    """Return the edges of the plain file."""
    (tmp_path / "plain.csv").write_text(TEXT)
    return read_edges(tmp_path / "plain.csv", ENDS, FIELDS)


@pytest.fixture
def pipe(tmp_path, monkeypatch):
    """Return a function that makes a pipe through which some bytes come, once. Copies of it are in
    a folder of the test, and are removed at its end.
    """
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "copies"))
    writers = []

    def make(content):
        path = tmp_path / f"pipe{len(writers)}"
        os.mkfifo(path)
        writers.append(threading.Thread(target=path.write_bytes, args=(content,)))
        writers[-1].start()
        return path

    yield make
    for writer in writers:
        writer.join()
    remove_copies()
    assert not list((tmp_path / "copies").iterdir())


def parquet(tmp_path, edges):
    columns = {
        "user": edges.ids["user"].decode(edges.src),
        "item": edges.ids["item"].decode(edges.dst),
        **edges.fields,
    }
    pq.write_table(pa.table(columns), tmp_path / "plain.parquet")
    return (tmp_path / "plain.parquet").read_bytes()


def test_a_pipe_is_read_as_a_file(tmp_path, plain, pipe):
    packed = write_zip(tmp_path / "x.zip", {"x.csv": TEXT}).read_bytes()
    for content in (TEXT.encode(), lzma.compress(TEXT.encode()), packed, parquet(tmp_path, plain)):
        path = pipe(content)
        assert read_edges(path, ENDS, FIELDS).digest() == plain.digest()
        assert read_edges(path, ENDS, FIELDS).digest() == plain.digest()  # and a second time


def test_samples_through_a_pipe(tmp_path, pipe):
    assert read_samples(pipe(SVM.encode())).label.tolist() == [1, -1, 1]
    sp.save_npz(tmp_path / "m.npz", sp.csr_matrix(np.eye(2)))
    (tmp_path / "l.txt").write_text("1\n0\n")
    assert (
        len(read_samples(pipe((tmp_path / "m.npz").read_bytes()), labels=tmp_path / "l.txt").edges)
        == 2
    )


def test_a_name_may_stand_for_another_input_later(tmp_path, pipe):
    path = pipe(b"1,2,3\n2,3,4\n")
    assert len(read_edges(path, ENDS, FIELDS)) == 2
    remove_copies()
    writer = threading.Thread(target=path.write_bytes, args=(b"1,2,3\n",))
    writer.start()
    assert len(read_edges(path, ENDS, FIELDS)) == 1
    writer.join()


def test_an_ordinary_file_is_not_copied(tmp_path):
    (tmp_path / "x").write_text("1")
    assert (
        readable_path(tmp_path / "x") == str(tmp_path / "x")
        and readable_path("no such file") == "no such file"
    )


@pytest.mark.long
@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_standard_input(tmp_path, name):
    command = [
        sys.executable,
        "-m",
        "tux",
        "run",
        "mf",
        name,
        "--epochs",
        "1",
        "--rank",
        "2",
        "--no-jit",
        "--out",
        "o",
    ]
    done = subprocess.run(
        command,
        input=TEXT.replace("8,", "x,", 1),
        text=True,
        capture_output=True,
        cwd=tmp_path,
        check=False,
    )
    assert (
        done.returncode == 0
        and "10 users, 7 items, 80 ratings" in done.stdout
        and not done.stderr.count("error")
    )
    assert ("standard input:" in done.stdout) == (name == "-")
    assert ('"standard input"' in (tmp_path / "o" / "run.json").read_text()) == (name == "-")


def test_a_copy_leaves_a_tenth_of_the_free_space(tmp_path, pipe, monkeypatch):
    usage = namedtuple("usage", "total used free")(1000, 900, 100)
    monkeypatch.setattr(piped.shutil, "disk_usage", lambda folder: usage)
    assert readable_path(pipe(bytes(90)))
    with pytest.raises(DiskError, match=message("is-over-bytes-nine-tenths", "pipe1", "90")):
        readable_path(pipe(bytes(91)))
    assert len(os.listdir(tmp_path / "copies")) == 1  # the first


def test_copies_of_processes_that_were_killed_are_removed(tmp_path, pipe):
    left, other = tmp_path / "copies" / "tux-input-left", tmp_path / "copies" / "other"
    left.write_text("of a process that is no more")
    other.write_text("of no concern")
    copy = readable_path(pipe(b"1"))
    assert not left.exists() and os.path.exists(copy) and other.exists()
    readable_path(pipe(b"2"))
    assert os.path.exists(copy)  # its process lives
    other.unlink()


# ---- packed


def write_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_xz_and_zip(tmp_path, plain):
    (tmp_path / "x.csv.xz").write_bytes(lzma.compress(TEXT.encode()))
    write_zip(
        tmp_path / "x.zip", {"data/": "", "data/x.csv": TEXT, "__MACOSX/data/._x.csv": "junk"}
    )
    for name in ("x.csv.xz", "x.zip"):
        assert read_edges(tmp_path / name, ENDS, FIELDS).digest() == plain.digest()
    (tmp_path / "s.svm.xz").write_bytes(lzma.compress(SVM.encode()))
    write_zip(tmp_path / "s.svm.zip", {"s.svm": SVM})
    for name in ("s.svm.xz", "s.svm.zip"):
        assert read_samples(tmp_path / name).label.tolist() == [1, -1, 1]


def test_packed_files_that_cannot_be_read(tmp_path):
    whole = lzma.compress(TEXT.encode() * 10)
    (tmp_path / "x.xz").write_bytes(whole[: len(whole) // 2])
    content = write_zip(tmp_path / "x.zip", {"x.csv": TEXT * 50}).read_bytes()
    (tmp_path / "y.zip").write_bytes(content[:100])
    (tmp_path / "z.zip").write_bytes(content[:60] + bytes(20) + content[80:])
    for name in ("x.xz", "y.zip", "z.zip"):
        with pytest.raises(DataError, match=r"damaged or cut short|no readable zip"):
            read_edges(tmp_path / name, ENDS, FIELDS)
    with pytest.raises(DataError, match=r"holds 2 files: a.csv, b.csv"):
        read_edges(write_zip(tmp_path / "two.zip", {"a.csv": TEXT, "b.csv": TEXT}), ENDS, FIELDS)
    (tmp_path / "x.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(40))
    with pytest.raises(DataError, match="is a 7z file"):
        read_edges(tmp_path / "x.7z", ENDS, FIELDS)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_packed_file_that_holds_very_much(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(packed, "ROOM", 100_000)
    monkeypatch.setattr(packed, "RATIO", 10)
    path = tmp_path / "x.csv"
    path.write_bytes(pack(b"1,2,3\n" * 10_000))
    assert len(read_edges(path, ENDS, FIELDS)) == 10_000
    path.write_bytes(pack(b"1,2,3\n" * 30_000))
    with pytest.raises(DataError, match="x.csv holds over 1.*, 10 times its size") as caught:
        read_edges(path, ENDS, FIELDS)
    assert "unpack it" in caught.value.do
