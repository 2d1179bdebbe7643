"""Models given to gensim, implicit, scikit-learn, pyLDAvis and networkx, which hold, predict, find
and draw the same.
"""

from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from support.foreign.foreign_apps import (
    COUNTS,
    LINKS,
    RATINGS,
    SAMPLES,
    WORDS,
    columns_of_csv,
    import_or_skip,
)
from support.foreign.foreign_tables import TrainedApp

# ---- gensim


def word2vec(trained: TrainedApp) -> None:
    """Read vectors as text and as bytes into KeyedVectors."""
    models = import_or_skip("gensim.models")
    node = trained.run.vertices["node"]
    for form, ending in (("word2vec", ".txt"), ("word2vec-binary", ".bin")):
        path = trained.export_file(form, ending)
        found = models.KeyedVectors.load_word2vec_format(str(path), binary=ending == ".bin")
        assert found.index_to_key == [*map(str, node.ids.tolist())]
        assert np.array_equal(found.vectors, node["u"])


def _factors(trained: TrainedApp) -> tuple[np.ndarray, np.ndarray, str]:
    """Return ids and vectors that are compared, and the name of their field."""
    kind, field = ("item", "f") if trained.app.name == "MF" else ("node", "u")
    with np.load(trained.export_file("arrays", ".npz")) as found:
        return found[f"{kind}.id"], found[f"{kind}.{field}"], f"{kind}.{field}"


def keyed_vectors(trained: TrainedApp) -> None:
    """Add vectors to KeyedVectors, which must find the same neighbours."""
    models = import_or_skip("gensim.models")
    ids, made, field = _factors(trained)
    found = models.KeyedVectors(made.shape[1])
    found.add_vectors([*map(str, ids.tolist())], made)
    for id_ in ids.tolist():
        own = trained.run.similar([id_], 3, field=field)
        near = found.most_similar(str(id_), topn=3)
        assert [name for name, _ in near] == [*map(str, own["similar"].tolist())]
        np.testing.assert_allclose([score for _, score in near], own["cosine"], rtol=1e-5)


def gensim_topics(trained: TrainedApp) -> None:
    """Make an LdaModel whose state is the counts of words in topics. Its topics must be those that
    pyLDAvis draws, and its topics of documents those that tux finds.
    """
    models = import_or_skip("gensim.models")
    run = trained.run
    with np.load(trained.export_file("topics", ".npz")) as exported:
        word, n = exported["word"], exported["n"]
    found = models.LdaModel(
        id2word=dict(enumerate(word.tolist())),
        num_topics=n.shape[1],
        alpha=run.context["alpha"][0].astype("f8"),
        eta=float(run.context["beta"][0]),
        dtype=np.float64,
    )
    found.state.sstats = n.T.astype(np.float64)
    found.sync_state()
    np.testing.assert_allclose(found.get_topics(), run.export("pyldavis")["topic_term_dists"])
    bags = [[(k, int(n)) for k, n in enumerate(counts) if n] for counts in COUNTS]
    shares = [found.get_document_topics(bag, minimum_probability=0) for bag in bags]
    _same_topics(np.array([[share for _, share in each] for each in shares]), run)


def _same_topics(shares: np.ndarray, run: Any) -> None:
    """Assert that documents have the same topics, where they are clear: the methods are not the
    same.
    """
    own = run.predict((sp.csr_array(COUNTS), WORDS))
    clear = own.max(1) > 0.8
    assert clear.any() and (shares.argmax(1) == own.argmax(1))[clear].all()
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)


def sentences(trained: TrainedApp) -> None:
    """Read walks as sentences."""
    word2vec = import_or_skip("gensim.models.word2vec")
    found = list(word2vec.LineSentence(str(trained.folder / "walks.txt")))
    assert len(found) == 20 and {len(walk) for walk in found} == {5}
    _on_links(found)


# ---- implicit


def implicit(trained: TrainedApp) -> None:
    """Put factors into a model of implicit. It must give the same items and neighbours."""
    als, threads = import_or_skip("implicit.cpu.als"), import_or_skip("threadpoolctl")
    with np.load(trained.export_file("arrays", ".npz")) as exported:
        users, items = exported["user.f"], exported["item.f"]
        assert exported["user.id"].tolist() == [*range(len(users))]
    with threads.threadpool_limits(1, "blas"):  # of more, implicit warns
        found = als.AlternatingLeastSquares(factors=users.shape[1], num_threads=1)
    found.user_factors, found.item_factors = users, items
    rated, own = sp.csr_matrix(RATINGS.astype("f4")), trained.run
    for known in (False, True):
        at, scores = found.recommend(
            np.arange(len(users)), rated, N=3, filter_already_liked_items=known
        )
        excluded = np.nonzero(RATINGS) if known else None
        for user in range(len(users)):
            table = own.recommend([user], 3, exclude=excluded)
            assert at[user][: len(table)].tolist() == table["item"].tolist()
            np.testing.assert_allclose(scores[user][: len(table)], table["score"], rtol=1e-5)
    near, cosines = found.similar_items(1, N=4)
    table = own.similar([1], 3, field="item.f")
    assert near.tolist() == [1, *table["similar"].tolist()]
    np.testing.assert_allclose(cosines[1:], table["cosine"], rtol=1e-5)


# ---- scikit-learn


def classifier(trained: TrainedApp) -> None:
    """Put weights into a fitted LogisticRegression, which must predict the same."""
    linear = import_or_skip("sklearn.linear_model")
    with np.load(trained.export_file("sklearn", ".npz")) as exported:
        found = linear.LogisticRegression()
        found.coef_, found.intercept_ = exported["coef_"], exported["intercept_"]
        found.classes_ = exported["classes_"]
        assert exported["features"].tolist() == ["f1", "f2", "f3", "f4"]
    own = trained.run.predict(columns_of_csv(trained.app, trained.at / "new.csv"))
    np.testing.assert_allclose(found.predict_proba(SAMPLES)[:, 1], own, rtol=1e-12)


def neighbours(trained: TrainedApp) -> None:
    """Put vectors into NearestNeighbors, which must find the same."""
    library = import_or_skip("sklearn.neighbors")
    ids, made, field = _factors(trained)
    found = library.NearestNeighbors(metric="cosine").fit(made)
    far, near = found.kneighbors(made, 4)
    for row, id_ in enumerate(ids.tolist()):
        own = trained.run.similar([id_], 3, field=field)
        assert ids[near[row, 1:]].tolist() == own["similar"].tolist()
        np.testing.assert_allclose(1 - far[row, 1:], own["cosine"], atol=1e-5)


def sklearn_topics(trained: TrainedApp) -> None:
    """Make a fitted LatentDirichletAllocation of the counts of words in topics. Its topics of
    documents must be those that tux finds.
    """
    library = import_or_skip("sklearn.decomposition")
    run = trained.run
    with np.load(trained.export_file("topics", ".npz")) as exported:
        n, features = exported["n"], exported["word"]
    priors = {"doc_topic_prior": float(run.context["alpha"][0][0])}
    priors["topic_word_prior"] = float(run.context["beta"][0])
    found = library.LatentDirichletAllocation(n.shape[1], max_iter=1, random_state=0, **priors)
    found.fit(COUNTS)  # which makes all that is behind components_
    found.components_ = n.T + priors["topic_word_prior"]
    shares = found.components_ / found.components_.sum(1, keepdims=True)
    found.exp_dirichlet_component_ = shares
    assert features.tolist() == WORDS
    np.testing.assert_allclose(shares, run.export("pyldavis")["topic_term_dists"])
    _same_topics(found.transform(COUNTS), run)


# ---- pyLDAvis


def pyldavis(trained: TrainedApp) -> None:
    """Prepare the picture of pyLDAvis."""
    library = import_or_skip("pyLDAvis")
    with np.load(trained.export_file("pyldavis", ".npz")) as exported:
        given = dict(exported)
    found = library.prepare(**given, n_jobs=1, sort_topics=False)
    lengths, shares = given["doc_lengths"], given["doc_topic_dists"]
    tokens = lengths @ shares
    expected = (tokens / tokens.sum() * 100).tolist()
    drawn = found.topic_coordinates.sort_values("topics")["Freq"]
    np.testing.assert_allclose(drawn, expected, rtol=1e-5)
    assert set(found.topic_info["Term"]) == set(WORDS)
    assert lengths.tolist() == COUNTS.sum(1).tolist()
    assert given["term_frequency"].tolist() == COUNTS.sum(0).tolist()
    assert "ldavis" in library.prepared_data_to_html(found)


# ---- networkx


def attributes(trained: TrainedApp) -> None:
    """Put vectors into a graph as attributes of the nodes."""
    node = trained.run.vertices["node"]
    graph = nx.Graph(LINKS.tolist())
    nx.set_node_attributes(graph, dict(zip(node.ids.tolist(), node["u"], strict=True)), "u")
    assert set(graph) == set(node.ids.tolist())
    for v in graph:
        assert np.array_equal(graph.nodes[v]["u"], node.at(v)["u"])


def recommendation_graph(trained: TrainedApp) -> None:
    """Make a graph of networkx whose edges are the recommendations of items to users."""
    frame = import_or_skip("pandas").DataFrame(trained.run.recommend(None, 2))
    frame["user"], frame["item"] = "u" + frame["user"].astype(str), "i" + frame["item"].astype(str)
    graph = nx.from_pandas_edgelist(frame, "user", "item", ["rank", "score"])
    assert nx.is_bipartite(graph) and graph.number_of_edges() == 2 * len(RATINGS)
    top = trained.run.recommend([0], 1)
    edge = graph.edges["u0", f"i{top['item'][0]}"]
    assert edge["rank"] == 1 and edge["score"] == top["score"][0]


def topic_graph(trained: TrainedApp) -> None:
    """Make a graph of words and topics, by how often each topic has each word."""
    n = trained.run.export("topics")["n"]
    graph = nx.bipartite.from_biadjacency_matrix(sp.csr_array(n))
    assert graph.size("weight") == n.sum() == COUNTS.sum()
    assert graph.degree(len(n), "weight") == n[:, 0].sum()


def paths(trained: TrainedApp) -> None:
    """Read walks as paths, which go along the links."""
    walks = [line.split() for line in (trained.folder / "walks.txt").read_text().splitlines()]
    _on_links(walks)
    graph = nx.Graph()
    for walk in walks:
        nx.add_path(graph, map(int, walk))
    assert set(graph) == set(trained.run.vertices["node"].ids.tolist())
    assert {tuple(sorted(edge)) for edge in graph.edges} <= set(map(tuple, LINKS.tolist()))


def _on_links(walks: list[list[Any]]) -> None:
    steps = {tuple(sorted(map(int, step))) for w in walks for step in zip(w, w[1:], strict=False)}
    assert steps and steps <= set(map(tuple, LINKS.tolist()))
