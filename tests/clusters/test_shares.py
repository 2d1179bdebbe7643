"""Data sets of Ray and DataFrames of Spark reach the machines in shares: each gets its own rows,
and the model has the bytes of a run that reads all of them from one file.
"""

import os
import subprocess
import sys

import pytest
from run_folders import model

from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.run import why_whole
from tux.run.folder import read_run
from tux.run.options import RunOptions
from tux.run.session import run as run_here

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]

LIMIT = 400.0  # seconds after which a run counts as hung


def test_a_data_set_of_ray(on_ray, tmp_path, monkeypatch):
    """Of blocks of many sizes; two loaders on each machine share its rows."""
    pytest.importorskip("ray.data")
    import pyarrow as pa
    import ray

    from tux.backends.ray import RayMachine
    from tux.backends.run import run

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(why_whole, "SMALL", 0)
    blocks = [
        pa.table(
            {"user": [f"u{at % 9}"] * 40, "item": [*range(at, at + 40)], "rating": [at % 5] * 40}
        )
        for at in range(7)
    ]
    data = ray.data.from_arrow([blocks[0], *(each.slice(0, 30) for each in blocks[1:])])
    data = data.materialize()
    whole = pa.concat_tables(ray.get(data.to_arrow_refs()))
    test = ray.data.from_arrow([whole.slice(at, 1) for at in range(0, len(whole), 17)])
    write_tables("train.parquet", [whole])
    write_tables("test.parquet", ray.get(test.materialize().to_arrow_refs()))
    given, take = [], RayMachine.take

    def taking(machine, tables, name, notes):
        given.append((name, sum(map(len, ray.get(tables))), *notes.values()))
        take(machine, tables, name, notes)

    monkeypatch.setattr(RayMachine, "take", taking)
    how, said = {"jit": False, "threads": 1, "epochs": 3, "partitioner": "auto"}, []
    options = RunOptions(**how, workers=2, out="ray")
    say = {"say": said.append, "warn": said.append}
    assert run(MF(rank=2), data, test, options, on="ray", machines=2, **say) == 0, said
    half, held = len(whole) // 2, len(range(0, len(whole), 17))
    assert given == [
        ("data.parquet", half, "0 of 2"),
        ("test.parquet", held),
        ("data.parquet", len(whole) - half, "1 of 2"),
        ("test.parquet", held),
    ]
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    options = RunOptions(**how, workers=4, out="here")
    run_here(MF(rank=2), "train.parquet", "test.parquet", options)
    assert model("ray") == model("here")
    assert read_run("ray").data.digest == read_run("here").data.digest


OF_SPARK = """
from pyspark.sql import SparkSession

from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.backends import spark as backend
from tux.backends.dataframes import train
from tux.run import why_whole
from tux.run.options import RunOptions
from tux.run.session import run

spark = SparkSession.builder.getOrCreate()
rows = [(u, f"thing {i}", float(u * i % 5 + 1)) for u in range(30) for i in range(10)]
both = spark.createDataFrame(rows, "user int, item string, rating double")
both = both.repartition(5, "user").where("user * rating != 20").persist()
first, held_out = both.where("user + rating != 9"), both.where("user + rating = 9")
how = dict(epochs=6, jit=False, threads=1)
check = backend.DataFrame.check


def told(self, rows):
    print("rows", *rows)
    check(self, rows)


backend.DataFrame.check = told
why_whole.SMALL = 0
train(MF(rank=2), first, held_out, RunOptions(**how, out="spark"), machines=2)
train(MF(rank=2), first, held_out, RunOptions(**how, partitioner="hdrf"), machines=2)
why_whole.SMALL = 1 << 20
for name, frame in (("train", first), ("test", held_out)):
    write_tables(f"{name}.parquet", frame.toArrow().to_batches())
run(MF(rank=2), "train.parquet", "test.parquet", RunOptions(**how, workers=2, out="local"))
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
    monkeypatch.chdir(tmp_path)
    assert model("spark") == model("local")
    assert read_run("spark").data.digest == read_run("local").data.digest
