"""Predictions of a run in memory are those of ``tux predict`` on its folder."""

import logging

import numpy as np
import pytest
from scipy import sparse
from support.messages import message

import tux
from tux.predict.predict import predict

PAIRS = ([12, 13, 99], ["item 3", "item 4", "item 0"])


@pytest.fixture
def run(ratings):
    return tux.run(tux.MF(rank=4), ratings, progress=False, jit=False, epochs=2)


def test_pairs_in_memory(run, tmp_path, caplog):
    run.save(tmp_path / "run1")
    (tmp_path / "pairs.csv").write_text(
        "user,item\n" + "".join(f"{u},{i}\n" for u, i in zip(*PAIRS, strict=True))
    )
    expected = predict(tmp_path / "run1", tmp_path / "pairs.csv")
    with caplog.at_level(logging.WARNING):
        found = run.predict(PAIRS)
    assert found.tolist() == expected["score"].tolist()
    assert "1 user of the data never occurred in training" in caplog.text
    table = run.predict(PAIRS, ids=True)
    assert table.columns == [*expected] and table["user"].tolist() == PAIRS[0]
    assert np.array_equal(run.predict(tmp_path / "pairs.csv"), expected["score"])


def test_inner_products(run):
    users, items = run.vertices["user"], run.vertices["item"]
    at = users.positions(PAIRS[0][:2]), items.positions(PAIRS[1][:2])
    products = (users["f"][at[0]] * items["f"][at[1]]).sum(axis=1)
    assert np.allclose(run.predict((PAIRS[0][:2], PAIRS[1][:2])), products, atol=1e-5)


@pytest.mark.parametrize(
    "data", [{"item": PAIRS[1][:2], "user": PAIRS[0][:2]}, {"a": PAIRS[0][:2], "b": PAIRS[1][:2]}]
)
def test_tables_of_pairs(run, data):
    assert np.array_equal(run.predict(data), run.predict((PAIRS[0][:2], PAIRS[1][:2])))


def test_edges_of_other_ids(run):
    """The indices of edges in memory are their own, and not those of the model."""
    edges = tux.EdgeData.of(("user", "item"), *PAIRS, {})
    assert len(edges.ids["user"]) < len(run.vertices["user"])
    assert np.array_equal(run.predict(edges), run.predict(PAIRS))
    assert run.predict(edges, ids=True)["user"].tolist() == PAIRS[0]
    users = run.vertices["user"].ids
    shifted = users + 1  # as many as the model has
    edges = tux.EdgeData.of(("user", "item"), shifted, ["item 3"] * len(users), {})
    assert np.array_equal(run.predict(edges), run.predict((shifted, ["item 3"] * len(users))))


def test_held_out_edges_of_other_ids(ratings):
    held_out = [12, 10, 99], ["item 3", "item 0", "item 1"], np.float32([1, 2, 3])
    how = {"progress": False, "jit": False, "epochs": 2}
    edges = tux.EdgeData.of(("user", "item"), *held_out[:2], {"value": held_out[2]})
    expected = tux.run(tux.MF(rank=4), ratings, held_out, **how).results["last"]
    assert tux.run(tux.MF(rank=4), ratings, edges, **how).results["last"] == expected
    others = tux.EdgeData.of(("item", "user"), *held_out[1::-1], {"value": held_out[2]})
    with pytest.raises(tux.DataError, match=message("held-out-edges-from-do", "item to user")):
        tux.run(tux.MF(rank=4), ratings, others, **how)


def test_what_holds_no_pairs(run):
    with pytest.raises(tux.DataError):
        run.predict({"user": [1]})
    with pytest.raises(tux.UsageError, match="no option 'colums'\n.*did you mean columns"):
        run.predict(PAIRS, colums="a,b")


def test_new_documents_in_memory():
    texts = ["apple pear apple", "pear plum", "car bus", "bus car car", "plum apple"]
    run = tux.run(tux.LDA(topics=2), texts, progress=False, jit=False, epochs=5)
    shares = run.predict(["apple plum", "bus unknown", ""])
    assert shares.shape == (3, 2) and np.allclose(shares.sum(axis=1), 1, atol=1e-5)
    table = run.predict(["apple plum", "bus"], ids=True)
    assert len(table) == 2 and table.columns[0] == "document"


def test_new_samples_in_memory():
    rng = np.random.default_rng(0)
    x = sparse.random(60, 8, 0.5, random_state=0, format="csr")
    y = np.where(x @ rng.normal(size=8) > 0, "yes", "no")
    run = tux.run(tux.BlockPG(l1=0.1), (x, y), progress=False, jit=False, epochs=5)
    found = run.predict(x[:10])
    assert found.shape == (10,) and np.isfinite(found).all()
    assert np.array_equal(run.predict(x[:10].toarray()), found)
    rows, columns = x[:10].nonzero()
    edges = tux.EdgeData.of(("sample", "feature"), rows, columns, {"value": x[rows, columns].A1})
    assert np.array_equal(run.predict(edges), found)
    every = run.predict(x)
    assert every[y == "yes"].mean() > every[y == "no"].mean()


def test_arrays_after_training_on_an_array():
    ratings = np.array([[1, 2, 5.0], [2, 3, 4], [1, 3, 2], [2, 2, 3]])
    run = tux.run(tux.MF(rank=2), ratings, progress=False, jit=False, epochs=2)
    scores = run.predict(ratings[:, :2])
    assert len(scores) == 4
    assert np.array_equal(run.predict((ratings[:, 0], ratings[:, 1])), scores)
    assert np.array_equal(run.predict({"user": ratings[:, 0], "item": ratings[:, 1]}), scores)
    assert len(run.recommend(1, exclude=ratings)) == 0


def rate_by_hour(user, item, rating):
    return user.bias + item.bias + rating.hour


class HourlyRatings(tux.Program):
    epochs = 1
    user = item = tux.Vertex(bias=tux.shared(init=1))
    rating = tux.Edge("user", "item", value=tux.data("f4"), hour=tux.data("f4"))

    def stages(self):
        return [tux.Apply("user"), tux.Apply("item")]

    def predict(self):
        return tux.Score(rate_by_hour)


def test_fields_that_pairs_do_not_have_are_told(caplog):
    columns = {"user": [1, 2], "item": [3, 4], "value": [1.0, 2.0], "hour": [5.0, 6.0]}
    run = tux.run(HourlyRatings(), columns, progress=False, jit=False)
    with caplog.at_level(logging.WARNING):
        assert run.predict(columns).tolist() == [2, 2]
    assert "reads rating.hour, which pairs do not have: it is 0" in caplog.text
