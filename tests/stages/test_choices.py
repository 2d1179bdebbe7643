"""Parameters whose choices are functions, or NamedTuples of functions and numbers."""

import math
import random
import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both, start

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    ProgramError,
    Repeat,
    UsageError,
    Vertex,
    data,
    delta,
    metric,
    param,
    total,
    value,
)
from tux.arrays.edges import EdgeData
from tux.engine.training import Training
from tux.stages.analysis.attributes import attributes
from tux.stages.analysis.calls import Call, on_edge
from tux.stages.kernel.fingerprint import fingerprint


def square_error(y, m):
    return (m - y) ** 2


def measure_error(y, m):
    return abs(m - y)


def give(user, item):
    item.got += user.x


def keep(user, item):
    item.got += 0.0


def never(n):
    return n >= 3


class WayOfLoss(NamedTuple):
    loss: Callable
    share: Callable
    scale: float
    bonus: bool
    about: str


class Choosing(Program):
    way: str = param(
        "squared",
        "a way",
        choices={
            "squared": WayOfLoss(square_error, give, 0.5, bonus=True, about="squares"),
            "absolute": WayOfLoss(measure_error, keep, 2.0, bonus=False, about="distances"),
        },
    )
    curve: str = param("root", "a curve", choices={"root": math.sqrt, "abs": abs})
    user = Vertex(x=value("f8", init=3.0))
    item = Vertex(got=delta("f8"), sum=value("f8"))
    link = Edge("user", "item", y=data("f8"))
    tau = Context(loss=metric("lost / n", lost=total(), n=total()), last=metric(), rounds=value())

    def stages(self):
        again = Repeat(GlobalSync(count), until=is_enough)
        return [Exchange(add), GlobalSync(finish), Apply("item", take), again]


def scaled_loss(y, m, p):
    return p.way.scale * p.way.loss(y, m)


def add(user, item, link, tau, p):
    tau.lost += scaled_loss(link.y, user.x, p) + p.curve(user.x)
    if p.way.bonus:
        tau.lost += 1
    tau.n += 1
    p.way.share(user, item)


def take(item):
    item.sum += item.got


def finish(tau, p):
    tau.last = p.way.loss(1.0, 5.0)


def count(tau):
    tau.rounds += 1


def is_enough(tau, p):
    return p.way.loss(0.0, 1.0) > 0 and never(tau.rounds)


EDGES = EdgeData.of(("user", "item"), [0, 1, 2, 0], [0, 0, 1, 1], {"y": np.array([1.0, 2, 4, 5])})
LOSS = {
    "squared": 0.5 * np.mean([4, 1, 1, 4]) + np.sqrt(3) + 1,
    "absolute": 2.0 * np.mean([2, 1, 1, 2]) + np.sqrt(3),
}


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("way", LOSS)
@both
def test_the_chosen_functions_are_called(jit, way, check):
    worker = start(Choosing(way=way), EDGES, jit=jit, check=check)
    (record,) = Training(worker).epochs(1)
    assert record["loss"] == pytest.approx(LOSS[way])
    assert record["last"] == (16 if way == "squared" else 4)
    assert worker.tables["item"].arrays["sum"].sum() == (12 if way == "squared" else 0)
    assert worker.tau.rounds == 3


@pytest.mark.parametrize("k", [2, 3])
def test_several_workers(k):
    team = train_team(Choosing(way="absolute"), EDGES, 1, k=k)
    assert team.history("loss") == [pytest.approx(LOSS["absolute"])]


def test_the_program_keeps_the_name():
    assert Choosing(way="absolute").way == "absolute"
    assert Choosing().parameters == {"way": "squared", "curve": "root"}
    with pytest.raises(UsageError, match="choose one of: squared, absolute"):
        Choosing(way="cubic")


class SingleChoosing(Choosing):
    precision = "f4"
    tau = Context(loss=metric("lost / n", lost=total("f4"), n=total()), rounds=value())
    user = Vertex(x=value("f4", init=3.0))
    item = Vertex()

    def stages(self):
        return [Exchange(look), GlobalSync()]


def look(user, tau, p):
    tau.lost += p.way.scale * user.x
    tau.n += 1


@both
def test_numbers_have_the_precision_of_the_program(jit):
    worker = start(SingleChoosing(way="absolute"), EDGES, jit=jit)
    (record,) = Training(worker).epochs(1)
    assert record["loss"] == 6.0


def effects_of(way):
    program = Choosing(way=way)
    types = {"user": "user", "item": "item"}
    return Call(add, program, "Exchange", on_edge(program), types).effects.found


def test_effects_are_those_of_the_chosen_functions():
    assert set(effects_of("squared")["item", "got"]) == {"add"}
    assert ("user", "*") not in effects_of("squared") and ("item", "*") not in effects_of("squared")
    assert set(effects_of("squared")["user", "x"]) == {"read"}


def test_attributes_are_those_of_the_functions_that_are_named():
    meanings = {"way": Choosing.params["way"].meanings["squared"]}
    assert {"got", "x", "lost"} <= attributes(add, meanings)
    assert "got" not in attributes(look, meanings)


def test_a_kernel_is_another_for_another_choice():
    ways = Choosing.params["way"].meanings
    found = {fingerprint([], [add, (("way", ways[name]),)]) for name in ways}
    assert len(found) == 2


class Switched(Choosing):
    curve: bool = param(False, "a curve", choices={False: math.sqrt, True: abs})


@pytest.mark.parametrize("curve", [False, True])
@both
def test_a_bool_chooses_too(jit, curve):
    worker = start(Switched(curve=curve), EDGES, jit=jit)
    (record,) = Training(worker).epochs(1)
    expected = LOSS["squared"] + (3 - np.sqrt(3) if curve else 0)
    assert record["loss"] == pytest.approx(expected)
    assert worker.program.parameters["curve"] is curve


def test_what_a_choice_cannot_mean():
    listed = WayOfLoss(square_error, give, [1.0], bonus=True, about="a list")
    for thing in (1, (square_error, give), listed):
        with pytest.raises(ProgramError, match=message("the-choice-of-a-parameter", "one")):
            param("one", choices={"one": thing})


def draw(y, m):
    return random.random()


def compare(y, m):
    return 1.0 if y == "text" else 0.0


class DrawingChoices(Choosing):
    tau = Context(lost=total())
    item = Vertex()
    curve: str = param("draw", choices={"draw": draw, "compare": compare})

    def stages(self):
        return [Exchange(call_curve), GlobalSync(take_all)]


def call_curve(user, link, tau, p):
    tau.lost += p.curve(link.y, user.x)


def take_all(tau):
    pass


@pytest.mark.parametrize(
    ("curve", "code"),
    [("draw", "uses-its-numbers-do-not"), ("compare", "compares-with-the-text-fields")],
)
def test_chosen_functions_follow_the_rules_of_functions_on_rows(curve, code):
    with pytest.raises(ProgramError, match=message(code)):
        Training(start(DrawingChoices(curve=curve), EDGES, jit=False))


def looks_up(tau, p):
    tau.last = {"root": 1.0}[p.curve]


def compares(tau, p):
    tau.last = 1.0 if p.curve == "root" else 2.0


def is_one_of(tau, p):
    return p.curve in ("abs", "root")


def matches(tau, p):
    match p.curve:
        case "root" | "abs":
            tau.last = 1.0


@pytest.mark.parametrize(
    ("f", "what", "do"),
    [
        (looks_up, "UDF .*looks_up has raised KeyError: a function is no key", "p.NAME of a param"),
        (compares, "`compares` compares p.curve with the text 'root'", r"call p.curve\(\.\.\.\)"),
        (matches, "`matches` compares p.curve with the text 'root'", "call p.curve"),
        (is_one_of, "`is_one_of` compares p.curve with the text 'abs'", "call p.curve"),
    ],
)
def test_the_name_of_a_choice_is_not_in_p(f, what, do):
    class Naming(Choosing):
        def stages(self):
            again = [Repeat(GlobalSync(count), until=f)] if f is is_one_of else [GlobalSync(f)]
            return [Exchange(add), *again, Apply("item", take)]

    with pytest.raises(ProgramError, match=what) as error:
        train_team(Naming(), EDGES, 1, jit=False, k=1)
    assert re.match(do, error.value.do) and "test_choices.py:" in error.value.where
