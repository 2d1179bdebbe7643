"""K-means: clusters of sparse samples, and of points."""

from tux.apps.kmeans.kmeans import SparseKMeans as SparseKMeans
from tux.apps.kmeans.kmeans_points import PointKMeans as PointKMeans
