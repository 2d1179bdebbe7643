"""Promises that every app keeps; `support/apps/app_cases.py` lists the apps.

Each app is trained once, as plain Python, from a file into a folder. The promises read that run.
"""

import json
import signal

import numpy as np
import pandas as pd
import pytest
from support.apps.app_cases import CASES, EXAMPLES, OF_SEVERAL_TYPES, AppCase
from support.apps.app_data import write_csv
from support.machines.interrupted import TrainingJob, check_every_mark
from support.machines.run_folders import drop_times, model

import tux
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.program.sources import builtin, find
from tux.runs.begin import load_for
from tux.stages.kernel import tickets

JUDGED = [case for case in CASES if case.judge]
SCORED = [case for case in CASES if case.score]


def each(cases=CASES):
    """Return a mark that gives each case to a test."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


class CtrlC(NullWatcher):
    """A user who presses Ctrl-C after an epoch."""

    def epoch(self, record, most):
        """Press Ctrl-C."""
        signal.raise_signal(signal.SIGINT)


class Runs:
    """Runs of the apps, each made once, in a folder."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def file(self, case):
        """Return the CSV file of a case."""
        path = self.folder / f"{case.name}.csv"
        return str(path) if path.exists() else write_csv(path, case.data.columns)

    def of(self, case: AppCase, **more):
        """Return the run of a case, with these options instead."""
        key = case.name, *more.items()
        if key not in self.made:
            self.made[key] = self.train(case, self.file(case), **more)
        return self.made[key]

    def test(self, case):
        """Return the held-out data of a case, which are those of training, or None."""
        return self.file(case) if case.judge and case.data.partition is not None else None

    def train(self, case, data, **more):
        """Return a run of a case on data, as the others are made."""
        out = self.folder / f"{case.name}-{len([*self.folder.iterdir()])}"
        how = {"epochs": case.epochs, "seed": 1, "jit": False, "threads": 1, "progress": False}
        how |= {"out": out, "test": self.test(case)}
        return tux.run(case.make(), data, **(how | more))


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    return Runs(tmp_path_factory.mktemp("apps"))


def bytes_of(run):
    """Return the bytes of a model, and those of the walks."""
    return model(run.folder) | {path.name: path.read_bytes() for path in run.folder.glob("walks*")}


def arrays_of(run):
    """Return the arrays of a model by name; lists as one array of their elements."""
    tables = {**run.vertices, "tau": {name: run.context[name] for name in run.context}}
    found = {}
    for kind, table in tables.items():
        for name in getattr(table, "fields", table):
            lists = isinstance(table[name], tux.Lists)
            found[f"{kind}.{name}"] = np.concatenate([*table[name]]) if lists else table[name]
    return found


def check_same(one, other):
    """Assert that two runs have the same bytes and the same metrics."""
    assert bytes_of(one) == bytes_of(other)
    check_records(one, other)


def check_records(one, other):
    """Assert that two runs have the same metrics."""
    told = [drop_times(run.history.records) for run in (one, other)]
    assert repr(told[0]) == repr(told[1])


def check_near(case, one, other, tolerance=0.0):
    """Assert that the fields of vertices differ by no more than a share of their largest number,
    and predictions, too.
    """
    found, expected = (
        {k: v for k, v in arrays_of(run).items() if not k.startswith("tau")} for run in (one, other)
    )
    assert found.keys() == expected.keys()
    if case.score:
        found["new"], expected["new"] = (run.predict(case.data.new) for run in (one, other))
    for name, array in found.items():
        size = float(np.abs(expected[name]).max(initial=0))
        assert array == pytest.approx(expected[name], rel=0, abs=tolerance * size), name


def test_every_app_has_a_case():
    several = {name for name in builtin() if len(find(name).program.edge_types) > 1}
    assert {case.program for case in CASES} == {*builtin()} - several
    assert several == {*OF_SEVERAL_TYPES}


def check_metrics(case, run):
    """Assert that metrics of the epoch of the model are those of the formulas."""
    expected = case.judge(run, case.data.columns)
    told = run.history.records[run.results["model_epoch"] - 1]
    assert {name: told[name] for name in expected} == pytest.approx(expected, rel=case.tolerance)


@pytest.mark.slow(after=9)
@each(JUDGED)
def test_metrics_are_those_of_the_formulas(case, runs):
    check_metrics(case, runs.of(case))


@pytest.mark.slow(after=3)
@each(CASES + EXAMPLES)
def test_the_same_seed_gives_the_same_bytes(case, runs):
    check_same(runs.of(case), runs.train(case, runs.file(case)))


@pytest.mark.slow(after=3)
@each()
def test_another_seed_gives_another_model(case, runs):
    """Unless nothing is drawn: then it is the same but for rounding."""
    run, other = runs.of(case), runs.of(case, seed=2)
    if case.random:
        assert bytes_of(other) != bytes_of(run)
    else:
        check_near(case, other, run, case.tolerance)


@pytest.mark.slow(after=3)
@each(CASES + EXAMPLES)
def test_data_in_memory_are_those_of_the_file(case, runs):
    """Rows of a file count from 1, those in memory from 0."""
    run = runs.of(case)
    for data in (case.data.columns, pd.DataFrame(case.data.columns)):
        other = runs.train(case, data)
        check_near(case, other, run)
        check_records(run, other)


@pytest.mark.slow(after=3)
@each(CASES + EXAMPLES)
def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(case, runs):
    assert case.epochs > 1, "nothing is left to do after one epoch"
    half = runs.train(case, runs.file(case), progress=CtrlC(), checkpoint_every="1")
    assert half.interrupted and half.results["epochs"] == 1
    check_same(runs.of(case), tux.resume(half.folder, progress=False))


@pytest.mark.slow(after=9)
@each(CASES + EXAMPLES)
def test_the_folder_of_a_run_is_read_back(case, runs):
    run = runs.of(case)
    expected = arrays_of(run)
    for name, array in arrays_of(tux.load(run.folder)).items():
        assert (array.dtype, array.tobytes()) == (expected[name].dtype, expected[name].tobytes())
    record = json.loads((run.folder / "run.json").read_text())
    known = run.parameters | {
        name: run.program.parameters[name] for name in record.get("internal", [])
    }
    assert record["parameters"] == known and record["seed"] == 1
    assert case.params.items() <= record["parameters"].items()
    for kind, table in run.vertices.items():
        frame = pd.read_parquet(run.folder / "model" / f"{kind}.parquet")
        assert frame["id"].tolist() == table.ids.tolist()
        assert {*frame.columns} == {"id", *table.fields}


@pytest.mark.slow(after=9)
@each()
def test_the_journal_has_a_line_for_each_epoch(case, runs):
    run = runs.of(case)
    lines = [json.loads(line) for line in (run.folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [*range(1, run.results["epochs"] + 1)]
    last = run.results["last"]
    assert {name: lines[-1][name] for name in last} == last
    for name in last:
        assert f"`{name}`" in case.page, f"{name} is not told on the page of the app"


@pytest.mark.slow(after=9)
@each(SCORED)
def test_predictions_are_those_of_the_formulas(case, runs, tmp_path):
    """Of ids, too, that training has not seen."""
    run, new = runs.of(case), case.data.new
    expected = case.score(run, new)
    found = run.predict(new)
    assert found == pytest.approx(expected, rel=case.tolerance, abs=case.tolerance)
    folder, data, out = run.folder, write_csv(tmp_path / "new.csv", new), tmp_path / "p.csv"
    of = ["--pairs", data] if "item" in new else [data]
    assert main(["predict", str(folder), *of, "--out", str(out)]) == 0
    told = pd.read_csv(out).filter(regex="score|prob|pred|margin|cluster|topic|rating|rate")
    assert told.to_numpy().reshape(found.shape) == pytest.approx(found, rel=1e-5)


@pytest.mark.slow(after=9)
@each(CASES + EXAMPLES)
def test_exported_arrays_are_those_of_the_model(case, runs, tmp_path):
    run, out = runs.of(case), tmp_path / "model.npz"
    assert main(["export", str(run.folder), "--format", "arrays", "--out", str(out)]) == 0
    with np.load(out) as arrays:
        found = dict(arrays)
    assert found.keys() == run.export("arrays").keys()
    for name, array in run.export("arrays").items():
        assert repr(found[name].tolist()) == repr(array.tolist()), name


@pytest.mark.slow(after=1)
@pytest.mark.long(after=6)
@pytest.mark.parametrize("parts", [1, 2])
@each([case for case in CASES if case.data.partition is not None])
def test_a_partitioned_folder_gives_the_run_of_the_file(case, runs, command, tmp_path, parts):
    flags = f"--parts {parts} --seed 1 {case.data.partition}"
    code, said = command(f"partition {runs.file(case)} {flags} --out {tmp_path / 'parts'}")
    assert code == 0, said
    of = {"workers": 2, "partitioner": flags.split()[-1]} if parts > 1 else {}
    run = runs.train(case, str(tmp_path / "parts"), test=runs.test(case))
    if case.alike:
        check_near(case, run, runs.of(case, **of), case.tolerance)
    elif case.judge:  # it draws for each edge, in the order of the folder
        check_metrics(case, run)


@pytest.mark.slow(after=9)
@each()
def test_a_parameter_out_of_its_bounds_is_refused_by_its_flag(case, runs, command):
    for name, param in case.make().params.items():
        for wrong in wrong_values(param):
            flag = f"--{name.replace('_', '-')}"
            code, said = command(f"run {case.program} {runs.file(case)} {flag}={wrong}")
            assert code == 2 and (f"{name} = " in said or flag in said), said
            assert len(said.splitlines()) <= 3, said


def wrong_values(param):
    """Return values that a parameter may not have."""
    if param.choices and param.type is not bool:
        return ["neither"]
    if param.type in (str, bool):
        return []
    bounds = [(param.low, -1), (param.high, 1)]
    return ["some", *(bound + by for bound, by in bounds if bound is not None)]


@pytest.mark.slow(after=4)
@each([case for case in CASES if case.data.number])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_bad_number_is_refused_with_its_line(case, command, tmp_path, value):
    columns = {name: column.astype(object) for name, column in case.data.columns.items()}
    columns[case.data.number][4] = value
    path = write_csv(tmp_path / "bad.csv", columns)
    code, said = command(f"run {case.program} {path} {' '.join(case.flags)} --no-jit")
    assert code == 3 and "bad.csv:6" in said, said


@pytest.mark.slow(after=4)
@each(CASES + EXAMPLES)
@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows_train_or_are_refused(case, command, tmp_path, rows):
    path = write_csv(tmp_path / "few.csv", case.data.rows(rows))
    words = f"run {case.program} {path} {' '.join(case.flags)} --epochs 1 --no-jit"
    code, said = command(f"{words} --out {tmp_path / 'run'}")
    assert "error: " in said if code else rows, said


@pytest.mark.slow(after=4)
@each(CASES + EXAMPLES)
def test_indices_are_checked_and_functions_explained(case, runs, command):
    words = f"run {case.program} {runs.file(case)} {' '.join(case.flags)}"
    code, said = command(f"{words} --check --no-jit --epochs 1")
    assert code == 0, said
    code, said = command(f"{words} --explain")
    assert code == 0 and "reads" in said, said


# ---- compiled, and on several workers


@pytest.mark.slow
@pytest.mark.long(after=6)
@each()
def test_compiled_it_does_the_same_on_any_number_of_threads(case, runs, all_threads, monkeypatch):
    monkeypatch.setattr(tickets, "WEIGHT", 16)
    monkeypatch.setattr(tickets, "EDGES_PER_ITEM", 8)
    one, three = (runs.train(case, runs.file(case), jit=True, threads=n) for n in (1, 3))
    check_near(case, one, runs.of(case), case.tolerance)
    check_same(one, three)
    assert 3 in all_threads or not case.shares, "no kernel is shared: see tux run NAME --explain"


@pytest.mark.slow
@pytest.mark.long(after=6)
@each(CASES + EXAMPLES)
def test_two_workers_do_what_one_does(case, runs):
    one, two = runs.of(case), runs.of(case, workers=2)
    names = case.judge(one, case.data.columns) if case.judge else one.results["last"]
    told = [{name: run.results["last"][name] for name in names} for run in (one, two)]
    assert told[1] == pytest.approx(told[0], rel=case.workers)
    assert case.workers or bytes_of(one) == bytes_of(two)


@pytest.mark.slow
@each([case for case in CASES if case.fit])
def test_the_estimator_is_the_run(case, runs):
    run = runs.of(case)
    found = arrays_of(run) | ({"new": run.predict(case.data.new)} if case.score else {})
    for name, array in case.fit(case.data).items():
        assert array == pytest.approx(found[name], rel=case.tolerance, abs=case.tolerance)


@pytest.mark.long
@each()
def test_verified(case, runs):
    found = tux.verify(case.make(), runs.file(case), seed=1)
    assert found.of(slack=0, jit=False) == [] and not found.failed
    if case.workers < 1e-3 and case.make().agree == "path":
        assert found.of(slack=0) == []


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize("workers", [2, 1, 3])
@each(CASES + EXAMPLES)
def test_an_app_goes_on_from_every_mark_to_the_same_bytes(case, runs, tmp_path, workers):
    data = runs.file(case), runs.test(case)
    inputs, program = load_for(case.make(), *data, RunOptions(), NullWatcher())
    epochs = min(case.epochs, 5)
    places = check_every_mark(TrainingJob(program, inputs, epochs, k=workers, jit=False), tmp_path)
    assert any(clocks == 0 for _, clocks in places)
