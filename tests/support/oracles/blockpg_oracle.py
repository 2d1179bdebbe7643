"""Sparse logistic regression by its formulas, in plain numpy: a solver of its own that ends with
proof, and how good a model is.

F(w, b) = sum_i c_i log(1 + exp(-y_i (x_i.w + b))) + l1 |w|_1 + l2/2 |w|^2
"""

from typing import NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData


class Data(NamedTuple):
    """n samples of p features, dense; y is -1 or +1, c their weights."""

    x: np.ndarray
    y: np.ndarray
    c: np.ndarray

    def edges(self, train=None):
        """Return these samples as edges. The ids of held-out samples follow those of the samples of
        training. A zero is no entry.
        """
        sample, feature = np.nonzero(self.x)
        known = None if train is None else train.ids
        every = {"sample": np.arange(len(self.y)), "feature": np.arange(self.x.shape[1])}
        fields = {"label": self.y.astype("f4"), "weight": self.c.astype("f4")}
        against = known and {"feature": known["feature"]}
        made = EdgeData.of(
            ("sample", "feature"),
            sample,
            feature,
            {"value": self.x[sample, feature].astype("f4")},
            vertices=every,
            against=against,
        )
        if train is not None:
            made = made.behind("sample", known["sample"])
            fields = {
                name: np.concatenate([train.vertex_fields["sample"][name], values])
                for name, values in fields.items()
            }
        return EdgeData(
            made.ends, made.ids, made.src, made.dst, made.fields, vertex_fields={"sample": fields}
        )


def draw_samples(n=150, p=40, share=0.2, seed=0, scale=1.0, noise=1.0):
    """Draw samples whose classes follow a sparse truth; without noise they can be separated. Values
    are those of single precision.
    """
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, p)) < share, rng.normal(size=(n, p)), 0).astype("f4").astype("f8")
    truth = np.where(rng.random(p) < 0.3, rng.normal(size=p), 0)
    y = np.where(x @ truth * 2 + noise * rng.logistic(size=n) > 0, 1.0, -1.0)
    return Data((x * scale).astype("f4").astype("f8"), y, np.ones(n))


def loss(data, w, b=0.0):
    return float((data.c * np.logaddexp(0, -data.y * (data.x @ w + b))).sum())


def objective(data, w, l1, l2=0.0, b=0.0):
    return loss(data, w, b) + l1 * float(np.abs(w).sum()) + l2 / 2 * float(w @ w)


def slopes(data, w, b=0.0):
    """Return the slope of the loss along each weight."""
    return data.x.T @ (-data.y * data.c / (1 + np.exp(data.y * (data.x @ w + b))))


def steepest(data, intercept=False):
    """Return the least penalty at which no weight is wanted."""
    b = 0.0
    if intercept:
        up, down = data.c[data.y > 0].sum(), data.c[data.y < 0].sum()
        b = np.log(up / down)
    return float(np.abs(slopes(data, np.zeros(data.x.shape[1]), b)).max())


def violation(x, y, c, w, lasso, ridge):
    """Return the distance of each weight from its optimality condition, in the unit of slopes."""
    g = x.T @ (-y * c / (1 + np.exp(np.minimum(y * (x @ w), 700)))) + ridge * w
    return np.where(w == 0, np.maximum(np.abs(g) - lasso, 0), np.abs(g + lasso * np.sign(w)))


def solve(data, l1, l2=0.0, intercept=False):
    """Return (F*, w, b) by proximal Newton steps (Lee, Sun and Saunders 2014). Optimality holds to
    1e-9 of the largest slope there is.
    """
    x, y, c = data
    if intercept:
        x = np.column_stack([x, np.ones(len(y))])
    free = np.arange(x.shape[1]) == data.x.shape[1]
    lasso, ridge = np.where(free, 0.0, l1), np.where(free, 0.0, l2)
    w = np.zeros(x.shape[1])

    def F(w):
        return (c * np.logaddexp(0, -y * (x @ w))).sum() + lasso @ np.abs(w) + ridge @ w**2 / 2

    scale = (np.abs(x).T @ c).max()
    for _ in range(200):
        s = 1 / (1 + np.exp(np.minimum(y * (x @ w), 700)))
        if violation(x, y, c, w, lasso, ridge).max() <= 1e-11 * scale:
            break
        hessian = (x * (c * s * (1 - s))[:, None]).T @ x + np.diag(ridge + 1e-13 * scale)
        d = _direction(hessian, -x.T @ (y * c * s) + ridge * w, w, lasso)
        t, before = 1.0, F(w)
        while F(w + t * d) > before and t > 1e-9:
            t /= 2
        if t <= 1e-9:
            break
        w = np.where(np.abs(w + t * d) < 1e-300, 0.0, w + t * d)
    assert violation(x, y, c, w, lasso, ridge).max() <= 1e-9 * scale, "the oracle has not converged"
    return F(w), w[~free], w[free].sum()


def _direction(hessian, slopes, w, lasso, rounds=300):
    """Return the minimiser of the quadratic model with the penalty, by coordinates."""
    diagonal, penalty = hessian.diagonal().tolist(), lasso.tolist()
    at, q = w.tolist(), slopes.copy()  # q: the model's slopes where `at` is
    for _ in range(rounds):
        most = 0.0
        for j in range(len(at)):
            old, slope, curve = at[j], float(q[j]), diagonal[j]
            u = old - slope / curve
            new = max(abs(u) - penalty[j] / curve, 0.0) * (1 if u > 0 else -1)
            if new != old:
                q += hessian[j] * (new - old)
                at[j], most = new, max(most, abs(new - old) * curve**0.5)
        if most < 1e-13:
            break
    return np.array(at) - w


def area(margins, y):
    """Return the area under the ROC curve: of all pairs of either class the share in the right
    order, ties counting one half.
    """
    up, down = margins[y > 0][:, None], margins[y < 0]
    return float(((up > down) + 0.5 * (up == down)).mean())
