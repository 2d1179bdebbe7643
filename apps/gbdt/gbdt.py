"""Gradient boosted trees on sparse samples, by histograms (Friedman, Annals of Statistics 2001;
Chen and Guestrin, XGBoost, KDD 2016). An epoch grows a tree:

    score of a sample = base + sum over trees of the weight of the leaf in which it ends

A tree is grown level by level. Entries that a sample does not have are missing; at each split they
go the way that fits better.

Features are whole, samples cut (a vertical partition: Fu et al., VLDB 2019): a feature's histogram
never leaves its worker, and a split is sent as one number for each sample that changes its side.
"""

from __future__ import annotations

from tux.apps.gbdt import growing, splits, start
from tux.apps.gbdt.bins import into_bins
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.quality import JUDGED, judged, prediction, probability
from tux.apps.gbdt.trees import TreeReport
from tux.program.fields import argmax, data, delta, metric, mirror, total, value
from tux.program.input import Samples
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Exchange, GlobalSync, Repeat, Score


class BoostedSamples(Samples):
    """Samples of two classes, or with numbers as labels."""

    def numeric(self, program):
        """As its loss says."""
        return not LOSSES[program.loss].of_classes


def nodes(p):
    """Nodes of a whole tree, numbered from 1."""
    return 2 ** (p.depth + 1)


def widest(p):
    """Nodes of the last level."""
    return 2**p.depth


def split(p):
    """Nodes of the last level that is split."""
    return 2 ** (p.depth - 1)


def forest(p):
    """A number for each node of each tree."""
    return p.trees, nodes(p)


PER_NODE = {
    "sums": value("i8", 2, widest, kept=False),  # of g and of h
    "fit": value("f8", widest, kept=False),
    "open": value("b1", widest, kept=False),
    "best": argmax(split),
    "feature_of": value("i4", split, kept=False),
    "bin_of": value("i4", split, kept=False),
    "left": value("b1", split, kept=False),
    "child": value("i4", widest, kept=False),  # of samples that go as the missing do, and of others
    "moved": total("i8", 2, split),  # the sums of samples that go another way than the missing do
    "low": total("f4", split, combine="max"),  # of values that go left
    "high": total("f4", split, combine="min"),  # and right
}
"""What is known of the nodes of a level, from 0."""

FOREST = {
    "feature": value("i4", forest, init=-1),  # -1: a leaf
    "cut": value("f4", forest),
    "default_left": value("b1", forest),
    "weight": value("f4", forest),
    "gain": value("f4", forest),
    "cover": value("f4", forest),
}


class GBDT(Program):
    """Gradient boosted trees on sparse samples, for two classes or for numbers."""

    loss: str = param("logistic", "loss of a sample", choices=tuple(LOSSES))
    trees: int = param(100, "trees, one an epoch", low=1, high=100_000)
    depth: int = param(6, "levels of splits of a tree", low=1, high=12)
    rate: float = param(0.3, "learning rate", low=0, dtype="f8")
    l2: float = param(1.0, "penalty on the weights of leaves", low=0, dtype="f8")
    least_h: float = param(1.0, "smallest sum of second derivatives in a leaf", low=0, dtype="f8")
    least_gain: float = param(0.0, "the gain that a split must exceed", low=0, dtype="f8")
    row_share: float = param(
        1.0, "chance of a sample to be in the sums of a tree", low=1e-9, high=1, dtype="f8"
    )
    column_share: float = param(
        1.0, "chance of a feature to be in a tree", low=1e-9, high=1, dtype="f8"
    )
    bins: int = param(255, "bins of a feature, at most", low=2, high=255)
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, dtype="f8"
    )
    negative: str = param(
        "", "label of the first class, if it is not the smaller one", metavar="LABEL"
    )
    positive: str = param("", "label of the second class, with --negative", metavar="LABEL")
    monitor = "test_logloss"
    input = BoostedSamples(classes=("negative", "positive"))
    report = TreeReport()
    sample = Vertex(
        label=data("f4"),
        weight=data("f4"),
        c=mirror("f8"),
        score=mirror("f8"),
        g=mirror("f8"),
        h=mirror("f8"),
        state=mirror("i4", 4),  # g, h, place of the node in its level; four numbers lie in one line
        climbed=mirror("i4"),
        moved=delta("i1"),
        node=value("i2", kept=False),
    )
    feature = Vertex(whole=True, bins=mirror("i4"), rests=mirror("i4"))
    entry = Edge("sample", "feature", value=data("f4"), bin=mirror("u1"), held_out="sample")
    tau = Context(
        **FOREST,
        **PER_NODE,
        base=value("f8"),
        tree=value("i4"),
        nodes=value("i4", kept=False),
        grown=value("b1", kept=False),
        mask=value("b1", splits.MASK + 1, kept=False),
        **{name: value("f8", kept=False) for name in ("unit_g", "unit_h", "per_g", "per_h")},
        **{name: value("f8", kept=False) for name in ("least_h", "least_gain")},
        **{name: total("i8") for name in ("all_g", "all_h")},
        **{name: total() for name in ("weights", "labels")},
        **{name: total(combine="max") for name in ("most_g", "most_h")},
        **JUDGED,
        leaves=metric(),
        trees=metric(),
    )

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        self.epochs = self.trees
        self.monitor = "test_logloss" if LOSSES[self.loss].of_classes else "test_rmse"

    def setup(self):
        loss = LOSSES[self.loss]
        return [
            Exchange(None, enter=start.count, over="sample", once=True),
            GlobalSync(start.beginning(loss)),
            Exchange(into_bins, over="feature"),
            Exchange(None, enter=start.starting(loss), over="sample"),
            GlobalSync(growing.units),
        ]

    def stages(self):
        drawn = (
            [Exchange(None, enter=growing.leave_out, over="sample")] if self.row_share < 1 else []
        )
        if self.column_share < 1:
            drawn.append(Exchange(None, enter=growing.draw, over="feature"))
        return [
            Exchange(None, enter=growing.quantise, over="sample"),
            *drawn,
            Exchange(None, enter=growing.gather, over="sample", once=True),
            GlobalSync(growing.plant),
            Repeat(
                Exchange(None, enter=growing.follow, over="sample"),
                Exchange(splits.offer, over="feature"),
                GlobalSync(splits.choose),
                Exchange(splits.move, over="feature", split=8),
                Apply("sample", splits.settle),
                GlobalSync(growing.divide),
                until=growing.grown,
            ),
            Exchange(None, enter=growing.climbing(LOSSES[self.loss]), over="sample"),
            GlobalSync(growing.finish),
        ]

    def evaluate(self, cluster):
        return judged(LOSSES[self.loss], held_out=cluster.has_test)

    def converged(self, metrics):
        return metrics["trees"] >= self.trees

    def predict(self):
        if LOSSES[self.loss].of_classes:
            return Score(probability, over="sample", name="probability")
        return Score(prediction, over="sample", name="prediction")
