"""Linear models: several losses, penalties and solvers.

    min F(w, b) = sum_i c_i loss(y_i, x_i.w + b) + l1 sum_j |w_j| + l2/2 sum_j w_j^2

L-BFGS and Newton's method go over all samples for a step; adam, adagrad, rmsprop and sgd over a
mini-batch. With averaging, workers go over their samples on copies of the weights, of which the
mean is taken.

Samples are whole, features cut: their masters hold the weights and what a solver keeps beside them,
so its updates need no message (the co-located vectors of PS2: Zhang et al., SIGMOD 2019).
"""

from __future__ import annotations

from tux import Context, Edge, Program, Vertex, data, metric, mirror, param, total, value
from tux.apps.blockpg.quality import probability
from tux.apps.linear import averaging, copies, lbfgs, newton, prior, start, stochastic, widths
from tux.apps.linear.class_quality import probabilities
from tux.apps.linear.losses import ALIKE, LOSSES
from tux.apps.linear.path import PATH, is_optimal
from tux.apps.linear.penalties import PENALTIES, check, step_parameters
from tux.apps.linear.quality import JUDGED, MEAN_LOSS, quality_stages, response
from tux.apps.linear.samples import LinearSamples
from tux.apps.linear.solving import KEPT, SOLVING
from tux.apps.linear.updates import UPDATES, Update
from tux.apps.linear.weights import LinearReport, labels_of
from tux.apps.linear.wolfe import SEARCHING
from tux.program.program import choose_monitor
from tux.stages import Barrier, ForEach, GlobalSync, Score

OTHERS = {**dict.fromkeys(UPDATES, stochastic), "averaging": averaging}
SOLVERS = {"lbfgs": lbfgs, "newton": newton, **OTHERS}


class Linear(Program):
    """A linear model of samples: the sum of losses, with a penalty on the weights."""

    loss: str = param("logistic", "loss of a sample", choices=LOSSES, fixed=ALIKE)
    penalty: str = param("l2", "penalty on the weights", choices=PENALTIES)
    l1: float = param(
        1.0, "penalty on the sum of |w|, with --penalty l1 or elastic", low=0, dtype="f8"
    )
    l2: float = param(
        1.0, "penalty on half the sum of w^2, with --penalty l2 or elastic", low=0, dtype="f8"
    )
    solver: str = param(
        "lbfgs", "how the minimum is found", choices={n: UPDATES.get(n, Update()) for n in SOLVERS}
    )
    fit_intercept: bool = param(False, "fit an intercept, not penalised", former="intercept")
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, dtype="f8"
    )
    epsilon: float = param(
        1.35, "error from which on the loss huber is linear", low=1e-9, dtype="f8", former="width"
    )
    tol: float = param(1e-5, "gradient and change at which lbfgs and newton end", low=0, dtype="f8")
    pairs: int = param(10, "pairs of vectors that lbfgs keeps", low=1, high=1000, former="memory")
    path: int = param(
        1, "number of penalties down to l2; of lbfgs and newton, with l2", low=1, high=1000
    )
    batch_size: float = param(
        0.0,
        "samples in a mini-batch: a share of all below 1, else a number from 2 on. 0: adam .15, "
        "others .01",
        low=0,
        dtype="f8",
        former="batch",
    )
    learning_rate: float = param(
        0.0,
        "first step size; of sgd and averaging as a share of 1 / curvature. 0: adam .05, "
        "adagrad .1, rmsprop .01, sgd and averaging 1",
        low=0,
        dtype="f8",
        former="step",
    )
    decay: float = param(
        0.05,
        "in epoch t, from 0, the step size is the first / (1 + decay t), but not adagrad's; "
        "averaging: the first / sqrt(1 + decay t), t being the samples of a worker so far",
        low=0,
        dtype="f8",
    )
    beta1: float = param(
        0.9, "adam's decay of the mean of gradients", low=0, high=0.999999, dtype="f8"
    )
    beta2: float = param(
        0.999, "decay of the mean of squares, of adam and rmsprop", low=0, high=0.999999, dtype="f8"
    )
    average: str = param("workers", "what copies count in averaging", choices=copies.RULES)
    negative: str = param(
        "", "label of the first class, if it is not the smaller one", metavar="LABEL"
    )
    positive: str = param("", "label of the second class, with --negative", metavar="LABEL")
    hash: int = param(0, "bits of the hashes of features; 0: they keep their ids", low=0, high=31)
    epochs, epochs_from = 200, 20
    monitor = MEAN_LOSS[False]
    keeps_best = False  # the optimum is asked for, not the least test loss
    classes: str = param("", "all classes of softmax, in their order", metavar="LABEL,LABEL,...")
    input = LinearSamples(classes=("negative", "positive"), every="classes", hashed="hash")
    report = LinearReport()
    sample = Vertex(
        whole=True, label=data("f8"), weight=data("f4"), c=mirror("f8"), **widths.SAMPLE
    )
    feature = Vertex(**widths.FEATURE, **KEPT, **prior.FEATURE)
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        **{name: metric() for name in ("objective", "gradient", "change")},
        **{name: value("f8", kept=False) for name in ("l1", "l2", "bend", "size")},
        **{name: total() for name in ("samples", "weights")},
        **{**widths.CONTEXT, **SOLVING, **prior.CONTEXT, **PATH, **JUDGED},
    )

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        check(self)
        choose_monitor(self, Linear, MEAN_LOSS[LOSSES[self.loss].likely])
        self.step_parameters = step_parameters(self)
        self.agree = "path" if self.solver in SEARCHING else "optimum"

    def setup(self):
        of, begin = LOSSES[self.loss].wide or start, GlobalSync(start.begin)
        weights = ForEach("sample", of.weigh), begin, Barrier(), ForEach("sample", of.centre)
        return [*weights, *SOLVERS[self.solver].start_stages(self, LOSSES[self.loss])]

    def setup_from(self):
        loss = LOSSES[self.loss]
        weights = ForEach("sample", (loss.wide or start).weigh), GlobalSync(start.set_constants)
        return [*weights, *prior.prior_stages(self, loss), *lbfgs.start_stages(self, loss)]

    def stages(self):
        return SOLVERS[self.solver].epoch(self, LOSSES[self.loss])

    def evaluate(self, cluster):
        return quality_stages(self, LOSSES[self.loss], held_out=cluster.has_test)

    def converged(self, metrics):
        gradient, change = (metrics.get(name, 1.0) for name in ("gradient", "change"))
        last = self.path == 1 or metrics["penalty_l2"] <= self.l2
        return self.solver in SEARCHING and last and is_optimal(gradient, change, self.tol)

    def predict(self):
        if self.loss == "logistic":
            return Score(probability, over="sample", name="probability")
        if self.loss == "softmax":
            return Score(probabilities, "sample", labels=labels_of(self), name="probability")
        name = "margin" if LOSSES[self.loss].of_classes else "prediction"
        return Score(response, over="sample", name=name)
