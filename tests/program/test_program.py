"""Programs: what a class declares, and how each mistake in it is told."""

import math

import pytest
from support.messages import message

from tux import (
    Bags,
    Context,
    Edge,
    Program,
    Vertex,
    data,
    delta,
    master,
    param,
    shared,
    total,
    value,
)
from tux.base.errors import ProgramError, UsageError


class Small(Program):
    """Two types, one edge type, parameters of each type."""

    rank: int = param(4, "dimensions", low=1, high=64)
    step: float = param(0.1, "step", low=0)
    free: float = param(0.5)
    exact: float = param(0.5, dtype="f8")
    loud: bool = param(False)
    method: str = param("sgd", choices=("sgd", "als"))
    guessed = param(3)

    user = Vertex(p=shared("rank"))
    item = Vertex(q=shared("rank"))
    rating = Edge("user", "item", value=data())
    tau = Context(sse=total())


def test_declaration_is_read_in_order():
    assert list(Small.params) == ["rank", "step", "free", "exact", "loud", "method", "guessed"]
    assert [p.type for p in Small.params.values()] == [int, float, float, float, bool, str, int]
    assert (
        list(Small.vertices) == ["user", "item"]
        and Small.edge_name == "rating"
        and Small.edge.roles == ("user", "item")
    )
    assert list(Small.context.fields) == ["sse"] and Small.params["rank"].help == "dimensions"


def test_an_instance_has_its_parameters():
    program = Small(rank=8, step=1)
    assert (
        program.rank == 8 and program.parameters["step"] == 1.0 and isinstance(program.step, float)
    )
    assert program.parameters["method"] == "sgd" and Small().rank == 4


def test_ends_of_one_type_are_src_and_dst():
    assert Edge("page", "page").roles == ("src", "dst")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rnk": 3}, "Small has no parameter rnk\n.*rank, step, free"),
        ({"rank": "8"}, "parameter rank is of type int, not '8'"),
        ({"rank": 8.0}, "parameter rank is of type int, not 8.0"),
        ({"rank": True}, "parameter rank is of type int, not True"),
        ({"step": "1"}, "parameter step is of type float, not '1'"),
        ({"step": True}, "parameter step is of type float, not True"),
        ({"loud": 1}, "parameter loud is of type bool, not 1"),
        ({"method": 3}, "parameter method is of type str, not 3"),
        ({"rank": 0}, "rank = 0 is out of range\n.*rank must be at least 1 and at most 64"),
        ({"rank": 65}, "rank = 65 is out of range"),
        ({"step": -0.1}, "step = -0.1 is out of range\n.*step must be at least 0"),
        ({"step": math.nan}, "step = nan is out of range"),
        ({"step": math.inf}, "step = inf is out of range"),
        ({"free": math.inf}, "free = inf is out of range\n.*finite"),
        ({"free": math.nan}, "free = nan is out of range\n.*finite"),
        ({"method": "adam"}, "method = 'adam' is not known\n.*sgd, als"),
    ],
)
def test_parameters_are_checked(given, message):
    with pytest.raises(UsageError, match=f"(?s){message}"):
        Small(**given)


def test_bounds_are_included():
    assert Small(rank=64).rank == 64 and Small(rank=1, step=0).step == 0


def test_defaults_are_checked_too():
    with pytest.raises(ProgramError, match="the default of rank .* rank = 0 is out of"):

        class Wrong(Small):
            rank: int = param(0, low=1)


def declare(**members):
    """Return a program class with these members."""
    return type(
        "Declared",
        (Program,),
        {"user": Vertex(), "item": Vertex(), "rating": Edge("user", "item"), **members},
    )


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            {"rating": Edge("user", "itm")},
            "edge rating ends at 'itm', which is no vertex type.*vertex types: user, item",
        ),
        (
            {"other": Edge("user", "item", repeats="n")},
            "edge other is declared repeats=, which the first edge type alone.*before rating",
        ),
        (
            {"other": Edge("user", "item"), "input": Bags()},
            "declares 2 edge types: rating, other, and its input is Bags",
        ),
        ({"src": Vertex()}, "src cannot name a type"),
        ({"edges": Vertex()}, "edges cannot name a type"),
        ({"rng": Edge("user", "item"), "rating": None}, "rng cannot name a type"),
        ({"tau": Vertex()}, "tau cannot name a type"),
        ({"v": Vertex()}, "v cannot name a type: vertex functions call a vertex of any type so"),
        ({"state": Context()}, "the context is one declaration named tau"),
        ({"tau": Context(), "other": Context()}, "the context is one declaration named tau"),
        ({"sizes": param([1, 2])}, "parameter sizes is of type list.*int, float, bool or str"),
        ({"lone": Vertex(x=value())}, "lone.*no edge|no edge.*lone"),
    ],
)
def test_declarations_are_checked(members, message):
    with pytest.raises(ProgramError, match=f"(?s){message}"):
        declare(**members)


@pytest.mark.parametrize(
    ("name", "thing"), [("edge", Edge("user", "item")), ("context", Context(n=total()))]
)
def test_names_that_the_base_class_uses_are_refused_or_work(name, thing):
    members = {name: thing, "rating": None} if name == "edge" else {name: thing}
    with pytest.raises(ProgramError, match=f"{name} cannot name|named tau"):
        declare(**members)()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Vertex(p=3), "field p is declared as 3\n.*value.*shared.*delta"),
        (lambda: Vertex(p=shared), "field p is declared as an object of type function"),
        (lambda: Edge("user", "item", w=shared()), "Edge field w is a shared\n.*mirror, data"),
        (lambda: Edge("user", "item", w=delta()), "Edge field w is a delta"),
        (lambda: Context(m=master()), "Context field m is a master\n.*value, shared, delta"),
    ],
)
def test_fields_are_checked(make, message):
    with pytest.raises(ProgramError, match=message):
        make()


def test_an_annotation_that_cannot_be_read():
    with pytest.raises(
        ProgramError, match=message("an-annotation-cannot-be-read", "Unread", "name 'Nowhere'")
    ) as error:

        class Unread(Program):
            rank: "Nowhere" = param(1)  # noqa: F821

    assert "test_program.py:" in error.value.where


def test_a_program_without_edges_or_stages():
    class Bare(Program):
        user = Vertex()

    with pytest.raises(ProgramError, match=message("declares-no-edge-type", "Bare")):
        Bare()
    with pytest.raises(ProgramError, match=message("has-no-stages", "Small")):
        Small().stages()
    assert Small().setup() == [] and Small().evaluate() == [] and Small().predict() is None


def test_a_program_extends_another():
    class Larger(Small):
        rank: int = param(9)
        extra: float = param(1.0)
        user = Vertex(p=shared("rank"), bias=value())

    assert list(Larger().user.fields) == ["p", "bias"] and list(Small.vertices["user"].fields) == [
        "p"
    ]
    assert (
        Larger().rank == 9
        and Larger().extra == 1.0
        and Small().rank == 4
        and "extra" not in Small.params
    )
    assert (
        Larger.edge_name == "rating"
        and list(Larger.vertices) == ["user", "item"]
        and "sse" in Larger.context.fields
    )


def test_a_plain_value_in_a_subclass_is_a_new_default():
    class Larger(Small):
        rank = 9

    assert Larger().parameters["rank"] == 9


def test_errors_are_usage_errors_with_exit_code_2():
    assert issubclass(ProgramError, UsageError) and ProgramError("x").exit_code == 2
    assert str(ProgramError("what", where="a.py:3", do="do this")) == "what\n  at a.py:3\n  do this"
