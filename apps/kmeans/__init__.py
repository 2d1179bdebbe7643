"""K-means: clusters of sparse samples, and of points."""

from tux.apps.kmeans.kmeans import KMeans as KMeans
from tux.apps.kmeans.kmeans_points import KMeansPoints as KMeansPoints
