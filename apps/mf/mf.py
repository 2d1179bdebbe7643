"""Matrix factorization by SGD (Koren, Bell and Volinsky 2009): min sum over ratings of (r - p.q)^2
+ reg (|p|^2 + |q|^2).

A vertex's step is step / sqrt(mean of G); G grows by its squared gradient |reg p - e q|^2 = reg^2
|p|^2 - 2 reg e p.q + e^2 |q|^2 over each of two groups of dimensions (Chin et al., PAKDD 2015): the
`warm` first ones start positive and the first epoch trains them alone. A run that begins with a
model keeps G, so vertices with many ratings move little.
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    MiniBatch,
    Program,
    Ratings,
    Score,
    Vertex,
    data,
    dot,
    mean_of,
    metric,
    metrics,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.apps.mf.fold_in import find_item, find_user
from tux.apps.mf.start import begin, begin_new, choose_unit, renorm, set_step


def advance(v, group, other, product, err, step, p):
    """Follow one group of v's dimensions through a step: its G and norm; neither changes if the
    step is 0. `other`: the other end's norm. Returns the step's factor.
    """
    norm, factor = v.norm[group], step / np.sqrt(v.G[group])
    slope = p.reg * norm - err * product
    square = p.reg * slope + err * (err * other - p.reg * product)
    v.G[group] += square if step > 0 else 0.0  # a choice, not a branch
    v.norm[group] = norm - factor * (slope + slope - factor * square)
    return factor


def sgd(user, item, rating, tau, p):
    """Make one step on both ends of a rating."""
    first = min(p.rank, p.warm)
    active = first if tau.epoch == 0 else p.rank
    step, rest = tau.step * np.sqrt(first), tau.step * np.sqrt(active - first)
    product, warm = dot(user.f, item.f, active), dot(user.f, item.f, first)
    err = rating.value - product
    u0, u1, i0, i1 = user.norm[0], user.norm[1], item.norm[0], item.norm[1]
    tau.n, tau.sse, tau.norms = tau.n + 1, tau.sse + err * err, tau.norms + (u0 + u1 + i0 + i1)
    user_warm = advance(user, 0, i0, warm, err, step, p)
    user_rest = advance(user, 1, i1, product - warm, err, rest, p)
    item_warm = advance(item, 0, u0, warm, err, step, p)
    item_rest = advance(item, 1, u1, product - warm, err, rest, p)
    for k in range(active):
        # in 32 bits, as wide as the factors: vectors of 64-bit numbers hold half as many
        x, y, is_first = user.f[k], item.f[k], np.int32(k) < np.int32(first)
        user.f[k] = x - (user_warm if is_first else user_rest) * (p.reg * x - err * y)
        item.f[k] = y - (item_warm if is_first else item_rest) * (p.reg * y - err * x)


def count_epoch(tau):
    """Count the epochs: the first trains the warm dimensions alone."""
    tau.epoch += 1


def rate(user, item, tau):
    """Return the predicted rating; the mean where either end was never rated."""
    return dot(user.f, item.f) if user.norm[0] > 0 and item.norm[0] > 0 else tau.mean


class MF(Program):
    """Matrix factorization: rating = user.f . item.f, by SGD with falling steps and an L2
    penalty per rating.
    """

    rank: int = param(32, "latent dimensions", low=1)
    learning_rate: float = param(0.1, "initial step size", low=1e-9, former="step")
    reg: float = param(0.05, "L2 penalty on both factors, per rating", low=0)
    warm: int = param(4, "leading dimensions, trained alone in the first epoch", low=1)
    batch_size: int = param(
        0, "ratings per mini-batch over all workers; 0: one batch an epoch", low=0, former="batch"
    )
    precision = "f4"
    epochs_from = 2
    monitor = "test_rmse"
    input = Ratings()
    user = item = Vertex(f=shared("rank", init=uniform(0, 1)), G=shared(2), norm=shared(2))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        mean=mean_of("value"),
        square=mean_of("value ** 2", kept=False),
        root=value("f8"),
        step=value("f4", kept=False),
        epoch=value("f8"),
        train_rmse=metric("sqrt(sse / n)", sse=total(), n=total()),
        test_rmse=metrics.rmse(),
        objective=metric("sse + reg * norms", norms=total()),
    )

    def setup(self):
        return [GlobalSync(choose_unit), Apply("user", begin), Apply("item", begin)]

    def setup_from(self):
        return [GlobalSync(set_step), Apply("user", begin_new), Apply("item", begin_new)]

    def stages(self):
        batch = MiniBatch(
            Exchange(sgd, over="item"),
            Apply("item", renorm),
            Apply("user"),
            edges=self.batch_size,
            order="rotated",
        )
        return [batch, Apply("user", renorm), GlobalSync(count_epoch)]

    def predict(self):
        return Score(rate, factors=("f", "f"))

    def fold_in(self, role):
        find = find_user if role == "user" else find_item
        return [Score(find, role, width="rank", name="f")]
