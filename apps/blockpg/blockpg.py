"""Sparse logistic regression, the Lasso and others: labelled samples, and an L1 penalty on the
weights (BlockPG: TUX2, section 5; Li et al., OSDI 2014).

    min F(w, b) = sum_i c_i loss(y_i, m_i) + l1 sum_j |w_j| + l2/2 sum_j w_j^2,
        m_i = x_i.w + b

A pass goes over the features block by block: along each, to the minimum of a quadratic model of F,
which is made anew every pass (newGLMNET: Yuan, Ho and Lin, JMLR 2012). Passes over the weights that
move come between full ones. F never rises.
"""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg import passes, samples
from tux.apps.blockpg.context import FEATURE, SAMPLE, SPANNED
from tux.apps.blockpg.coordinate import gather, sweep
from tux.apps.blockpg.inputs import SparseSamples
from tux.apps.blockpg.losses import LOSSES
from tux.apps.blockpg.penalties import check_end, lower_penalty
from tux.apps.blockpg.quality import JUDGED, probability, quality_stages, response
from tux.apps.blockpg.span import add_displacement, add_trial_penalties, choose
from tux.apps.blockpg.start import BLOCKS, begin, begin_together, start_path
from tux.apps.blockpg.weights import SparseReport
from tux.program.fields import data
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Barrier, Exchange, ForEach, GlobalSync, Score


class BlockPG(Program):
    """Sparse logistic regression, the Lasso and others: a sum of losses, with a penalty on |w|."""

    loss: str = param("logistic", "loss of a sample", choices=LOSSES)
    l1: float = param(1.0, "penalty on the sum of |w|", low=0, dtype="f8")
    l2: float = param(0.0, "penalty on half the sum of w squared", low=0, dtype="f8")
    fit_intercept: bool = param(False, "fit an intercept, not penalised", former="intercept")
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, dtype="f8"
    )
    epsilon: float = param(
        1.35, "error from which on the loss huber is linear", low=1e-9, dtype="f8"
    )
    tol: float = param(
        1e-7,
        "end when the objective has changed by a smaller share since the last full pass",
        low=0,
        dtype="f8",
    )
    gap: float = param(0.0, "end at a smaller duality_gap / objective; 0: never", low=0, dtype="f8")
    path: int = param(
        1, "number of penalties, from where all weights are 0 down to l1", low=1, high=1000
    )
    blocks: int = param(
        0,
        "blocks of features in a pass; 0: single features, or groups, with one worker, else 64",
        low=0,
    )
    groups: str = param(
        "",
        "features and their groups, a pair a line; no block of features cuts a group",
        metavar="FILE",
    )
    negative: str = param(
        "", "label of the first class, if it is not the smaller one", metavar="LABEL"
    )
    positive: str = param("", "label of the second class, with --negative", metavar="LABEL")
    hash: int = param(0, "bits of the hashes of features; 0: they keep their ids", low=0, high=31)
    epochs = 500
    precision = "f4"  # of sums over entries, which are half the work
    agree = "optimum"  # blocks of features that step at once shorten their steps
    input = SparseSamples(groups="groups", classes=("negative", "positive"), hashed="hash")
    report = SparseReport()
    sample = Vertex(whole=True, **SAMPLE)
    feature = Vertex(**FEATURE)
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(**SPANNED, **JUDGED)

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        samples.check_loss(self, "" if LOSSES[self.loss].of_classes else "no classes")
        check_end(self, "l1")

    def _blocks(self, cluster):
        return self.blocks or (BLOCKS if cluster.workers > 1 else 0)

    def _together(self, cluster):
        """Return how many blocks of features step at once, as those of a group do; 0: none do."""
        return self._blocks(cluster) or (BLOCKS if self.groups else 0)

    def setup(self, cluster):
        blocks = self._together(cluster)
        stages = [
            ForEach("sample", samples.weigh_sample),
            GlobalSync(begin_together if blocks else begin),
            ForEach("sample", samples.follow_weights),
            ForEach("sample", samples.keep_margin),
        ]
        if blocks or self.path > 1:
            wakes = Apply("feature", samples.wake)
            passes = Exchange(samples.pass_on, additive=True)
            stages += [Exchange(gather, additive=True), wakes, passes]
        return [*stages, GlobalSync(start_path)]

    def stages(self, cluster):
        accept = passes.accept_together if self._together(cluster) else passes.accept_alone
        return [
            *([GlobalSync(lower_penalty)] if self.path > 1 else []),
            *sweep(self._blocks(cluster), groups=bool(self.groups)),
            Barrier(),
            ForEach("sample", samples.measure),
            GlobalSync(passes.decide, aggregate=add_displacement),
            GlobalSync(choose, aggregate=add_trial_penalties),
            ForEach("sample", samples.attempt),
            GlobalSync(accept),
            Apply("feature", passes.settle_weight, gather=False),
            ForEach("sample", samples.follow_weights),
            Exchange(samples.pass_on, additive=True),
            ForEach("sample", samples.keep_margin),
            GlobalSync(passes.close_pass),
        ]

    def evaluate(self, cluster):
        return quality_stages(LOSSES[self.loss], held_out=cluster.has_test)

    def converged(self, metrics):
        gap = metrics.get("duality_gap", np.inf) if self.gap > 0 else np.inf
        done = metrics.get("change", np.inf) <= self.tol or gap <= self.gap * metrics["objective"]
        return metrics["penalty_l1"] <= self.l1 and done

    def predict(self):
        if self.loss == "logistic":
            return Score(probability, over="sample", name="probability")
        name = "margin" if LOSSES[self.loss].of_classes else "prediction"
        return Score(response, over="sample", name=name)
