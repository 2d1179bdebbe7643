"""Spark: what every back-end promises, too few slots, a pipeline of a user, and DataFrames."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.machines.conformance import promises

from faults.clusters import wait_until
from tux.arrays.arrow import read_parquet, write_parquet

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

PAGE = Path(__file__).parent.parent.parent / "docs" / "clusters.md"
LIMIT = 400.0  # seconds after which a program counts as hung


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


def write_ratings(folder):
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
    columns = write_ratings(tmp_path)
    done = python(on_spark, tmp_path, block)
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


def model(out):
    return {path.name: path.read_bytes() for path in (out / "model").iterdir()}


@pytest.mark.long
def test_data_frames_give_the_bytes_of_their_file_and_errors_leave_the_session(on_spark, tmp_path):
    done = python(on_spark, tmp_path, FRAMES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert model(tmp_path / "spark") == model(tmp_path / "local")
    first, *more = done.stdout.splitlines()
    assert first == "3 the DataFrame has no rows" and "3" in more
    assert any(line.startswith("3 ") for line in more), done.stdout
    none, odd = (line for line in more if line.startswith("held 3 "))
    assert none == "held 3 the held-out DataFrame has no rows"
    assert "has the columns a int, b int, and" in odd
