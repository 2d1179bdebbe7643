"""New vertices of DeepWalk: their vectors begin with the means of their neighbours', whichever way
edges are given, and then make the steps of skip-gram.
"""

import csv
import gzip
from types import SimpleNamespace as Row

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

import tux
from tux.apps.deepwalk import fold_in
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.estimators import DeepWalkEmbedding
from tux.options.options import RunOptions
from tux.predict.node_classification import f1, log_odds, logistic, most_likely
from tux.program.sources import find
from tux.runs.session import run as run_into

SMALL = {"dimensions": 4, "num_walks": 1, "walk_length": 5, "window": 2, "pool": 5}
LINKS = np.array([(a, b) for a in range(8) for b in range(a) if (a + b) % 3])
NEW = [(20, 3), (5, 20), (4, 21), (3, 5), (22, 23), (20, 21), (24, 24), (3, 21)]


@pytest.fixture
def means_alone(monkeypatch):
    """Leave out the steps, so that vectors are the means."""
    monkeypatch.setattr(fold_in, "PASSES", 0)


@pytest.fixture(scope="module")
def model():
    return tux.run(tux.DeepWalk(**SMALL), LINKS, epochs=1, jit=False, progress=False)


def means_of(run, edges, weights=None):
    """Return by id the mean vector of the known neighbours of each new vertex, zeros without."""
    nodes, found = run.vertices["node"], {}
    known = {*nodes.ids.tolist()}
    weights = np.ones(len(edges)) if weights is None else weights
    for (a, b), weight in zip(edges, weights, strict=True):
        for new, end in ((a, b), (b, a)):
            if new not in known:
                sums = found.setdefault(new, [np.zeros(4), 0.0])
                if end in known:
                    sums[0] = sums[0] + weight * nodes.at(end)["u"]
                    sums[1] += weight
    return {new: sums / max(whole, 1e-30) for new, (sums, whole) in found.items()}


def test_vectors_are_the_means_of_the_neighbours(model, means_alone, caplog):
    found, expected = model.fold_in(NEW), means_of(model, NEW)
    assert found.columns == ["node", "u"] and found["node"].tolist() == [20, 21, 22, 23, 24]
    np.testing.assert_allclose(found["u"], [expected[n] for n in found["node"].tolist()], atol=1e-7)
    told = "4 of 8 links of the data do not join a new node with one that the model knows: left out"
    assert told in caplog.text
    assert "nothing is known of 3 nodes: vectors of zeros" in caplog.text


def test_edges_come_in_any_form(model, means_alone):
    expected = model.fold_in(NEW)
    arrays = np.array(NEW)
    size = arrays.max() + 1
    matrix = sparse.coo_array((np.ones(len(NEW)), tuple(arrays.T)), (size, size))
    for form in (arrays, tuple(arrays.T), {"a": arrays[:, 0], "b": arrays[:, 1]}, matrix):
        found = model.fold_in(form)
        same = [found["node"].tolist().index(node) for node in (20, 21)]
        np.testing.assert_allclose(found["u"][same], expected["u"][:2], atol=1e-7)
    network = model.fold_in(nx.Graph(NEW))
    assert {*network["node"].tolist()} == {20, 21, 22, 23, 24}


def test_ids_may_be_words(means_alone):
    words = np.char.add("n", LINKS.astype(str))
    run = tux.run(tux.DeepWalk(**SMALL), words, epochs=1, jit=False, progress=False)
    found = run.fold_in([("x", "n3"), ("n5", "x"), ("y", "n1")])
    nodes = run.vertices["node"]
    assert found["node"].tolist() == ["x", "y"]
    expected = [nodes.at(["n3", "n5"])["u"].mean(axis=0), nodes.at("n1")["u"]]
    np.testing.assert_allclose(found["u"], expected, atol=1e-7)


def test_a_model_of_numbers_meets_words(model):
    assert model.fold_in([("x", "3"), ("5", "x")])["node"].tolist() == ["x"]


def test_edges_have_weights(means_alone):
    weights = np.linspace(1, 2, len(LINKS))
    program = tux.DeepWalk(**SMALL, weighted=True)
    run = tux.run(program, (*LINKS.T, weights), epochs=1, jit=False, progress=False)
    new, given = NEW[:3], np.array([1.0, 3.0, 0.5])
    found, expected = run.fold_in((*np.array(new).T, given)), means_of(run, new, given)
    np.testing.assert_allclose(found["u"], [*expected.values()], atol=1e-6)


def walk_by_numpy(neighbours, weights, others, negatives, seed):
    """Make the steps of a new vertex on rows (u, c) of its neighbours and of all vertices."""
    rng, shares = np.random.default_rng(seed), weights / weights.sum()
    found = shares @ np.array([row.u for row in neighbours])
    for _ in range(fold_in.PASSES):
        for row, share in zip(neighbours, shares, strict=True):
            rows = [(row.c, 1)]
            rows += [(others[int(rng.random() * len(others))].c, 0) for _ in range(negatives)]
            for c, label in rows:
                chance = 1 / (1 + np.exp(-found @ c))
                found = found + fold_in.STEP * share * (label - chance) * c
    return found


class SeededBelow:
    """A random stream that draws whole numbers."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)

    def below(self, n):
        return int(self._rng.random() * n)


def test_steps_go_along_the_gradients_of_skip_gram():
    rng, p = np.random.default_rng(0), Row(dimensions=4, negatives=3)
    rows = [Row(u=rng.normal(size=4), c=rng.normal(size=4)) for _ in range(9)]
    every, weights = [Row(node=row) for row in rows], np.array([1.0, 2.0, 5.0])
    edges = [Row(node=row, weight=w) for row, w in zip(rows, weights, strict=False)]
    for function, by in ((fold_in.find, np.ones(3)), (fold_in.find_by_weight, weights)):
        function(edges, every, out := np.zeros(4), p, SeededBelow(7))
        np.testing.assert_allclose(out, walk_by_numpy(rows[:3], by, rows, 3, 7), rtol=1e-9)
        function([], every, out := np.zeros(4), p, SeededBelow(7))
        assert not out.any()


def test_the_same_edges_find_the_same_vectors(model):
    found = model.fold_in(NEW)["u"]
    assert np.array_equal(model.fold_in(NEW)["u"], found)
    whole = tux.run(tux.DeepWalk(**SMALL), LINKS, epochs=1, jit=False, progress=False, seed=1)
    assert not np.array_equal(whole.fold_in(NEW)["u"], found)


REFUSED = {
    "known ones": (
        lambda run: run.fold_in(NEW, keep_known=True),
        "DeepWalk finds no vectors of nodes that it knows",
    ),
    "an end": (
        lambda run: run.fold_in(NEW, of="src"),
        "DeepWalk has no end 'src'\n  its ends are node",
    ),
    "nothing to go by": (
        lambda run: run.fold_in([(3, 5), (30, 31)]),
        "no link of 2 joins a new node with one that the model knows",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_meant_is_refused(model, case):
    ask, text = REFUSED[case]
    with pytest.raises((UsageError, DataError)) as caught:
        ask(model)
    assert str(caught.value).startswith(text)


def test_the_command_writes_vectors(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, edges in (("links.txt", LINKS), ("new.txt", NEW)):
        np.savetxt(name, edges, fmt="%d")
    options = RunOptions(out="run1", epochs=1, jit=False)
    run_into(find("deepwalk").program(**SMALL), "links.txt", options=options)
    assert main(["predict", "run1", "--fold-in", "new.txt", "--out", "new.csv"]) == 0
    with open("new.csv", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["node", *(f"u_{k}" for k in range(4))]
    expected = tux.load("run1").fold_in(np.array(NEW))
    assert [int(row[0]) for row in rows] == expected["node"].tolist()
    written = np.array([row[1:] for row in rows], float)
    np.testing.assert_allclose(written, expected["u"], rtol=1e-5, atol=1e-9)


@pytest.mark.slow
def test_the_estimator_finds_new_vertices():
    model = DeepWalkEmbedding(4, num_walks=1, walk_length=5, random_state=0).fit(LINKS)
    found = model.fold_in([(20, 3), (5, 20)])
    assert found["node"].tolist() == [20]
    assert np.array_equal(found["u"], model._run.fold_in([(20, 3), (5, 20)])["u"])


@pytest.mark.long
def test_new_vertices_are_classified_as_those_of_training(real_data):
    edges, member = read_ppi(real_data / "labelled")
    held = np.random.default_rng(0).permutation(len(member))[: len(member) // 10]
    new = np.isin(edges, held).sum(axis=1)
    part = tux.run(tux.DeepWalk(), edges[new == 0], progress=False)
    whole = tux.run(tux.DeepWalk(), edges, progress=False)
    found = part.fold_in(edges[new == 1])
    ids, known = found["node"][found["u"].any(axis=1)], part.vertices["node"].ids
    vectors = found["u"][found["u"].any(axis=1)]
    reached = f1_of(part.vertices["node"]["u"], member[known], vectors, member[ids])
    at = whole.vertices["node"]
    trained = at.at(known)["u"], member[known], at.at(ids)["u"], member[ids]
    assert reached > 0.9 * f1_of(*trained) > 0.16


def read_ppi(folder):
    """Return the edges of PPI, and which of its vertices have which labels."""
    with gzip.open(folder / "PPI.ungraph.gz", "rt") as file:
        edges = np.loadtxt(file, dtype=int)
    with gzip.open(folder / "PPI.cmty.gz", "rt") as file:
        lines = [line.split() for line in file]
    member = np.zeros((edges.max() + 1, len(lines)), bool)
    for label, nodes in enumerate(lines):
        member[np.array(nodes, int), label] = True
    return edges, member


def f1_of(vectors, member, others, truth):
    """Return the micro F1 of the labels of others, by a classifier of vectors."""
    scores = log_odds(others, *logistic(np.asarray(vectors, float), member))
    return f1(truth, most_likely(scores, truth.sum(axis=1)))[0]
