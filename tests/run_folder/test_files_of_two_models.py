"""Files of two runs, or of two ends of one run, that lie in one folder of a model."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from support.machines.run_folders import model
from support.messages import message
from support.programs.tiny_ratings import RATINGS

import tux
from tux.apps.mf.mf import MF
from tux.arrays.arrow import read_parquet, write_parquet
from tux.base.errors import DataError
from tux.cli.info import info
from tux.options.options import RunOptions
from tux.predict.export import read_model
from tux.predict.neighbours import nearest_of
from tux.predict.predict import predict
from tux.predict.recommend import top
from tux.run_folder.folder import read_run
from tux.run_folder.model_files import model_digest
from tux.runs.session import resume, run
from tux.serve.answering import load_model

READERS = [
    lambda folder: predict(folder, "pairs.csv"),
    lambda folder: nearest_of(folder, "u1"),
    lambda folder: [*top(folder, 1)],
    lambda folder: tux.load(folder),
    lambda folder: read_model(folder, MF(rank=3)).fields["user"]["f"],
    load_model,
    lambda folder: train("next", from_run=folder),
]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("ratings.csv").write_text(RATINGS)
    Path("pairs.csv").write_text("u1,3\n")
    return tmp_path


def train(out, seed=0, **options):
    options = RunOptions(out=out, epochs=2, seed=seed, jit=False, threads=1, **options)
    return run(MF(rank=3), "ratings.csv", None, options)


def copy_file(name, source, target):
    """Copy a file of a model beside those of another one."""
    shutil.copy(Path(source, "model", name), Path(target, "model", name))


@pytest.mark.parametrize("name", ["user.parquet", "item.parquet", "tau.parquet"])
def test_a_file_of_another_run_is_told_by_whoever_reads_the_model(name):
    train("a")
    train("b", seed=1)
    copy_file(name, "b", "a")
    for read in READERS:
        with pytest.raises(DataError, match=message("and-are-files-of-two")) as caught:
            read("a")
        assert name in caught.value.what and "a/model/" in caught.value.where
    with pytest.raises(DataError, match="is damaged or was changed") as caught:
        info("a", verify=True)
    assert caught.value.where == f"a/model/{name}"
    for each in ("user", "item", "tau"):
        copy_file(f"{each}.parquet", "b", "a")
    shutil.copy("b/run.json", "a/run.json")
    assert predict("a", "pairs.csv")["score"] == predict("b", "pairs.csv")["score"]


def test_a_file_of_an_earlier_end_of_the_run_is_told():
    train("a", checkpoint_every="1")
    shutil.copytree("a", "before")
    resume("a", epochs=3)
    copy_file("user.parquet", "before", "a")
    with pytest.raises(DataError, match=message("and-are-files-of-two")):
        predict("a", "pairs.csv")


def test_a_whole_model_of_another_run_is_told_in_a_line():
    train("a")
    train("b", seed=1)
    shutil.rmtree("a/model")
    shutil.copytree("b/model", "a/model")
    told = []
    found = predict("a", "pairs.csv", warn=told.append)
    assert told == ["a/model is not the model that its run has written"]
    assert found["score"] == predict("b", "pairs.csv", warn=pytest.fail)["score"]


def test_equal_runs_have_equal_files_and_a_model_names_all_of_them():
    train("a")
    train("b")
    train("c", seed=1)
    assert model("a") == model("b")
    assert read_run("a").model_digest == read_run("b").model_digest == model_digest("a")
    assert model_digest("c") not in ("", model_digest("a"))
    tux.load("a").save("saved")
    assert model("saved") == model("a")
    copy_file("user.parquet", "b", "a")
    assert np.isfinite(predict("a", "pairs.csv", warn=pytest.fail)["score"]).all()


def test_a_file_that_says_nothing_of_its_model_is_read():
    """It is of an earlier version, or was written by another program."""
    train("a")
    path = Path("a/model/user.parquet")
    columns = read_parquet(path)
    write_parquet(path, columns)
    assert predict("a", "pairs.csv")["score"].shape == (1,)
