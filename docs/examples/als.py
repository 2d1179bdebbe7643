"""Alternating least squares: min sum over ratings r of (r - x.y)^2 + reg (|x|^2 + |y|^2), where x
and y are the factors of the rating's user and item.

Zhou, Wilkinson, Schreiber and Pan, "Large-scale parallel collaborative filtering for the Netflix
prize", AAIM 2008. With fixed y, the best factors of a user who has n ratings solve

    (sum y y' + n reg I) x = sum r y        (sums over the user's ratings)

An epoch solves this for all users, then the same for all items. The file has a user, an item and a
rating on each line:

    tux run docs/examples/als.py ratings.csv --test held-out.csv --rank 20

Scale ratings to the size of 1 to 100, so that the penalty is no matter of rounding.

Users are whole, so each is solved where its ratings are. An item may have ratings on several
workers, so its sums are deltas, and its master solves.
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Ratings,
    Score,
    Vertex,
    data,
    delta,
    metric,
    param,
    shared,
    total,
    value,
)


def add(a, b, y, r):
    """Add a rating to both sums. Only the lower triangle of the symmetric `a` is used."""
    for i in range(len(y)):
        b[i] += r * y[i]
        for j in range(i + 1):
            a[i, j] += y[i] * y[j]


def solve(a, b, penalty, x):
    """Solve (a + penalty I) x = b by Cholesky's method: c c' = a + penalty I, c z = b, c' x = z."""
    n = len(b)
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            c[i, j] = (a[i, j] - dot(c[i], c[j], j)) / c[j, j]
        c[i, i] = np.sqrt(a[i, i] + penalty - dot(c[i], c[i], i))
        x[i] = (b[i] - dot(c[i], x, i)) / c[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= c[i, i]
        for j in range(i):
            x[j] -= c[i, j] * x[i]


def dot(x, y, n):
    """Return the inner product of the first n entries."""
    sum = 0.0
    for k in range(n):
        sum += x[k] * y[k]
    return sum


def begin(item, p, rng):
    for k in range(p.rank):
        item.y[k] = rng.uniform()


def solve_user(user, edges, p):
    a, b = np.zeros((p.rank, p.rank)), np.zeros(p.rank)
    for edge in edges:
        add(a, b, edge.item.y, edge.value)
    if len(edges):
        solve(a, b, p.reg * len(edges), user.x)


def gather(user, item, rating):
    add(item.a, item.b, user.x, rating.value)
    item.n += 1


def solve_item(item, p):
    for k in range(p.rank):
        item.y[k] = 0
    if item.n:
        solve(item.a, item.b, p.reg * item.n, item.y)


def guess(user, item, p):
    return dot(user.x, item.y, p.rank)


def measure(user, item, rating, tau, p):
    error = (rating.value - guess(user, item, p)) ** 2
    tau.n += 1
    tau.errors += error
    tau.loss += error + p.reg * (dot(user.x, user.x, p.rank) + dot(item.y, item.y, p.rank))


def train(tau):
    tau.objective, tau.train_rmse = tau.loss, np.sqrt(tau.errors / tau.n)


def test(tau):
    tau.test_rmse = np.sqrt(tau.errors / tau.n)


class RatingsALS(Program):
    """Factors of users and items by alternating least squares. Without ratings they are 0."""

    rank: int = param(20, "latent dimensions", low=1)
    reg: float = param(0.05, "L2 penalty on both factors, per rating", low=1e-9)

    user = Vertex(whole=True, x=shared("f8", "rank"))
    item = Vertex(
        y=value("f8", "rank"), a=delta("f8", "rank", "rank"), b=delta("f8", "rank"), n=delta("i4")
    )
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        n=total(),
        errors=total(),
        loss=total(),
        objective=metric(),
        train_rmse=metric(),
        test_rmse=metric(),
    )
    input = Ratings()
    monitor = "test_rmse"

    def setup(self):
        return [Apply("item", begin)]

    def stages(self):
        return [Exchange(solve_user), Exchange(gather), Apply("item", solve_item)]

    def evaluate(self, cluster):
        tested = [Exchange(measure, held_out=True), GlobalSync(test)] if cluster.has_test else []
        return [Exchange(measure), GlobalSync(train), *tested]

    def predict(self):
        return Score(guess, factors=("x", "y"))
