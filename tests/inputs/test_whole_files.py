"""Files of a run, and of a partitioned folder, that are not as they were written."""

import os

import numpy as np
import pytest
from support.messages import message

from tux.apps.mf.mf import MF
from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.base.checksums import check_sums
from tux.base.errors import DataError, UsageError
from tux.cli.info import info
from tux.compare.assignments import write_folder
from tux.options.options import RunOptions
from tux.predict.predict import predict
from tux.run_folder.folder import read_metrics
from tux.runs.session import run

EDGES = EdgeData.of(
    ("user", "item"), np.arange(12) % 4, np.arange(12) % 5, {"value": np.arange(12, dtype="f4")}
)


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a run of a small model."""
    run(MF(rank=6), EDGES, options=RunOptions(out=tmp_path / "out", epochs=3, jit=False))
    return tmp_path / "out"


def flip(path, at):
    """Change one bit of a file, in its byte `at`."""
    content = bytearray(path.read_bytes())
    content[at] ^= 16
    path.write_bytes(content)


@pytest.mark.parametrize(
    "name", ["metrics.jsonl", "run.json", "model/user.parquet", "model/tau.parquet"]
)
def test_each_file_of_a_run_is_compared_with_its_checksum(folder, name):
    assert info(str(folder), verify=True)["checksums"].startswith("5 files and 0 checkpoints are")
    flip(folder / name, -9)
    with pytest.raises(DataError, match="is damaged or was changed") as caught:
        info(str(folder), verify=True)
    assert caught.value.where == str(folder / name) and "B2SUMS" in caught.value.do
    os.remove(folder / name)
    with pytest.raises(DataError, match=message("cannot-be-read-2", "No such file")):
        check_sums(folder)


def test_records_that_changed_after_the_run_are_told(folder):
    flip(folder / "metrics.jsonl", 8)
    with pytest.raises(DataError, match="metrics.jsonl is damaged or was changed"):
        read_metrics(folder)


def test_a_damaged_model_gives_no_scores(folder, tmp_path):
    model = folder / "model" / "user.parquet"
    whole, content = read_parquet(model), model.read_bytes()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    refused = []
    for at in range(4, len(content) - footer, 5):
        flip(model, at)
        try:
            assert all(
                np.array_equal(read, whole[name]) for name, read in read_parquet(model).items()
            )
        except DataError:
            refused.append(at)
        model.write_bytes(content)
    flip(model, refused[len(refused) // 2])
    (tmp_path / "pairs.csv").write_text("1,2\n")
    with pytest.raises(DataError, match="user.parquet is no readable Parquet file") as caught:
        predict(folder, tmp_path / "pairs.csv")
    assert "fetch or write it again" in caught.value.do


@pytest.mark.parametrize("name", ["part-1/fields.value.npy", "user.ids.parquet"])
def test_a_damaged_part_is_told_before_training(tmp_path, name):
    parts = tmp_path / "parts"
    write_folder(parts, EDGES, np.arange(12) % 2, 2, partitioner="random", seed=0)
    assert info(str(parts), verify=True)["checksums"].startswith(f"{len(files(parts)) - 1} files")
    flip(parts / name, -3)
    with pytest.raises(DataError, match="damaged or was changed") as caught:
        run(MF(rank=2), parts, options=RunOptions(epochs=1, jit=False))
    assert caught.value.where == str(parts / name)


def files(folder):
    """Return all files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_only_folders_have_checksums(tmp_path):
    (tmp_path / "edges.csv").write_text("1,2\n2,3\n")
    with pytest.raises(UsageError, match=message("is-no-folder-of-a-2")):
        info(str(tmp_path / "edges.csv"), verify=True)
