"""Folders of runs that have former names of parameters are read, resumed and predicted from."""

import json
from pathlib import Path

import pytest
from support.machines.run_folders import model
from support.messages import message
from support.programs.tiny_ratings import RATINGS

import tux
from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.base.checksums import unseal
from tux.base.errors import Refused, UsageError
from tux.checkpoint.shard import hash_bytes
from tux.options.options import RunOptions
from tux.predict.predict import open_model
from tux.run_folder.folder import read_run
from tux.runs.session import resume, run

FORMER = {"learning_rate": "step", "batch_size": "batch"}
NOW = {"rank": 2, "learning_rate": 0.07, "reg": 0.05, "warm": 4, "batch_size": 20, "biases": False}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # each checkpoint is written before training goes on, so that none is left out
    monkeypatch.setattr(Background, "start", lambda self, work: bool(work()))
    Path("ratings.csv").write_text(RATINGS)
    return tmp_path


def train_small(out):
    """Train for two epochs with checkpoints."""
    options = RunOptions(out=out, epochs=2, jit=False, checkpoint_every="1", threads=1)
    return run(MF(rank=2, learning_rate=0.07, batch_size=20), "ratings.csv", None, options)


def use_former_names(folder, names=FORMER):
    """Give the parameters in a run's folder the names that they had in an earlier version."""

    def old(parameters):
        return {names.get(name, name): value for name, value in parameters.items()}

    path = Path(folder, "run.json")
    record = json.loads(path.read_text())
    record.pop("digest")  # as a user does who changes the file
    record["parameters"] = old(record["parameters"])
    path.write_text(json.dumps(record))
    unseal(Path(folder))  # earlier versions had no sums
    for path in Path(folder).glob("checkpoints/*/checkpoint.json"):
        sealed = json.loads(path.read_text())
        sealed["manifest"]["parameters"] = old(sealed["manifest"]["parameters"])
        text = json.dumps(sealed["manifest"]).encode()
        path.write_text(f'{{"version":1,"sum":"{hash_bytes(text)}","manifest":{text.decode()}}}')


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("workers", [None, 2])
def test_a_run_goes_on(here, workers):
    for out in ("now", "before"):
        train_small(out)
    use_former_names("before")
    assert read_run("before").parameters["step"] == 0.07
    for out in ("now", "before"):
        resume(out, epochs=3, workers=workers)
    assert model("before") == model("now")
    record = read_run("before")
    assert record.parameters == NOW and record.results["epochs"] == 3
    newest = max(Path("before/checkpoints").glob("*/checkpoint.json"))
    assert json.loads(newest.read_text())["manifest"]["parameters"] == NOW


def test_a_run_begins_again(here):
    train_small("now")
    record = json.loads(Path("now/run.json").read_text())
    Path("before").mkdir()
    record["parameters"] = {FORMER.get(n, n): v for n, v in record["parameters"].items()}
    del record["results"], record["digest"]
    Path("before/run.json").write_text(json.dumps(record))
    resume("before")
    assert model("before") == model("now") and read_run("before").parameters == NOW


def test_a_value_that_was_changed_by_hand_is_refused_by_its_present_name(here):
    train_small("before")
    use_former_names("before")
    path = Path("before/run.json")
    path.write_text(path.read_text().replace("0.07", "0.08"))
    with pytest.raises(Refused, match=r"^learning_rate is 0\.08, and was 0\.07 when checkpoint 2"):
        resume("before", epochs=3)


def test_both_names_in_a_file_are_an_error(here):
    train_small("before")
    path = Path("before/run.json")
    record = json.loads(path.read_text())
    record["parameters"]["step"] = 0.07
    path.write_text(json.dumps(record))
    unseal(Path("before"))
    with pytest.raises(
        UsageError, match=message("and-are-both-given-and", "step", "learning_rate")
    ) as error:
        resume("before", epochs=3)
    assert error.value.where == "before/run.json"
    with pytest.raises(UsageError, match=message("and-are-both-given-and")):
        open_model("before")


def test_a_model_predicts_and_is_loaded(here):
    train_small("before")
    pairs = ["u1", "u2"], [1, 2]
    found = tux.load("before").predict(pairs)
    use_former_names("before")
    again = tux.load("before")
    assert again.predict(pairs).tolist() == found.tolist()
    assert again.parameters == NOW and again.program.learning_rate == pytest.approx(0.07)
    again.save("saved")
    assert read_run("saved").parameters == NOW
    assert tux.load("before", MF(rank=2)).parameters == NOW


def test_runs_of_version_0_1_have_former_names():
    """`test_golden` reads them, predicts from them and exports them."""
    golden = Path(__file__).parents[1] / "golden" / "0.1"
    now = {"deepwalk": {"num_walks": 4, "walk_length": 8}, "mf": {"learning_rate": 0.1}}
    for app, wanted in now.items():
        assert not wanted.keys() & read_run(golden / app).parameters.keys()
        found = tux.load(golden / app)
        assert wanted.items() <= found.parameters.items() and not isinstance(found.program, str)
