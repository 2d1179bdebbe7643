"""DeepWalk as an estimator: graphs in any form, and neighbours that are known."""

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from tux.base.errors import DataError
from tux.estimators import DeepWalkEmbedding


@pytest.fixture(scope="module")
def cliques():
    r"""Return 0..5, all joined -- 6..11, all joined."""
    return nx.barbell_graph(6, 0)


@pytest.fixture(scope="module")
def model(cliques):
    return small_embedding().fit(cliques)


def small_embedding(**given):
    model = DeepWalkEmbedding(
        8, num_walks=40, walk_length=10, window=3, learning_rate=0.1, random_state=0
    )
    return model.set_params(**given)


@pytest.mark.slow
def test_neighbours_are_near(model):
    assert model.node_ids_.tolist() == list(range(12)) and model.embedding_.shape == (12, 8)
    found = model.similar([2, 9], 4)
    assert set(found["similar"][:4].tolist()) < set(range(6)) - {2}
    assert set(found["similar"][4:].tolist()) < set(range(6, 12)) - {9}
    assert np.array_equal(model.vectors([9, 2]), model.embedding_[[9, 2]])
    assert np.array_equal(model.vectors(4), model.embedding_[[4]])
    with pytest.raises(DataError, match="no vertex has the id.* 12|12"):
        model.vectors(12)


@pytest.mark.slow
def test_graphs_in_any_form(model, cliques):
    edges = np.array(cliques.edges)
    matrix = sparse.triu(nx.to_scipy_sparse_array(cliques))
    for graph in (edges, tuple(edges.T), {"source": edges[:, 0], "target": edges[:, 1]}, matrix):
        assert np.array_equal(small_embedding().fit_transform(graph), model.embedding_)
    names = np.array([f"n{number:02}" for number in range(12)])
    named = small_embedding().fit(names[edges])
    assert named.node_ids_.tolist() == names.tolist()
    assert np.array_equal(named.embedding_, model.embedding_)


@pytest.mark.long
def test_weights(cliques):
    edges = np.array(cliques.edges)
    weights = np.where(edges.sum(axis=1) == 11, 1e-6, 1.0)  # of the one edge between the two
    small_embedding(weighted=True).fit((*edges.T, weights))
    heavy = small_embedding(weighted=True).fit((*edges.T, weights))
    assert set(heavy.similar(5, 5)["similar"].tolist()) == set(range(5))
