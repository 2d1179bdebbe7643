"""A program whose functions are annotated with the types that `tux stubs` writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Ratings,
    Vertex,
    argmax,
    data,
    delta,
    dot,
    metric,
    param,
    shared,
    total,
    uniform,
    value,
)

if TYPE_CHECKING:
    from annotated_rows import Item, ItemEdge, ItemEdges, Parameters, Rating, Rng, Tau, User


class Measure(NamedTuple):
    value: Callable[[float, float], float]


def square(y: float, m: float) -> float:
    return (y - m) ** 2


def guess(user: User, item: "Item") -> float:  # noqa: UP037  as users write it
    return user.bias + dot(user.f, item.f)


def measure(
    user: User,
    item: Item,
    rating: Rating,
    tau: Tau,
    p: Parameters,
    rng: Rng,
) -> None:
    lost: float = p.measure.value(rating.value, guess(user, item))
    tau.lost += lost + 0.0 * rng.uniform()
    for k in range(p.rank):
        user.f[k] += p.step * item.f[k]


def weigh(edge: ItemEdge) -> float:
    return edge.value * (edge.user.id >= 0)


def gather(item: Item, edges: ItemEdges) -> None:
    weight: float
    weight = 0.0
    for edge in edges:
        weight += weigh(edge)
    item.sum += weight + 0.0 * edges[0].value
    item.seen += len(edges)


def keep(item: Item, tau: Tau) -> None:
    item.mean = item.sum / max(item.seen, 1)
    item.f[:] *= 0.5
    tau.best.add(item.mean, item.id)


def finish(tau: Tau, p: Parameters) -> None:
    tau.most, tau.loss = tau.best.value, tau.lost / p.workers


class AnnotatedRatings(Program):
    rank: int = param(2, "latent dimensions", low=1)
    step: float = param(0.01, 'the "step"')
    measure: str = param("square", "the loss", choices={"square": Measure(square)})
    user = Vertex(f=shared("rank", init=uniform(0, 1)), bias=shared())
    item = Vertex(
        whole=True,
        f=value("rank", init=uniform(0, 1)),
        mean=value("f8"),
        sum=delta("f8"),
        seen=delta("i4"),
    )
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(best=argmax(), most=value("f8"), lost=total(), loss=metric())
    input = Ratings()
    epochs = 2

    def stages(self):
        edges = Exchange(measure), Apply("user"), Exchange(gather, over="item")
        return [*edges, Apply("item", keep), GlobalSync(finish)]
