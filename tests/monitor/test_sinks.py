"""Sinks: what MLflow and TensorBoard read is what `metrics.jsonl` has; and a sink that fails, is
slow or is not installed.
"""

import threading

import pytest
from support.machines.watchers import RecordingSilent

from tux.apps.mf.mf import MF
from tux.base.errors import TuxError, UsageError
from tux.monitor.sinks import sinks
from tux.monitor.sinks.sink_values import outcomes, parameters
from tux.options.options import RunOptions
from tux.run_folder.folder import App, DataOrigin, RunRecord, read_metrics, read_run
from tux.runs.session import resume, run

pytestmark = pytest.mark.filterwarnings("ignore")  # of foreign libraries


@pytest.fixture(autouse=True)
def long_timeout(monkeypatch):
    """Give sinks the time that they need, however loaded the machine is."""
    monkeypatch.setattr(sinks, "SINK_END_SECONDS", 600.0)


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    rows = (f"{i % 7},{i % 11},{i % 5 + 1}\n" for i in range(70))
    path.write_text("user,item,rating\n" + "".join(rows))
    return path


def train_briefly(ratings, out, **how):
    """Run a short training in plain Python, and return what it has told."""
    told = RecordingSilent()
    options = RunOptions(**{"out": out, "epochs": 3, "jit": False} | how)
    run(MF(rank=2), ratings, ratings, options, told)
    return told


def curves(records):
    """Return the values of records by name, with their epochs."""
    names = dict.fromkeys(name for record in records for name in record)
    return {
        name: [(each["epoch"], each[name]) for each in records if name in each] for name in names
    }


# ---- tensorboard


def events(folder):
    """Return the contents of TensorBoard's files in a folder: points by curve, and the tags of
    other things.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0})
    read.Reload()
    points = {
        tag: [(each.step, each.value) for each in read.Scalars(tag)]
        for tag in read.Tags()["scalars"]
    }
    return points, read


def test_tensorboard_reads_the_same_curves(ratings, tmp_path):
    out = tmp_path / "out"
    assert not train_briefly(ratings, out, log="tensorboard").warnings
    points, read = events(out)
    expected = curves(read_metrics(out))
    assert {name for name in points if not name.startswith("results.")} == set(expected)
    for name, values in expected.items():
        assert points[name] == [(step, pytest.approx(value)) for step, value in values], name
    results = read_run(out).results
    assert points["results.best.test_rmse"] == [(3, pytest.approx(results["best"]["test_rmse"]))]
    assert points["results.epochs"] == [(3, 3)]
    from tensorboard.plugins.hparams import metadata

    content = read.PluginTagToContent("hparams")
    began = metadata.parse_session_start_info_plugin_data(content[metadata.SESSION_START_INFO_TAG])
    assert began.hparams["rank"].number_value == 2
    assert began.hparams["run.data"].string_value == str(ratings)
    assert began.hparams["results.state"].string_value == "FINISHED"


def test_a_run_that_goes_on_adds_to_the_curves(ratings, tmp_path):
    out = tmp_path / "out"
    train_briefly(ratings, out, log="tensorboard", checkpoint_every="1")
    resume(out, epochs=5, watch=RecordingSilent())
    points, _ = events(out)
    assert [step for step, _ in points["test_rmse"]] == [1, 2, 3, 4, 5]
    assert read_run(out).options["log"] == "tensorboard"


def test_tensorboard_needs_a_folder():
    with pytest.raises(UsageError, match="below --out"):
        RunOptions(log="tensorboard")


# ---- mlflow


@pytest.fixture(scope="module")
def data_base(tmp_path_factory):
    """Return the place where MLflow keeps the runs of all tests; making it takes seconds."""
    return f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db"


@pytest.fixture
def tracking(data_base, tmp_path, monkeypatch):
    """Have MLflow use this data base, and send no telemetry."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", data_base)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.delenv("MLFLOW_EXPERIMENT_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    return data_base


def logged_runs(tracking, name="tux"):
    """Return the runs of an experiment, and a client."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking)
    experiment = client.get_experiment_by_name(name)
    return client.search_runs([experiment.experiment_id]), client


@pytest.mark.slow
def test_mlflow_has_the_same_curves(ratings, tmp_path, tracking):
    out = tmp_path / "out"
    assert not train_briefly(ratings, out, log="mlflow", checkpoint_every="1").warnings
    ((found,), client) = logged_runs(tracking)
    assert found.info.status == "FINISHED" and found.info.run_name == "out"
    assert found.data.params["rank"] == "2" and found.data.params["run.data"] == str(ratings)
    for name, values in curves(read_metrics(out)).items():
        kept = client.get_metric_history(found.info.run_id, name)
        assert sorted((each.step, each.value) for each in kept) == values, name
    best = read_run(out).results["best"]
    assert found.data.metrics["results.best.test_rmse"] == best["test_rmse"]
    told = RecordingSilent()
    resume(out, epochs=4, watch=told)
    assert not told.warnings
    ((again,), client) = logged_runs(tracking)
    assert again.info.run_id == found.info.run_id and again.info.status == "FINISHED"
    kept = client.get_metric_history(found.info.run_id, "test_rmse")
    assert [each.step for each in kept] == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_run_that_fails_is_one_that_failed(ratings, tmp_path, tracking, monkeypatch):
    def fail(*_):
        raise TuxError("broken")

    monkeypatch.setattr("tux.runs.train.make_tables", fail)
    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "another")
    with pytest.raises(TuxError, match="broken"):
        train_briefly(ratings, None, log="mlflow")
    ((found,), _) = logged_runs(tracking, "another")
    assert found.info.status == "FAILED" and found.info.run_name == "mf"


# ---- what may go wrong


class Remembers:
    """A sink that remembers; `at` the name of what fails there."""

    def __init__(self, at=""):
        self.at, self.calls, self.free = at, [], threading.Event()

    def _note_call(self, name, *given):
        self.calls.append((name, *given))
        if name == self.at == "stuck":
            self.free.wait()
        if name == self.at:
            raise OSError(f"no {name}\nhere")

    def begin(self, run):
        self._note_call("begin", run.app.name)
        self._note_call("stuck")

    def record(self, record):
        self._note_call("record", record["epoch"])

    def end(self, results, state):
        self._note_call("end", state)


@pytest.mark.parametrize("at", ["begin", "record", "end"])
def test_a_sink_that_fails_is_told_once_and_the_run_goes_on(ratings, tmp_path, monkeypatch, at):
    sink = Remembers(at)
    monkeypatch.setattr(sinks, "open_sink", lambda name, folder: sink)
    told = train_briefly(ratings, tmp_path / "out", log="mlflow")
    (warning,) = told.warnings
    assert warning == f"--log mlflow ends here, and the run goes on: OSError: no {at}\\nhere"
    assert read_run(tmp_path / "out").results["epochs"] == 3 and len(told.records) == 3
    assert sink.calls[-1][0] == at


def test_a_sink_that_cannot_be_opened(ratings, tmp_path, monkeypatch):
    def fail_to_open(name, folder):
        raise ImportError("half installed")

    monkeypatch.setattr(sinks, "open_sink", fail_to_open)
    told = train_briefly(ratings, tmp_path / "out", log="mlflow")
    assert len(told.warnings) == 1 and "half installed" in told.warnings[0]


def test_a_sink_that_is_stuck_is_left_behind(ratings, tmp_path, monkeypatch):
    sink = Remembers("stuck")
    monkeypatch.setattr(sinks, "open_sink", lambda name, folder: sink)
    monkeypatch.setattr(sinks, "SINK_END_SECONDS", 0.1)
    told = train_briefly(ratings, tmp_path / "out", log="mlflow")
    assert told.phases[-1] == "send the last records to mlflow"
    (warning,) = told.warnings
    assert "has not taken all records in 0.1 s" in warning
    sink.free.set()


def test_what_a_sink_is_given(ratings, tmp_path, monkeypatch):
    sink = Remembers()
    monkeypatch.setattr(sinks, "open_sink", lambda name, folder: sink)
    train_briefly(ratings, tmp_path / "out", log="mlflow")
    assert sink.calls == [
        ("begin", "mf"),
        ("stuck",),
        *(("record", epoch) for epoch in (1, 2, 3)),
        ("end", "FINISHED"),
    ]


@pytest.mark.parametrize("name", sinks.LIBRARIES)
def test_a_missing_library_is_told_before_data_are_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr(sinks, "find_spec", lambda module: None)
    with pytest.raises(UsageError) as caught:
        train_briefly(tmp_path / "nothing.csv", tmp_path / "out", log=name)
    assert str(caught.value).splitlines() == [
        f"--log {name} needs the library {sinks.LIBRARIES[name]}, which is not installed",
        f"  pip install 'tux[{name}]'",
    ]
    assert not (tmp_path / "out").exists()


def test_names_and_values():
    assert outcomes({"seconds": 1.5, "best": {"rmse": 2}, "note": "x"}) == {
        "results.seconds": 1.5,
        "results.best.rmse": 2,
        "results.note": "x",
    }
    options = {"workers": 1, "columns": None}
    made = RunRecord(App("mf", ""), {"rank": 2, "x": None}, 3, options, DataOrigin("memory", ""))
    about = {"run.program": "mf", "run.seed": 3, "run.data": "memory", "run.workers": 1}
    assert parameters(made) == {"rank": 2, **about}
    made.internal = ["rank"]
    assert parameters(made) == about
