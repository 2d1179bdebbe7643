"""Files that tux 0.1 has written can be read: runs, their models, a partitioned folder,
checkpoints.

`tests/golden/README.md` tells how it was made.
"""

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest

from tux.apps.mf.mf import MF
from tux.arrays.arrow import read_parquet
from tux.checkpoint.store import find_newest_checkpoint
from tux.cli.main import main
from tux.graph import store
from tux.inputs.load import load
from tux.run_folder.folder import read_metrics, read_run

GOLDEN = Path(__file__).parents[1] / "golden" / "0.1"
APPS = ("mf", "lda", "blockpg", "deepwalk")
PREDICT = {
    "mf": "--pairs ratings.csv",
    "lda": "documents.txt",
    "blockpg": "clicks.svm",
    "deepwalk": "--nearest 3",
}
FORMATS = {
    "mf": ("arrays",),
    "lda": ("arrays", "pyldavis"),
    "blockpg": ("arrays", "weights"),
    "deepwalk": ("arrays", "word2vec"),
}


@pytest.fixture
def golden_copy(tmp_path, monkeypatch):
    """Return a copy of the folder, in which the test works: paths in it lead there, and models are
    read without a compiler.
    """
    folder = tmp_path / "old"
    shutil.copytree(GOLDEN, folder)
    for path in folder.glob("*/run.json"):
        text = path.read_text(encoding="utf-8").replace("/data/", f"{folder}/")
        if path.parent.name != "checkpoints":  # whose options are compared
            text = text.replace('"jit": true', '"jit": false')
        path.write_text(text, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def tux(capsys):
    """Run a command, which must end well; returns standard output and standard error."""

    def run(words, code=0):
        found = main(words.split())
        out, err = capsys.readouterr()
        assert found == code and "Traceback" not in out + err, out + err
        return out, err

    return run


def columns(path):
    """Return the columns of a table in a text file, as words."""
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return dict(zip(header, zip(*rows, strict=True), strict=True))


@pytest.mark.parametrize("app", APPS)
def test_info(golden_copy, tux, app):
    out, _ = tux(f"info {app}")
    found = dict(line.split("  ", 1) for line in out.splitlines())
    run = read_run(app)
    assert run.versions["tux"] == "0.1.0" and found["program"].strip() == app
    assert f"tux run {app}" in found["command"] and "ended" in found["state"]
    assert found["training"].strip().startswith(f"{len(read_metrics(app))} epochs")


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("app", APPS)
def test_predictions_are_those_of_then(golden_copy, tux, app):
    """But for rounding; whether the app's source has changed is told."""
    tux(f"predict {app} {PREDICT[app]} --out now.csv")
    now, then = columns("now.csv"), columns(f"scores.{app}.csv")
    assert list(now) == list(then)
    first, *others = now
    assert now[first] == then[first]
    for name in others:
        if name in ("user", "item"):
            assert now[name] == then[name]
        else:
            found, expected = (np.array(each[name], float) for each in (now, then))
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS)
def test_export(golden_copy, tux, app):
    for form in FORMATS[app]:
        path = f"{app}.{form}{'.txt' if form == 'word2vec' else '.npz'}"
        tux(f"export {app} --format {form} --out {path}")
    with np.load(f"{app}.arrays.npz") as arrays:
        for kind in {name.partition(".")[0] for name in arrays.files} - {"tau"}:
            kept = read_parquet(f"{app}/model/{kind}.parquet")
            assert (arrays[f"{kind}.id"] == kept["id"]).all()


def test_a_partitioned_folder(golden_copy, tux):
    assert "2 parts by bicut" in tux("info parts")[0]
    inputs = load(MF(), "parts")
    assert inputs.sizes["edges"] == read_run("mf").sizes["edges"]
    parts = [store.load(inputs.folder, number) for number in range(2)]
    assert sum(len(part.src) for part in parts) == inputs.sizes["edges"]


@pytest.mark.long
def test_a_partitioned_folder_can_be_trained_on(golden_copy, tux):
    tux("run mf parts --rank 2 --epochs 1 --no-jit --out new")
    assert read_run("new").sizes["edges"] == read_run("mf").sizes["edges"]


def test_checkpoints(golden_copy):
    found = find_newest_checkpoint("checkpoints")
    assert found.checkpoint.manifest.epoch == 3 and not found.left_out
    assert found.checkpoint.shard(0) is not None


@pytest.mark.slow
def test_a_checkpoint_is_gone_on_from_or_refused_by_name(golden_copy, tux, capsys):
    """Its states fit the source of the app that wrote them, and no other."""
    code = main("run --resume checkpoints --epochs 4".split())
    err = capsys.readouterr().err
    if code == 0:
        assert read_run("checkpoints").results["epochs"] == 4
    else:
        assert code == 7 and "source changed since the run began: " in err
        assert "resume with the version of tux of that time" in err
    tux("predict checkpoints --pairs ratings.csv --out scores.csv")
    assert len(columns("scores.csv")["user"]) == len(columns("ratings.csv")["user"])
