"""K-means: clusters of sparse samples, and of points."""

from tux.apps.kmeans.kmeans import KMeans as KMeans

