"""Matrix factorization by SGD (Koren, Bell and Volinsky 2009): min sum over ratings of (r - p.q)^2
+ reg (|p|^2 + |q|^2); or, with biases, of (r - mean - b_u - b_i - p.q)^2 + reg (b_u^2 + b_i^2 +
|p|^2 + |q|^2).
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
    mean_of,
    metric,
    metrics,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.apps.mf.biases import CHOICES, bias_shape, numbers_of_vertex
from tux.apps.mf.fold_in import find_item, find_user
from tux.apps.mf.sgd import begin, begin_new, choose_unit, rate, renorm, set_step, sgd


def group_count(p):
    """Return the number of groups of dimensions that have a step each."""
    return 3 if p.biases else 2


def count_epoch(tau):
    """Count the epochs: the first trains the warm dimensions alone."""
    tau.epoch += 1


class MF(Program):
    """Matrix factorization: rating = user.f . item.f, by SGD with falling steps and an L2
    penalty per rating; with biases, rating = mean + user.bias + item.bias + user.f . item.f.
    """

    rank: int = param(32, "latent dimensions", low=1)
    learning_rate: float = param(0.1, "initial step size", low=1e-9, former="step")
    reg: float = param(0.05, "L2 penalty on factors and biases, per rating", low=0)
    warm: int = param(4, "leading dimensions, trained alone in the first epoch", low=1)
    batch_size: int = param(
        0, "ratings per mini-batch over all workers; 0: one batch an epoch", low=0, former="batch"
    )
    biases: bool = param(False, "add the mean and a bias of each user and item", choices=CHOICES)
    precision = "f4"
    epochs_from = 2
    monitor = "test_rmse"
    input = Ratings()
    user = item = Vertex(
        f=shared("rank", init=uniform(0, 1)),
        bias=shared(bias_shape),
        G=shared(group_count),
        norm=shared(2),
    )
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
        added = {"biases": ("bias", "bias"), "offset": "mean"} if self.biases else {}
        return Score(rate, factors=("f", "f"), **added)

    def fold_in(self, role):
        find = find_user if role == "user" else find_item
        last = "bias" if self.biases else ""
        return [Score(find, role, width=numbers_of_vertex(self), name="f", last=last)]
