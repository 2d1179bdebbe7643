"""bench/frames.py: columns of each width, as tables of each library, and its table."""

import importlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def frames(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("bench.frames")


@pytest.mark.parametrize(
    ("width", "types"),
    [
        ("wide", ["int64", "int64", "double"]),
        ("narrow", ["int32", "int32", "float"]),
        ("text", ["string", "string", "float"]),
    ],
)
def test_all_widths_hold_the_same_ratings(frames, width, types):
    table = pa.table(frames.draw_columns(50, width))
    assert [str(kind) for kind in table.schema.types] == types
    same = frames.draw_columns(50, width)
    assert table["rating"].to_pylist() == same["rating"].tolist()
    assert frames.make_table("arrow", same) == table


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("kind", ["pandas", "polars"])
@pytest.mark.parametrize("width", ["wide", "narrow", "text"])
def test_tables_of_each_library(frames, kind, width):
    pytest.importorskip(kind)
    table = frames.make_table(kind, frames.draw_columns(5, width))
    assert list(table.columns) == ["user", "item", "rating"] and len(table) == 5
    ratings = pa.table(frames.draw_columns(5, width))["rating"]
    assert np.array_equal(table["rating"].to_numpy(), ratings.to_numpy())


def test_the_table_has_the_least_seconds_and_the_most_memory(frames):
    run = {"seconds": 2.0, "load": 1.0, "columns": 1e6, "peak": 2e6}
    found = {"parquet": [run], "pandas": [run | {"peak": 3e6}, run | {"seconds": 1.0}]}
    expected = ["narrow", "pandas", "1.00", "1.00", "0.50", "1", "3", "3.00"]
    assert frames.rows("narrow", found)[1] == expected
    assert len(frames.HEAD) == len(expected)
