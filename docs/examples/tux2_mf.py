"""Matrix factorization in the stages of TUX2: min sum over ratings of (r - p.q)^2 + penalties.

Xiao et al., "TUX2: distributed graph computation for machine learning", NSDI 2017, figure 5. An
Exchange computes the gradients of both ends of each rating, an Apply adds what a vertex has
gathered, and a GlobalSync makes the error of all workers. A mini-batch is a block of items. Each
vertex goes along the mean of its gradients, so that the step need not depend on how many ratings it
has. `mf.py` changes vectors in place.

    tux run docs/examples/tux2_mf.py ratings.csv --test held-out.csv
"""

from math import sqrt

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
    axpy,
    data,
    delta,
    dot,
    metric,
    metrics,
    param,
    total,
    uniform,
    value,
)


def predict(user, item):
    return dot(user.f, item.f)


def exchange(user, item, rating, tau):
    error = rating.value - predict(user, item)
    tau.loss, tau.n = tau.loss + error * error, tau.n + 1
    axpy(error, item.f, user.gradient)
    axpy(error, user.f, item.gradient)
    user.n += 1
    item.n += 1


def apply(v, p):
    for k in range(p.rank):
        v.f[k] += p.step * (v.gradient[k] / v.n - p.reg * v.f[k])


def sync(tau):
    tau.train_rmse = sqrt(tau.loss / tau.n)


class FactorsInStages(Program):
    """Matrix factorization in the stages of TUX2."""

    rank: int = param(50, "latent dimensions", low=1)
    step: float = param(0.1, "of the mean gradient", low=0)
    reg: float = param(0.02, "L2 penalty", low=0)
    batch: int = param(1000, "items in a mini-batch", low=1)

    epochs = 100
    monitor = "test_rmse"
    input = Ratings()
    user = item = Vertex(
        f=value("rank", init=lambda p: uniform(0, p.rank**-0.5)), gradient=delta("rank"), n=delta()
    )
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(loss=total(), n=total(), train_rmse=metric(), test_rmse=metrics.rmse())

    def stages(self):
        steps = Exchange(exchange, over="item"), Apply("user", apply), Apply("item", apply)
        return [MiniBatch(*steps, vertices=self.batch), GlobalSync(sync)]

    def predict(self):
        return Score(predict, factors=("f", "f"))
