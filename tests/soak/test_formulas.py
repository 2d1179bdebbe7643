"""Metrics computed anew from the files of a model: those of right results, and of damaged ones."""

import pytest

import tux
from faults.ended import RunRemains
from soak import cases
from soak.formulas import find_wrong_metrics
from tux.predict.column_files import writer
from tux.program.sources import find
from tux.synthetic.clicks import clicks, write_clicks
from tux.synthetic.clusters import clusters
from tux.synthetic.corpus import corpus, write_corpus
from tux.synthetic.ratings import ratings, write_ratings

WITH_FORMULAS = {case.name: case for case in cases.CASES if case.formula}
FLAGS = {"l1": float, "l2": float, "solver": str}
FEW = {"n_clusters": 3, "topics": 3, "max_iter": 3, "max_depth": 2}
FILES = {
    cases.write_rated: ("ratings.csv", "held-out.csv"),
    cases.write_samples: ("train.svm", "test.svm"),
    cases.write_unjudged: ("train.svm", None),
    cases.write_documents: ("documents.csv", None),
    cases.write_points: ("points.csv", None),
}
"""The few data for a case with data of this kind, and those held out."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of few ratings and few samples, a part of both held out, one of the users
    who are held out being new; and of few documents and points.
    """
    folder = tmp_path_factory.mktemp("few")
    train, test = folder / "ratings.csv", folder / "held-out.csv"
    write_ratings(ratings(12, 8, 60, test_share=0.2), train, test)
    with test.open("a") as file:
        file.write("99,1,4\n")
    few = clicks(30, 12, 3, 4, test_share=0.2)
    write_clicks(few, folder / "train.svm", folder / "test.svm")
    write_corpus(corpus(12, 30, 3, 200), folder / "documents.csv")
    columns = clusters(40, 3, 3, 4.0).columns()
    del columns["cluster"]
    writer(folder / "points.csv")(columns)
    return folder


def train_few(folder, name):
    """Train a case on few data in plain Python; return what the run leaves."""
    case = WITH_FORMULAS[name]
    flags = {flag.removeprefix("--").replace("-", "_"): x for flag, x in case.flags.items()}
    given = {name: FLAGS[name](x) for name, x in flags.items() if name in FLAGS}
    few = {name: FEW[name] for name in flags.keys() & FEW.keys()}
    program = find(case.program).program(**given, **few)
    train, test = FILES[case.data]
    held = {"test": str(folder / test)} if test else {}
    out = folder / name
    tux.run(program, str(folder / train), **held, epochs=3, jit=False, out=out, progress=False)
    return RunRemains.of(out)


def damage_model(remains, out, name, column):
    """Return the same with a number of a table a tenth larger, or all in the lists of it; with
    whole numbers one larger.
    """
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table, path = pq.read_table(out / "model" / f"{name}.parquet"), out / "damaged.parquet"
    numbers, at = table[column].to_pylist(), table.column_names.index(column)
    if isinstance(numbers[0], list):
        numbers = [[x + 1 if isinstance(x, int) else 1.1 * x for x in each] for each in numbers]
    else:
        row = next(k for k, number in enumerate(numbers) if number)
        numbers[row] *= 1.1
    pq.write_table(table.set_column(at, column, pa.array(numbers, table[column].type)), path)
    return remains._replace(model=remains.model | {f"model/{name}.parquet": path.read_bytes()})


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    ("name", "table", "column"),
    [
        ("mf", "user", "f"),
        ("lbfgs", "feature", "w"),
        ("als", "item", "f"),
        ("linear", "feature", "w"),
        ("adam", "feature", "w"),
        ("blockpg", "feature", "w"),
        ("lda", "word", "n"),
        ("warplda", "tau", "n"),
        ("kmeans", "feature", "s"),
        ("kmeans_points", "tau", "center"),
        ("gbdt", "tau", "weight"),
    ],
)
def test_a_damaged_model_and_a_wrong_metric_are_found(folder, name, table, column):
    right, formula = train_few(folder, name), WITH_FORMULAS[name].formula
    assert find_wrong_metrics(formula, right, folder) == []
    damaged = damage_model(right, folder / name, table, column)
    found = find_wrong_metrics(formula, damaged, folder)
    assert found and all("by the model's files" in each for each in found)
    metric = WITH_FORMULAS[name].metric
    for factor in (1.001, float("nan")):
        records = [each | {metric: factor * each[metric]} for each in right.records]
        [told] = find_wrong_metrics(formula, right._replace(records=records), folder)
        assert told.startswith(f"{metric} of epoch ")


def test_a_case_without_a_formula_is_left_out(folder):
    assert find_wrong_metrics(None, RunRemains({}, [], {}, []), folder) == []


def test_each_case_with_a_formula_has_a_test():
    tested = test_a_damaged_model_and_a_wrong_metric_are_found.pytestmark[0].args[1]
    assert WITH_FORMULAS.keys() - {"wide"} == {name for name, *_ in tested}
