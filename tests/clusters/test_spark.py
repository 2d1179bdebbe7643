"""Spark alone: what happens to its executors and tasks, too few slots, and a pipeline of a user."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clusters_room import LIMIT, processes, until

from tux.arrays.arrow import read_parquet, write_parquet
from tux.run.checkpoints import latest

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

PAGE = Path(__file__).parent.parent.parent / "docs" / "clusters.md"
TWO = ("--nnodes", "2")


@pytest.fixture(autouse=True)
def clean(on_spark):
    """Nothing is left of a run."""
    yield
    until(lambda: not on_spark.left(), "processes and folders are gone", 120.0)
    until(on_spark.is_free, "the workers have no executor", 120.0)


@pytest.fixture
def kept(on_spark, room):
    """A run that waits at the gate behind a checkpoint."""
    process = room.start("out", *TWO, "--checkpoint-every", "1", engine=on_spark)
    room.held(process, "out")
    until(lambda: latest(room.folder / "out"), "there is a checkpoint")
    return process


def went_on(room, process):
    """The run has started its machines again, from the checkpoint, and ended well."""
    until(lambda: "all machines are started again" in room.said("out"), "the loss is noticed")
    room.go()
    room.ends(process, "out")
    run = json.loads((room.folder / "out" / "run.json").read_text())
    assert run["incarnations"][-1]["checkpoint"] > 0
    assert len((room.folder / "out" / "metrics.jsonl").read_text().splitlines()) == 5


def executor_of(task):
    """The executor of a task's process: above Python's daemon."""
    known = processes()
    return known[known[task][1]][1]


def test_a_killed_executor(kept, room):
    os.kill(executor_of(room.machine(1)[1]), signal.SIGKILL)
    went_on(room, kept)
    assert "ExecutorLostFailure" in room.said("out")


def test_a_killed_task(kept, room):
    os.kill(room.machine(1)[1], signal.SIGKILL)
    went_on(room, kept)


def test_a_stopped_task(kept, room):
    os.kill(room.machine(1)[1], signal.SIGSTOP)
    went_on(room, kept)
    assert "has been silent for" in room.said("out")


def test_too_few_slots(on_spark, room):
    flags = ("--nnodes", "3", "--threads", "2", "--timeout", "5")
    room.ends(room.start("out", *flags, engine=on_spark), "out", 5)
    # none of its executors may have come yet
    said = re.search(r"Spark has (\d) slots of 2 cores, and 3 are needed", room.said("out"))
    assert said and int(said[1]) < 3
    assert not (room.folder / "out").exists()


def test_machines_of_two_cores(on_spark, room):
    """More than Spark gives to a task by itself."""
    room.go()
    room.ends(room.start("out", *TWO, "--threads", "2", engine=on_spark), "out")
    run = json.loads((room.folder / "out" / "run.json").read_text())
    assert run["options"]["threads"] == 2


def python(engine, folder, text):
    """Run a program in a folder, as a user of the cluster does."""
    (folder / "pipeline.py").write_text(text)
    return subprocess.run(
        [sys.executable, "pipeline.py"],
        cwd=folder,
        env=os.environ | engine.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def written(folder):
    """Ratings as a Parquet file; a few have none."""
    draw = np.random.default_rng(1)
    user, item = (each.ravel() for each in np.mgrid[0:40, 100:130])
    taste = draw.normal(size=(40, 2)), draw.normal(size=(30, 2))
    rating = 3.0 + np.einsum("uk,ik->ui", *taste).ravel()
    rating[::50] = 0.0
    columns = {"user": user.astype("i8"), "item": item.astype("i8"), "rating": rating}
    write_parquet(folder / "ratings.parquet", columns)
    return columns


def test_the_pipeline_of_the_page(on_spark, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if "tux.backends.dataframes" in block]
    columns = written(tmp_path)
    done = python(on_spark, tmp_path, block)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "epoch" in done.stdout
    parts = [read_parquet(path) for path in (tmp_path / "scores.parquet").glob("*.parquet")]
    scored = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    assert len(scored["score"]) == (columns["rating"] > 0).sum()
    error = np.sqrt(np.mean((scored["score"] - scored["rating"]) ** 2))
    assert error < 0.5 * scored["rating"].std()


SAME = """
from pyspark.sql import SparkSession

from tux.apps.mf.mf import MF
from tux.backends.dataframes import train
from tux.run.options import RunOptions
from tux.run.session import run
from tux.arrays.arrow import write_tables

spark = SparkSession.builder.getOrCreate()
rows = [(u, f"thing {i}", float(u * i % 5 + 1)) for u in range(20) for i in range(10)]
both = spark.createDataFrame(rows, "user int, item string, rating double").repartition(3)
both = both.persist()
first, held_out = both.where("user + rating != 9"), both.where("user + rating = 9")
how = dict(epochs=6, jit=False, threads=1)
train(MF(rank=2), first, held_out, RunOptions(**how, out="spark"), machines=2)
for name, frame in (("train", first), ("test", held_out)):
    write_tables(f"{name}.parquet", frame.toArrow().to_batches())
run(MF(rank=2), "train.parquet", "test.parquet", RunOptions(**how, workers=2, out="local"))
spark.stop()
"""


def test_rows_of_a_data_frame_give_the_bytes_of_their_file(on_spark, room):
    done = python(on_spark, room.folder, SAME)
    assert done.returncode == 0, done.stdout + done.stderr
    assert room.model("spark") == room.model("local")


FAILS = """
import sys
from pyspark.sql import SparkSession

from tux.apps.mf.mf import MF
from tux.backends.dataframes import train
from tux.base.errors import TuxError

spark = SparkSession.builder.getOrCreate()
empty = spark.createDataFrame([], "user int, item int, rating double")
odd = spark.createDataFrame([(1, 2)], "a int, b int")
for frame in (empty, odd):
    try:
        train(MF(rank=2), frame, machines=2)
    except TuxError as error:
        print(error.exit_code, error)
print(spark.range(3).count())
spark.stop()
"""


def test_errors_of_data_leave_the_session_as_it_was(on_spark, tmp_path):
    done = python(on_spark, tmp_path, FAILS)
    assert done.returncode == 0, done.stdout + done.stderr
    first, *more = done.stdout.splitlines()
    assert first == "3 the DataFrame has no rows" and more[-1] == "3"
    assert any(line.startswith("3 ") for line in more[:-1]), done.stdout
