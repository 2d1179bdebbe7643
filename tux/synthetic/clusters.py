"""Points around known centers: a mixture of normal distributions of one width.

Centers are uniform in a cube of side 20. Each point belongs to a center drawn uniformly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.errors import UsageError
from tux.base.random import key, uniforms

SIDE = 20.0


class ClusteredPoints(NamedTuple):
    """n points, and the clusters and centers that they were drawn from."""

    x: np.ndarray  # (n, features) float32
    cluster: np.ndarray  # (n,) int32, the true cluster of each point
    center: np.ndarray  # (clusters, features) float64

    def inertia(self) -> float:
        """Return the sum of squared distances of points to the centers that they were drawn
        around.
        """
        return float(((self.x - self.center[self.cluster]) ** 2).sum())

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns of a table: `id` from 1, `x_0`, `x_1` and so on, and the true
        `cluster`.
        """
        numbers = {f"x_{j}": self.x[:, j] for j in range(self.x.shape[1])}
        return {"id": np.arange(1, len(self.x) + 1), **numbers, "cluster": self.cluster}


def clusters(
    points: int = 5_000, features: int = 8, clusters: int = 10, spread: float = 1.0, seed: int = 0
) -> ClusteredPoints:
    """Draw points around centers; `spread` is the standard deviation of their distance in each
    feature.

    Raises UsageError for a negative spread.
    """
    if not 0 <= spread < 1e6:
        raise UsageError(f"a spread of {spread}", do="give a number from 0")
    center = SIDE * uniforms(key(seed, "clusters", "center"), np.arange(clusters), features)
    drawn = uniforms(key(seed, "clusters", "of"), np.arange(points), 1)[:, 0]
    cluster = np.minimum((drawn * clusters).astype(np.int32), clusters - 1)
    u, v = (
        uniforms(key(seed, "clusters", name), np.arange(points), features) for name in ("u", "v")
    )
    noise = np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v)  # Box and Muller
    return ClusteredPoints((center[cluster] + spread * noise).astype(np.float32), cluster, center)
