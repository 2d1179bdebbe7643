"""Gradient boosted trees on sparse samples, by histograms (Friedman, Annals of Statistics 2001;
Chen and Guestrin, XGBoost, KDD 2016).

An epoch grows a tree, or with the loss softmax one for each class:

    score of a sample = base + sum over trees of the weight of the leaf in which it ends

A tree is grown level by level. Entries that a sample does not have are missing; at each split they
go the way that fits better.

Features are whole, samples cut (a vertical partition: Fu et al., VLDB 2019): a feature's histogram
never leaves its worker, and a split is sent as one number for each sample that changes its side.
"""

from __future__ import annotations

from tux.apps.gbdt import queries, rounds, start
from tux.apps.gbdt.context import CONTEXT, BoostedSamples, forest_shape, score_shape
from tux.apps.gbdt.directions import write_directions
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.quality import JUDGED
from tux.apps.gbdt.rules import RULES
from tux.apps.gbdt.trees import TreeReport
from tux.program.fields import data, delta, mirror, value
from tux.program.params import param
from tux.program.program import Program, choose_monitor
from tux.program.types import Context, Edge, Vertex


class GBDT(Program):
    """Gradient boosted trees on sparse samples: for two classes or more, for numbers, or for the
    order of the samples of each query.
    """

    loss: str = param("logistic", "loss of a sample", choices=LOSSES, fixed=True)
    max_iter: int = param(
        100,
        "epochs, each of a tree, or one for each class of softmax",
        low=1,
        high=100_000,
        former="trees",
    )
    max_depth: int = param(6, "levels of splits of a tree", low=1, high=12, former="depth")
    learning_rate: float = param(0.3, "share of each tree", low=0, dtype="f8", former="rate")
    l2: float = param(1.0, "penalty on the weights of leaves", low=0, dtype="f8")
    min_child_weight: float = param(
        1.0,
        "smallest sum of second derivatives in a leaf",
        low=0,
        dtype="f8",
        former="least_h",
    )
    min_gain: float = param(
        0.0, "the gain that a split must exceed", low=0, dtype="f8", former="least_gain"
    )
    subsample: float = param(
        1.0,
        "chance of a sample to be in the sums of a tree",
        low=1e-9,
        high=1,
        dtype="f8",
        former="row_share",
    )
    colsample_bytree: float = param(
        1.0,
        "chance of a feature to be in a tree",
        low=1e-9,
        high=1,
        dtype="f8",
        former="column_share",
    )
    max_bins: int = param(255, "bins of a feature, at most", low=2, high=255, former="bins")
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, high=1e9, dtype="f8"
    )
    negative: str = param(
        "", "label of the first class, if it is not the smaller one", metavar="LABEL"
    )
    positive: str = param("", "label of the second class, with --negative", metavar="LABEL")
    trees_before: int = param(
        0, "trees of the model with which the run begins", low=0, high=10_000_000, internal=True
    )
    monitor = "test_logloss"
    quantile: float = param(
        0.5,
        "share of labels below predictions, with --loss quantile",
        low=1e-6,
        high=1 - 1e-6,
        dtype="f8",
    )
    classes: str = param("", "all classes of softmax, in their order", metavar="LABEL,LABEL,...")
    truncation: int = param(
        30, "ranks of which one is in each pair, with --loss lambdarank", low=1, high=1_000_000
    )
    ndcg_at: int = param(10, "ranks that NDCG looks at, with --loss lambdarank", low=1)
    ranked_samples: int = param(0, "samples of all queries", low=0, internal=True)
    monotone: str = param(
        "", "features with which scores rise, or fall", metavar="NAME:+1,NAME:-1,...", fixed=True
    )
    directions: str = param("", "those of monotone features, by number", internal=True)
    rule: str = param("free", "what a split gains", choices=RULES, internal=True)
    input = BoostedSamples(classes=("negative", "positive"), every="classes")
    report = TreeReport()
    sample = Vertex(
        label=data("f8"),
        weight=data("f4"),
        c=mirror("f8"),
        score=mirror("f8", score_shape),
        g=mirror("f8", score_shape),
        h=mirror("f8", score_shape),
        state=mirror("i4", 4),  # g, h, place of the node in its level; four numbers lie in one line
        climbed=mirror("i4"),
        moved=delta("i1"),
        node=value("i2", kept=False),
    )
    feature = Vertex(whole=True, bins=mirror("i4"), rests=mirror("i4"))
    entry = Edge("sample", "feature", value=data("f8"), bin=mirror("u1"), held_out="sample")
    tau = Context(**CONTEXT, **JUDGED)

    step_parameters = ()  # a smaller learning rate makes no number finite
    epochs, epochs_from = 100, 5  # epochs: as many as max_iter, in `__init__`

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        self.monotone = self.parameters["monotone"] = write_directions(self.monotone)
        self.epochs = self.max_iter
        start.check_parameters(self, LOSSES[self.loss])
        if LOSSES[self.loss].ranks:
            queries.declare(self, CONTEXT)
        choose_monitor(self, GBDT, LOSSES[self.loss].judged)

    def setup(self):
        return rounds.begin_stages(self)

    def setup_from(self, cluster):
        start.check_workers(cluster)
        return rounds.go_on_stages(self)

    def stages(self):
        return rounds.epoch_stages(self)

    def evaluate(self, cluster):
        return rounds.quality_stages(self, held_out=cluster.has_test)

    def converged(self, metrics):
        return metrics["trees"] >= forest_shape(self)[0]

    def predict(self):
        return rounds.prediction(self)
