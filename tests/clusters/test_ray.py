"""Ray: what every back-end promises, too few cores, `tux.run` as a program or a notebook calls it,
and data sets whose rows reach the machines in shares.

All that starts Ray is in this file, so that one process starts it once.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest
from support.machines.conformance import promises
from support.machines.dealt_rows import command_of
from support.machines.engine_programs import (
    HOW,
    LIMIT,
    StopsEarly,
    check_same_runs,
    run_program,
    write_ratings,
)
from support.machines.run_folders import model
from support.machines.watchers import RecordingSilent

import tux
from faults.clusters import missing, wait_until
from faults.ended import RunRemains
from faults.room import PROGRAM
from tux.apps.linear.linear import Linear
from tux.apps.mf.mf import MF
from tux.arrays.arrow import write_tables
from tux.backends.run import run
from tux.base.errors import DataError
from tux.checkpoint.store import newest_number
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.program import sources
from tux.run_folder.folder import read_run
from tux.runs.session import run as run_here

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]


@promises(in_ci=["nothing", "ctrl-c"])
def test_it_keeps_its_promises(on_ray, plays, scenario):
    plays(f"on-ray-{scenario}")


def test_more_cores_than_there_are(on_ray, room):
    on_ray.watch(room.plan_folder)
    flags = ["--on", "ray", "--nnodes", 2, "--workers", 50, "--timeout", 5]
    command = room.train(more=flags, env=on_ray.environment)
    assert room.code(command) == 5
    assert "2 machines with 50 CPUs each are needed, and its nodes have" in command.output()[1]
    assert not (room.folder / "out").exists()


@pytest.mark.long
def test_a_data_set_of_ray(on_ray, room, whole):
    """Each machine writes its rows to a file; they are those of the file that was read."""
    data = pytest.importorskip("ray.data")
    on_ray.watch(room.plan_folder)
    train, test = (data.read_csv(str(whole.folder / f"{name}.csv")) for name in ("train", "test"))
    kind = sources.find(str(PROGRAM)).program
    program, said, out = (
        kind(rank=16, batch_size=whole.flags["--batch-size"]),
        [],
        room.folder / "out",
    )
    options = RunOptions(epochs=6, out=out)
    say = {"say": said.append, "warn": said.append}
    assert run(program, train, test, options, on="ray", machines=2, **say) == 0, said
    reference = whole.of(room.flags)
    ended = RunRemains.of(out)
    assert ended.model == reference.model
    assert [each["test_rmse"] for each in ended.records] == [
        each["test_rmse"] for each in reference.records
    ]
    assert read_run(out).data.path == "memory"


@pytest.fixture
def ray(on_ray, monkeypatch):
    """Yield the engine of Ray, and wait until it has everything back after the test."""
    monkeypatch.setenv("RAY_ADDRESS", on_ray.cluster.address)
    yield on_ray
    wait_until(
        lambda: on_ray.is_free() and not on_ray.leftovers(), lambda: f"left: {on_ray.leftovers()}"
    )


def test_files_in_a_program(ray, tmp_path):
    path, watch = write_ratings(tmp_path), RecordingSilent()
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
def test_ctrl_c_in_a_program(ray, tmp_path):
    how = HOW | {"epochs": 100_000, "progress": StopsEarly()}
    run = tux.run(tux.MF(rank=2), write_ratings(tmp_path), on="ray", machines=2, **how)
    assert run.interrupted and 3 <= len(run.history) < 100_000
    assert run.vertices["user"]["f"].shape == (40, 2) and np.isfinite(
        run.predict(([3], ["thing 1"]))
    )


def test_a_data_set_and_errors_in_a_program(ray, tmp_path):
    data = pytest.importorskip("ray.data")
    path = write_ratings(tmp_path)
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
    program = (
        f"import tux; tux.run(tux.MF(), {str(write_ratings(tmp_path))!r}, on='ray', progress=False)"
    )
    done = run_program(tmp_path, program, {"RAY_ADDRESS": "127.0.0.1:1"})
    assert done.returncode == 1, done.stdout
    assert "UsageError" in done.stderr and "correct RAY_ADDRESS" in done.stderr, done.stderr


def test_ray_is_not_installed(tmp_path):
    program = (
        "import sys, tux; sys.modules['ray'] = None\n"
        f"tux.run(tux.MF(), {str(write_ratings(tmp_path))!r}, on='ray', progress=False)"
    )
    done = run_program(tmp_path, program, {})
    assert "UsageError: ray is not installed" in done.stderr, done.stderr
    assert "pip install 'tux[ray]'" in done.stderr


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


def on_two(data, test, said, program=None, **options):
    """Train on two machines of Ray."""
    say, what = {"say": said.append, "warn": said.append}, program or MF(rank=2)
    return run(what, data, test, RunOptions(**options), on="ray", machines=2, **say)


@pytest.mark.long
def test_shares_of_a_data_set(data_set, monkeypatch):
    """Two loaders on each machine share its rows."""
    import ray

    from tux.backends.ray import RayMachine

    data, whole = data_set
    test = ray.data.from_arrow([whole.slice(at, 1) for at in range(0, len(whole), 17)])
    write_tables("test.parquet", ray.get(test.materialize().to_arrow_refs()))
    given, take = [], RayMachine.take

    def taking(machine, tables, name, notes):
        given.append((name, sum(map(len, ray.get(tables.references))), *notes.values()))
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


HEAD = 2000
"""Bytes of the tables of a machine that are no rows: types, and ends of blocks."""


@pytest.mark.long
def test_shares_of_labelled_samples(on_ray, tmp_path, monkeypatch):
    """No machine receives more than its share; an error in labels is told once, by machine 0."""
    data = pytest.importorskip("ray.data")
    import pyarrow as pa
    import ray

    from tux.backends.ray import RayMachine

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(serial_reason, "SMALL", 0)
    town = [("Oslo", "Rome", None)[at % 3] for at in range(3000)]
    size = [float(at * at % 17) for at in range(3000)]
    gap = [None] * 1500 + size[1500:]  # machine 0 knows no type of it
    columns = {"town": town, "size": size, "gap": gap, "label": ["no", "yes"] * 1500}
    whole = pa.table(columns)
    write_tables("train.parquet", [whole])
    received, take = {}, RayMachine.take

    def taking(machine, tables, name, notes):
        received[notes["tux.share"]] = sum(each.nbytes for each in ray.get(tables.references))
        take(machine, tables, name, notes)

    monkeypatch.setattr(RayMachine, "take", taking)
    rows = [slice(at, at + 150) for at in range(0, 3000, 150)]
    parts = ({name: each[own] for name, each in columns.items()} for own in rows)
    blocks = data.from_arrow([pa.table(part) for part in parts])
    how, said = {"jit": False, "threads": 1, "epochs": 3}, []
    assert on_two(blocks, None, said, Linear(loss="logistic"), **how, out="ray") == 0, said
    assert [*received] and max(received.values()) <= whole.nbytes / 2 + HEAD, received
    run_here(
        Linear(loss="logistic"), "train.parquet", options=RunOptions(**how, workers=2, out="a")
    )
    assert model("ray") == model("a")
    wrong = pa.table(columns | {"label": ["no", "yes"] * 1499 + ["no", "maybe"]})
    said.clear()
    assert on_two(data.from_arrow(wrong), None, said, Linear(loss="logistic"), **how) == 3
    [told] = [each for each in said if "3 kinds of labels" in each]
    assert "  at machine 1, row 1500" in said, said


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
