"""Metrics and predictions of the apps by their formulas in plain numpy, or by scikit-learn, from
the arrays of a model. Training data are the held-out data, too.
"""

from types import SimpleNamespace

import numpy as np
import sklearn.linear_model
import sklearn.svm
from scipy.special import expit, softmax
from support.apps.app_data import matrix_of
from support.oracles.als_oracle import AlsFactors
from support.oracles.gbdt_oracle import score_samples
from support.oracles.lda_oracle import log_likelihood
from support.oracles.ranking_oracle import ndcg

from tux import class_names


def rows_of(table, ids):
    """Return the row of each id in a table of vertices, -1 where there is none."""
    at = {key: row for row, key in enumerate(table.ids.tolist())}
    return np.array([at.get(key, -1) for key in ids.tolist()])


# ---- ratings


def ratings_by(run, columns):
    """Return inner products of factors, and the mean of all ratings where an id is unknown; with
    biases, both are added to them.
    """
    mean = run.context["mean"][0]
    offset = mean if run.parameters["biases"] else run.context.get("offset", [0.0])[0]
    user, item = (run.vertices[kind] for kind in ("user", "item"))
    at = rows_of(user, columns["user"]), rows_of(item, columns["item"])
    dots = (user["f"][at[0]].astype("f8") * item["f"][at[1]]).sum(axis=1) + offset
    found = np.where((at[0] < 0) | (at[1] < 0), mean, dots)
    for table, rows in zip((user, item), at, strict=True):
        if run.parameters["biases"]:
            found += np.where(rows < 0, 0.0, table["bias"][rows])
    return found


def preferences_by(run, columns):
    """Return inner products of factors plus the bias of the item; that alone where the user is
    unknown, and 0 where the item is.
    """
    user, item = (run.vertices[kind] for kind in ("user", "item"))
    at = rows_of(user, columns["user"]), rows_of(item, columns["item"])
    dots = (user["f"][at[0]].astype("f8") * item["f"][at[1]]).sum(axis=1)
    known = item["b"][at[1]] + np.where(at[0] < 0, 0, dots)
    return np.where(at[1] < 0, 0, known)


def judge_factors(run, columns):
    """Return the root mean square error of a factorization."""
    error = columns["rating"] - ratings_by(run, columns)
    return {"test_rmse": np.sqrt(np.mean(error**2))}


def judge_squares(run, columns):
    """Return the objective of ALS, whose penalty counts a vertex's ratings."""
    found = judge_factors(run, columns)
    loss = len(columns["rating"]) * found["test_rmse"] ** 2
    for kind in ("user", "item"):
        table = run.vertices[kind]
        square = (table["f"].astype("f8") ** 2).sum(axis=1)
        square += table["bias"].astype("f8") ** 2 if run.parameters["biases"] else 0
        loss += run.program.reg * (table["n"] * square).sum()
    return found | {"train_rmse": found["test_rmse"], "objective": loss}


def judge_feedback(run, columns):
    """Return the objective of implicit feedback, over all pairs."""
    user, item = (run.vertices[kind] for kind in ("user", "item"))
    ends = rows_of(user, columns["user"]), rows_of(item, columns["item"])
    edges = SimpleNamespace(src=ends[0], dst=ends[1], fields={"value": columns["rating"]})
    return {"objective": AlsFactors(run.program, user["f"], item["f"], edges).objective()}


# ---- documents


def judge_topics(run, columns):
    """Return the likelihood of a topic model from its counts, those of seeds apart."""
    document, by_word = run.vertices["document"], run.export("topics")["n"]
    before = run.vertices["word"]["n"] - by_word
    by_document = np.zeros((len(document), by_word.shape[1]), int)
    for row in range(len(document)):
        by_document[row, document["topics"][row]] = document["times"][row]
    tokens = columns["count"].sum()
    assert by_word.sum() == by_document.sum() == tokens
    assert np.array_equal(by_word.sum(axis=0), by_document.sum(axis=0))
    alpha, beta = run.context["alpha"][0, 0], run.context["beta"][0]
    likelihood = log_likelihood(by_document, by_word, float(alpha), float(beta), before)
    return {"loglik_per_token": likelihood / tokens}


def topics_of(run, columns, passes=30):
    """Return the topics of new documents by EM, with the words of the model as they are; words that
    training has not seen count nothing.
    """
    word, alpha, beta = run.vertices["word"], run.context["alpha"][0], run.context["beta"][0]
    phi = (word["n"] + beta) / (word["n"].sum(axis=0) + len(word) * beta)
    at, count = rows_of(word, columns["word"]), columns["count"]
    theta = []
    for document in np.unique(columns["document"]):
        mine = (columns["document"] == document) & (at >= 0)
        mixed = np.full(phi.shape[1], 1 / phi.shape[1])
        for _ in range(passes):
            chance = phi[at[mine]] * mixed
            own = (count[mine, None] * chance / chance.sum(axis=1, keepdims=True)).sum(axis=0)
            mixed = (own + alpha) / (own + alpha).sum()
        theta.append(mixed)
    return np.array(theta)


# ---- samples


def margins_of(run, columns):
    """Return x.w + b of samples; of several classes, a column each."""
    feature = run.vertices["feature"]
    return matrix_of(columns, feature.ids) @ feature["w"] + run.context["b"][0]


def chances_of(run, columns):
    """Return the probability of the second class."""
    return expit(margins_of(run, columns))


def shares_of(run, columns):
    """Return the probability of each class."""
    return softmax(margins_of(run, columns), axis=1)


def _judge_classes(chances, label):
    loss = -np.log(np.where(label > 0, chances, 1 - chances)).mean()
    return {"test_logloss": loss, "test_accuracy": ((chances > 0.5) == (label > 0)).mean()}


def judge_lasso(run, columns):
    """Return the optimum under an L1 penalty, by scikit-learn."""
    x, y = matrix_of(columns, run.vertices["feature"].ids), columns["label"]
    l1 = run.program.l1
    peer = sklearn.linear_model.LogisticRegression(
        C=1 / l1, l1_ratio=1, solver="liblinear", fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(x, y)
    w = peer.coef_[0]
    optimum = np.logaddexp(0, -y * (x @ w)).sum() + l1 * np.abs(w).sum()
    return {"objective": optimum} | _judge_classes(chances_of(run, columns), y)


def judge_logistic(run, columns):
    """Return the optimum under an L2 penalty, by scikit-learn."""
    x, y = matrix_of(columns, run.vertices["feature"].ids), columns["label"]
    l2 = run.program.l2
    peer = sklearn.linear_model.LogisticRegression(
        C=1 / l2, fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(x, y)
    w = peer.coef_[0]
    optimum = np.logaddexp(0, -y * (x @ w)).sum() + l2 / 2 * w @ w
    return {"objective": optimum} | _judge_classes(chances_of(run, columns), y)


def judge_ridge(run, columns):
    """Return the optimum of squared errors, in closed form."""
    x, y = matrix_of(columns, run.vertices["feature"].ids), columns["label"]
    w = np.linalg.solve(x.T @ x + run.program.l2 * np.eye(x.shape[1]), x.T @ y)
    optimum = ((x @ w - y) ** 2).sum() / 2 + run.program.l2 / 2 * w @ w
    error = margins_of(run, columns) - y
    return {"objective": optimum, "test_rmse": np.sqrt(np.mean(error**2))}


def judge_hinge(run, columns):
    """Return the optimum of squared hinge losses, by scikit-learn's SVM."""
    x, y = matrix_of(columns, run.vertices["feature"].ids), columns["label"]
    peer = sklearn.svm.LinearSVC(
        C=1 / run.program.l2, fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(x, y)
    w = peer.coef_[0]
    optimum = (np.maximum(0, 1 - y * (x @ w)) ** 2).sum() + run.program.l2 / 2 * w @ w
    right = ((margins_of(run, columns) > 0) == (y > 0)).mean()
    return {"objective": optimum, "test_accuracy": right}


def judge_softmax(run, columns):
    """Return the optimum of several classes, by scikit-learn."""
    x, y = matrix_of(columns, run.vertices["feature"].ids), columns["label"]
    l2 = run.program.l2
    peer = sklearn.linear_model.LogisticRegression(
        C=1 / l2, fit_intercept=False, tol=1e-10, max_iter=10_000
    ).fit(x, y)
    of = np.searchsorted(peer.classes_.astype(str), y.astype(str))
    own = peer.predict_log_proba(x)[np.arange(len(y)), of]
    chances = shares_of(run, columns)
    return {
        "objective": -own.sum() + l2 / 2 * (peer.coef_**2).sum(),
        "test_logloss": -np.log(chances[np.arange(len(y)), of]).mean(),
        "test_accuracy": (chances.argmax(axis=1) == of).mean(),
    }


# ---- trees


def scores_of(run, columns):
    """Return the sums of the trees' leaves; of several classes, a column each."""
    names = ("feature", "cut", "default_left", "weight")
    trees, nodes = int(run.results["last"]["trees"]), 2 ** (run.program.max_depth + 1)
    fields = {name: run.context[name][0].reshape(-1, nodes)[:trees] for name in names}
    x = matrix_of(columns, run.vertices["feature"].ids)
    classes = max(1, len(class_names(run.program.classes)))
    return score_samples(fields, np.where(x == 0, np.nan, x), run.context["base"][0], classes)


def tree_chances(run, columns):
    """Return the probability of the second class by the trees."""
    return expit(scores_of(run, columns))


def judge_trees(run, columns):
    """Return how good the trees are on the data."""
    score, y = scores_of(run, columns), columns["label"]
    return {"objective": np.logaddexp(0, -y * score).sum()} | _judge_classes(expit(score), y)


def tree_shares(run, columns):
    """Return the probability of each class by the trees."""
    return softmax(scores_of(run, columns), axis=1)


def judge_tree_shares(run, columns):
    """Return how good the trees of several classes are on the data."""
    chances = tree_shares(run, columns)
    of = np.searchsorted(class_names(run.program.classes), columns["label"].astype(str))
    losses = -np.log(chances[np.arange(len(of)), of])
    right = (chances.argmax(axis=1) == of).mean()
    return {"objective": losses.sum(), "test_logloss": losses.mean(), "test_accuracy": right}


def judge_tree_quantiles(run, columns):
    """Return how good the trees of a quantile are on the data."""
    error, alpha = columns["label"] - scores_of(run, columns), run.program.quantile
    losses = np.maximum(alpha * error, (alpha - 1) * error)
    rmse = np.sqrt(np.mean(error**2))
    return {"objective": losses.sum(), "test_loss": losses.mean(), "test_rmse": rmse}


def judge_ranks(run, columns):
    """Return how well the trees rank the samples of each query."""
    of = scores_of(run, columns), columns["label"], columns["qid"]
    return {"train_ndcg": ndcg(*of)}


# ---- clusters


def _samples_of(run, columns):
    if "sample" not in columns:
        return np.stack([*columns.values()], axis=1)
    at = rows_of(run.vertices["feature"], columns["feature"])
    samples, row = np.unique(columns["sample"], return_inverse=True)
    x = np.zeros((len(samples), len(run.vertices["feature"])))
    x[row[at >= 0], at[at >= 0]] = columns["value"][at >= 0]
    return x


def distances_of(run, columns):
    """Return the squared distance of each sample to each center."""
    size = run.context["size"][0]
    if "feature" in run.vertices:
        center = (run.vertices["feature"]["s"] / size).T
    else:
        center = run.context["center"][0].reshape(len(size), -1)
    x = _samples_of(run, columns)
    return ((x[:, None] - center) ** 2).sum(axis=2)


def nearest_of(run, columns):
    """Return the nearest center of each sample."""
    return distances_of(run, columns).argmin(axis=1)


def judge_clusters(run, columns):
    """Return the inertia of samples in clusters whose centers are their means."""
    nearest = nearest_of(run, columns)
    assert np.array_equal(nearest, run.vertices["sample"]["cluster"])
    x = _samples_of(run, columns)
    inertia = sum(
        ((x[nearest == k] - x[nearest == k].mean(axis=0)) ** 2).sum() for k in np.unique(nearest)
    )
    found = {"inertia": inertia, "empty_clusters": 0.0}
    return found | ({"test_inertia": inertia} if "feature" in run.vertices else {})
