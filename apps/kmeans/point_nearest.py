"""The center nearest to a point.

Inner products are those of points and centers less the mean of all points, so that 32 bits mostly
suffice far from the origin, too. `across` holds the centers by features, so that one turn of a loop
goes on with several centers.
"""

import numpy as np

from tux.apps.kmeans.nearest import doubt, highest_nearest, settle


def center(x, m, j):
    """Return feature j of a point, less its mean."""
    return np.float32(x[j] - m[j])


def center_four(x, m, j):
    """Return four features from j on, less their means."""
    return center(x, m, j), center(x, m, j + 1), center(x, m, j + 2), center(x, m, j + 3)


def distances(x, square, tau, p):
    """Return squared distances to all centers, (clusters,) float32; eight features at a time."""
    near, mean, c = np.full(p.n_clusters, square, np.float32), tau.middle, tau.across
    for k in range(len(near)):
        near[k] += tau.norm[k]
    j = 0
    while j + 8 <= p.dims:
        a0, a1, a2, a3 = center_four(x, mean, j)
        a4, a5, a6, a7 = center_four(x, mean, j + 4)
        for k in range(len(near)):
            near[k] += (a0 * c[j, k] + a1 * c[j + 1, k] + a2 * c[j + 2, k] + a3 * c[j + 3, k]) + (
                a4 * c[j + 4, k] + a5 * c[j + 5, k] + a6 * c[j + 6, k] + a7 * c[j + 7, k]
            )
        j += 8
    while j < p.dims:
        a0 = center(x, mean, j)
        for k in range(len(near)):
            near[k] += a0 * c[j, k]
        j += 1
    for k in range(len(near)):
        near[k] = abs(near[k])  # rounding may lead below 0
    return near


def distance(x, center, p):
    """Return the squared distance of a point to a center."""
    square = 0.0
    for j in range(p.dims):
        square += (x[j] - center[j]) ** 2
    return square


def find_nearest(x, square, tau, p):
    """Return the nearest center, and what the squared distance to any other is at least."""
    near = distances(x, square, tau, p)
    first, bound = settle(square, near, p.dims)
    if first < 0:
        first, bound = measure_nearest(x, square, near, tau, p)
    return first, bound


def measure_nearest(x, square, near, tau, p):
    """Do the work of `find_nearest` by measuring all centers that may be the nearest."""
    first, least_square, bound, most = -1, np.inf, np.inf, highest_nearest(square, near, p.dims)
    for k in range(len(near)):
        if tau.size[k] > 0:  # near may be infinite where 32 bits overflow
            low = near[k] - doubt(square, near[k], p.dims)
            if not low > most:
                low = distance(x, tau.center[k], p)
            if first < 0 or low < least_square:
                first, least_square, bound = k, low, least_square
            else:
                bound = min(bound, low)
    return first, bound
