"""Collective matrix factorization of ratings and tags: items have one vector for both,

    min sum over ratings of (r - mean - p.q)^2 + weight sum over tags of (1 - q.t)^2 + reg |x|^2

for vectors p of users, q of items and t of tags. So items with few ratings learn from items with
the same tags. Each vertex goes along its mean gradient, all at once.

Singh and Gordon, "Relational learning via collective matrix factorization", KDD 2008.
"""

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Ratings,
    Score,
    Vertex,
    axpy,
    data,
    delta,
    dot,
    mean_of,
    metric,
    metrics,
    normal,
    param,
    total,
    value,
)


def predict(user, item, tau):
    return tau.mean + dot(user.f, item.f)


def rate(user, item, rating, tau):
    error = rating.value - predict(user, item, tau)
    tau.squares, tau.n = tau.squares + error * error, tau.n + 1
    axpy(error, item.f, user.g)
    axpy(error, user.f, item.g)
    user.n += 1
    item.n += 1


def tag_items(item, tag, p):
    error = p.weight * (1 - dot(item.f, tag.f))
    axpy(error, tag.f, item.g)
    axpy(error, item.f, tag.g)
    item.n += p.weight
    tag.n += p.weight


def descend(v, p):
    if v.n > 0:
        for k in range(p.rank):
            v.f[k] += p.step * (v.g[k] / v.n - p.reg * v.f[k])


class TaggedMF(Program):
    """Matrix factorization of ratings and tags, which share the vectors of items."""

    rank: int = param(8, "latent dimensions", low=1)
    weight: float = param(1.0, "of a tag beside a rating", low=0)
    step: float = param(0.2, "of the gradient", low=0)
    reg: float = param(0.02, "L2 penalty", low=0)

    epochs = 200
    monitor = "test_rmse"
    input = Ratings()
    user = item = tag = Vertex(
        f=value("f8", "rank", init=normal(0, 0.5)), g=delta("f8", "rank"), n=delta("f8")
    )
    rating = Edge("user", "item", value=data("f4"))
    tagged = Edge("item", "tag")
    tau = Context(
        mean=mean_of("value"),
        train_rmse=metric("sqrt(squares / n)", squares=total(), n=total()),
        test_rmse=metrics.rmse(),
    )

    def stages(self):
        steps = [Apply(kind, descend) for kind in self.vertices]
        return [Exchange(rate), Exchange(tag_items, edge="tagged"), *steps, GlobalSync()]

    def predict(self):
        return Score(predict, factors=("f", "f"), offset="mean")
