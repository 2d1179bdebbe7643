"""The apps, and what the promises of `tests/apps/test_conformance.py` have to know of each.

A new app gets all promises by one `AppCase` in `CASES`: small data of `app_data.py`, and parameters
with which a run takes a moment as plain Python. By formulas of `app_oracles.py`, `judge` returns
metrics of a run, and `score` the predictions of new rows. `fit` trains the app's estimator, and
returns arrays by the names of the model's fields, and predictions as "new". `workers` says how far
the metrics of two workers may be from those of one: 0 for the same bytes.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from support.apps import app_oracles as by
from support.apps.app_data import (
    AppData,
    make_counts,
    make_documents,
    make_labelled_points,
    make_links,
    make_pairs,
    make_points,
    make_queries,
    make_ratings,
    make_samples,
    matrix_of,
)

import tux
from tux.program.sources import find

DOCS = Path(__file__).parents[3] / "docs"

Columns = dict[str, np.ndarray]


class AppCase(NamedTuple):
    """An app with data. `program` is what `tux run` takes. `tolerance` is that of `judge` and
    `score`, and of the estimator, which is compiled. Without `random` all seeds give one model. If
    the program is not `alike`, its random numbers depend on the order of edges in a folder. There
    are two `epochs` at least. Threads must share a kernel, unless the case says that none `shares`:
    here are too few blocks of walks for that.
    """

    program: str
    data: AppData
    params: Mapping[str, Any] = {}
    judge: Callable[[Any, Columns], dict[str, float]] | None = None
    score: Callable[[Any, Columns], np.ndarray] | None = None
    fit: Callable[[AppData], dict[str, np.ndarray]] | None = None
    epochs: int = 3
    tolerance: float = 1e-5
    workers: float = 1e-6
    random: bool = True
    alike: bool = True
    kind: str = ""
    shares: bool = True

    @property
    def name(self) -> str:
        """The program, and the loss or the `kind`, if there is one."""
        words = Path(self.program).stem, self.params.get("loss", self.kind)
        return "_".join(filter(None, words))

    def make(self, **more: Any) -> Any:
        """Return the program."""
        return find(self.program).program(**{**self.params, **more})

    @property
    def flags(self) -> list[str]:
        """The parameters as flags of `tux run`."""
        flags = []
        for name, value in self.params.items():
            flags += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
        return flags

    @property
    def page(self) -> str:
        """The page of the app, where its metrics are told."""
        name = Path(find(self.program).path).parent.name
        path = DOCS / f"{name}.md"
        assert path.exists(), f"docs/{name}.md, where users read of the metrics, is not there"
        return path.read_text()


def _factors(model):
    found = {"user.f": model.user_factors_, "item.f": model.item_factors_}
    if model.biases:
        found |= {"user.bias": model.user_biases_, "item.bias": model.item_biases_}
    return found


def _fit_mf(data):
    return _factors(tux.MatrixFactorization(3, max_iter=3, random_state=1).fit(data.columns))


def _fit_als(data):
    return _factors(
        tux.AlternatingLeastSquares(3, center=True, max_iter=3, random_state=1).fit(data.columns)
    )


def _fit_biased(kind, data):
    model = kind(3, biases=True, max_iter=3, random_state=1).fit(data.columns)
    return _factors(model) | {"new": model.predict((data.new["user"], data.new["item"]))}


def _fit_bpr(data):
    model = tux.BayesianPersonalizedRanking(3, max_iter=3, random_state=1).fit(data.columns)
    return _factors(model) | {"item.b": model.item_biases_, "new": model.predict(data.new)}


def _samples(data):
    names = _features(data)
    return matrix_of(data.columns, names), data.columns.get("label")


def _fit_blockpg(data):
    model = tux.SparseLogisticRegression(0.5, fit_intercept=False, tol=1e-9, random_state=1)
    return {"feature.w": model.fit(*_samples(data)).coef_[0]}


def _fit_linear(data):
    model = tux.LogisticRegression(0.5, fit_intercept=False, tol=1e-9, random_state=1)
    return {"feature.w": model.fit(*_samples(data)).coef_[0]}


def _fit_softmax(data):
    model = tux.LogisticRegression(0.5, fit_intercept=False, tol=1e-9, random_state=1)
    return {"feature.w": model.fit(*_samples(data)).coef_.T}


def _fit_points(data):
    model = tux.KMeans(3, init="random", max_iter=5, tol=0, random_state=1).fit(_samples(data)[0])
    return {"sample.cluster": model.labels_}


def _fit_gbdt(data):
    model = tux.BoostedTreesClassifier(3, max_depth=2, random_state=1).fit(*_samples(data))
    chances = model.predict_proba(_new(data))
    return {"new": chances if chances.shape[1] > 2 else chances[:, 1]}


def _fit_quantiles(data):
    model = tux.BoostedTreesRegressor(3, loss="quantile", quantile=0.8, max_depth=2, random_state=1)
    return {"new": model.fit(*_samples(data)).predict(_new(data))}


def _fit_ranker(data):
    model = tux.BoostedTreesRanker(3, max_depth=2, random_state=1)
    return {"new": model.fit(*_samples(data), data.columns["qid"]).predict(_new(data))}


def _features(data):
    return [name for name in data.columns if name not in ("label", "qid")]


def _new(data):
    return matrix_of(data.new, _features(data))


def _fit_lda(data):
    columns = data.columns
    words, word = np.unique(columns["word"].astype(str), return_inverse=True)
    counts = np.zeros((columns["document"].max() + 1, len(words)), int)
    counts[columns["document"], word] = columns["count"]
    model = tux.LatentDirichletAllocation(3, optimise=2, max_iter=3, random_state=1).fit(counts)
    return {"word.n": np.rint(model.components_ - model.topic_word_prior_).T}


def _fit_deepwalk(data):
    model = tux.DeepWalkEmbedding(4, **_WALKING, window=2, max_iter=2, random_state=1)
    return {"node.u": model.fit(data.columns).embedding_}


_TOPICS = {"topics": 3}
_SEEDED = _TOPICS | {"seeds": 'inline:[["a",[0,2]],["",[]],["b",[2,5]]]', "seed_weight": 4}
_OPTIMISED = _TOPICS | {"optimise": 2}
_WALKING = {"num_walks": 3, "walk_length": 5}
_VECTORS = _WALKING | {"dimensions": 4, "window": 2}
_CLUSTERS = {"n_clusters": 3, "tol": 0, "init": "random"}
_TREES = {"max_iter": 3, "max_depth": 2}
_LASSO = {"l1": 0.5, "path": 2, "tol": 1e-9}
_CLASSES = {"l2": 0.5, "tol": 1e-9}
_SQUARES, _HINGES, _SOFTMAX = (
    _CLASSES | {"loss": loss} for loss in ("squared", "squared_hinge", "softmax")
)
_NEWTON = _CLASSES | {"solver": "newton"}
_IMPLICIT = {"rank": 3, "implicit": True, "alpha": 2.0}
_CENTRED = {"rank": 3, "center": True}
_BIASED = {"rank": 3, "biases": True}
_SMOOTH = {"epochs": 60, "random": False}
_DRAWN = {"alike": False, "workers": 0.05}
_SAMPLED = {"alike": False, "workers": 0.5}
_WARP = {"rank": 3, "loss": "warp"}
_SHARES = by.judge_softmax, by.shares_of, _fit_softmax
_NEAREST = by.judge_clusters, by.nearest_of
_BOOSTED = by.judge_trees, by.tree_chances, _fit_gbdt
_SEVERAL = by.judge_tree_shares, by.tree_shares, _fit_gbdt
_RANKED = by.judge_tree_quantiles, by.scores_of, _fit_quantiles
_BY_QUERY = by.judge_ranks, by.scores_of, _fit_ranker
_QUANTILE = _TREES | {"loss": "quantile", "quantile": 0.8}


def _whole_features(kind="classes"):
    made = make_samples(kind)
    return made._replace(partition=made.partition.replace("bicut", "target"))


CASES = [
    AppCase(
        "mf", make_ratings(), {"rank": 3}, by.judge_factors, by.ratings_by, _fit_mf, workers=0.05
    ),
    AppCase("als", make_ratings(), _CENTRED, by.judge_squares, by.ratings_by, _fit_als),
    AppCase("als", make_ratings(), _IMPLICIT, by.judge_feedback, by.ratings_by, kind="implicit"),
    AppCase("bpr", make_pairs(), {"rank": 3}, None, by.preferences_by, _fit_bpr, **_SAMPLED),
    AppCase("bpr", make_pairs(), _WARP, score=by.preferences_by, **_SAMPLED),
    AppCase("lda", make_documents(), _OPTIMISED, by.judge_topics, by.topics_of, _fit_lda, **_DRAWN),
    AppCase("warplda", make_documents(), _TOPICS, by.judge_topics, by.topics_of, **_DRAWN),
    AppCase(
        "blockpg", make_samples(), _LASSO, by.judge_lasso, by.chances_of, _fit_blockpg, epochs=60
    ),
    AppCase(
        "linear", make_samples(), _CLASSES, by.judge_logistic, by.chances_of, _fit_linear, **_SMOOTH
    ),
    AppCase("linear", make_samples(), _NEWTON, by.judge_logistic, kind="newton", **_SMOOTH),
    AppCase("linear", make_samples("numbers"), _SQUARES, by.judge_ridge, by.margins_of, **_SMOOTH),
    AppCase("linear", make_samples(), _HINGES, by.judge_hinge, by.margins_of, **_SMOOTH),
    AppCase("linear", make_samples("words"), _SOFTMAX, *_SHARES, **_SMOOTH),
    AppCase("kmeans", make_counts(), _CLUSTERS | {"n_clusters": 4}, *_NEAREST, epochs=5),
    AppCase("kmeans_points", make_points(), _CLUSTERS, *_NEAREST, _fit_points, epochs=5),
    AppCase("gbdt", _whole_features(), _TREES, *_BOOSTED, random=False),
    AppCase(
        "deepwalk",
        make_links(),
        _VECTORS,
        fit=_fit_deepwalk,
        epochs=2,
        shares=False,
    ),
    AppCase("walks", make_links(), _WALKING, epochs=2, workers=0, shares=False),
    *(
        AppCase(
            name, make_documents(), _SEEDED, by.judge_topics, by.topics_of, kind="seeds", **_DRAWN
        )
        for name in ("lda", "warplda")
    ),
    AppCase(
        "mf",
        make_ratings(),
        _BIASED,
        by.judge_factors,
        by.ratings_by,
        partial(_fit_biased, tux.MatrixFactorization),
        workers=0.05,
        kind="biases",
    ),
    AppCase(
        "als",
        make_ratings(),
        _BIASED,
        by.judge_squares,
        by.ratings_by,
        partial(_fit_biased, tux.AlternatingLeastSquares),
        kind="biases",
    ),
    AppCase(
        "gbdt", _whole_features("words"), _TREES | {"loss": "softmax"}, *_SEVERAL, random=False
    ),
    AppCase("gbdt", _whole_features("numbers"), _QUANTILE, *_RANKED, random=False),
    AppCase("gbdt", make_queries(), _TREES | {"loss": "lambdarank"}, *_BY_QUERY, random=False),
]

OF_SEVERAL_TYPES = {"als_features": "rating", "bpr_features": "pair", "mf_features": "rating"}
"""The apps that have several edge types, each with the name of the first. What they promise is in
`tests/apps/test_features.py`.
"""

EXAMPLES = [
    AppCase(str(DOCS / "pagerank.py"), make_links()),
    *(
        AppCase(str(DOCS / "examples" / f"{name}.py"), data, params, kind="example")
        for name, data, params in [
            ("als", make_ratings(), {"rank": 3}),
            ("boosted_trees", make_labelled_points(), {"trees": 3, "depth": 2}),
            ("components", make_links(), {}),
            ("core_numbers", make_links(), {}),
            ("hits", make_links(), {}),
            ("kmeans", make_points(), {"clusters": 3}),
            ("label_propagation", make_links(), {}),
            ("lbfgs", make_samples(), {}),
        ]
    ),
]
"""Programs of the documents. They keep the promises that need no formula."""
