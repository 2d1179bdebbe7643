"""KMeans as an estimator, beside scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

import tux

X, TRUTH = make_blobs(200, 6, centers=4, cluster_std=0.5, random_state=0)


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_clusters_of_a_matrix(form):
    model = tux.KMeans(4, random_state=0).fit(form(X))
    peer = Peer(4, n_init=1, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(peer.inertia_, rel=1e-6)
    assert model.cluster_centers_.shape == (4, 6)
    assert np.array_equal(model.predict(form(X)), model.labels_)
    assert model.transform(form(X)).argmin(axis=1).tolist() == model.labels_.tolist()
    assert model.score(form(X)) == pytest.approx(-model.inertia_, rel=1e-6)
    assert len(np.unique(np.stack([TRUTH, model.labels_]), axis=1).T) == 4


@pytest.mark.slow
def test_what_cannot_be_fitted():
    with pytest.raises(ValueError, match="n_samples=3 should be >= n_clusters=4"):
        tux.KMeans(4).fit(X[:3])
    with pytest.warns(ConvergenceWarning, match="1 of 4 clusters are empty"):
        model = tux.KMeans(4, random_state=0).fit(np.repeat(X[:3], 4, axis=0))
    assert np.isfinite(model.cluster_centers_).all()
