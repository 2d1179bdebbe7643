"""Kinds of files by their first bytes, and what packed ones may hold."""

import gzip
import io
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.arrays import packed
from tux.arrays.arrow import open_stream
from tux.arrays.npy import read_npz
from tux.arrays.packed import is_parquet
from tux.base.errors import DataError


@pytest.mark.parametrize("rows", [0, 1, 1000])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("version", ["1.0", "2.6"])
def test_files_of_parquet(rows, coded, version):
    file = io.BytesIO()
    table = pa.table({"a": pa.array(range(rows), pa.int64())})
    pq.write_table(table, file, version=version, use_dictionary=coded)
    assert is_parquet(file.getvalue()[:5])


@pytest.mark.parametrize(
    "text", ["PAR1,x,5", "PAR1 x", "PAR1\tx", "PAR1\n", "PAR1\r\n", "PAR10", "x"]
)
def test_texts_that_begin_as_parquet(text):
    assert not is_parquet(text.encode()[:5])


def test_a_file_that_is_cut_short():
    assert is_parquet(b"PAR1")


def test_files_that_are_made_to_fill_memory_are_refused(tmp_path, monkeypatch):
    """Text and arrays; those that hold less than a packed file usually does are read."""
    monkeypatch.setattr(packed, "ROOM", 1 << 10)
    zeros, other = bytes(1_000_000), np.random.default_rng(0).integers(0, 250, 100_000, np.uint8)
    for name, pack in (("a.gz", gzip.compress), ("a.xz", lzma.compress)):
        (tmp_path / name).write_bytes(pack(zeros))
        with open_stream(tmp_path / name) as stream:
            with pytest.raises(DataError, match=message("holds-over-bytes-times-its")):
                while stream.read(1 << 16):
                    pass
    np.savez_compressed(tmp_path / "a.npz", data=np.zeros(1_000_000))
    with pytest.raises(DataError, match=message("holds-over-bytes-times-its")):
        read_npz(tmp_path / "a.npz", None)
    # as the values of a matrix, which are all one, beside its indices
    np.savez_compressed(tmp_path / "b.npz", data=np.zeros(1_000_000), indices=other)
    assert [*read_npz(tmp_path / "b.npz", None)] == ["data", "indices"]
