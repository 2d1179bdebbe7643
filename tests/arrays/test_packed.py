"""Kinds of files by their first bytes."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tux.arrays.packed import is_parquet


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
