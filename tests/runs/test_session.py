"""A run from data to results: what is read and made up, what is told, and that `run.json`
repeats it.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message

from tux import Context, Edge, Program, Vertex, data, delta, metric, total, value
from tux.apps.mf.mf import MF
from tux.arrays.arrow import read_parquet
from tux.arrays.edges import EdgeData
from tux.base.errors import Interrupted, UsageError
from tux.base.text import plural
from tux.cli.info import info
from tux.cli.main import main
from tux.cluster.rendezvous.agreement import differences
from tux.engine.records import metrics
from tux.inputs.load import Inputs, load
from tux.inputs.sizes import sizes_of
from tux.inputs.synthetic import generate_data
from tux.options.options import Reading, RunOptions
from tux.program.sources import builtin, find, source_of
from tux.run_folder.folder import read_metrics
from tux.runs.begin import sizes_to_compare
from tux.runs.session import run
from tux.stages import Apply, Exchange, GlobalSync
from tux.synthetic.graph import graph

TIMES = ("seconds", "edges_per_second", "compute_s", "wait_s", "apply_s", "send_s")


def count(dst, tau):
    dst.seen += 1
    tau.edges += 1


def keep(v):
    v.degree = v.seen


def report(tau):
    tau.objective = 1 / tau.edges


class MonitoredDegrees(Program):
    page = Vertex(seen=delta("i4"), degree=value("i4"))
    link = Edge("page", "page")
    tau = Context(edges=total(), objective=metric())
    epochs = 3
    monitor = "objective"

    def stages(self):
        return [Exchange(count), Apply("page", keep), GlobalSync(report)]


@pytest.fixture
def small_ratings():
    rng = np.random.default_rng(0)
    return EdgeData.of(
        ("user", "item"),
        rng.integers(0, 9, 60),
        rng.integers(0, 7, 60),
        {"value": rng.normal(3, 1, 60).astype("f4")},
    )


@pytest.mark.slow
def test_what_is_told_in_which_order():
    told = RecordingSilent()
    result = run(MonitoredDegrees(), options=RunOptions(jit=False), watch=told)
    assert told.phases[:4] == ["load", "layout", "compile", "epoch 1"]
    assert told.lines[0] == "data: generated, as no DATA is named: 2,000 pages, 20,000 links"
    assert (
        told.lines[1].startswith("load ")
        and "layout " in told.lines[1]
        and "compile " in told.lines[1]
    )
    assert told.records == [(1, 3), (2, 3), (3, 3)] and not told.warnings
    assert (
        result.results["last"] == {"objective": 1 / 20_000} and result.results["best"]["epoch"] == 1
    )
    assert result.setup_seconds.keys() == {"load", "layout", "compile"}


def test_machines_with_other_data_are_told_how_much_each_has(small_ratings):
    fewer = EdgeData(
        small_ratings.ends, small_ratings.ids, small_ratings.src[1:], small_ratings.dst[1:], {}
    )
    here, there = (
        sizes_to_compare(MF(), Inputs(each, None, sizes=sizes_of(each, None)))
        for each in (small_ratings, fewer)
    )
    assert differences(here, there) == "number of ratings is 59, and 60 on machine 0"


def test_patience_stops_and_keeps_the_best(tmp_path):
    result = run(
        MonitoredDegrees(),
        options=RunOptions(patience=1, epochs=9, jit=False, out=tmp_path / "out"),
    )
    assert result.results["epochs"] == 2 and result.results["model_epoch"] == 1
    with pytest.raises(UsageError, match=message("monitors-no-metric-so-patience")):
        run(
            type("Plain", (MonitoredDegrees,), {"monitor": "", "__module__": __name__})(),
            options=RunOptions(patience=1),
        )


@pytest.mark.long
def test_with_held_out_edges_the_model_is_that_of_the_best_epoch(tmp_path, capsys):
    """Both on one worker and on two, and every line about it says the same."""
    flags = "--rank 64 --reg 0 --learning-rate 0.2 --epochs 6 --seed 1".split()
    for out, more in (("one", []), ("two", ["--workers", "2"])):
        folder = tmp_path / out
        assert main(["run", "mf", *flags, *more, "--out", str(folder)]) == 0
        told = capsys.readouterr().out
        losses = [record["test_rmse"] for record in read_metrics(folder)]
        best = 1 + losses.index(min(losses))
        assert best < 6
        results = json.loads((folder / "run.json").read_text())["results"]
        assert (
            results["model_epoch"] == results["best"]["epoch"] == best
            and results["monitor"] == "test_rmse"
        )
        said = f"epoch {best} of 6, which is the best: test_rmse {min(losses):.4f}"
        assert f"the model is that of {said}\n" in told
        assert info(str(folder))["model"] == said
        shorter = [*flags[: flags.index("--epochs")], "--epochs", str(best), "--seed", "1", *more]
        assert main(["run", "mf", *shorter, "--out", str(tmp_path / f"{out} shorter")]) == 0
        capsys.readouterr()
        for name in ("user", "item"):
            mine, other = (
                read_parquet(each / "model" / f"{name}.parquet")
                for each in (folder, tmp_path / f"{out} shorter")
            )
            assert all(np.array_equal(mine[field], other[field]) for field in mine)


def test_without_held_out_edges_the_model_is_that_of_the_last_epoch(tmp_path):
    """Whatever the program monitors."""
    result = run(MonitoredDegrees(), options=RunOptions(epochs=3, jit=False, out=tmp_path / "out"))
    assert result.results["best"]["epoch"] == 1 and result.results["model_epoch"] == 3
    assert (
        info(str(tmp_path / "out"))["model"]
        == "epoch 3, the last; the best was epoch 1: objective 5e-05"
    )


def test_patience_without_the_metric_is_told(small_ratings):
    told = RecordingSilent()
    run(MF(rank=4), small_ratings, options=RunOptions(epochs=3, patience=1, jit=False), watch=told)
    assert told.warnings == [
        f"{plural(small_ratings.duplicates, 'row')} of the data repeat a (user, item) pair",
        "test_rmse, which MF monitors, has no value after the first evaluation, so no epoch is the "
        "best and --patience does nothing; it may be NaN, evaluate() may not set it, or it may "
        "need --test FILE",
    ]
    assert len(told.records) == 3


@pytest.mark.parametrize("wrong", [{"epochs": -1}, {"eval_every": 0}, {"patience": -1}])
def test_numbers_that_mean_nothing(wrong):
    with pytest.raises(UsageError, match="at least"):
        run(MonitoredDegrees(), options=RunOptions(**wrong))


def test_an_interrupt_tells_how_far_it_came(monkeypatch):
    class Impatient(RecordingSilent):
        def epoch(self, record, most):
            super().epoch(record, most)
            if record["epoch"] == 2:
                raise KeyboardInterrupt

    with pytest.raises(Interrupted, match="interrupted after 2 epochs") as caught:
        run(MonitoredDegrees(), options=RunOptions(jit=False), watch=Impatient())
    assert caught.value.exit_code == 130


@pytest.mark.slow
def test_run_json_repeats_the_run(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = "run mf --rank 6 --epochs 3 --seed 7 --batch-size 20000 --reg 0.04 --out one".split()
    assert main(first) == 0
    noted = json.loads(Path("one/run.json").read_text())
    assert noted["command"] == ["tux", *first]
    assert main([*noted["command"][1:-1], "two"]) == 0
    options, parameters = noted["options"], noted["parameters"]
    run(
        find(noted["app"]["name"]).program(**parameters),
        options=RunOptions(out="three", seed=noted["seed"], **options),
    )
    one = [json.loads(line) for line in Path("one/metrics.jsonl").read_text().splitlines()]
    for other in ("two", "three"):
        records = [
            json.loads(line) for line in Path(other, "metrics.jsonl").read_text().splitlines()
        ]
        assert [{k: v for k, v in r.items() if k not in TIMES} for r in records] == [
            {k: v for k, v in r.items() if k not in TIMES} for r in one
        ]
        for name in ("user", "item", "tau"):
            assert (
                Path(other, "model", f"{name}.parquet").read_bytes()
                == Path("one", "model", f"{name}.parquet").read_bytes()
            )
    assert noted["data"] == {
        "path": "generated",
        "digest": json.loads(Path("two/run.json").read_text())["data"]["digest"],
    }


def test_generated_ratings_have_a_truth_to_reach():
    train, test, truth = generate_data(MF())
    found = re.search(r"RMSE of (0\.\d+)", truth)
    assert test is not None and found and 0.4 < float(found[1]) < 0.6
    assert (
        train.ends == test.ends == ("user", "item")
        and 0.08 < len(test) / (len(train) + len(test)) < 0.12
    )
    assert train.duplicates == 0


def test_what_cannot_be_generated():
    class WeightedLinks(Program):
        page = Vertex()
        link = Edge("page", "page", weight=data("f4"))

    with pytest.raises(UsageError, match="WeightedLinks needs DATA"):
        load(WeightedLinks(), None)
    with pytest.raises(UsageError, match="--columns without DATA"):
        load(MonitoredDegrees(), None, reading=Reading(columns="1,2"))


def test_warnings_about_data(tmp_path):
    (tmp_path / "train.csv").write_text("user,item,rating\n1,1,3\n1,1,4\n2,1,x\n2,2,5\n")
    (tmp_path / "test.csv").write_text("user,item,rating\n1,2,3\n3,9,4\n")
    told = []
    inputs = load(
        MF(),
        tmp_path / "train.csv",
        tmp_path / "test.csv",
        Reading(on_bad_row="skip"),
        warn=told.append,
    )
    assert told == [
        f"1 bad row of train.csv skipped; the first is {tmp_path}/train.csv:4: value is 'x', not a "
        "number",
        "1 row of train.csv repeats a (user, item) pair",
        "1 user of test.csv never occurs in training; of these the model knows nothing",
        "1 item of test.csv never occurs in training; of these the model knows nothing",
    ]
    assert inputs.sizes == {
        "vertices": {"user": 2, "item": 2},
        "edges": 3,
        "duplicates": 1,
        "skipped": 1,
        "rows": 4,
        "test": {"edges": 2, "skipped": 0, "unseen": {"user": 1, "item": 1}},
    }


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (1, "user", "1 user"),
        (2000, "user", "2,000 users"),
        (0, "category", "0 categories"),
        (2006, "likes", "2,006 likes"),
        (2, "class", "2 classes"),
        (2, "box", "2 boxes"),
        (2, "match", "2 matches"),
        (2, "bus", "2 buses"),
        (2, "axis", "2 axes"),
        (2, "vertex", "2 vertices"),
        (2, "day", "2 days"),
    ],
)
def test_plural(count, noun, text):
    assert plural(count, noun) == text


def test_random_graph():
    src, dst = graph(200, 900, seed=3)
    assert len(src) == len(dst) == 900 and src.dtype == np.int32
    assert len(set(zip(src.tolist(), dst.tolist(), strict=True))) == 900 and (src != dst).all()
    assert min(src.min(), dst.min()) >= 1 and max(src.max(), dst.max()) <= 200
    np.testing.assert_array_equal(np.stack(graph(200, 900, seed=3)), np.stack([src, dst]))
    assert (graph(200, 900, seed=4)[0] != src).any()
    assert np.bincount(dst).max() > 5 * 900 / 200  # a heavy tail
    assert len(graph(2, 1)[0]) == 1
    for wrong in ((1, 1), (10, 11), (10, 0)):
        with pytest.raises(UsageError):
            graph(*wrong)


def test_sources():
    assert "mf" in builtin()
    assert (
        find("mf").program is MF
        and source_of(MF()).name == "mf"
        and source_of(MF()).digest == find("mf").digest
    )
    own = source_of(MonitoredDegrees())
    assert own.name == f"{Path(__file__).resolve()}:MonitoredDegrees" and own.path == str(
        Path(__file__).resolve()
    )


def test_metrics_of_a_record():
    assert metrics({"epoch": 1, "seconds": 2.0, "test_rmse": 0.5, "apply_s": 0.1}) == {
        "test_rmse": 0.5
    }


@pytest.mark.long
def test_the_recommended_partitioner_is_said_and_recorded(tmp_path):
    watch = RecordingSilent()
    run(
        MF(rank=2),
        options=RunOptions(
            epochs=0, workers=2, partitioner="auto", jit=False, out=tmp_path / "out"
        ),
        watch=watch,
    )
    assert any(
        line.startswith("partitioner aweto: edges join two types, so the 2,000 vertices")
        for line in watch.lines
    )
    assert (
        json.loads((tmp_path / "out" / "run.json").read_text())["options"]["partitioner"] == "aweto"
    )


@pytest.mark.long
def test_more_workers_than_cores_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("tux.cluster.job.prepare.cores", lambda: 2)
    for workers in (2, 3):
        watch = RecordingSilent()
        options = RunOptions(epochs=1, workers=workers, jit=False)
        run(
            MF(rank=2),
            EdgeData.of(("user", "item"), [0, 1, 2], [0, 1, 2], {"value": [1, 2, 3]}),
            options=options,
            watch=watch,
        )
        told = [text for text in watch.warnings if "processor core" in text]
        assert len(told) == (workers == 3)
    assert "3 workers share 2 processor cores" in told[0] and "--workers 2" in told[0]


def test_an_unknown_partitioner():
    with pytest.raises(
        UsageError, match=r"(?s)no partitioner 'bicuts'.*did you mean.*bicut.*auto, random"
    ):
        run(MF(), options=RunOptions(partitioner="bicuts"))


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_no_epochs_write_the_initial_state(tmp_path, workers):
    options = RunOptions(epochs=0, workers=workers, jit=False, out=tmp_path / "out")
    result = run(MonitoredDegrees(), options=options)
    assert (result.results["epochs"], result.results["model_epoch"]) == (0, 0)
    assert [record["epoch"] for record in result.records] == [0]
    model = read_parquet(tmp_path / "out" / "model" / "page.parquet")
    assert not model["degree"].any()
