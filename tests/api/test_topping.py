"""The best items for users, and vertices like others, against all scores in numpy."""

import numpy as np
import pytest
from support.messages import message

import tux


@pytest.fixture
def run(ratings):
    return tux.run(tux.MF(rank=4), ratings, progress=False, jit=False, epochs=2)


def by_user(table):
    """Return by user the items and the scores of a table of recommendations, by rank."""
    found = {}
    for row in table:
        items, scores = found.setdefault(row["user"], ([], []))
        items.append(row["item"])
        scores.append(row["score"])
        assert row["rank"] == len(items)
    return found


def test_recommendations_are_the_largest_scores(run):
    users, items = run.vertices["user"], run.vertices["item"]
    table = run.recommend(users.ids[[2, 0]], 3)
    assert table.columns == ["user", "rank", "item", "score"] and len(table) == 6
    for user, (found, scores) in by_user(table).items():
        every = run.predict(([user] * len(items), items.ids.tolist()))
        order = np.argsort(-every)[:3]
        assert found == items.ids[order].tolist() and np.allclose(scores, every[order], atol=1e-5)
    assert [*by_user(table)] == users.ids[[2, 0]].tolist()


def test_all_users_and_one(run):
    everybody = by_user(run.recommend(n=2))
    assert [*everybody] == run.vertices["user"].ids.tolist()
    one = run.vertices["user"].ids[3].item()
    assert by_user(run.recommend(one, 2)) == {one: everybody[one]}


def test_what_is_excluded_is_not_recommended(run, ratings, tmp_path):
    user = run.vertices["user"].ids[0].item()
    best = by_user(run.recommend([user], 3))[user][0]
    for seen in (([user, 4711, user], [best[0], best[1], "unknown"]), tmp_path / "seen.csv"):
        if seen == tmp_path / "seen.csv":
            seen.write_text(f"user,item\n{user},{best[0]}\n")
        left = by_user(run.recommend([user], 2, exclude=seen))[user][0]
        assert left == best[1:]
    other = run.vertices["user"].ids[1].item()  # the first of other edges
    edges = tux.EdgeData.of(("user", "item"), [user, other], [best[0], best[1]], {})
    apart = tux.EdgeData.of(("user", "item"), [other, other], [best[0], best[1]], {})
    assert by_user(run.recommend([user], 2, exclude=edges))[user][0] == best[1:]
    assert by_user(run.recommend([user], 2, exclude=apart))[user][0] == best[:2]
    everything = ([user] * 7, run.vertices["item"].ids.tolist())
    assert len(run.recommend([user], 2, exclude=everything)) == 0


def test_only_some_items_are_recommended(run, ratings):
    users, items = run.vertices["user"].ids, run.vertices["item"].ids
    everything = by_user(run.recommend(n=len(items)))
    allowed = items[[4, 1, 1]].tolist()
    found = by_user(run.recommend(n=5, only=allowed))
    seen = {users[0].item(): {allowed[0]}}
    pairs = ([*seen], [allowed[0]])
    for table, left in (
        (found, {}),
        (by_user(run.recommend(n=5, only=allowed, exclude=pairs)), seen),
    ):
        for user, (best, scores) in everything.items():
            kept = [
                (item, score)
                for item, score in zip(best, scores, strict=True)
                if item in allowed and item not in left.get(user, ())
            ]
            assert [*zip(*table[user], strict=True)] == kept
    assert by_user(run.recommend(n=1, only=allowed[0])) == {
        user: ([allowed[0]], [dict(zip(*each, strict=True))[allowed[0]]])
        for user, each in everything.items()
    }
    assert len(run.recommend(only=[])) == 0
    with pytest.raises(tux.DataError, match=message("training-has-not-seen", "the item 4711")):
        run.recommend(only=[4711])


def test_who_is_not_known(run):
    with pytest.raises(tux.DataError, match=message("training-has-not-seen", "the user 99")):
        run.recommend([99])
    with pytest.raises(tux.DataError, match="has not seen 2 users; the first is 98"):
        run.recommend([98, 99])


def test_similar_vertices_are_the_nearest_by_cosine(run):
    items = run.vertices["item"]
    units = items["f"] / np.linalg.norm(items["f"], axis=1, keepdims=True)
    cosines = units @ units[1]
    cosines[1] = -2
    order = np.argsort(-cosines)[:2]
    table = run.similar(items.ids[1], 2)
    assert table.columns == ["item", "rank", "similar", "cosine"]
    assert table["similar"].tolist() == items.ids[order].tolist()
    assert np.allclose(table["cosine"], cosines[order], atol=1e-5)
    users = run.similar(run.vertices["user"].ids[:2], 3, field="user.f")
    assert users.columns[0] == "user" and len(users) == 6
    with pytest.raises(tux.UsageError, match="no vectors 'user.g'"):
        run.similar([1], field="user.g")


def test_a_program_without_inner_products(tmp_path):
    words = tux.EdgeData.of(("document", "word"), [0, 0, 1], ["a", "b", "a"], {"count": [2, 1, 1]})
    run = tux.run(tux.LDA(topics=2), words, progress=False, jit=False, epochs=1)
    with pytest.raises(tux.UsageError, match="inner products"):
        run.recommend([0])
    with pytest.raises(tux.UsageError, match="0 words"):
        run.topics(0)


def test_a_program_without_topics(run):
    with pytest.raises(tux.UsageError, match=message("has-no-topics", "MF")):
        run.topics()
