"""Values that a program's input and report may return, and arrays that do not lie row after row."""

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent

from tux import Context, Edge, Graph, Program, Report, Vertex, data, metric, shared, total
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.options.options import RunOptions
from tux.run_folder.folder import read_run
from tux.run_folder.model_files import read_ids
from tux.runs.session import run
from tux.stages import Exchange, ForEach, GlobalSync

EDGES = EdgeData.of(("page", "page"), ["a", "b", "c", "a"], ["b", "c", "a", "c"], {})
MATRIX = np.arange(6, dtype=np.float64).reshape(2, 3)


def read(src, topology):
    src.x = topology.m[1, 0]


def neighbours(src, topology):
    src.x = topology.bounds[src.id + 1] - topology.bounds[src.id]


class TableReader(Program):
    """Reads a table that its input computes."""

    page = Vertex(x=shared("f8"))
    link = Edge("page", "page")
    epochs = 1

    def stages(self):
        return [Exchange(read)]


def with_input(**methods):
    methods.setdefault("topology", lambda self, program: "directed")
    methods.setdefault("extra_tables", lambda self, program, topology: {"m": MATRIX.T})
    return type("TableReader", (TableReader,), {"input": type("Own", (Graph,), methods)()})()


@pytest.mark.slow
@pytest.mark.parametrize("jit", [True, False], ids=["jit", "plain"])
def test_a_transposed_table_is_read_as_it_looks(jit):
    result = run(with_input(), EDGES, options=RunOptions(jit=jit))
    assert result.worker.tables["page"].arrays["x"].max() == MATRIX.T[1, 0]


def test_lists_of_neighbours_are_not_read_by_ids():
    class Degrees(TableReader):
        input = with_input().input

        def stages(self):
            return [Exchange(neighbours)]

    with pytest.raises(ProgramError, match="`neighbours` reads topology.bounds, whose vertices"):
        run(Degrees(), EDGES)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"topology": lambda self, program: "Directed"}, "'Directed'"),
        ({"topology": lambda self, program: None}, "None"),
        ({"extra_tables": lambda self, program, topology: {"m": 2.0}}, "a single number as m"),
        ({"extra_tables": lambda self, program, topology: [1]}, "an object of type list"),
        ({"extra_tables": lambda self, program, topology: {"m": ["a"]}}, "type list as m"),
        ({"extra_tables": lambda self, program, topology: {"ends": [1]}}, "one named ends"),
        ({"hold_out": lambda self, program: None}, "None"),
        ({"hold_out": lambda self, program: 1.5}, "1.5"),
        ({"specialise": lambda self, program, facts: None}, "None"),
        ({"specialise": lambda self, program, facts: TableReader}, "the class TableReader"),
        (
            {"specialise": lambda self, program, facts: HeldOutSum()},
            "a HeldOutSum, whose edge type differs",
        ),
        (
            {"specialise": lambda self, program, facts: TableReader()},
            "a TableReader, whose topology differs",
        ),
    ],
)
def test_what_an_input_may_not_return(methods, message):
    (hook,) = methods
    with pytest.raises(ProgramError) as caught:
        run(with_input(**methods), EDGES)
    assert f"Own.{hook}() must return " in caught.value.what and caught.value.do
    assert caught.value.what.endswith(f"not {message}") or message in caught.value.what
    assert "test_hooks.py:" in caught.value.where


def with_report(**methods):
    """Return the program with hooks of a report."""
    report = type("Own", (Report,), methods)()
    return type("TableReader", (TableReader,), {"report": report, "input": with_input().input})()


@pytest.mark.parametrize(
    ("methods", "what"),
    [
        ({"tables": lambda self, program, model: [1]}, "an object of type list"),
        ({"tables": lambda self, program, model: {"a": {"x": "no"}}}, "str as the column x of a"),
        ({"history": lambda self, program, records: None}, "None"),
        ({"summary": lambda self, program, tables, records: [1]}, "an object of type list"),
        ({"summary": lambda self, program, tables, records: {3: 1}}, "one named 3"),
        ({"remarks": lambda self, program, records: None}, "None"),
        ({"remarks": lambda self, program, records: "early"}, "an object of type str"),
        ({"remarks": lambda self, program, records: [3]}, "one with an object of type int in it"),
    ],
)
def test_what_a_report_may_not_return_does_not_lose_the_model(methods, what, tmp_path):
    (hook,) = methods
    with pytest.raises(ProgramError) as caught:
        run(with_report(**methods), EDGES, options=RunOptions(out=tmp_path / "out", jit=False))
    assert f"Own.{hook}() must return " in caught.value.what and what in caught.value.what
    assert "test_hooks.py:" in caught.value.where and caught.value.do
    assert read_ids(tmp_path / "out", TableReader())["page"] == EDGES.ids["page"]
    assert read_run(tmp_path / "out").results["epochs"] == 1


def test_the_numbers_of_a_judge(tmp_path):
    judge = type("Own", (Report,), {"judge": lambda self, program, model, truth: None})()
    train = EdgeData.of(("user", "item"), [0, 1], [0, 1], {"value": np.ones(2, np.float32)})
    program = type("Judged", (HeldOutSum,), {"report": judge})()
    with pytest.raises(ProgramError, match=r"Own\.judge\(\) must return numbers by name, not None"):
        run(program, train, train, options=RunOptions(jit=False))


@pytest.mark.parametrize(
    ("exports", "what"),
    [
        (lambda self: None, "must return functions by the name of a format, not None"),
        (lambda self: {"ranks": 3}, "not an object of type int as ranks"),
        (lambda self: {"gantt": lambda program, model: {}}, "one named gantt, which each run has"),
        (lambda self: {"ranks": lambda model: {}}, "has other parameters than tux gives it"),
    ],
)
def test_exports_are_checked_before_training(exports, what):
    told = RecordingSilent()
    with pytest.raises(ProgramError) as caught:
        run(with_report(exports=exports), EDGES, watch=told)
    assert what in caught.value.what and "test_hooks.py:" in caught.value.where
    assert not told.phases


class Longer(TableReader):
    """The program that `specialise` names."""

    epochs = 3
    monitor = "worst"
    tau = Context(worst=metric())


def test_another_program_counts_with_its_own_epochs_and_names():
    special = with_input(specialise=lambda self, program, facts: Longer())
    Longer.input = special.input
    assert run(special, EDGES, options=RunOptions(jit=False)).results["epochs"] == 3


def test_a_monitored_metric_that_is_never_set_is_told(tmp_path):
    program = type("Unset", (HeldOutSum,), {"monitor": "best", "tau": BEST})()
    train = EdgeData.of(("user", "item"), [0, 1], [0, 1], {"value": np.ones(2, np.float32)})
    told = RecordingSilent()
    run(program, train, train, options=RunOptions(jit=False, epochs=2), watch=told)
    (warning,) = told.warnings
    assert "best, which Unset monitors, has no value after the first evaluation" in warning


BEST = Context(sum=total(), test_sum=metric(), best=metric())


class HeldOutSum(Program):
    """Adds up the values of held-out edges."""

    user = Vertex()
    item = Vertex()
    rating = Edge("user", "item", value=data())
    tau = Context(sum=total(), test_sum=metric())
    epochs = 1

    def stages(self):
        return [ForEach("user", rest)]

    def evaluate(self):
        return [Exchange(add, held_out=True), GlobalSync(keep)]


def rest(user):
    pass


def add(rating, tau):
    tau.sum += rating.value


def keep(tau):
    tau.test_sum = tau.sum


@pytest.mark.slow
@pytest.mark.parametrize("column", [lambda r: r[:, 2], lambda r: r[::-1, 2]], ids=["step", "back"])
def test_held_out_values_of_any_stride(column):
    ratings = np.arange(15, dtype=np.float32).reshape(5, 3)
    users = items = np.arange(5)
    train = EdgeData.of(("user", "item"), users, items, {"value": np.ones(5, np.float32)})
    test = EdgeData.of(
        ("user", "item"), users, items, {"value": column(ratings)}, against=train.ids
    )
    result = run(HeldOutSum(), train, test)
    assert result.records[-1]["test_sum"] == ratings[:, 2].sum()


def with_summary(returned):
    return with_report(summary=lambda self, program, tables, records: returned)


@pytest.mark.slow
def test_numbers_of_numpy_are_numbers(tmp_path):
    options = RunOptions(out=tmp_path / "out")
    result = run(with_summary({"a": np.float64(1.5), "b": np.int64(2)}), EDGES, options=options)
    assert (result.results["a"], result.results["b"]) == (1.5, 2)
    assert '"a": 1.5' in (tmp_path / "out" / "run.json").read_text()


@pytest.mark.parametrize(
    ("returned", "message"),
    [({"a": [1, 2]}, "list as a"), ({"epochs": 3}, "epochs, which is the run's own")],
)
def test_what_a_summary_may_not_return(returned, message):
    with pytest.raises(ProgramError, match=message):
        run(with_summary(returned), EDGES)


@pytest.mark.parametrize("method", ["tables", "history"])
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"h": {"a": ["x"], "b": []}}, "columns of several lengths in h"),
        ({"a/b": {"a": ["x"]}}, "table named 'a/b'"),
        ([], "must return tables by name"),
    ],
)
def test_tables_that_cannot_be(method, returned, message):
    program = with_report(**{method: lambda self, program, about: returned})
    with pytest.raises(ProgramError, match=rf"Own\.{method}\(\).*{message}"):
        run(program, EDGES)
