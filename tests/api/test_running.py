"""`tux.run`: what it returns, what it refuses, and how it ends when the user ends it."""

import copy
import gc
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message

import tux
from tux.arrays.arrow import read_parquet
from tux.graph.local import LocalGraph
from tux.run_folder.folder import read_metrics


def mf(data, **options):
    """Return a small run of MF."""
    return tux.run(tux.MF(rank=4), data, progress=False, jit=False, **{"epochs": 2} | options)


class EndsAfterEpoch(RecordingSilent):
    """A watcher that asks the run to end, as Ctrl-C does, when an epoch has ended."""

    def __init__(self, epoch):
        super().__init__()
        self.last = epoch

    def epoch(self, record, most):
        super().epoch(record, most)
        if record["epoch"] == self.last:
            signal.raise_signal(signal.SIGINT)


def test_the_model_and_the_history_are_those_of_the_folder(ratings, tmp_path):
    run = mf(ratings, out=tmp_path / "out", epochs=3)
    assert run.folder == tmp_path / "out" and run.app == "mf" and not run.interrupted
    for name in ("user", "item"):
        stored = read_parquet(tmp_path / "out" / "model" / f"{name}.parquet")
        found = run.vertices[name]
        assert [*stored] == found.columns and found.ids.tolist() == stored["id"].tolist()
        for field in found.fields:
            assert np.array_equal(found[field], stored[field])
    assert run.vertices["user"]["f"].shape == (9, 4)
    assert run.vertices["user"].at(12)["f"].shape == (4,)
    assert run.history.records == read_metrics(tmp_path / "out")
    assert run.history["epoch"].tolist() == [1, 2, 3] and len(run.history) == 3
    assert run.results["epochs"] == 3 and run.parameters["rank"] == 4 and run.seed == 0
    assert run.program.rank == 4 and run.sizes["edges"] == 60


def test_a_copy_needs_nothing_but_arrays(ratings):
    run = mf(ratings)
    other = copy.deepcopy(run)
    assert np.array_equal(other.vertices["item"]["f"], run.vertices["item"]["f"])
    assert repr(other) == repr(run)


def test_how_a_run_looks(ratings, tmp_path):
    run = mf(ratings, out=tmp_path / "out")
    first, *lines = repr(run).splitlines()
    assert first == "Run of mf: 9 users, 7 items, 60 ratings"
    assert lines[0].startswith("  2 epochs, ") and "train_rmse " in lines[1]
    assert lines[-1] == f"  in {tmp_path / 'out'}"
    html = run._repr_html_()
    assert "<svg" in html and "9 users" in html and "train_rmse" in html
    best = {"epoch": 1, "test_rmse": 0.5}
    run._record.results |= {"best": best, "model_epoch": 1, "last": {"test_rmse": 0.75}}
    lines = repr(run).splitlines()
    assert "  the model is that of epoch 1, the best: test_rmse 0.5" in lines
    assert "  the last epoch: test_rmse 0.75" in lines


def test_names_that_are_not_there_are_answered_by_the_closest(ratings):
    run = mf(ratings)
    with pytest.raises(tux.UsageError, match="no vertex type 'users'\n.*did you mean user"):
        run.vertices["users"]
    with pytest.raises(tux.UsageError, match="no option 'epoch'\n.*did you mean epochs"):
        mf(ratings, epoch=3)
    with pytest.raises(tux.UsageError, match=r"rank is a parameter of MF.*MF\(rank=...\)"):
        mf(ratings, rank=3)
    with pytest.raises(tux.UsageError, match="no option 'command'"):
        mf(ratings, command=["x"])


def test_what_is_no_program(ratings):
    with pytest.raises(tux.UsageError, match=r"MF is a class of programs\n.*MF\(\)"):
        tux.run(tux.MF, ratings)
    with pytest.raises(tux.UsageError, match=message("is-no-program", "str")):
        tux.run("mf", ratings)
    with pytest.raises(tux.UsageError, match=message("machines-and-no-engine-that", "2")):
        tux.run(tux.MF(), ratings, machines=2)


def test_ctrl_c_returns_the_model_so_far(ratings):
    watch = EndsAfterEpoch(2)
    run = tux.run(tux.MF(rank=4), ratings, progress=watch, jit=False, epochs=50)
    assert run.interrupted and len(run.history) == 2 and run.results["epochs"] == 2
    assert np.array_equal(run.vertices["user"]["f"], mf(ratings).vertices["user"]["f"])
    assert "2 epochs before it was interrupted" in repr(run)


def test_ctrl_c_with_a_folder(ratings, tmp_path):
    out = tmp_path / "out"
    run = tux.run(
        tux.MF(rank=4), ratings, progress=EndsAfterEpoch(1), jit=False, epochs=50, out=out
    )
    assert run.interrupted and tux.load(out).interrupted
    assert np.array_equal(tux.load(out).vertices["item"]["f"], run.vertices["item"]["f"])


def test_sigterm_ends_the_process_after_the_folder_is_whole(ratings, tmp_path, monkeypatch):
    """So that `timeout` does not leave a script that goes on with half a model."""

    class Terminates(RecordingSilent):
        def epoch(self, record, most):
            signal.raise_signal(signal.SIGTERM)

    before, out = signal.signal(signal.SIGTERM, signal.SIG_DFL), tmp_path / "out"
    try:
        with pytest.raises(SystemExit) as left:
            tux.run(tux.MF(rank=4), ratings, progress=Terminates(), jit=False, epochs=50, out=out)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert left.value.code == 143 and tux.load(out).interrupted


@pytest.mark.long
def test_ctrl_c_with_two_workers(ratings):
    watch = EndsAfterEpoch(3)
    run = tux.run(tux.MF(rank=4), ratings, progress=watch, jit=False, epochs=10**6, workers=2)
    assert run.interrupted and 3 <= len(run.history) < 10**6
    assert np.isfinite(run.vertices["user"]["f"]).all()


def test_the_second_ctrl_c_ends_at_once(ratings, monkeypatch):
    monkeypatch.setattr("tux.base.signals.IMPATIENT", 0.0)

    class Twice(RecordingSilent):
        def epoch(self, record, most):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(tux.Interrupted, match="interrupted after 1 epoch"):
        tux.run(tux.MF(rank=4), ratings, progress=Twice(), jit=False, epochs=50)


def test_handlers_of_signals_are_put_back(ratings):
    before = signal.getsignal(signal.SIGINT)
    mf(ratings)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_program_of_a_notebook_is_not_for_several_processes(ratings, monkeypatch):
    import sys
    from types import ModuleType

    monkeypatch.setitem(sys.modules, "cell", ModuleType("cell"))
    mine = type("Mine", (tux.MF,), {"__module__": "cell"})
    with pytest.raises(tux.UsageError, match="Mine is defined in a notebook .* 2 workers"):
        tux.run(mine(rank=4), ratings, workers=2, jit=False)


def test_public_names_say_what_they_are():
    for name in tux.__all__:
        assert (getattr(tux, name).__doc__ or "").strip(), name


@pytest.mark.parametrize(
    "users",
    [
        np.array([3, 5, 3, 9], "i2"),
        np.array([3, 5, 3, 2**63 + 9], "u8"),
        np.array(["ann", "bob", "ann", "cy"]),
        np.array(["2026-01-01", "2026-01-02", "2026-01-01", "2026-02-01"], "M8[D]"),
    ],
)
def test_ids_come_back_as_they_were_given(users, tmp_path):
    data = {"user": users, "item": [1, 2, 2, 1], "rating": [1.0, 2.0, 3.0, 4.0]}
    run = mf(data)
    ids = run.vertices["user"].ids
    assert ids.tolist() == np.unique(users).tolist()
    assert ids.dtype == users.dtype or users.dtype.kind == "U"
    run.save(tmp_path / "run1")
    other = tux.load(tmp_path / "run1")
    assert other.vertices["user"].ids.tolist() == ids.tolist()
    assert other.vertices["user"].ids.dtype.kind == ids.dtype.kind
    scores = run.predict(data)
    assert scores.shape == (4,) and np.array_equal(other.predict(data), scores)
    assert run.recommend(users[:1], 1)["user"].tolist() == users[:1].tolist()
    assert run.vertices["user"].at(users[:2])["id"].tolist() == users[:2].tolist()


@pytest.mark.slow
def test_of_the_run_only_the_model_stays_in_memory(ratings):
    """Without the help of Python's collector of cycles, which may come by some runs later."""
    gc.collect()
    before = {id(each) for each in gc.get_objects() if type(each) is LocalGraph}
    gc.disable()
    try:
        run = mf(ratings)
        held = [each for each in gc.get_objects() if type(each) is LocalGraph]
    finally:
        gc.enable()
    assert all(id(each) in before for each in held)
    assert len(run.recommend(n=1)) == len(run.vertices["user"])


def test_a_program_of_standard_input_runs():
    """Python's own `python -`: its file is no file."""
    text = """
import tux
from tux import *

def add(user, item, tau):
    tau.n += 1

def take(tau):
    tau.count = tau.n

class Counting(Program):
    epochs = 1
    user = item = Vertex()
    link = Edge("user", "item")
    tau = Context(n=total(), count=metric())

    def stages(self):
        return [Exchange(add), GlobalSync(take)]

print(tux.run(Counting(), {"user": [1, 2], "item": [3, 3]}, progress=False).history["count"])
"""
    done = subprocess.run([sys.executable, "-"], input=text, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[2.]\n", "")
