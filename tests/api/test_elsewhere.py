"""`tux.run` on machines that an engine places, here this machine."""

import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message
from support.programs.tiny_ratings import RATINGS

import tux
from tux.backends import run as backend
from tux.backends.run import error_from_output
from tux.monitor.json_lines import JsonLines


def test_errors_are_those_that_machine_0_tells():
    lines = ["warning: odd", "error: no such file: x.csv", "  at x.csv:3", "  name another"]
    error = error_from_output(lines, 3)
    assert type(error) is tux.DataError and str(error) == "\n".join(
        ["no such file: x.csv", "  at x.csv:3", "  name another"]
    )
    assert type(error_from_output(["error: interrupted"], 130)) is tux.Interrupted
    assert str(error_from_output([], 9)) == "the run has failed (exit code 9)"
    assert str(error_from_output(["killed"], 137)) == "killed (exit code 137)"


class ScriptedEngine:
    """Machines that `tux.run` places, for one test: what they do, and what is told meanwhile."""

    def __init__(self, code=0, lines=()):
        self.code, self.lines, self.given = code, lines, {}

    def run(self, program, data, test, options, *, on, machines, say, warn, json):
        self.given = {"on": on, "machines": machines, "out": options.out}
        lines = JsonLines(say)
        say("machine 0 at work")
        lines.warn("odd")
        lines.phase("load")
        lines.epoch({"epoch": 1, "seconds": 0.5, "train_rmse": float("nan")}, 2)
        for line in self.lines:
            warn(line)
        if self.code in (0, 130):
            tux.run(program, data, progress=False, jit=False, epochs=2, out=options.out)
        return self.code


def test_the_folder_of_machine_0_is_the_run(tmp_path, ratings, monkeypatch):
    engine, watch = ScriptedEngine(), RecordingSilent()
    monkeypatch.setattr(backend, "run", engine.run)
    run = tux.run(tux.MF(rank=4), ratings, on="ray", machines=3, progress=watch)
    assert (engine.given["on"], engine.given["machines"]) == ("ray", 3)
    assert run.folder is None and not engine.given["out"].exists()
    assert len(run.history) == 2 and run.vertices["user"]["f"].shape == (9, 4)
    assert watch.lines == ["machine 0 at work"] and watch.warnings == ["odd"]
    assert watch.phases == ["place machines by ray", "load"] and watch.records == [(1, 2)]
    kept = tux.run(tux.MF(rank=4), ratings, on="ray", out=tmp_path / "out", progress=False)
    assert kept.folder == tmp_path / "out" and (tmp_path / "out" / "run.json").exists()


def test_how_a_run_elsewhere_ends(ratings, monkeypatch):
    told = ["error: interrupted after 2 epochs; the model is in out"]
    monkeypatch.setattr(backend, "run", ScriptedEngine(130, told).run)
    assert len(tux.run(tux.MF(rank=4), ratings, on="ray", progress=False).history) == 2
    monkeypatch.setattr(backend, "run", ScriptedEngine(4, ["error: worker 1 died"]).run)
    with pytest.raises(tux.PeerLost, match="worker 1 died"):
        tux.run(tux.MF(rank=4), ratings, on="ray", progress=False)


@pytest.mark.slow
def test_a_run_on_another_machine(tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    options = {"on": "local", "progress": False, "jit": False, "epochs": 2}
    run = tux.run(tux.MF(rank=4), tmp_path / "ratings.csv", **options)
    here = tux.run(tux.MF(rank=4), tmp_path / "ratings.csv", **options | {"on": None})
    assert run.folder is None and len(run.history) == 2 and len(run.vertices["item"]) == 11
    assert run.vertices["user"].ids.tolist() == here.vertices["user"].ids.tolist()
    with pytest.raises(tux.DataError, match="nothing.csv"):
        tux.run(tux.MF(rank=4), tmp_path / "nothing.csv", **options)


def test_an_engine_that_is_none():
    with pytest.raises(tux.UsageError, match=message("no-back-end", "'kubernetes'")):
        tux.run(tux.MF(rank=4), "ratings.csv", on="kubernetes", progress=False)


def test_ctrl_c_twice_and_a_number_of_machines_that_is_none(ratings, monkeypatch):
    def raise_interrupt(*_, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(backend, "run", raise_interrupt)
    with pytest.raises(tux.Interrupted, match=message("interrupted-no-model-has-come")):
        tux.run(tux.MF(rank=4), ratings, on="ray", progress=False)
    with pytest.raises(tux.UsageError, match="machines is 0"):
        tux.run(tux.MF(rank=4), ratings, on="ray", machines=0, progress=False)
