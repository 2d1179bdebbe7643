"""Values between numpy and Arrow: as pyarrow converts them, without pandas."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tux.arrays.arrow import parquet_writer
from tux.arrays.arrow_values import numbers_to_arrow, texts_to_arrow, to_numpy, zero_of

ROOT = Path(__file__).parents[2]
NUMBERS = (np.int8, np.uint64, np.int32, np.float16, np.float32, np.float64, np.bool_)
NOTES = """
with open({marks!r}, "a") as file:
    file.write(" ".join(__import__("sys").argv) + "\\n")
raise ImportError("none is needed")
"""
COMMAND = """
import sys
from tux.cli.main import main
from tux.inputs import serial_reason
serial_reason.SMALL = 0  # small data are loaded in shares, too
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_are_those_that_pyarrow_makes(kind):
    numbers = np.array([0, 1, 0, 1, 1, 0, 0, 0, 1, 1]).astype(kind)
    for given in (numbers, numbers[::3], numbers[:0], numbers.astype(numbers.dtype.newbyteorder())):
        made = numbers_to_arrow(given)
        made.validate(full=True)
        assert made.equals(pa.array(given.astype(kind)))
        assert to_numpy(made).dtype == kind and np.array_equal(to_numpy(made), given)


def test_dates_keep_their_unit():
    assert numbers_to_arrow(np.array(["2020-01-02"], "M8[s]")).type == pa.timestamp("s")


def test_texts_are_those_that_pyarrow_makes():
    for texts in ([], [""], ["a", "", "ü", "x\0y"]):
        made = texts_to_arrow(texts)
        made.validate(full=True)
        assert made.equals(pa.array(texts, pa.large_string()))


@pytest.mark.parametrize(
    "given",
    [
        pa.array([3, None, 5], pa.int16()),
        pa.array([0.5, None], pa.float32()),
        pa.array([True, None]),
        pa.array([None, None], pa.int32()),
        pa.array(["a", None]),
        pa.array([1, 2, None, 4, 5]).slice(1, 3),
        pa.array([1, 2, 3, 4]).slice(2),
        pa.array([True, False, True, True] * 5).slice(3, 9),
        pa.chunked_array([[1, 2], [None, 4]]),
        pa.chunked_array([[1.5]]),
        pa.chunked_array([], pa.int32()),
    ],
)
def test_arrays_become_those_that_pyarrow_makes(given):
    chunked = isinstance(given, pa.ChunkedArray)
    wanted = given.to_numpy() if chunked else given.to_numpy(zero_copy_only=False)
    np.testing.assert_array_equal(to_numpy(given), wanted)
    assert to_numpy(given).dtype == wanted.dtype


def test_the_zero_of_a_type():
    for kind in (pa.int8(), pa.uint64(), pa.float32()):
        assert zero_of(kind).equals(pa.scalar(0, kind))
    assert zero_of(pa.bool_()).equals(pa.scalar(False))


@pytest.mark.slow
def test_no_process_of_a_run_imports_pandas(tmp_path):
    marks, data, out = tmp_path / "marks", tmp_path / "ratings.parquet", tmp_path / "run"
    table, samples = tmp_path / "table.csv", tmp_path / "samples.parquet"
    table.write_text("town,size,y\n" + "Oslo,4,1\nRome,,0\nRome,5,1\n" * 9)
    (tmp_path / "pandas.py").write_text(NOTES.format(marks=str(marks)))
    with parquet_writer(data) as write:
        write({f: np.arange(400, dtype=np.int32) % n for f, n in (("u", 40), ("i", 9), ("r", 5))})
    columns = {"size": np.arange(40.0), "y": np.arange(40) % 2}
    pq.write_table(pa.table({"town": ["Oslo", None] * 20, **columns}), samples)
    of_samples = ["--no-jit", "--workers", "2", "--epochs", "1"]
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
    for words in (
        ["info", data],
        ["run", "mf", data, "--no-jit", "--rank", "2", "--workers", "2", "--epochs", "1"]
        + ["--out", out],
        ["run", "linear", table, "--cross", "town:size", *of_samples],
        ["run", "linear", samples, *of_samples],
        ["predict", out, "--top", "2", "--out", tmp_path / "best.parquet"],
    ):
        command = [sys.executable, "-c", COMMAND, *map(os.fspath, words)]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    assert not marks.exists(), marks.read_text()
