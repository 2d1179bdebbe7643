"""The programs of bench/gas.py: matrix factorization by the gradients of all ratings, in the stages
of TUX2 and in two phases of a GAS engine (Gonzalez et al., "PowerGraph", OSDI 2012).

Both begin with the same factors and take the same steps. Worker processes load this file alone, so
it imports nothing beside it.
"""

from __future__ import annotations

from math import floor, sin, sqrt
from pathlib import Path
from typing import Any

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    axpy,
    data,
    delta,
    dot,
    metric,
    param,
    total,
    value,
)
from tux.program.sources import find

EXAMPLE = Path(__file__).parents[1] / "docs" / "examples" / "tux2_mf.py"
FactorsInStages: Any = find(str(EXAMPLE)).program


def first_factor(number, k, side, rank):  # type: ignore[no-untyped-def]
    """Return factor k of vertex `number` of a side: a number below rank^-0.5 that looks random."""
    mixed = sin(12.9898 * number + 78.233 * k + 37.719 * side) * 43758.5453
    return (mixed - floor(mixed)) / sqrt(rank)


def begin_user(user, p):  # type: ignore[no-untyped-def]
    """Set the first factors of a user."""
    for k in range(p.rank):
        user.f[k] = first_factor(user.id, k, 0, p.rank)


def begin_item(item, p):  # type: ignore[no-untyped-def]
    """Set the first factors of an item."""
    for k in range(p.rank):
        item.f[k] = first_factor(item.id, k, 1, p.rank)


class BatchFactors(FactorsInStages):
    """The stages of TUX2 in batch mode: one Exchange computes the gradients of both ends."""

    def setup(self) -> list[Any]:
        """Return the stages that set the first factors."""
        return [Apply("user", begin_user), Apply("item", begin_item)]

    def stages(self) -> list[Any]:
        """Return the stages of an epoch, without a mini-batch."""
        batch, *others = super().stages()
        return [*batch.inside, *others]


# ---- GAS


def begin_vertex(vertex, p):  # type: ignore[no-untyped-def]
    """Set the first factors of a vertex: users come first, items after them."""
    is_item = vertex.id >= p.users
    number = vertex.id - p.users if is_item else vertex.id
    for k in range(p.rank):
        vertex.f[k] = first_factor(number, k, 1 if is_item else 0, p.rank)


def gather_for_users(src, dst, rating, tau):  # type: ignore[no-untyped-def]
    """Phase 1: gather the gradient of the user over the edge."""
    error = rating.value - dot(src.f, dst.f)
    tau.loss, tau.n = tau.loss + error * error, tau.n + 1
    axpy(error, dst.f, src.gathered)
    src.n += 1


def keep_gradient(vertex, p):  # type: ignore[no-untyped-def]
    """Apply of phase 1: keep what was gathered in the vertex, as items still need the factors of
    this iteration.
    """
    for k in range(p.rank):
        vertex.gradient[k] = vertex.gathered[k]
    vertex.degree = vertex.n


def gather_for_items(src, dst, rating):  # type: ignore[no-untyped-def]
    """Phase 2: gather the gradient of the item, for which the error is computed anew."""
    axpy(rating.value - dot(src.f, dst.f), src.f, dst.gathered)
    dst.n += 1


def take_step(vertex, p):  # type: ignore[no-untyped-def]
    """Apply of phase 2: step along the mean of the gradients of either phase."""
    n = vertex.degree + vertex.n
    for k in range(p.rank):
        mean = (vertex.gradient[k] + vertex.gathered[k]) / n
        vertex.f[k] += p.step * (mean - p.reg * vertex.f[k])


def measure(tau):  # type: ignore[no-untyped-def]
    """Set the error of the training ratings."""
    tau.train_rmse = sqrt(tau.loss / tau.n)


class GasFactors(Program):
    """Matrix factorization as a GAS engine has it: one vertex type, two phases with a barrier after
    each, and a gradient that is kept in the vertex between them. Scatter would only wake vertices,
    and all are awake.
    """

    rank: int = param(50, "latent dimensions", low=1)
    step: float = param(0.1, "of the mean gradient", low=0)
    reg: float = param(0.02, "L2 penalty", low=0)
    users: int = param(1, "vertices that are users", low=1)

    vertex = Vertex(
        f=value("rank"),
        gradient=value("rank"),
        degree=value(),
        gathered=delta("rank"),
        n=delta(),
    )
    rating = Edge("vertex", "vertex", value=data("f4"))
    tau = Context(loss=total(), n=total(), train_rmse=metric())

    def setup(self) -> list[Any]:
        """Return the stage that sets the first factors."""
        return [Apply("vertex", begin_vertex)]

    def stages(self) -> list[Any]:
        """Return the two phases of an iteration."""
        first = Exchange(gather_for_users), Apply("vertex", keep_gradient)
        second = Exchange(gather_for_items), Apply("vertex", take_step)
        return [*first, *second, GlobalSync(measure)]
