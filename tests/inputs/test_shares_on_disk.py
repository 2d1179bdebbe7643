"""Data that are loaded in shares while columns lie on disk: the parts are those of data that are
loaded whole.
"""

import numpy as np
import pytest
from support.machines.same_loads import load_both_ways, without_processes

from tux.apps.blockpg import BlockPG
from tux.apps.lda import LDA
from tux.apps.mf import MF
from tux.arrays.disk_columns import file_of, limited_memory, store_column
from tux.options.options import RunOptions


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Have all columns lie on disk, and loaders run in this process."""
    monkeypatch.setattr("tux.arrays.disk_columns.LARGE", 1)
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.0)
    monkeypatch.setattr("tux.arrays.arrow.GATHERED", 1 << 10)
    without_processes(monkeypatch)
    with limited_memory(tmp_path, 1 << 40):
        assert file_of(store_column(np.arange(2)))
        yield tmp_path


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def draw_lines(kind):
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, 300, 2_000), rng.integers(0, 90, 2_000)
    if kind == "ratings":
        return ["user,item,rating", *map("{},i{},{}".format, user, item, rng.integers(1, 6, 2_000))]
    if kind == "words":
        return ["document,word,n", *map("{},w{},{}".format, user, item, rng.integers(1, 6, 2_000))]
    entries = np.sort(rng.integers(1, 300, (300, 6)), axis=1)
    return [
        f"{k % 2} " + " ".join(f"{at}:1" for at in np.unique(row)) for k, row in enumerate(entries)
    ]


@pytest.mark.parametrize(
    ("program", "kind", "ending"),
    [(MF, "ratings", "csv"), (LDA, "words", "csv"), (BlockPG, "samples", "svm")],
)
def test_the_parts_are_the_same(program, kind, ending, here):
    data = write_lines(here / f"data.{ending}", draw_lines(kind))
    load_both_ways(here, program(), data, RunOptions(workers=2, seed=1))
