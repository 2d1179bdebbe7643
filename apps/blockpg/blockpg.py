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

from tux.apps.blockpg.logistic import attempt, follow, keep, measure, pass_on, wake, weigh
from tux.apps.blockpg.penalties import lower
from tux.apps.blockpg.quality import JUDGED, judged, probability
from tux.apps.blockpg.span import (
    ALL,
    KEPT,
    SPANNED,
    accept,
    choose,
    decide,
    displaced,
    reach,
    settle,
    settled,
)
from tux.apps.blockpg.weights import Sparse
from tux.program.fields import data, delta, master, metric, mirror, value
from tux.program.params import param
from tux.program.program import Context, Edge, Vertex
from tux.stages import Apply, Barrier, Exchange, GlobalSync, MiniBatch, Score

CROWD = 0.5  # damping of features that step at once: 0 is none, 1 a bound on average
BLOCKS = 64  # of features in a pass, with several workers


def gather(feature, edges, tau):
    """Slope and curvature of the loss along a feature; of one at rest a bound, which spares the
    samples' curvatures.
    """
    if not (tau.full or feature.active):
        return
    g, s = np.float32(0), np.float32(0)
    if feature.active:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * edge.sample.u
    elif tau.crowd > 0:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * np.float32(tau.top * (1 + tau.crowd * edge.sample.near))
    else:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value
        s *= np.float32(tau.top)
    feature.g += g
    feature.s += s


def step(feature, tau, p):
    """The minimiser of the model along the feature; one at zero that wants to stay is at rest
    (the KKT filter).
    """
    if not (tau.full or feature.active):
        return
    w, g = feature.w, feature.g + p.l2 * feature.w
    feature.active = not (w == 0 and -tau.l1 <= g <= tau.l1)
    if feature.active:
        s = feature.s + p.l2 + 1e-12
        if g + tau.l1 <= s * w:
            feature.w = w - (g + tau.l1) / s
        elif g - tau.l1 >= s * w:
            feature.w = w - (g - tau.l1) / s
        else:
            feature.w = 0.0


def scatter(feature, edges):
    """Pass the change of a weight on to the samples."""
    d = feature.w - feature.used
    if d == 0:
        return
    feature.used, d4 = feature.w, np.float32(d)
    for edge in edges:
        edge.sample.m += edge.value * d
        edge.sample.r += edge.sample.h * (edge.value * d4)


class BlockPG(Sparse):
    """Sparse logistic regression of labelled samples: the sum of losses, with a penalty on |w|."""

    l1: float = param(1.0, "penalty on the sum of |w|", low=0, dtype="f8")
    l2: float = param(0.0, "penalty on half the sum of w squared", low=0, dtype="f8")
    intercept: bool = param(False, "fit an intercept, which is not penalised")
    positive_weight: float = param(
        1.0, "weight of samples of the second class", low=1e-9, dtype="f8"
    )
    tol: float = param(
        1e-7,
        "end when the objective has changed by a smaller share since the last full pass",
        low=0,
        dtype="f8",
    )
    gap: float = param(
        0.0, "end when duality_gap / objective is smaller; 0: never", low=0, dtype="f8"
    )
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
    epochs = 500
    # Samples are whole, features cut: masters hold what mirrors don't (`moved`), mirrors what
    # masters don't (`used`, by which w passes on).
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
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        objective=metric(),
        nonzeros=metric(),
        change=metric(),
        penalty_l1=metric(),
        undone_passes=metric(),
        **SPANNED,
        **JUDGED,
    )

    def _blocks(self):
        return self.blocks or (BLOCKS if self.workers > 1 else 0)

    def suited(self, edges):
        """The same with the names of the classes, so that the model knows them."""
        named = (
            dict(zip(("negative", "positive"), edges.classes, strict=True)) if edges.classes else {}
        )
        return type(self)(**self.parameters | named)

    def setup(self):
        count = self._blocks() or (BLOCKS if self.groups else 0)  # features of a group step at once

        def begin(tau, p):
            tau.crowd = CROWD * (self.slack + 1) / count if count else 0.0
            tau.heaviest, tau.l1, tau.full, tau.stiff, tau.error, tau.changed = (
                tau.most,
                p.l1,
                True,
                1.0,
                1.0,
                True,
            )
            tau.top, tau.anew = tau.heaviest / 4, True
            tau.b = tau.before = (
                np.log(tau.up / tau.down) if p.intercept and tau.up > 0 and tau.down > 0 else 0.0
            )

        def started(tau, p):
            tau.F, tau.mark, tau.largest = tau.loss, np.inf, max(tau.steepest, p.l1)
            tau.l1 = tau.largest if p.path > 1 else p.l1

        stages = [
            Exchange(None, enter=weigh),
            GlobalSync(begin),
            Exchange(None, enter=follow),
            Exchange(None, enter=keep),
        ]
        if count or self.path > 1:
            stages += [Exchange(gather), Apply("feature", wake), Exchange(pass_on)]
        return [*stages, GlobalSync(started)]

    def stages(self):
        count = self._blocks()
        steps = Exchange(gather), Apply("feature", step), Exchange(scatter)
        return [
            *([GlobalSync(lower)] if self.path > 1 else []),
            MiniBatch(
                *steps, blocks=count, vertices=0 if count else 1, keep_groups=bool(self.groups)
            ),
            Barrier(),
            Exchange(None, enter=measure),
            GlobalSync(decide, aggregate=displaced),
            GlobalSync(choose, aggregate=reach),
            Exchange(None, enter=attempt),
            GlobalSync(accept),
            Apply("feature", settle, gather=False),
            Exchange(None, enter=follow),
            Exchange(pass_on),
            Exchange(None, enter=keep),
            GlobalSync(settled),
        ]

    def evaluate(self):
        return judged()

    def converged(self, metrics):
        gap = metrics.get("duality_gap", np.inf) if self.gap > 0 else np.inf
        done = metrics.get("change", np.inf) <= self.tol or gap <= self.gap * metrics["objective"]
        return metrics["penalty_l1"] <= self.l1 and done

    def predict(self):
        return Score(probability, over="sample", name="probability")
