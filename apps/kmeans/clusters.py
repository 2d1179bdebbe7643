"""K-means, whatever holds the centers: parameters, what is known of a sample, the context, and when
training ends.
"""

from __future__ import annotations

import math

from tux.apps.kmeans.report import ClusterReport
from tux.apps.kmeans.start import groups, trials
from tux.program.fields import argmax, total, value
from tux.program.params import param
from tux.program.program import Program
from tux.stages.computed import metric


def sample_fields(field, kept, passing):
    """Return the fields of a sample: `field` is their kind; `kept` and `passing` are the arguments
    for those that stay in the model and for those that do not.
    """
    return {
        "cluster": field("i4", init=-1, **kept),
        "distance": field("f4", **kept),
        "held": field("i4", init=-1, **passing),
        "below": field("f4", init=-math.inf, finite=False, **passing),
        "square": field("f8", **passing),
        "least": field("f8", init=math.inf, finite=False, **passing),
        "number": field("f8", finite=False, **passing),
        "group": field("i4", **passing),
        "tried": field("f4", trials, **passing),
    }


CONTEXT = {
    **{name: value("f8", "n_clusters") for name in ("size", "square")},
    "members": value("f8", "n_clusters", kept=False),
    "norm": value("f4", "n_clusters", finite=False),
    "share": value("f4", "n_clusters"),
    "retreat": value("f4", "n_clusters", kept=False, finite=False),
    "lowest": value("f8", groups, kept=False, finite=False),
    "trial_square": value("f8", trials, kept=False),
    **{name: value("i8", kept=False) for name in ("farthest", "empty", "best", "at", "chosen")},
    **{name: value("f8", kept=False) for name in ("found", "variance", "n")},
    "joined": total("n_clusters"),
    **{name: total() for name in ("squares", "changed", "spread", "mean_square", "features")},
    "samples": total(),
    "drawn": total(groups, combine="min"),
    "left": total(trials),
    "far": argmax(),
    **{name: metric() for name in ("inertia", "moved", "shift", "empty_clusters")},
}


class Clusters(Program):
    """Parameters and the end of training, of k-means on samples and on points."""

    n_clusters: int = param(8, "clusters to find", low=1, former="clusters")
    init: str = param("k-means++", "first centers", choices=("k-means++", "random"), former="start")
    batch_size: int = param(
        0, "samples in a mini-batch, after which centers move; 0: all", low=0, former="batch"
    )
    tol: float = param(
        1e-4,
        "end when the centers have moved less, as a share of the mean variance of a feature",
        low=0,
    )
    epochs = 300
    monitor = "inertia"
    keeps_best = False
    report = ClusterReport()

    def converged(self, metrics):
        return metrics.get("moved", 1) == 0 or metrics.get("shift", math.inf) <= self.tol
