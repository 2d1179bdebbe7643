"""Block proximal gradient in the stages of TUX2: sparse logistic regression,

    min sum_i log(1 + exp(-y_i m_i)) + l1 sum_j |w_j|,    m_i = w.x_i

Xiao et al., "TUX2: distributed graph computation for machine learning", NSDI 2017, figure 7; Li et
al., "Scaling distributed machine learning with the parameter server", OSDI 2014. A mini-batch is a
random block of features. A first Exchange gathers the gradient of each feature and its second
derivative, an Apply takes the proximal step, and a second Exchange brings its change to the
samples. Too large a block diverges; the app `blockpg` takes any.

    tux run docs/examples/tux2_blockpg.py train.svm --l1 1 --test test.svm
"""

import math

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    ForEach,
    GlobalSync,
    MiniBatch,
    Program,
    Samples,
    Score,
    Vertex,
    data,
    delta,
    metric,
    metrics,
    mirror,
    param,
    total,
    value,
)


def sigmoid(z):
    return (1 + math.tanh(z / 2)) / 2  # 1 / (1 + exp(-z)), without overflow


def differentiate(sample, feature, entry):
    q = sigmoid(-sample.label * sample.margin)
    feature.g -= sample.label * q * entry.value
    feature.h += q * (1 - q) * entry.value**2


def step(feature, p):
    h = feature.h + p.floor
    goal = feature.w - feature.g / h
    new = math.copysign(max(abs(goal) - p.l1 / h, 0.0), goal)
    feature.w, feature.change = new, new - feature.w


def move(sample, feature, entry):
    sample.margin += feature.change * entry.value


def lose(sample, tau):
    z = sample.label * sample.margin
    tau.loss += max(-z, 0.0) + math.log1p(math.exp(-abs(z)))


def penalise(feature, tau):
    tau.norm += abs(feature.w)


def predict(edges):
    margin = 0.0
    for edge in edges:
        margin += edge.value * edge.feature.w
    return sigmoid(margin)


class ProximalBlocks(Program):
    """Sparse logistic regression in the stages of TUX2."""

    l1: float = param(1.0, "penalty on the sum of |w|", low=0)
    floor: float = param(0.01, "added to second derivatives", low=0)
    block: int = param(10, "features in a mini-batch", low=1)

    epochs = 100
    monitor = "test_logloss"
    input = Samples()
    sample = Vertex(whole=True, label=data("f4"), margin=mirror("f8"))
    feature = Vertex(w=value("f8"), change=value("f8", kept=False), g=delta("f8"), h=delta("f8"))
    entry = Edge("sample", "feature", value=data("f4"), held_out="sample")
    tau = Context(
        objective=metric("loss + l1 * norm", loss=total(), norm=total()),
        test_logloss=metrics.logloss("label"),
    )

    def stages(self):
        block = [Exchange(differentiate, over="feature"), Apply("feature", step)]
        batch = MiniBatch(*block, Exchange(move, over="feature"), vertices=self.block)
        return [batch, ForEach("sample", lose), GlobalSync(aggregate=penalise)]

    def predict(self):
        return Score(predict, over="sample", name="probability")
