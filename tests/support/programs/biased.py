"""A program whose scores are inner products with a bias of each end, and a model of it with
planted vectors.
"""

import numpy as np

from tux import Apply, Context, Edge, Exchange, Program, Ratings, Score, Vertex, data, shared, value
from tux.program.report import Model


def add(user, item, rating):
    """Count ratings."""
    user.b += rating.value
    item.b += rating.value


def guess(user, item, tau):
    """Return the score."""
    return tau.mean + user.b + item.b + sum(user.f * item.f)


class BiasedProducts(Program):
    """Scores with an offset and biases."""

    input = Ratings()
    user = item = Vertex(b=shared("f4"), f=shared("f4", 6))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(mean=value("f8"))

    def stages(self):
        """Return the stages of an epoch."""
        return [Exchange(add), Apply("user"), Apply("item")]

    def predict(self):
        """Return the scores."""
        return Score(guess, factors=("f", "f"), biases=("b", "b"), offset="mean")


def plant_model(users=300, items=700, seed=0, rank=6):
    """Return a model of such a program: normal vectors of different lengths, and biases; ids of
    users are numbers from 1,000 downwards, those of items are words.
    """
    rng = np.random.default_rng(seed)
    fields = {}
    for kind, count in (("user", users), ("item", items)):
        lengths = rng.lognormal(sigma=0.5, size=(count, 1))
        f = (rng.normal(size=(count, rank)) * lengths).astype("f4")
        fields[kind] = {"f": f, "b": rng.normal(size=count).astype("f4")}
    fields["tau"] = {"mean": np.array([3.5])}
    names = np.array([f"item {j}" for j in range(items)], np.dtypes.StringDType())
    return Model(fields, {"user": np.arange(1000, 1000 - users, -1), "item": names})


def scores_of(model):
    """Return all scores of a plant_model model, (users, items), by the formula."""
    user, item = (model.fields[kind] for kind in ("user", "item"))
    products = user["f"].astype(float) @ item["f"].astype(float).T
    return products + model.fields["tau"]["mean"][0] + user["b"][:, None] + item["b"]
