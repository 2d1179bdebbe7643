"""Data sets of Ray and DataFrames of Spark reach the machines in shares: each gets its own rows,
and the model has the bytes of a run that reads all of them from one file.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from support.machines.dealt_rows import command_of
from support.machines.run_folders import model

from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.base.errors import DataError
from tux.checkpoint.store import newest_number
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.runs.session import run as run_here

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

LIMIT = 400.0  # seconds after which a run counts as hung


def until(true, what):
    limit = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < limit, f"{what}: not within {LIMIT:.0f} s"
        time.sleep(0.05)


@pytest.fixture
def data_set(on_ray, tmp_path, monkeypatch):
    """Return rows in blocks of many sizes, one of them empty; and all of them as a table."""
    pytest.importorskip("ray.data")
    import pyarrow as pa
    import ray

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serial_reason, "SMALL", 0)

    def block(at):
        rating = 9.0 if at == 3 else at % 5.0
        return pa.table(
            {"user": [f"u{at}"] * 40, "item": [*range(at, at + 40)], "rating": [rating] * 40}
        )

    blocks = [block(0), *(block(at).slice(0, 30) for at in range(1, 7))]
    data = ray.data.from_arrow(blocks).filter(lambda row: row["rating"] != 9.0).materialize()
    tables = ray.get(data.to_arrow_refs())
    assert not all(map(len, tables))
    whole = pa.concat_tables(each for each in tables if len(each))
    write_tables("train.parquet", [whole])
    return data, whole


def on_two(data, test, said, **options):
    """Train on two machines of Ray."""
    from tux.backends.run import run

    say = {"say": said.append, "warn": said.append}
    return run(MF(rank=2), data, test, RunOptions(**options), on="ray", machines=2, **say)


@pytest.mark.long
def test_a_data_set_of_ray(data_set, monkeypatch):
    """Two loaders on each machine share its rows."""
    import ray

    from tux.backends.ray import RayMachine

    data, whole = data_set
    test = ray.data.from_arrow([whole.slice(at, 1) for at in range(0, len(whole), 17)])
    write_tables("test.parquet", ray.get(test.materialize().to_arrow_refs()))
    given, take = [], RayMachine.take

    def taking(machine, tables, name, notes):
        given.append((name, sum(map(len, ray.get(tables))), *notes.values()))
        take(machine, tables, name, notes)

    monkeypatch.setattr(RayMachine, "take", taking)
    how, said = {"jit": False, "threads": 1, "epochs": 3, "partitioner": "auto"}, []
    assert on_two(data, test, said, **how, workers=2, out="ray") == 0, said
    half, held = len(whole) // 2, len(range(0, len(whole), 17))
    assert sorted(given) == [  # the machines take them side by side
        ("data.parquet", half, "0 of 2"),
        ("data.parquet", len(whole) - half, "1 of 2"),
        ("test.parquet", held),
        ("test.parquet", held),
    ]
    options = RunOptions(**how, workers=4, out="here")
    run_here(MF(rank=2), "train.parquet", "test.parquet", options)
    assert model("ray") == model("here")
    assert read_run("ray").data.digest == read_run("here").data.digest


@pytest.mark.long
def test_a_lost_machine_of_ray(data_set, tmp_path):
    """All machines are given their rows again, and go on from the checkpoint."""
    data, _ = data_set
    how, said, codes = {"jit": False, "threads": 1, "epochs": 200, "checkpoint_every": "5"}, [], []
    body = lambda: codes.append(on_two(data, None, said, **how, out=tmp_path / "ray"))  # noqa: E731
    running = threading.Thread(target=body, daemon=True)
    running.start()
    until(
        lambda: not running.is_alive() or newest_number(tmp_path / "ray"), "there is a checkpoint"
    )
    assert running.is_alive(), said
    os.kill(command_of(1, tmp_path), signal.SIGKILL)
    running.join(LIMIT)
    assert codes == [0], said
    assert any("all machines are started again" in line for line in said)
    run_here(MF(rank=2), "train.parquet", options=RunOptions(**how, workers=2, out="here"))
    assert model("ray") == model("here")
    assert read_run("ray").incarnations[-1].checkpoint > 0


def test_a_data_set_without_rows(data_set):
    data, _ = data_set
    with pytest.raises(DataError, match="the data set has no rows"):
        on_two(data.filter(lambda row: row["rating"] > 100.0), None, [])


OF_SPARK = """
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
    (tmp_path / "pipeline.py").write_text(OF_SPARK)
    done = subprocess.run(
        [sys.executable, "pipeline.py"],
        cwd=tmp_path,
        env=os.environ | on_spark.environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
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
