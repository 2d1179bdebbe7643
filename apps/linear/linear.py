"""Linear models: several losses, penalties and solvers.

    min F(w, b) = sum_i c_i loss(y_i, x_i.w + b) + l1 sum_j |w_j| + l2/2 sum_j w_j^2

L-BFGS goes over all samples for a step; adam, adagrad, rmsprop and sgd go over a mini-batch. With
averaging, workers go over their samples on copies of the weights, of which the mean is taken.

Samples are whole, features cut: their masters hold the weights and what a solver keeps beside them,
so its updates need no message (the co-located vectors of PS2: Zhang et al., SIGMOD 2019).
"""

from __future__ import annotations

from tux.apps.blockpg.quality import probability
from tux.apps.linear import averaging, copies, lbfgs, stochastic, two_loops, updates
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.penalties import PENALTIES, check
from tux.apps.linear.quality import JUDGED, MEAN_LOSS, judged, response
from tux.apps.linear.samples import LinearSamples
from tux.apps.linear.start import beginning, centre, weigh
from tux.apps.linear.weights import LinearReport
from tux.program.fields import data, delta, master, metric, mirror, total, value
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Edge, Vertex
from tux.stages import Barrier, Exchange, GlobalSync, Score

SOLVERS = {"lbfgs": lbfgs, **dict.fromkeys(updates.UPDATES, stochastic), "averaging": averaging}


class Linear(Program):
    """A linear model of samples: the sum of losses, with a penalty on the weights."""

    loss: str = param("logistic", "loss of a sample", choices=tuple(LOSSES))
    penalty: str = param("l2", "penalty on the weights", choices=tuple(PENALTIES))
    l1: float = param(
        1.0, "penalty on the sum of |w|, with --penalty l1 or elastic", low=0, dtype="f8"
    )
    l2: float = param(
        1.0,
        "penalty on half the sum of w squared, with --penalty l2 or elastic",
        low=0,
        dtype="f8",
    )
    solver: str = param("lbfgs", "how the minimum is found", choices=tuple(SOLVERS))
    intercept: bool = param(False, "fit an intercept, which is not penalised")
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, dtype="f8"
    )
    width: float = param(1.35, "error from which on the loss huber is linear", low=1e-9, dtype="f8")
    tol: float = param(
        1e-5,
        "lbfgs ends when gradient and change, as reported, are smaller than this",
        low=0,
        dtype="f8",
    )
    memory: int = param(10, "pairs of vectors that lbfgs keeps", low=1, high=1000)
    batch: float = param(
        0.0,
        "samples in a mini-batch: a share of all below 1, else a number. 0: adam .1, others .01",
        low=0,
        dtype="f8",
    )
    step: float = param(
        0.0,
        "first step size; of sgd and averaging as a share of 1 / curvature. 0: adam .05, "
        "adagrad .1, rmsprop .01, sgd and averaging 1",
        low=0,
        dtype="f8",
    )
    decay: float = param(
        0.05,
        "in epoch t, from 0, the step size is step / (1 + decay t), but not adagrad's; averaging: "
        "step / sqrt(1 + decay t), t being the samples of a worker so far",
        low=0,
        dtype="f8",
    )
    beta1: float = param(
        0.9, "adam's decay of the mean of gradients", low=0, high=0.999999, dtype="f8"
    )
    beta2: float = param(
        0.999, "decay of the mean of squares, of adam and rmsprop", low=0, high=0.999999, dtype="f8"
    )
    average: str = param("workers", "what copies count in averaging", metavar="workers|entries")
    negative: str = param(
        "", "label of the first class, if it is not the smaller one", metavar="LABEL"
    )
    positive: str = param("", "label of the second class, with --negative", metavar="LABEL")
    epochs = 200
    monitor = MEAN_LOSS[False]
    keeps_best = False  # the optimum is asked for, not the least test loss
    input = LinearSamples(classes=("negative", "positive"))
    report = LinearReport()
    sample = Vertex(
        whole=True,
        label=data("f4"),
        weight=data("f4"),
        c=mirror("f8"),
        m=mirror("f8"),
        along=mirror("f8"),
        r=mirror("f8"),
    )
    feature = Vertex(
        w=value("f8"),
        gathered=delta("f8"),
        d=value("f8", kept=False),
        g=master("f8", kept=False),
        unit=master("f8", kept=False),
        past=master("f4", two_loops.pairs, kept=False),
        moments=master("f4", updates.moments, kept=False),
        share=master("f8", kept=False),
        **copies.FEATURE,
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        **{name: metric() for name in ("objective", "gradient", "change")},
        b=value("f8"),
        **{name: value("f8", kept=False) for name in ("l1", "l2", "bend", "size")},
        **{name: total() for name in ("samples", "weights", "labels")},
        **two_loops.CONTEXT,
        **stochastic.CONTEXT,
        **averaging.CONTEXT,
        **JUDGED,
    )

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        check(self)
        self.monitor = MEAN_LOSS[self.loss == "logistic"]

    def setup(self):
        prepared = SOLVERS[self.solver].prepared(self, LOSSES[self.loss])
        begin = GlobalSync(beginning(self)), Barrier(), Exchange(None, enter=centre)
        return [Exchange(None, enter=weigh), *begin, *prepared]

    def stages(self):
        return SOLVERS[self.solver].epoch(self, LOSSES[self.loss])

    def evaluate(self, cluster):
        return judged(self, LOSSES[self.loss], held_out=cluster.has_test)

    def converged(self, metrics):
        gradient, change = (metrics.get(name, 1.0) for name in ("gradient", "change"))
        return self.solver == "lbfgs" and (max(gradient, change) <= self.tol or change <= 0)

    def predict(self):
        if self.loss == "logistic":
            return Score(probability, over="sample", name="probability")
        name = "margin" if LOSSES[self.loss].of_classes else "prediction"
        return Score(response, over="sample", name=name)
