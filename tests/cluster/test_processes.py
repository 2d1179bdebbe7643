"""Workers as real processes: models, records and files are those of one worker."""

import json
from pathlib import Path

import numpy as np
import pytest

from faults.running import Running, without_warnings
from tux.arrays.arrow import read_parquet
from tux.run_folder.folder import read_metrics

PAGERANK = Path(__file__).parents[2] / "docs" / "pagerank.py"
HARD = 300.0  # seconds after which a command counts as hung
TIMES = ("seconds", "edges_per_second")


@pytest.fixture(scope="module")
def mf(files, tmp_path_factory):
    """Return a function that gives folders of runs of matrix factorization on the small ratings,
    each made once: ``mf("--workers", 2)``.
    """
    done = {}

    def run(*flags, again=0):
        if (flags, again) not in done:
            folder = tmp_path_factory.mktemp("mf")
            argv = [
                "run",
                "mf",
                files / "train.csv",
                "--test",
                files / "test.csv",
                "--rank",
                4,
                "--epochs",
                8,
                "--out",
                "out",
                *flags,
            ]
            with Running(folder, *argv) as running:
                assert running.wait(HARD) == 0, running.output()
                assert running.leftovers() == [] and not without_warnings(running.output()[1])
            done[flags, again] = folder / "out"
        return done[flags, again]

    return run


def columns(folder, name):
    """Return the columns of a part of a run's model."""
    return read_parquet(folder / "model" / f"{name}.parquet")


def read_records(folder):
    """Return the records of a run as they are written, whole numbers as such."""
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def drop_times(record):
    """Return a record without the fields that a clock has measured."""
    return {name: x for name, x in record.items() if name not in TIMES and not name.endswith("_s")}


def best(folder):
    return min(record["test_rmse"] for record in read_metrics(folder))


# ---- the answer


@pytest.mark.long
def test_quality_does_not_depend_on_the_number_of_workers(mf):
    one, *others = [
        best(mf(*flags))
        for flags in ((), ("--workers", 2), ("--workers", 3), ("--workers", 2, "--slack", 2))
    ]
    assert one < 0.9
    for other in others:
        assert abs(other - one) < 0.02 * one
    for folder in (mf("--workers", 2), mf("--workers", 3)):
        for name in ("user", "item"):
            mine, other = columns(folder, name), columns(mf(), name)
            assert mine.keys() == other.keys()
            assert sorted(mine["id"].tolist()) == sorted(other["id"].tolist())
            assert all(
                mine[f].shape == other[f].shape and mine[f].dtype == other[f].dtype for f in mine
            )


@pytest.mark.slow
def test_the_same_command_gives_the_same_bytes(mf):
    first, second = mf("--workers", 2), mf("--workers", 2, again=1)
    names = sorted(path.name for path in (first / "model").iterdir())
    assert names == sorted(path.name for path in (second / "model").iterdir()) and len(names) == 3
    for name in names:
        assert (first / "model" / name).read_bytes() == (second / "model" / name).read_bytes(), name
    mine, other = (
        [drop_times(record) for record in read_metrics(each)] for each in (first, second)
    )
    assert mine == other and len(mine) == 8


@pytest.mark.long
def test_the_record_of_a_run(mf):
    first, second = (
        json.loads((mf("--workers", 2, again=n) / "run.json").read_text()) for n in (0, 1)
    )
    assert (
        first["options"]["workers"] == 2
        and first["options"]["slack"] == 0
        and first["options"]["partitioner"] == "bicut"
    )
    assert (
        first["results"]["epochs"] == 8
        and first["results"]["model_epoch"] == first["results"]["best"]["epoch"]
    )
    for each in (first, second):
        assert each.pop("setup_seconds") and each["results"].pop("seconds") > 0
        for record in (each["results"]["last"], each["results"]["best"]):
            for name in [name for name in record if name in TIMES or name.endswith("_s")]:
                del record[name]
    assert first == second
    alone = json.loads((mf() / "run.json").read_text())
    assert (
        alone["sizes"] == first["sizes"]
        and alone["data"] == first["data"]
        and alone["app"] == first["app"]
    )


@pytest.mark.long
def test_records_have_the_names_of_one_worker_and_whole_numbers(mf):
    for flags in (("--workers", 2), ("--workers", 2, "--slack", 2)):
        for number, (mine, other) in enumerate(
            zip(read_records(mf(*flags)), read_records(mf()), strict=True), 1
        ):
            assert other.keys() <= mine.keys() and mine["epoch"] == number
            assert all(
                isinstance(mine[name], int)
                for name in mine
                if name in ("epoch", "clock") or name.startswith("bytes")
            )
            assert (
                mine["bytes_sent"]
                == sum(mine[name] for name in mine if name.startswith("bytes_sent_"))
                > 0
            )
            assert mine["bytes_sent_item"] > mine["bytes_sent_tau"]
    assert [record["max_staleness"] for record in read_metrics(mf("--workers", 2))] == [0] * 8


@pytest.mark.long
def test_pagerank_of_any_number_of_workers(start, files):
    """Two workers and three, by two partitioners, against one."""
    options = [(1, "bicut"), (2, "bicut"), (3, "random")]
    flags = [PAGERANK, files / "links.txt", "--no-jit", "--tolerance", 0, "--epochs", 10]
    flags += ["--out", "out"]
    by_run = {}
    runs = {each: start(*flags, "--workers", each[0], "--partitioner", each[1]) for each in options}
    for each, run in runs.items():
        assert run.wait(HARD) == 0, run.output()
        page = columns(run.folder / "out", "page")
        assert page["id"].dtype == np.int64
        by_run[each] = dict(zip(page["id"].tolist(), page["rank"].tolist(), strict=True))
    one = by_run.pop((1, "bicut"))
    assert abs(sum(one.values()) - 1) < 1e-9
    for each, ranks in by_run.items():
        assert ranks.keys() == one.keys()
        assert max(abs(ranks[page] - one[page]) for page in one) < 1e-10, each


@pytest.mark.long
def test_all_workers_stop_when_the_program_has_converged(tux, files):
    flags = ["--no-jit", "--tolerance", 0.01, "--workers", 2, "--slack", 1]
    code, out, _ = tux(PAGERANK, files / "links.txt", *flags)
    lines = [line for line in out.splitlines() if line.startswith("epoch ")]
    assert code == 0 and 2 < len(lines) < 50


@pytest.mark.long
def test_more_workers_than_edges_and_plain_python(start):
    """One rating: most workers have no edge, and no vertex of one type or the other."""
    run = start(
        "mf",
        "one.csv",
        "--workers",
        3,
        "--epochs",
        2,
        "--rank",
        2,
        "--no-jit",
        "--partitioner",
        "random",
        "--out",
        "out",
    )
    (run.folder / "one.csv").write_text("user,item,rating\nann,tea,5\n")
    assert run.wait(HARD) == 0, run.output()
    assert columns(run.folder / "out", "user")["id"].tolist() == ["ann"] and columns(
        run.folder / "out", "item"
    )["id"].tolist() == ["tea"]
    assert run.leftovers() == []


@pytest.mark.long
def test_patience_keeps_the_best_model(start, files):
    flags = [
        "mf",
        files / "train.csv",
        "--test",
        files / "test.csv",
        "--rank",
        16,
        "--reg",
        0,
        "--learning-rate",
        0.2,
        "--workers",
        2,
    ]
    run = start(*flags, "--epochs", 60, "--patience", 2, "--out", "out")
    assert run.wait(HARD) == 0, run.output()
    records = [record["test_rmse"] for record in read_metrics(run.folder / "out")]
    results = json.loads((run.folder / "out" / "run.json").read_text())["results"]
    top = int(np.argmin(records)) + 1
    assert len(records) == top + 2 < 60
    assert results["best"]["epoch"] == results["model_epoch"] == top
    again = start(*flags, "--epochs", top, "--out", "out")
    assert again.wait(HARD) == 0, again.output()
    for name in ("user", "item"):
        mine, other = columns(run.folder / "out", name), columns(again.folder / "out", name)
        assert all(np.array_equal(mine[f], other[f]) for f in ("id", "f"))


@pytest.mark.long
def test_evaluation_of_every_third_epoch(mf):
    records = list(read_metrics(mf("--workers", 2, "--eval-every", 3)))
    assert [record["epoch"] for record in records if "test_rmse" in record] == [3, 6, 8]
    every = {record["epoch"]: record["test_rmse"] for record in read_metrics(mf("--workers", 2))}
    assert all(
        record["test_rmse"] == every[record["epoch"]] for record in records if "test_rmse" in record
    )
