"""Sparse logistic regression: labelled samples, and an L1 penalty on the weights (BlockPG: TUX2,
section 5; Li et al., OSDI 2014).

    min F(w, b) = sum_i c_i log(1 + exp(-y_i m_i)) + l1 sum_j |w_j| + l2/2 sum_j w_j^2,
        m_i = x_i.w + b

A pass goes over the features block by block: along each, to the minimum of a quadratic model of F,
which is made anew every pass (newGLMNET: Yuan, Ho and Lin, JMLR 2012). Passes over the weights that
move come between full ones. F never rises.
"""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg import logistic, passes
from tux.apps.blockpg.context import SPANNED
from tux.apps.blockpg.coordinate import gather, sweep
from tux.apps.blockpg.penalties import lower_penalty
from tux.apps.blockpg.quality import JUDGED, probability, quality_stages
from tux.apps.blockpg.span import ALL, KEPT, add_displacement, add_trial_penalties, choose
from tux.apps.blockpg.start import BLOCKS, begin, begin_together, start_path
from tux.apps.blockpg.weights import SparseReport
from tux.program.fields import data, delta, master, mirror, value
from tux.program.input import Samples
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Barrier, Exchange, ForEach, GlobalSync, Score


class BlockPG(Program):
    """Sparse logistic regression of labelled samples: the sum of losses, with a penalty on |w|."""

    l1: float = param(1.0, "penalty on the sum of |w|", low=0, dtype="f8")
    l2: float = param(0.0, "penalty on half the sum of w squared", low=0, dtype="f8")
    fit_intercept: bool = param(False, "fit an intercept, not penalised", former="intercept")
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, dtype="f8"
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
    input = Samples(groups="groups", classes=("negative", "positive"), hashed="hash")
    report = SparseReport()
    # Samples are whole, features cut: masters hold what mirrors don't (`moved`), mirrors what
    # masters don't (`used`, by which w passes on). What a feature gathers from its entries, and
    # passes on to them, is a sum, so each worker may do its share (`additive`).
    sample = Vertex(
        whole=True,
        label=data("f4"),
        weight=data("f4"),
        c=mirror("f8"),
        m=mirror("f8"),
        r=mirror("f4"),
        h=mirror("f4"),
        u=mirror("f4"),
        near=mirror("i4"),
        before=mirror("f8"),
        moved=mirror("f8", ALL),
        dual=mirror("f8"),
    )
    feature = Vertex(
        w=value("f8"),
        active=value("b1", kept=False),
        g=delta("f8"),
        s=delta("f8"),
        used=mirror("f8"),
        before=master("f8", kept=False),
        moved=master("f8", KEPT, kept=False),
        rests=master("i1", kept=False),
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(**SPANNED, **JUDGED)

    def _blocks(self, cluster):
        return self.blocks or (BLOCKS if cluster.workers > 1 else 0)

    def _together(self, cluster):
        """Return how many blocks of features step at once, as those of a group do; 0: none do."""
        return self._blocks(cluster) or (BLOCKS if self.groups else 0)

    def setup(self, cluster):
        blocks = self._together(cluster)
        stages = [
            ForEach("sample", logistic.weigh_sample),
            GlobalSync(begin_together if blocks else begin),
            ForEach("sample", logistic.follow_weights),
            ForEach("sample", logistic.keep_margin),
        ]
        if blocks or self.path > 1:
            wakes = Apply("feature", logistic.wake)
            passes = Exchange(logistic.pass_on, additive=True)
            stages += [Exchange(gather, additive=True), wakes, passes]
        return [*stages, GlobalSync(start_path)]

    def stages(self, cluster):
        accept = passes.accept_together if self._together(cluster) else passes.accept_alone
        return [
            *([GlobalSync(lower_penalty)] if self.path > 1 else []),
            *sweep(self._blocks(cluster), groups=bool(self.groups)),
            Barrier(),
            ForEach("sample", logistic.measure),
            GlobalSync(passes.decide, aggregate=add_displacement),
            GlobalSync(choose, aggregate=add_trial_penalties),
            ForEach("sample", logistic.attempt),
            GlobalSync(accept),
            Apply("feature", passes.settle_weight, gather=False),
            ForEach("sample", logistic.follow_weights),
            Exchange(logistic.pass_on, additive=True),
            ForEach("sample", logistic.keep_margin),
            GlobalSync(passes.close_pass),
        ]

    def evaluate(self, cluster):
        return quality_stages(held_out=cluster.has_test)

    def converged(self, metrics):
        gap = metrics.get("duality_gap", np.inf) if self.gap > 0 else np.inf
        done = metrics.get("change", np.inf) <= self.tol or gap <= self.gap * metrics["objective"]
        return metrics["penalty_l1"] <= self.l1 and done

    def predict(self):
        return Score(probability, over="sample", name="probability")
