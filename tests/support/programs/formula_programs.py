"""Ratings with formulas in their context: programs and data of the tests of formulas."""

import numpy as np
from support.programs.programs import start

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Score,
    Vertex,
    data,
    mean_of,
    metric,
    metrics,
    param,
    shared,
    total,
    value,
)
from tux.arrays.edges import EdgeData
from tux.engine.training import Training

RNG = np.random.default_rng(5)
VALUES = RNG.normal(3, 1, 60).astype(np.float32)
EDGES = EdgeData.of(("user", "item"), RNG.integers(0, 9, 60), RNG.integers(0, 7, 60), {"x": VALUES})
HELD = EdgeData.of(
    ("user", "item"), [0, 1, 2], [3, 4, 5], {"x": np.float32([1, 2, 4])}, against=EDGES.ids
)


def add(user, item, rating, tau):
    tau.squares += rating.x**2
    tau.n += 1


def double(tau):
    tau.twice = 2 * tau.rms


def rate(user, item, tau, p):
    return p.base + user.bias + item.bias


class BiasedRatings(Program):
    base: float = param(3.0, "a guess")
    epochs = 2
    user = item = Vertex(bias=shared("f8", init=0.5))
    rating = Edge("user", "item", x=data("f4"))
    tau = Context(
        mean=mean_of("x"),
        square=mean_of("x ** 2", kept=False),
        rms=metric("sqrt(squares / n) * base", squares=total(), n=total()),
        twice=value("f8"),
        test_rmse=metrics.rmse("x"),
        test_mae=metrics.mae("x"),
    )

    def stages(self):
        return [Exchange(add), Apply("user"), Apply("item"), GlobalSync(double)]

    def predict(self):
        return Score(rate)


def train(program, *, held=HELD, **options):
    worker = start(program, EDGES, held, **options)
    return list(Training(worker).epochs(2))[-1], worker


class WithStages(BiasedRatings):
    """Ratings with stages of a test."""

    tau = Context(rms=metric("sqrt(squares / n) * base", squares=total(), n=total()))
    given = staticmethod(list)

    def stages(self):
        return type(self).given()


def with_stages(make):
    """Return the program whose stages `make` returns."""
    return type("Given", (WithStages,), {"given": staticmethod(make), "__module__": __name__})()


def count(user, item, rating, tau):
    tau.n += 1


def take(tau):
    pass


def program_of(**context):
    """Return a program with these numbers in its context."""
    return type("Wrong", (BiasedRatings,), {"tau": Context(**context), "__module__": __name__})
