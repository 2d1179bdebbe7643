"""Metrics that have no value after the first evaluation: of which a run warns."""

import math

import pytest
from support.machines.watchers import RecordingSilent

from tux import Context, Edge, Program, UsageError, Vertex, data, metric, param, total
from tux.arrays.networks import from_arrays
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run
from tux.stages import Exchange, GlobalSync


def test_a_metric_that_nothing_adds_to_is_told(tmp_path):
    text = """
from tux import *

def add(user, item, rating, tau):
    tau.n += 1

class Adding(Program):
    epochs = 2
    user = item = Vertex()
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(n=total(), mae=metric("errors / m", errors=total(), m=total()), all=metric("n"))

    def stages(self):
        return [Exchange(add)]
"""
    (tmp_path / "adding.py").write_text(text, encoding="utf-8")
    program = find(str(tmp_path / "adding.py")).program()
    watch = RecordingSilent()
    run(program, from_arrays([1], [2], ends=("user", "item"), value=[3.0]), watch=watch)
    (warning,) = [each for each in watch.warnings if "no value" in each]
    assert warning.startswith("mae has no value") and "errors, m" in warning


def test_a_metric_of_held_out_edges_alone_is_not_missed_without_them():
    def add_error(user, item, rating, tau):
        tau.errors += rating.value

    class Judging(Program):
        epochs = 1
        user = item = Vertex()
        rating = Edge("user", "item", value=data("f4"))
        tau = Context(test_errors=metric("sqrt(errors)", errors=total()))

        def stages(self):
            return [Exchange(lambda user: None)]

        def evaluate(self, cluster):
            return [Exchange(add_error, held_out=True)] if cluster.has_test else []

    watch = RecordingSilent()
    ratings = from_arrays([1], [2], ends=("user", "item"), value=[3.0])
    run(Judging(), ratings, options=RunOptions(jit=False), watch=watch)
    assert not [each for each in watch.warnings if "test_errors" in each]


NOTHING = float("nan")


def set_all(tau):
    tau.lost = tau.none / tau.none if tau.none else float("inf") - float("inf")
    tau.meant = tau.n / tau.none if tau.none else math.nan
    tau.parsed = tau.n / tau.none if tau.none else float("NaN")
    tau.constant = tau.n / tau.none if tau.none else NOTHING
    local = math.nan
    tau.named = local
    if tau.none:
        tau.seldom = 1.0


def count(user, tau):
    tau.n += 1


NAMES = ("lost", "meant", "seldom", "never", "parsed", "constant", "named")


class LosingMetrics(Program):
    epochs = 1
    user = item = Vertex()
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(n=total(), none=total(), **{name: metric() for name in NAMES})

    def stages(self):
        return [Exchange(count), GlobalSync(set_all)]


def test_a_metric_without_formula_is_told_if_it_is_nan_or_never_set():
    watch = RecordingSilent()
    ratings = from_arrays([1], [2], ends=("user", "item"), value=[3.0])
    run(LosingMetrics(), ratings, options=RunOptions(jit=False), watch=watch)
    lost, never = [each for each in watch.warnings if "no value" in each]
    assert lost.startswith("lost has no value") and "`set_all` sets it to NaN, at" in lost
    assert never.startswith("never has no value") and "no GlobalSync(f) sets it" in never


def set_squares(tau):
    tau.squares = tau.n


def set_cubes(tau):
    tau.cubes = tau.n


class ChoosingMetrics(Program):
    cubed: bool = param(False, "other metric")
    needed: int = param(1, "a number", low=1)
    epochs = 1
    user = item = Vertex()
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(n=total(), **{name: metric() for name in ("squares", "cubes", "never")})

    def __init__(self, **given):
        super().__init__(**given)
        if self.needed > 1 and not self.cubed:
            raise UsageError("needed is of cubes")

    def stages(self):
        return [Exchange(count), GlobalSync(set_cubes if self.cubed else set_squares)]


@pytest.mark.parametrize("given", [{}, {"cubed": True}, {"cubed": True, "needed": 2}])
def test_a_metric_of_another_choice_is_not_missed(given):
    watch = RecordingSilent()
    ratings = from_arrays([1], [2], ends=("user", "item"), value=[3.0])
    run(ChoosingMetrics(**given), ratings, options=RunOptions(jit=False), watch=watch)
    (never,) = [each for each in watch.warnings if "no value" in each]
    assert never.startswith("never has no value")
