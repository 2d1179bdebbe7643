"""The report of a finished model of clusters: each with its size and its largest features, and its
center.
"""

from __future__ import annotations

import numpy as np

from tux.program.program import remark_on_end
from tux.program.report import Report

TOP = 8  # features that a cluster is told by


class ClusterReport(Report):
    """Clusters by size and largest features; centers as arrays."""

    def tables(self, program, model):
        """Return the table of clusters, largest first."""
        center, names = centers(program, model)
        size = sizes(program, model)
        rows = np.argsort(-size, kind="stable")
        return {
            "clusters": {
                "features": [describe_center(center[k], names) for k in rows],
                "samples": size[rows],
                "cluster": rows,
            }
        }

    def remarks(self, program, records):
        """Remark that the centers still move; with mini-batches they always do."""
        if program.batch_size:
            return []
        return remark_on_end(program, records, {"tol": program.tol})

    def exports(self):
        """Return the form of export: the centers, with the names of their coordinates."""
        return {"centers": center_arrays}


def describe_center(center: np.ndarray, names: np.ndarray) -> str:
    """Return the coordinates of a center that are farthest from 0, with their names, as a line of
    text.
    """
    length = np.abs(center)
    farthest = np.argsort(-length, kind="stable")[:TOP]
    return " ".join(f"{names[j]}:{center[j]:.3g}" for j in farthest if length[j] > 0) or "0"


def centers(program, model) -> tuple[np.ndarray, np.ndarray]:
    """Return the centers, (clusters, features) float64, NaN for an empty cluster; and the features'
    ids or places.
    """
    size = model.fields["tau"]["size"][0]
    share = np.where(size > 0, size, np.nan)
    if "feature" in model.fields:
        return model.fields["feature"]["s"].T / share[:, None], model.ids["feature"]
    center = model.fields["tau"]["center"].reshape(len(size), -1)
    return np.where(size[:, None] > 0, center, np.nan), np.arange(center.shape[1])


def sizes(program, model) -> np.ndarray:
    """Return the number of samples in each cluster, (clusters,) int64. Centers may be means of
    others: with mini-batches, of all that have joined them.
    """
    return np.bincount(model.fields["sample"]["cluster"].ravel(), minlength=program.n_clusters)


def center_arrays(program, model) -> dict[str, np.ndarray]:
    """Return the arrays `center` (clusters, features), `feature` (features,) and `size`
    (clusters,).
    """
    center, names = centers(program, model)
    return {"center": center, "feature": names, "size": sizes(program, model)}
