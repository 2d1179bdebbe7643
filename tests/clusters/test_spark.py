"""Spark: what every back-end promises, too few slots, `tux.run` in a driver, and DataFrames, whose
rows reach the machines in shares.

All that starts Spark is in this file, so that one process starts it once.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from support.machines.conformance import promises
from support.machines.engine_programs import run_program, write_ratings
from support.machines.run_folders import model

from faults.clusters import wait_until
from tux.arrays.arrow import read_parquet, write_parquet
from tux.run_folder.folder import read_run

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

PAGE = Path(__file__).parent.parent.parent / "docs" / "clusters.md"


@pytest.fixture(autouse=True)
def wait_until_clean(on_spark):
    """Wait after the test until nothing is left of its run."""
    yield
    left = lambda: [*on_spark.leftovers(), *([] if on_spark.is_free() else ["executors"])]  # noqa: E731
    wait_until(lambda: not left(), lambda: f"left: {left()}")


@promises(in_ci=["nothing"])
def test_it_keeps_its_promises(plays, scenario):
    plays(f"on-spark-{scenario}")


@pytest.mark.long
def test_too_few_slots(on_spark, room):
    flags = ["--on", "spark", "--nnodes", 3, "--threads", 2, "--timeout", 5, "--workers", 1]
    command = room.train(more=flags, env=on_spark.environment)
    assert room.code(command) == 5
    # none of its executors may have come yet
    said = re.search(r"Spark has (\d) slots of 2 cores, and 3 are needed", command.output()[1])
    assert said and int(said[1]) < 3
    assert not (room.folder / "out").exists()


def write_parquet_ratings(folder):
    """Write ratings as a Parquet file; a few have none."""
    draw = np.random.default_rng(1)
    user, item = (each.ravel() for each in np.mgrid[0:40, 100:130])
    taste = draw.normal(size=(40, 2)), draw.normal(size=(30, 2))
    rating = 3.0 + np.einsum("uk,ik->ui", *taste).ravel()
    rating[::50] = 0.0
    columns = {"user": user.astype("i8"), "item": item.astype("i8"), "rating": rating}
    write_parquet(folder / "ratings.parquet", columns)
    return columns


@pytest.mark.long
def test_the_pipeline_of_the_page(on_spark, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    [block] = [block for block in blocks if "SparkSession" in block]
    columns = write_parquet_ratings(tmp_path)
    done = run_program(tmp_path, block, on_spark.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "epoch" in done.stderr  # as any progress
    parts = [read_parquet(path) for path in (tmp_path / "scores.parquet").glob("*.parquet")]
    scored = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    assert len(scored["score"]) == (columns["rating"] > 0).sum()
    error = np.sqrt(np.mean((scored["score"] - scored["rating"]) ** 2))
    assert error < 0.5 * scored["rating"].std()


FRAMES = """
from pyspark.sql import SparkSession

import tux
from tux import MF, TuxError
from tux.arrays.arrow import write_tables


def train(*given, **options):
    return tux.run(*given, on="spark", machines=2, progress=False, **options)


spark = SparkSession.builder.getOrCreate()
empty = spark.createDataFrame([], "user int, item int, rating double")
odd = spark.createDataFrame([(1, 2)], "a int, b int")
for frame in (empty, odd):
    try:
        train(MF(rank=2), frame)
    except TuxError as error:
        print(error.exit_code, error)
print(spark.range(3).count())  # the session is as it was

rows = [(u, f"thing {i}", float(u * i % 5 + 1)) for u in range(20) for i in range(10)]
both = spark.createDataFrame(rows, "user int, item string, rating double").repartition(3)
both = both.persist()
first, held_out = both.where("user + rating != 9"), both.where("user + rating = 9")
for held in (both.where("user < 0"), odd):
    try:
        train(MF(rank=2), first, held)
    except TuxError as error:
        print("held", error.exit_code, error.what)
how = dict(epochs=6, jit=False, threads=1)
train(MF(rank=2), first, held_out, **how, out="spark")
for name, frame in (("train", first), ("test", held_out)):
    write_tables(f"{name}.parquet", frame.toArrow().to_batches())
tux.run(MF(rank=2), "train.parquet", "test.parquet", **how, workers=2, out="local")
spark.stop()
"""


@pytest.mark.long
def test_data_frames_give_the_bytes_of_their_file_and_errors_leave_the_session(on_spark, tmp_path):
    done = run_program(tmp_path, FRAMES, on_spark.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert model(tmp_path / "spark") == model(tmp_path / "local")
    first, *more = done.stdout.splitlines()
    assert first == "3 the DataFrame has no rows" and "3" in more
    assert any(line.startswith("3 ") for line in more), done.stdout
    none, odd = (line for line in more if line.startswith("held 3 "))
    assert none == "held 3 the held-out DataFrame has no rows"
    assert "has the columns a int, b int, and" in odd


DRIVER = """
import pyarrow as pa
from pyspark.sql import SparkSession

import tux
from support.machines.engine_programs import HOW, StopsEarly, check_same_runs
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
how = HOW | {"epochs": 100_000, "progress": StopsEarly()}
run = tux.run(tux.MF(rank=2), frame, on="spark", machines=2, **how)
assert run.interrupted and 3 <= len(run.history) < 100_000
print(spark.range(3).count(), "rows: the session goes on")
spark.stop()
"""


def test_a_driver_of_spark(on_spark, tmp_path):
    """Files, the model as a DataFrame, and Ctrl-C while a DataFrame is trained on."""
    write_ratings(tmp_path)
    here = os.path.dirname(__file__)
    paths = os.pathsep.join([here, os.path.dirname(here), os.path.dirname(os.path.dirname(here))])
    done = run_program(tmp_path, DRIVER, on_spark.environment | {"PYTHONPATH": paths})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 users ['bigint', 'array<float>']" in done.stdout, done.stdout
    assert "3 rows: the session goes on" in done.stdout


def test_spark_is_not_installed(tmp_path):
    program = (
        "import sys, tux; sys.modules['pyspark'] = None\n"
        f"tux.run(tux.MF(), {str(write_ratings(tmp_path))!r}, on='spark', progress=False)"
    )
    done = run_program(tmp_path, program, {})
    assert "UsageError: pyspark is not installed" in done.stderr, done.stderr
    assert "pip install 'tux[spark]'" in done.stderr


SHARES = """
import random

from pyspark.sql import SparkSession

import tux
from tux import MF
from tux.arrays.arrow import write_tables
from tux.backends import spark as backend
from tux.backends.spark_rows import count_rows, cuts, place_rows
from tux.inputs import serial_reason

spark = SparkSession.builder.getOrCreate()
rows = [(u, f"thing {i}", float(u * i % 5 + 1)) for u in range(30) for i in range(10)]
both = spark.createDataFrame(rows, "user int, item string, rating double")
both = both.repartition(5, "user").where("user * rating != 20").persist()
first, held_out = both.where("user + rating != 9"), both.where("user + rating = 9")
how = dict(epochs=6, jit=False, threads=1)
on_two = dict(on="spark", machines=2)
check = backend.DataFrame.check


def told(self, rows):
    print("rows", *rows)
    check(self, rows)


backend.DataFrame.check = told
serial_reason.SMALL = 0
tux.run(MF(rank=2), first, held_out, **how, **on_two, out="spark")
tux.run(MF(rank=2), first, held_out, **how, **on_two, partitioner="hdrf")
serial_reason.SMALL = 1 << 20
for name, frame in (("train", first), ("test", held_out)):
    write_tables(f"{name}.parquet", frame.toArrow().to_batches())
tux.run(MF(rank=2), "train.parquet", "test.parquet", **how, workers=2, out="local")
# with all columns, Spark makes more partitions of what it shuffles
adaptive = "spark.sql.adaptive."
spark.conf.set(adaptive + "advisoryPartitionSizeInBytes", "4k")
spark.conf.set(adaptive + "coalescePartitions.minPartitionSize", "1k")
spark.conf.set(adaptive + "coalescePartitions.parallelismFirst", "false")
notes = [(at % 31, at, random.randbytes(100).hex()) for at in range(301)]
frame = spark.createDataFrame(notes, "user int, item int, note string").repartition("user")
shares = place_rows(spark, 2, [frame], cuts(count_rows(frame), 2)).rdd
print("shares", shares.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect())
print("count", first.count())
spark.stop()
"""


def test_a_data_frame_of_spark(on_spark, tmp_path, monkeypatch):
    """In shares, and whole where a partitioner needs all rows."""
    done = run_program(tmp_path, SHARES, on_spark.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    words = [line.split() for line in done.stdout.splitlines()]
    (*shares, whole), [count] = (
        [[int(each) for each in line[1:]] for line in words if line and line[0] == name]
        for name in ("rows", "count")
    )
    assert shares == [[count[0] // 2, count[0] - count[0] // 2]]
    assert whole == [count[0], count[0]]
    assert "shares [150, 151]" in done.stdout
    monkeypatch.chdir(tmp_path)
    assert model("spark") == model("local")
    assert read_run("spark").data.digest == read_run("local").data.digest


SAMPLES = """
import os

from pyspark.sql import SparkSession

import tux
from tux import Linear, TuxError
from tux.arrays.arrow import write_tables
from tux.backends import spark as backend
from tux.inputs import serial_reason

here, spool = os.getcwd(), backend.spool


def counting(batches, folder, spooled, notes):
    received = []

    def each():
        for batch in batches:
            received.append(batch.nbytes)
            yield batch

    spool(each(), folder, spooled, notes)
    with open(f"{here}/received-{notes['tux.share']}", "w") as file:
        file.write(str(sum(received)))


backend.spool = counting
serial_reason.SMALL = 0
spark = SparkSession.builder.getOrCreate()
town = ["Oslo", "Rome", None]
rows = [(town[at % 3], float(at * at % 17), "no" if at % 2 else "yes") for at in range(3000)]
frame = spark.createDataFrame(rows, "town string, size double, label string").persist()
how = dict(epochs=3, jit=False, threads=1, progress=False)
on_two = dict(on="spark", machines=2)
tux.run(Linear(loss="logistic"), frame, **how, **on_two, out="spark")
write_tables("train.parquet", frame.toArrow().to_batches())
print("whole", frame.toArrow().nbytes)
tux.run(Linear(loss="logistic"), "train.parquet", **how, workers=2, out="local")
rows[-1] = ("Bonn", 1.0, "maybe")
try:
    wrong = spark.createDataFrame(rows, "town string, size double, label string").persist()
    tux.run(Linear(loss="logistic"), wrong, **how, **on_two)
except TuxError as error:
    print("error", error)
spark.stop()
"""

OWN = 16
"""Bytes of tux's own columns in a row that goes to a machine."""


@pytest.mark.long
def test_shares_of_labelled_samples(on_spark, tmp_path, monkeypatch):
    """No machine receives more than its share; an error in labels is told once."""
    done = run_program(tmp_path, SAMPLES, on_spark.environment)
    assert done.returncode == 0, done.stdout + done.stderr
    received = [int((tmp_path / f"received-{rank} of 2").read_text()) for rank in (0, 1)]
    [whole] = re.findall(r"^whole (\d+)$", done.stdout, re.MULTILINE)
    assert max(received) <= int(whole) / 2 + 1500 * OWN + 2000, (received, whole)
    assert "error 3 kinds of labels" in done.stdout, done.stdout
    assert "  at machine 1, row 1500" in done.stdout, done.stdout
    monkeypatch.chdir(tmp_path)
    assert model("spark") == model("local")
