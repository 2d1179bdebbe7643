"""Results that are not right, and what is left behind, are found."""

import os
import subprocess
import sys
from random import Random

import numpy as np
import pytest

import tux
from faults.ended import RunRemains
from faults.room import ReferenceRuns, Room
from soak.cases import SoakCase
from soak.judging import SHARED, drop_report, find_differences, left_memory, shared_memory

CASE = SoakCase("mf", "mf", None, {}, "train_rmse", noise=0.1)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return the folder of a small run."""
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(1)
    columns = {"user": rng.integers(0, 9, 60), "item": rng.integers(0, 7, 60)}
    columns["rating"] = rng.integers(1, 6, 60).astype(float)
    tux.run(tux.MF(rank=2), columns, epochs=2, jit=False, out=folder / "out")
    return folder / "out"


def change_factors(run, out, factor, count=1):
    """Return what a run has left, and the same with other factors of the users: the first `count`
    numbers, or all.
    """
    right = RunRemains.of(run)
    path = out / "user.parquet"
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(run / "model" / "user.parquet")
    at = table.column_names.index("f")
    values = table["f"].combine_chunks()
    flat = values.values.to_numpy().copy()
    flat[:count] *= factor
    changed = type(values).from_arrays(flat, type=values.type)
    pq.write_table(table.set_column(at, "f", changed), path)
    return right, right._replace(model={**right.model, "model/user.parquet": path.read_bytes()})


def test_a_wrong_model_is_found(run, tmp_path):
    right, wrong = change_factors(run, tmp_path, 2.0)
    assert find_differences(CASE, right, right, True) == []
    found = ["model/user.parquet differs"]
    assert find_differences(CASE, wrong, right, True) == found
    assert find_differences(CASE._replace(exact=True), wrong, right, False) == found


def test_a_model_that_is_not_close_is_found(run, tmp_path):
    right, wrong = change_factors(run, tmp_path, 2.0)
    case = CASE._replace(metric="", close=1e-3)
    [found] = find_differences(case, wrong, right, False)
    assert found == "model/user.parquet: f is not close to the right one"
    right, alike = change_factors(run, tmp_path, 1.0001)
    assert find_differences(case, alike, right, False) == []


def test_a_result_outside_of_the_noise_is_found(run):
    right = RunRemains.of(run)
    value = right.results["last"]["train_rmse"]

    def with_metric(number):
        return right._replace(results={"last": {"train_rmse": number}})

    assert find_differences(CASE, with_metric(value * 1.05), right, False) == []
    assert len(find_differences(CASE, with_metric(value * 1.2), right, False)) == 1
    assert len(find_differences(CASE, with_metric(float("nan")), right, False)) == 1
    assert len(find_differences(CASE, with_metric(value * 1.05), right, True)) == 1


@pytest.mark.parametrize("factor", [0.0, 9.0, float("nan"), float("inf")])
def test_a_model_of_another_size_is_found_beside_a_right_metric(run, tmp_path, factor):
    right, wrong = change_factors(run, tmp_path, factor, None)
    with np.errstate(invalid="ignore"):
        [found] = find_differences(CASE, wrong, right, False)
    assert found.startswith("model/user.parquet: f is of size ")
    right, alike = change_factors(run, tmp_path, 1.2, None)
    assert find_differences(CASE, alike, right, False) == []


def test_a_model_of_other_vertices_is_found(run):
    right = RunRemains.of(run)
    model = {**right.model, "model/user.parquet": right.model["model/item.parquet"]}
    found = ["model/user.parquet has other columns or ids than the right one"]
    assert find_differences(CASE, right._replace(model=model), right, False) == found


def test_epochs_that_are_lost_or_come_twice_are_found(run):
    right = RunRemains.of(run)
    for records in (right.records[:1], right.records[1:], [*right.records, right.records[1]]):
        [found] = find_differences(CASE, right._replace(records=records), right, False)
        assert "metrics.jsonl has the epochs" in found and "had 2" in found


def test_a_missing_table_is_found(run):
    right = RunRemains.of(run)
    model = {name: each for name, each in right.model.items() if "item" not in name}
    assert find_differences(CASE, right._replace(model=model), right, False) == [
        "there is no model/item.parquet"
    ]


@pytest.mark.skipif(not SHARED.is_dir(), reason="there is no shared memory here")
def test_shared_memory_that_nobody_uses_is_found():
    before = shared_memory()
    path = SHARED / f"tux-soak-{os.getpid()}"
    try:
        with open(path, "w"):
            assert f"left: {path}" not in left_memory(before)
        assert f"left: {path}" in left_memory(before)
    finally:
        path.unlink()


@pytest.mark.slow
def test_a_process_that_is_left_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("faults.room.GONE", 0.1)
    whole = ReferenceRuns(tmp_path, ["mf"], {})
    with Room(tmp_path / "room", whole, 60.0, Random(0)) as room:
        command = room.command("--version")
        room.expect(command, 0)
        env = {**os.environ, "TMPDIR": str(command.tmp)}
        words = [sys.executable, "-c", "print(flush=True); input()"]
        with subprocess.Popen(words, env=env, stdin=-1, stdout=-1, text=True) as left:
            left.stdout.readline()  # a process that is still starting has no environment in /proc
            [found] = room.remains()
            assert found.startswith(f"left: process {left.pid}: ")
            left.kill()


def test_reports_of_several_machines_are_left_out(run):
    right = RunRemains.of(run)
    told = right._replace(
        model={**right.model, "model/topics.tsv": b"words"}, results={**right.results, "npmi": 0.2}
    )
    assert told.differences(right)
    assert drop_report(told).differences(drop_report(right)) == []
    assert drop_report(right).model and drop_report(right).results["epochs"] == 2


def test_bytes_that_were_sent_again_are_no_difference(run):
    right = RunRemains.of(run)
    sent = right._replace(records=[{**record, "bytes_sent": 9} for record in right.records])
    assert find_differences(CASE, sent, right, True) == []
    other = right._replace(records=[{**record, "n": 9} for record in right.records])
    assert find_differences(CASE, other, right, True)
