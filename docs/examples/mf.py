"""Matrix factorization with biases by SGD: min sum over ratings of (r - mean - b_u - b_i - p.q)^2
+ reg (b_u^2 + b_i^2 + |p|^2 + |q|^2).

Koren, Bell and Volinsky, "Matrix factorization techniques for recommender systems", IEEE Computer
42, 2009, equations 4 and 5. The step falls with the epochs.
"""

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
    normal,
    param,
    shared,
    total,
    value,
)


def predict(user, item, tau):
    return tau.mean + user.bias + item.bias + dot(user.f, item.f)


def sgd(user, item, rating, tau, p):
    error = rating.value - predict(user, item, tau)
    tau.squares, tau.n = tau.squares + error * error, tau.n + 1
    step = p.learning_rate * tau.factor
    user.bias += step * (error - p.reg * user.bias)
    item.bias += step * (error - p.reg * item.bias)
    for k in range(p.rank):
        u, i = user.f[k], item.f[k]
        user.f[k] += step * (error * i - p.reg * u)
        item.f[k] += step * (error * u - p.reg * i)


def slow_down(tau, p):
    tau.factor *= p.decay


class BiasedMF(Program):
    """Matrix factorization with biases: rating = mean + bias of user + bias of item + p.q."""

    rank: int = param(32, "latent dimensions", low=1)
    learning_rate: float = param(0.03, "first step", low=0)
    decay: float = param(0.93, "factor of the step after each epoch", low=0, high=1)
    reg: float = param(0.06, "L2 penalty on biases and factors", low=0)

    epochs = 30
    precision = "f4"
    monitor = "test_rmse"
    input = Ratings()
    user = item = Vertex(f=shared("rank", init=normal(0, 0.05)), bias=shared())
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        mean=mean_of("value"),
        factor=value(init=1),
        train_rmse=metric("sqrt(squares / n)", squares=total(), n=total()),
        test_rmse=metrics.rmse(),
    )

    def stages(self):
        batch = MiniBatch(Exchange(sgd, over="item"), Apply("item"), Apply("user"), order="rotated")
        return [batch, GlobalSync(slow_down)]

    def predict(self):
        return Score(predict, factors=("f", "f"), biases=("bias", "bias"), offset="mean")
