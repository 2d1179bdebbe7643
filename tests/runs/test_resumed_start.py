"""Runs that begin with the model of another, and stop: they go on with the same model alone, and
also on another number of workers.
"""

import shutil

import numpy as np
import pytest
from support.messages import message

import tux
from tux.base.errors import Refused
from tux.run_folder.folder import read_run
from tux.run_folder.model_files import model_digest

RNG = np.random.default_rng(0)
PAIRS = RNG.permutation(20 * 15)[:120]
OLD = "user,item,value\n" + "".join(f"{k // 15},{k % 15},{k % 5 + 1}\n" for k in PAIRS)
NEW = "user,item,value\n" + "".join(f"{k},{k % 4},{k % 5 + 1}\n" for k in (3, 7, 21, 22, 23))


@pytest.fixture
def two_runs(tmp_path, monkeypatch):
    """Go to a folder with a run `one`, and a run `two` that begins with it and has two epochs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text(OLD)
    (tmp_path / "new.csv").write_text(NEW)
    train("old.csv", "one")
    train("new.csv", "two", from_run="one", checkpoint_every="1")
    return tmp_path


def train(data, out, epochs=2, **more):
    return tux.run(tux.MF(rank=3), data, out=out, epochs=epochs, jit=False, progress=False, **more)


@pytest.mark.parametrize("sealed", [True, False])
def test_another_model_is_refused(two_runs, sealed):
    noted = read_run("two").start_digest
    assert noted == model_digest("one") and read_run("one").start_digest == ""
    shutil.move("one", "aside")
    train("old.csv", "one", epochs=3)
    if not sealed:
        (two_runs / "one" / "B2SUMS").unlink()
    assert model_digest("one") != noted
    with pytest.raises(Refused, match=message("the-model-with-which-the")) as error:
        tux.resume("two", epochs=4, progress=False)
    assert error.value.where == str(two_runs / "one")
    shutil.rmtree("one")
    shutil.move("aside", "one")
    if not sealed:
        (two_runs / "one" / "B2SUMS").unlink()
    assert len(tux.resume("two", epochs=4, progress=False).history["epoch"]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
def test_it_goes_on_with_other_workers(two_runs, workers):
    whole = train("new.csv", "three", epochs=4, from_run="one")
    gone_on = tux.resume("two", epochs=4, workers=workers, progress=False)
    old = tux.load("one").vertices["user"]
    for run in (whole, gone_on):
        users = run.vertices["user"]
        assert users.ids.tolist() == [*old.ids.tolist(), 21, 22, 23]
        still = ~np.isin(old.ids, [3, 7])
        assert np.array_equal(users["f"][: len(old.ids)][still], old["f"][still])
    rmse = [run.history["train_rmse"][-1] for run in (whole, gone_on)]
    assert rmse[1] == pytest.approx(rmse[0], rel=0.1)
