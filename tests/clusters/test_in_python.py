"""`tux.run` on engines, as a program or a notebook calls it: the result is a run like any other,
records come while it goes on, and Ctrl-C leaves the model so far and nothing else.
"""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent

import tux
from faults.clusters import missing, wait_until

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

HOW = {"jit": False, "threads": 1, "epochs": 4}
LIMIT = 400.0  # seconds after which a program counts as hung


def ratings(folder):
    """Return a file of 400 ratings."""
    rows = [
        f"{user},thing {item},{user * item % 5 + 1}\n" for user in range(40) for item in range(10)
    ]
    path = folder / "ratings.csv"
    path.write_text("user,item,rating\n" + "".join(rows))
    return path


class Stops(RecordingSilent):
    """A watcher that asks the run to end, as Ctrl-C does, after some epochs."""

    def epoch(self, record, most):
        super().epoch(record, most)
        if len(self.records) == 3:
            os.kill(os.getpid(), signal.SIGINT)


def check_same_runs(one, other):
    """Assert that two runs have the same model and the same metrics."""
    for kind, vertices in other.vertices.items():
        assert one.vertices[kind].ids.tolist() == vertices.ids.tolist()
        assert one.vertices[kind]["f"].tobytes() == vertices["f"].tobytes()
    assert one.history["train_rmse"].tolist() == other.history["train_rmse"].tolist()


@pytest.fixture
def ray(on_ray, monkeypatch):
    """Yield the engine of Ray, and wait until it has everything back after the test."""
    monkeypatch.setenv("RAY_ADDRESS", on_ray.cluster.address)
    yield on_ray
    wait_until(
        lambda: on_ray.is_free() and not on_ray.leftovers(), lambda: f"left: {on_ray.leftovers()}"
    )


def test_files_on_ray(ray, tmp_path):
    path, watch = ratings(tmp_path), RecordingSilent()
    run = tux.run(tux.MF(rank=2), path, on="ray", machines=2, progress=watch, **HOW)
    here = tux.run(tux.MF(rank=2), path, workers=2, progress=False, **HOW)
    assert type(run) is tux.Run and run.folder is None and not run.interrupted
    check_same_runs(run, here)
    assert watch.records == [(epoch, 4) for epoch in (1, 2, 3, 4)]
    assert watch.phases[0] == "place machines by ray" and "load" in watch.phases
    assert any(line.startswith("data: ratings.csv: 40 users, 10 items") for line in watch.lines)
    pairs = (np.array([3, 7]), np.array(["thing 1", "thing 9"]))
    assert run.predict(pairs).tolist() == here.predict(pairs).tolist()
    assert run.recommend([3], 2)["item"].tolist() == here.recommend([3], 2)["item"].tolist()
    run.save(tmp_path / "kept")
    check_same_runs(tux.load(tmp_path / "kept"), here)


@pytest.mark.long
def test_ctrl_c_on_ray(ray, tmp_path):
    how = HOW | {"epochs": 100_000, "progress": Stops()}
    run = tux.run(tux.MF(rank=2), ratings(tmp_path), on="ray", machines=2, **how)
    assert run.interrupted and 3 <= len(run.history) < 100_000
    assert run.vertices["user"]["f"].shape == (40, 2) and np.isfinite(
        run.predict(([3], ["thing 1"]))
    )


def test_a_data_set_and_errors_on_ray(ray, tmp_path):
    data = pytest.importorskip("ray.data")
    path = ratings(tmp_path)
    run = tux.run(
        tux.MF(rank=2),
        data.read_csv(str(path)),
        on="ray",
        out=tmp_path / "out",
        progress=False,
        **HOW,
    )
    assert run.folder == tmp_path / "out" and len(run.history) == 4 and run.sizes["edges"] == 400
    check_same_runs(run, tux.load(tmp_path / "out"))
    with pytest.raises(tux.UsageError, match="read by the machines of a Ray cluster"):
        tux.run(tux.MF(rank=2), data.range(3), progress=False)
    with pytest.raises(tux.UsageError, match="dict is in the memory of this process"):
        tux.run(tux.MF(rank=2), {"user": [1]}, on="ray", progress=False)
    with pytest.raises(tux.DataError, match=r"nothing\.csv"):
        tux.run(tux.MF(rank=2), tmp_path / "nothing.csv", on="ray", progress=False)


def test_no_cluster_of_ray(tmp_path):
    if why := missing("ray"):
        pytest.skip(why)
    program = f"import tux; tux.run(tux.MF(), {str(ratings(tmp_path))!r}, on='ray', progress=False)"
    done = python(tmp_path, program, {"RAY_ADDRESS": "127.0.0.1:1"})
    assert done.returncode == 1, done.stdout
    assert "UsageError" in done.stderr and "correct RAY_ADDRESS" in done.stderr, done.stderr


@pytest.mark.parametrize("engine", ["ray", "pyspark"])
def test_an_engine_that_is_not_installed(tmp_path, engine):
    name = engine.removeprefix("py")
    program = (
        f"import sys; sys.modules[{engine!r}] = None\n"
        f"import tux; tux.run(tux.MF(), {str(ratings(tmp_path))!r}, on={name!r}, progress=False)"
    )
    done = python(tmp_path, program, {})
    assert f"UsageError: {engine} is not installed" in done.stderr, done.stderr
    assert f"pip install 'tux[{name}]'" in done.stderr


OF_SPARK = """
import pyarrow as pa
from pyspark.sql import SparkSession

import tux
from test_in_python import HOW, Stops, check_same_runs
from support.machines.watchers import RecordingSilent

spark = SparkSession.builder.getOrCreate()
frame = spark.read.csv("ratings.csv", header=True, inferSchema=True).persist()
here = tux.run(tux.MF(rank=2), "ratings.csv", workers=2, progress=False, **HOW)
watch = RecordingSilent()
run = tux.run(tux.MF(rank=2), "ratings.csv", on="spark", machines=2, progress=watch, **HOW)
check_same_runs(run, here)
assert watch.records == [(epoch, 4) for epoch in (1, 2, 3, 4)], watch.records
users = spark.createDataFrame(pa.table(run.vertices["user"]))
print(users.count(), "users", [each[1] for each in users.dtypes][:2])
how = HOW | {"epochs": 100_000, "progress": Stops()}
run = tux.run(tux.MF(rank=2), frame, on="spark", machines=2, **how)
assert run.interrupted and 3 <= len(run.history) < 100_000
print(spark.range(3).count(), "rows: the session goes on")
spark.stop()
"""


def python(folder, text, environment):
    """Run a program in a folder."""
    (folder / "pipeline.py").write_text(text)
    return subprocess.run(
        [sys.executable, "pipeline.py"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def test_a_driver_of_spark(on_spark, tmp_path):
    """Files, the model as a DataFrame, and Ctrl-C while a DataFrame is trained on."""
    ratings(tmp_path)
    here = os.path.dirname(__file__)
    paths = os.pathsep.join([here, os.path.dirname(here), os.path.dirname(os.path.dirname(here))])
    done = python(tmp_path, OF_SPARK, on_spark.environment | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 users ['bigint', 'array<float>']" in done.stdout, done.stdout
    assert "3 rows: the session goes on" in done.stdout
    left = lambda: [*on_spark.leftovers(), *([] if on_spark.is_free() else ["executors"])]  # noqa: E731
    wait_until(lambda: not left(), lambda: f"left: {left()}")
