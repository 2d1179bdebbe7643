"""`docs/examples/tags.py`: two edge types, against numpy, on several workers; tags help."""

import numpy as np
import pandas as pd
import pytest
from support.machines.team import train_team

import tux
from tux.arrays.edges import EdgeData
from tux.program.sources import find

TaggedMF = find("docs/examples/tags.py").program

USERS, ITEMS, KINDS = 60, 40, 5


def plant(seed=0):
    """Return ratings, tags and held-out ratings of items that are alike within a kind; half of the
    items have one rating.
    """
    draw = np.random.default_rng(seed)
    kind = draw.integers(0, KINDS, ITEMS)
    q = draw.normal(size=(KINDS, 2))[kind]
    p = draw.normal(size=(USERS, 2))
    counts = np.where(np.arange(ITEMS) % 2, 1, 40)
    item = np.repeat(np.arange(ITEMS), counts)
    user = np.concatenate([draw.choice(USERS, count, replace=False) for count in counts])
    value = 3 + (p[user] * q[item]).sum(axis=1) + draw.normal(0, 0.2, len(user))
    ratings = pd.DataFrame({"user": user, "item": item, "value": value.astype("f4")})
    tags = pd.DataFrame({"item": np.arange(ITEMS), "tag": [f"kind {each}" for each in kind]})
    new = np.repeat(np.arange(1, ITEMS, 2), 10)
    reader = draw.integers(0, USERS, len(new))
    truth = 3 + (p[reader] * q[new]).sum(axis=1)
    held = pd.DataFrame({"user": reader, "item": new, "value": truth.astype("f4")})
    return ratings, tags, held


def edges_of(ratings, tags):
    value = ratings["value"].to_numpy()
    columns = ratings["user"].to_numpy(), ratings["item"].to_numpy()
    edges = EdgeData.of(("user", "item"), *columns, {"value": value})
    columns = tags["item"].to_numpy(), tags["tag"].to_numpy().astype(str)
    return edges.join({"tagged": EdgeData.of(("item", "tag"), *columns, {}, against=edges.ids)})


def follow_gradients(program, edges, start, epochs):
    """Return the vectors by type after some epochs, by the formulas of the page."""
    f = {kind: values.copy() for kind, values in start.items()}
    value, mean = edges.fields["value"].astype(float), edges.fields["value"].mean(dtype=float)
    tags = edges.others["tagged"]
    for _ in range(epochs):
        g = {kind: np.zeros_like(values) for kind, values in f.items()}
        n = {kind: np.zeros(len(values)) for kind, values in f.items()}
        error = value - mean - (f["user"][edges.src] * f["item"][edges.dst]).sum(axis=1)
        other = program.weight * (1 - (f["item"][tags.src] * f["tag"][tags.dst]).sum(axis=1))
        for kind, at, push in (
            ("user", edges.src, error[:, None] * f["item"][edges.dst]),
            ("item", edges.dst, error[:, None] * f["user"][edges.src]),
            ("item", tags.src, other[:, None] * f["tag"][tags.dst]),
            ("tag", tags.dst, other[:, None] * f["item"][tags.src]),
        ):
            np.add.at(g[kind], at, push)
            np.add.at(n[kind], at, 1 if at is edges.src or at is edges.dst else program.weight)
        for kind, values in f.items():
            some = n[kind] > 0
            mean_of_all = g[kind][some] / n[kind][some, None]
            values[some] += program.step * (mean_of_all - program.reg * values[some])
    return f


@pytest.mark.parametrize(("k", "by"), [(1, "random"), (2, "bicut"), (3, "ne")])
def test_the_formulas(k, by):
    edges = edges_of(*plant()[:2])
    program = TaggedMF(rank=3, weight=0.5)
    start = train_team(program, edges, 0, k=k, by=by)
    before = {kind: start.gather(kind, "f") for kind in edges.ids}
    team = train_team(program, edges, 4, k=k, by=by)
    for kind, expected in follow_gradients(program, edges, before, 4).items():
        np.testing.assert_allclose(team.gather(kind, "f"), expected, rtol=1e-9, err_msg=kind)


def test_items_with_few_ratings_learn_from_tags():
    ratings, tags, held = plant(4)
    best = [
        min(
            tux.run(
                TaggedMF(rank=3, weight=weight), {"rating": ratings, "tagged": tags}, held
            ).history["test_rmse"]
        )
        for weight in (0.0, 1.0)
    ]
    assert best[1] < 0.8 * best[0]


def test_the_model_predicts_and_finds_items(tmp_path):
    ratings, tags, held = plant()
    run = tux.run(TaggedMF(rank=3), {"rating": ratings, "tagged": tags}, out=tmp_path / "run")
    found = run.predict(held[["user", "item"]])
    user, item = run.vertices["user"], run.vertices["item"]
    rows = [np.searchsorted(*pair) for pair in ((user.ids, held["user"]), (item.ids, held["item"]))]
    expected = run.context["mean"] + (user["f"][rows[0]] * item["f"][rows[1]]).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert run.similar([3], 2).columns[0] == "item"
    assert len(run.recommend([1], 5)) == 5
