"""What a program's input and report may return, and arrays that do not lie row after row."""

import numpy as np
import pytest

from tux import Context, Edge, Graph, Program, Report, Vertex, data, metric, shared, total
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.run.options import RunOptions
from tux.run.session import run
from tux.stages import Exchange, GlobalSync

EDGES = EdgeData.of(("page", "page"), ["a", "b", "c", "a"], ["b", "c", "a", "c"], {})
MATRIX = np.arange(6, dtype=np.float64).reshape(2, 3)


def read(src, topology):
    src.x = topology.m[1, 0]


class Pages(Program):
    """Reads a table that its input computes."""

    page = Vertex(x=shared("f8"))
    link = Edge("page", "page")
    epochs = 1

    def stages(self):
        return [Exchange(read)]


def with_input(**methods):
    methods.setdefault("topology", lambda self, program: "directed")
    methods.setdefault("extra_tables", lambda self, program, topology: {"m": MATRIX.T})
    return type("Pages", (Pages,), {"input": type("Own", (Graph,), methods)()})()


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "plain"])
def test_a_transposed_table_is_read_as_it_looks(jit):
    result = run(with_input(), EDGES, options=RunOptions(jit=jit))
    assert result.worker.tables["page"].arrays["x"].max() == MATRIX.T[1, 0]


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({"topology": lambda self, program: "Directed"}, "topology returns 'Directed'"),
        ({"extra_tables": lambda self, program, topology: {"m": 2.0}}, "a single number as m"),
        ({"hold_out": lambda self, program, edges: edges}, "hold_out returns a EdgeData"),
        ({"specialise": lambda self, program, edges: None}, "specialise returns NoneType"),
        ({"specialise": lambda self, program, edges: Pages}, "specialise returns Pages"),
    ],
)
def test_what_an_input_may_not_return(methods, message):
    with pytest.raises(ProgramError, match=message):
        run(with_input(**methods), EDGES)


class Rated(Program):
    """Adds up the values of held-out edges."""

    user = Vertex()
    item = Vertex()
    rating = Edge("user", "item", value=data())
    tau = Context(sum=total(), test_sum=metric())
    epochs = 1

    def stages(self):
        return [Exchange(None, enter=rest)]

    def evaluate(self):
        return [Exchange(add, held_out=True), GlobalSync(keep)]


def rest(user):
    pass


def add(rating, tau):
    tau.sum += rating.value


def keep(tau):
    tau.test_sum = tau.sum


@pytest.mark.parametrize("column", [lambda r: r[:, 2], lambda r: r[::-1, 2]], ids=["step", "back"])
def test_held_out_values_of_any_stride(column):
    ratings = np.arange(15, dtype=np.float32).reshape(5, 3)
    users = items = np.arange(5)
    train = EdgeData.of(("user", "item"), users, items, {"value": np.ones(5, np.float32)})
    test = EdgeData.of(
        ("user", "item"), users, items, {"value": column(ratings)}, against=train.ids
    )
    result = run(Rated(), train, test)
    assert result.records[-1]["test_sum"] == ratings[:, 2].sum()


def with_summary(returned):
    report = type("Own", (Report,), {"summary": lambda self, program, tables, records: returned})()
    return type("Pages", (Pages,), {"report": report, "input": with_input().input})()


def test_numbers_of_numpy_are_numbers(tmp_path):
    options = RunOptions(out=tmp_path / "out")
    result = run(with_summary({"a": np.float64(1.5), "b": np.int64(2)}), EDGES, options=options)
    assert (result.results["a"], result.results["b"]) == (1.5, 2)
    assert '"a": 1.5' in (tmp_path / "out" / "run.json").read_text()


@pytest.mark.parametrize(
    ("returned", "message"),
    [({"a": [1, 2]}, "returns a list as a"), ({"epochs": 3}, "epochs, which is the run's own")],
)
def test_what_a_summary_may_not_return(returned, message):
    with pytest.raises(ProgramError, match=message):
        run(with_summary(returned), EDGES)


@pytest.mark.parametrize("method", ["tables", "history"])
@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ({"h": {"a": ["x"], "b": []}}, "columns of equal length"),
        ({"a/b": {"a": ["x"]}}, "table named 'a/b'"),
        ([], "must return tables by name"),
    ],
)
def test_tables_that_cannot_be(method, returned, message):
    report = type("Own", (Report,), {method: lambda self, program, about: returned})()
    program = type("Pages", (Pages,), {"report": report, "input": with_input().input})()
    with pytest.raises(ProgramError, match=rf"Own\.{method}\(\).*{message}"):
        run(program, EDGES)
