"""Matrix factorization as an estimator: ratings in any form, ids as given, recommendations."""

import signal

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from support.messages import message

from tux.api.result import Run
from tux.base.errors import DataError, UsageError
from tux.estimators import AlternatingLeastSquares, MatrixFactorization, fitting

USERS, ITEMS = 30, 20


@pytest.fixture(scope="module")
def ratings():
    """Return users, items and ratings, whose truth has rank 2; each user has rated 12 items."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.5, 1.5, (USERS, 2)) @ rng.uniform(0.5, 1.5, (2, ITEMS))
    users = np.repeat(np.arange(USERS), 12)
    items = np.concatenate([rng.permutation(ITEMS)[:12] for _ in range(USERS)])
    return users, items, truth[users, items]


@pytest.fixture(scope="module")
def model(ratings):
    return small_factorization().fit(ratings)


def small_factorization(**given):
    return MatrixFactorization(4, reg=0.001, max_iter=40, random_state=3).set_params(**given)


@pytest.mark.slow
def test_ratings_in_any_form(model, ratings):
    pd = pytest.importorskip("pandas")
    users, items, values = ratings
    named = {"user": users, "item": items, "rating": values}
    frame = pd.DataFrame(named)
    mixed = frame.assign(timestamp=7)[["timestamp", "rating", "item", "user"]]
    rows = np.rec.fromarrays([users, items, values], names="user,item,rating")
    pairs = np.column_stack([users, items])
    forms = [
        (frame,),
        (named,),
        (rows,),
        (np.column_stack(ratings),),
        (list(zip(*(each.tolist() for each in ratings), strict=True)),),
        (pairs, values),
        (frame[["user", "item"]], frame["rating"]),
    ]
    for form in forms:
        assert np.array_equal(small_factorization().fit(*form).user_factors_, model.user_factors_)
        assert model.score(*form) == model.score(ratings)
    with pytest.warns(UserWarning, match="columns that are not used: timestamp"):
        assert np.array_equal(small_factorization().fit(mixed).user_factors_, model.user_factors_)
    for library in ("polars", "pyarrow"):
        found = pytest.importorskip(library)
        table = found.DataFrame(named) if library == "polars" else found.table(named)
        assert np.array_equal(small_factorization().fit(table).user_factors_, model.user_factors_)
    matrix = sparse.csr_array((values, (users + 5, items)))
    of_matrix = small_factorization().fit(matrix)
    assert of_matrix.score(matrix) > 0.9 and of_matrix.user_ids_.tolist() == [*range(5, 35)]
    for asked in (pairs, frame, pairs.tolist(), (users, items), matrix.tocoo()):
        assert len(model.predict(asked)) == len(users)


@pytest.mark.parametrize(
    "made",
    [
        lambda numbers: numbers.astype(np.uint8),
        lambda numbers: numbers.astype(np.int64) - 2**62,
        lambda numbers: numbers.astype(np.uint64) + 2**63,
        lambda numbers: np.array([f"u{number}" for number in numbers]),
        lambda numbers: np.array([f"u{number}" for number in numbers], object),
        lambda numbers: np.datetime64("2020-01-01") + numbers,
    ],
    ids=["uint8", "int64", "uint64", "text", "objects", "dates"],
)
def test_ids_come_back_as_given(ratings, made):
    users, items, values = ratings
    given = made(users)
    model = small_factorization(max_iter=2).fit((given, items, values))
    assert model.user_ids_.dtype == (object if given.dtype.kind == "U" else given.dtype)
    assert np.array_equal(np.sort(model.user_ids_), np.unique(given))
    one = np.flatnonzero(model.user_ids_ == given[12])[0]
    factors = model.user_factors_[one] @ model.item_factors_.T
    scores = model.predict((given[12:13].repeat(len(model.item_ids_)), model.item_ids_))
    np.testing.assert_allclose(scores, factors, rtol=1e-5)


def test_pairs_that_are_unknown_get_the_mean(model):
    expected = [model.mean_] * 3
    assert model.predict([(999, 0), (0, 999), (-1, -1), (0, 0)])[:3].tolist() == expected
    with pytest.warns(UserWarning, match="no pair has a user and an item that training") as warned:
        assert model.predict([(999, 0), (0, 999), (-1, -1)]).tolist() == expected
    assert warned[0].filename == __file__
    assert model.score([(999, 0, 3.0), (0, 999, 4.0)]) < 1


def test_recommendations(model, ratings):
    users, items, _ = ratings
    found = model.recommend([3, 0], 5)
    whole = model.user_factors_[[3, 0]] @ model.item_factors_.T
    best = np.argsort(-whole, axis=1)[:, :5]
    assert (
        found["user"].tolist() == [3] * 5 + [0] * 5 and found["rank"].tolist() == [*range(1, 6)] * 2
    )
    assert found["item"].tolist() == model.item_ids_[best].ravel().tolist()
    scores = model.predict((found["user"], found["item"]))
    np.testing.assert_allclose(found["score"], scores, rtol=1e-5)
    new = model.recommend([3, 0], 5, exclude=ratings)
    for user in (3, 0):
        assert not set(new["item"][new["user"] == user]) & set(items[users == user])
    one = found["item"][:1]
    assert (
        model.recommend(3, 4, exclude=[(3, one[0])])["item"].tolist() == found["item"][1:5].tolist()
    )
    some = model.recommend(3, 4, only=found["item"][[2, 1]])
    assert some["item"].tolist() == found["item"][1:3].tolist()
    with pytest.raises(DataError, match=message("training-has-not-seen", "the user 77")):
        model.recommend([1, 77])


def test_similar_items(model):
    f = model.item_factors_ / np.linalg.norm(model.item_factors_, axis=1, keepdims=True)
    cosine = f[7] @ f.T
    cosine[7] = -2
    found = model.similar([7], 3)
    assert found["similar"].tolist() == np.argsort(-cosine)[:3].tolist()
    np.testing.assert_allclose(found["cosine"], np.sort(cosine)[:-4:-1], rtol=1e-4)


@pytest.mark.slow
def test_a_search_over_pairs(ratings):
    users, items, values = ratings
    search = GridSearchCV(small_factorization(max_iter=5), {"reg": [0.001, 50.0]}, cv=2)
    assert search.fit(np.column_stack([users, items]), values).best_params_ == {"reg": 0.001}


def test_ctrl_c_ends_a_search_too(ratings, monkeypatch):
    users, items, values = ratings
    fits = []

    def ends(watch, record, most):
        fits.append(watch)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(fitting._Warnings, "epoch", ends)
    search = GridSearchCV(small_factorization(max_iter=5), {"reg": [0.001, 50.0]}, cv=2)
    with pytest.raises(KeyboardInterrupt):
        search.fit(np.column_stack([users, items]), values)
    assert len(fits) == 1


def test_errors_and_warnings_are_of_the_callers_terms(ratings):
    with pytest.raises(UsageError, match="n_components = 0 is out of range\n  n_components must"):
        small_factorization(n_components=0).fit(ratings)
    with pytest.warns(UserWarning, match="repeats a") as warned:
        small_factorization(max_iter=1).fit([(1, 2, 3.0), (1, 2, 4.0), (2, 2, 1.0)])
    assert warned[0].filename == __file__


def test_a_fitted_model_is_plain_arrays(model, ratings, tmp_path):
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    assert np.array_equal(again.predict(ratings[:2]), model.predict(ratings[:2]))
    kinds = {type(value) for value in vars(model).values()}
    # the run is that with which partial_fit begins
    assert kinds == {bool, int, float, type(None), np.ndarray, dict, Run}
    assert not hasattr(clone(model), "user_ids_")


def test_tables_that_do_not_fit(ratings):
    users, items, values = ratings
    with pytest.raises(DataError, match=message("column-but-are-needed", "2", "s", "3")):
        small_factorization().fit((users, items))
    with pytest.raises(DataError, match=message("columns-differ-in-length")):
        small_factorization().fit((users, items[1:], values))
    with pytest.raises(DataError, match="decimal numbers"):
        small_factorization().fit((users + 0.5, items, values))
    with pytest.raises(DataError, match=message("an-array-of-shape-is-2")):
        small_factorization().fit(users)
    with pytest.raises(DataError, match=r"or, of a matrix, scipy.sparse.csr_array"):
        small_factorization().fit(np.zeros((30, 20)))
    with pytest.raises(DataError, match=message("the-rows-of-a-list")):
        small_factorization().fit([(1, 2, 3.0), (1, 2)])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        small_factorization().fit(np.column_stack([users, items]), values[1:])
    with pytest.raises(DataError, match=message("not-a-number-for-each", "y holds text")):
        small_factorization().fit(np.column_stack([users, items]), ["good"] * 360)
    with pytest.raises(DataError, match="y has nan, not a finite number\n  at row 0\n  give a fin"):
        small_factorization().fit(np.column_stack([users, items]), np.full(360, np.nan))


# Alternating least squares.


@pytest.mark.slow
@pytest.mark.parametrize("center", [False, True])
def test_least_squares_fit_ratings_of_low_rank(center):
    user, item = (each.ravel() for each in np.indices((30, 20)))
    rating = 3.0 + (user % 4) * (item % 3)
    model = AlternatingLeastSquares(4, reg=1e-4, center=center, random_state=0)
    model.fit({"user": user, "item": item, "rating": rating})
    assert model.predict((user, item)) == pytest.approx(rating, abs=0.05)
    assert model.score((user, item, rating)) > 0.999
    best = model.recommend([3], 1)
    assert best["item"][0] % 3 == 2 and best["score"][0] == pytest.approx(9, abs=0.05)
    assert model.predict([(3, 2), (99, 0)])[1] == model.mean_ == pytest.approx(rating.mean())


@pytest.mark.long
def test_implicit_feedback_prefers_what_others_like():
    user, item = np.nonzero((np.arange(40)[:, None] + np.arange(30)) % 2 == 0)
    seen = np.random.default_rng(0).random(len(user)) < 0.6
    model = AlternatingLeastSquares(2, reg=0.01, plain=True, implicit=True, random_state=0)
    model.fit({"user": user[seen], "item": item[seen], "plays": np.ones(seen.sum())})
    known = np.stack([user[seen], item[seen]], axis=1)
    best = model.recommend(None, 3, exclude=known)
    assert ((best["user"] + best["item"]) % 2 == 0).all()
    with pytest.raises(UsageError, match="R\\^2 judges ratings"):
        model.score((user, item, np.ones(len(user))))
