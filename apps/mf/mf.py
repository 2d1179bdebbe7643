"""Matrix factorization by SGD (Koren, Bell and Volinsky 2009): min sum over ratings of (r - p.q)^2
+ reg (|p|^2 + |q|^2).

A vertex's step is step / sqrt(mean of G); G grows by its squared gradient |reg p - e q|^2 = reg^2
|p|^2 - 2 reg e p.q + e^2 |q|^2 over each of two groups of dimensions (Chin et al., PAKDD 2015): the
`warm` first ones start positive and the first epoch trains them alone.
"""

import numpy as np

from tux import (
    Context,
    Edge,
    Program,
    Ratings,
    Vertex,
    data,
    metric,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.apps.mf.rating import inner, rate, report, test
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Score


def count(rating, tau):
    """Add up the moments of the ratings."""
    tau.n, tau.sum, tau.squares = tau.n + 1, tau.sum + rating.value, tau.squares + rating.value**2


def moments(tau):
    """Mean, and root of the unit: the standard deviation, or a fifth of the root mean square, as
    steps in a much smaller unit diverge.
    """
    tau.mean, square = tau.sum / tau.n, tau.squares / tau.n
    tau.root = max(square - tau.mean**2, square / 25) ** 0.25 or 1.0


def begin(v, tau, p):
    """Draw factors from U(0, 1), in the ratings' units: the first group positive, the rest around
    zero; norms and G to match.
    """
    for k in range(p.rank):
        v.f[k] = (v.f[k] if k < p.warm else 0.8 * (v.f[k] - 0.5)) * tau.root / np.sqrt(p.rank)
    v.G[0], v.G[1] = min(p.rank, p.warm) * tau.root**6, max(p.rank - p.warm, 1) * tau.root**6
    renorm(v, p)


def renorm(v, p):
    """Compute the squared norms of the two groups anew: masters have folded the changes of several
    replicas.
    """
    v.norm[0] = inner(v.f, v.f, min(p.rank, p.warm))
    v.norm[1] = inner(v.f, v.f, p.rank) - v.norm[0]


def advance(v, group, other, dot, err, step, p):
    """Follow one group of v's dimensions through a step: its G and norm; neither changes if the
    step is 0. `other`: the other end's norm. Returns the step's factor.
    """
    norm, factor = v.norm[group], step / np.sqrt(v.G[group])
    slope = p.reg * norm - err * dot
    square = p.reg * slope + err * (err * other - p.reg * dot)
    v.G[group] += square if step > 0 else np.float32(0)  # a choice, not a branch
    v.norm[group] = norm - factor * (slope + slope - factor * square)
    return factor


def sgd(user, item, rating, tau, p):
    """Make one step on both ends of a rating."""
    active = min(p.rank, p.warm) if tau.epoch == 0 else p.rank
    step = p.learning_rate * np.float32(tau.root)
    step, rest = (
        step * np.sqrt(np.float32(min(p.rank, p.warm))),
        step * np.sqrt(np.float32(active - min(active, p.warm))),
    )
    dot, warm = inner(user.f, item.f, active), inner(user.f, item.f, min(p.rank, p.warm))
    err, u0, u1, i0, i1 = rating.value - dot, user.norm[0], user.norm[1], item.norm[0], item.norm[1]
    tau.n, tau.sse, tau.norms = tau.n + 1, tau.sse + err * err, tau.norms + (u0 + u1 + i0 + i1)
    user_warm, user_rest = (
        advance(user, 0, i0, warm, err, step, p),
        advance(user, 1, i1, dot - warm, err, rest, p),
    )
    item_warm, item_rest = (
        advance(item, 0, u0, warm, err, step, p),
        advance(item, 1, u1, dot - warm, err, rest, p),
    )
    for k in range(active):
        # In 32 bits, as wide as the factors: vectors of 64-bit numbers hold half as many.
        x, y, first = user.f[k], item.f[k], np.int32(k) < np.int32(p.warm)
        user.f[k] = x - (user_warm if first else user_rest) * (p.reg * x - err * y)
        item.f[k] = y - (item_warm if first else item_rest) * (p.reg * y - err * x)


def finish(tau, p):
    """Set errors and norms before each step, over the epoch."""
    tau.epoch, tau.train_rmse, tau.objective = (
        tau.epoch + 1,
        np.sqrt(tau.sse / tau.n),
        tau.sse + p.reg * tau.norms,
    )


class MF(Program):
    """Matrix factorization: rating = user.f . item.f, by SGD with falling steps and an L2
    penalty per rating.
    """

    rank: int = param(32, "latent dimensions", low=1)
    learning_rate: float = param(0.1, "initial step size", low=1e-9, dtype="f4", former="step")
    reg: float = param(0.05, "L2 penalty on both factors, per rating", low=0, dtype="f4")
    warm: int = param(4, "leading dimensions, trained alone in the first epoch", low=1)
    batch_size: int = param(
        0, "ratings per mini-batch over all workers; 0: one batch an epoch", low=0, former="batch"
    )
    monitor = "test_rmse"
    input = Ratings()
    user = item = Vertex(f=shared("rank", init=uniform(0, 1)), G=shared(2), norm=shared(2))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        **{name: total() for name in ("n", "sum", "squares", "sse", "norms")},
        **{name: value("f8") for name in ("mean", "root", "epoch")},
        **{name: metric() for name in ("train_rmse", "test_rmse", "objective")},
    )

    def setup(self):
        # In the order of `sgd`, so that edges are held in one order alone.
        moment = [Exchange(count, over="item"), GlobalSync(moments)]
        return [*moment, Apply("user", begin), Apply("item", begin)]

    def stages(self):
        batch = MiniBatch(
            Exchange(sgd, over="item"),
            Apply("item", renorm),
            Apply("user"),
            edges=self.batch_size,
            order="rotated",
        )
        return [batch, Apply("user", renorm), GlobalSync(finish)]

    def evaluate(self, cluster):
        return [Exchange(test, held_out=True), GlobalSync(report)] if cluster.has_test else []

    def predict(self):
        return Score(rate, factors=("f", "f"))
