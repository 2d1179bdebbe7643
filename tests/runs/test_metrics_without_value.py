"""Metrics that have no value after the first evaluation: of which a run warns."""

import math

from support.machines.watchers import RecordingSilent

from tux import Context, Edge, Program, Vertex, data, metric, total
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
