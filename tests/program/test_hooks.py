"""Hooks are checked when their class is declared: parameters, places and names."""

import pytest

from tux import Context, Edge, Graph, Program, Report, Vertex, delta, metric, param
from tux.base.errors import ProgramError


def declare(base, **members):
    """Return a class of users' with these members."""
    if base is Program:
        members = {"page": Vertex(n=delta("i4")), "link": Edge("page", "page"), **members}
    return type("Mine", (base,), {"__module__": __name__, **members})


def declaration_error(base, **members):
    """Return the error about such a class, which has a place and a remedy."""
    with pytest.raises(ProgramError) as caught:
        declare(base, **members)
    # A class that is made by a call has no line; a function has.
    hooked = any(callable(member) for member in members.values())
    assert ("test_hooks.py:" if hooked else "Mine") in caught.value.where and caught.value.do
    return caught.value


@pytest.mark.parametrize(
    ("base", "hook", "function"),
    [
        (Report, "opening", lambda self, program: []),
        (Report, "tables", lambda self, program: {}),
        (Report, "history", lambda self: {}),
        (Report, "summary", lambda self, program, tables: {}),
        (Report, "remarks", lambda self, program, records, more: []),
        (Report, "judge", lambda self, program, model: {}),
        (Report, "exports", lambda self, program: {}),
        (Report, "write", lambda self, program, folder, lists: None),
        (Graph, "topology", lambda self: ""),
        (Graph, "extra_tables", lambda self, topology: {}),
        (Graph, "hold_out", lambda self: 0),
        (Graph, "specialise", lambda self: None),
        (Program, "converged", lambda self: True),
        (Program, "stages", lambda self, workers: []),
        (Program, "predict", lambda self, p: None),
    ],
)
def test_a_hook_has_the_parameters_that_tux_gives_it(base, hook, function):
    error = declaration_error(base, **{hook: function})
    assert f"Mine.{hook}(self" in error.what and "has other parameters than tux" in error.what
    assert error.do.startswith(f"write it as: def {hook}(self")


def test_hooks_of_other_forms():
    class Static(Report):
        @staticmethod
        def tables(program, model, rows=10):
            return {}

        def history(self, *given):
            return {}

        @classmethod
        def summary(cls, program, tables, records):
            return {}

    class TwoArguments(Program):
        page = Vertex()
        link = Edge("page", "page")

        def stages(self, cluster=None, more=3):
            return []

    assert Static().tables(None, None) == {} and TwoArguments().stages() == []


@pytest.mark.parametrize("base", [Report, Graph, Program])
def test_a_hook_that_is_no_method(base):
    hook = {Report: "tables", Graph: "topology", Program: "evaluate"}[base]
    with pytest.raises(ProgramError, match=f"Mine.{hook} is a list, not a method"):
        declare(base, **{hook: []})


@pytest.mark.parametrize(
    ("base", "name", "meant"),
    [
        (Program, "evalute", "evaluate"),
        (Program, "sumary", "summary"),
        (Program, "stage", "stages"),
        (Report, "extra_table", "extra_tables"),
        (Report, "Tables", "tables"),
        (Graph, "holdout", "hold_out"),
        (Graph, "specialize", "specialise"),
    ],
)
def test_a_misspelt_hook(base, name, meant):
    error = declaration_error(base, **{name: lambda self: None})
    assert f"Mine.{name}() is never called by tux; did you mean {meant}" in error.what
    assert declare(base, **{f"_{name}": lambda self: None})


@pytest.mark.parametrize(
    ("base", "name", "kind"),
    [
        (Program, "tables", "Report"),
        (Program, "topology", "Input"),
        (Report, "evaluate", "Program"),
        (Graph, "judge", "Report"),
    ],
)
def test_a_hook_in_another_class(base, name, kind):
    error = declaration_error(base, **{name: lambda self: None})
    assert error.what == f"Mine.{name}() is never called: it is a method of {kind}"
    assert f"derived from tux.{kind}" in error.do


def test_one_class_may_be_an_input_and_a_report():
    class Both(Graph, Report):
        def topology(self, program):
            return ""

        def tables(self, program, model):
            return {}

    assert Both().tables(None, None) == {}


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("epoch", 3, "epochs"),
        ("moniter", "loss", "monitor"),
        ("inputs", Graph(), "input"),
        ("reports", Report(), "report"),
    ],
)
def test_a_misspelt_attribute(name, given, meant):
    error = declaration_error(Program, **{name: given})
    assert f"Mine.{name} is not read by tux; did you mean {meant}?" in error.what
    assert declare(Program, **{f"_{name}": given})


@pytest.mark.parametrize(
    "name",
    ["vertices", "parameters", "params", "edge", "edge_name", "context", "epochs", "input"]
    + ["stages", "report", "monitor"],
)
def test_a_parameter_named_as_an_attribute_of_all_programs(name):
    error = declaration_error(Program, **{name: param(3)})
    assert f"{name} cannot name a parameter" in error.what and f"to {name}_" in error.do


@pytest.mark.parametrize("name", ["vertices", "parameters", "context"])
def test_a_method_named_as_an_attribute_of_all_programs(name):
    assert (
        f"{name} cannot name a method" in declaration_error(Program, **{name: lambda self: 3}).what
    )


def test_the_line_of_a_parameter():
    with pytest.raises(ProgramError) as caught:

        class NamesTypes(Program):
            page = Vertex()
            link = Edge("page", "page")
            vertices: int = param(3)

    with open(__file__) as file:
        lines = file.read().splitlines()
    line = 1 + lines.index("            vertices: int = param(3)")
    assert caught.value.where.endswith(f"test_hooks.py:{line}")


def test_a_monitored_metric_is_declared():
    error = declaration_error(Program, monitor="loss", tau=Context(rmse=metric()))
    assert "Mine monitors loss, which is no metric of its context; metrics: rmse" in error.what
    assert declare(Program, monitor="rmse", tau=Context(rmse=metric())).monitor == "rmse"
