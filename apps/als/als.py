"""Alternating least squares."""

from __future__ import annotations

from tux.apps.als import conjugate, normal, prior
from tux.apps.als.counts import UNITS, copy_count, count, count_ratings, set_offset
from tux.apps.als.feedback import Feedback
from tux.apps.als.quality import gram_of, quality_stages, rate
from tux.apps.mf.biases import CHOICES, bias_shape, numbers_of_vertex
from tux.base.errors import UsageError
from tux.base.random import normal as drawn
from tux.program.fields import data, delta, master, shared, total, value
from tux.program.params import param
from tux.program.program import Program, choose_monitor
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Barrier, Exchange, GlobalSync, Score
from tux.stages.computed import metric


def gram_shape(p):
    """Return the size of a matrix that implicit feedback needs."""
    return (p.rank, p.rank) if p.implicit else (0, 0)


def first_factors(p):
    """Return the distribution of the first factors of items: of the size that they will have, so
    that ratings with a mean are soon fitted; without a mean, small ones, which lead to a smaller
    error on other ratings.
    """
    return drawn(0, (0.1 if p.center or p.biases else 1) * p.rank**-0.5)


class ALS(Program):
    """Matrix factorization: rating = user.f . item.f, by alternating least squares; with biases,
    rating = mean + user.bias + item.bias + user.f . item.f.
    """

    rank: int = param(32, "latent dimensions", low=1)
    reg: float = param(0.05, "L2 penalty on factors and biases, per rating", low=0)
    plain: bool = param(False, "the penalty on a vertex is reg, whatever its number of ratings")
    center: bool = param(False, "subtract the mean of the ratings")
    biases: bool = param(False, "add the mean and a bias of each user and item", choices=CHOICES)
    implicit: bool = param(False, "values say how sure it is that the user likes the item")
    alpha: float = param(1.0, "with --implicit: confidence 1 + alpha value", low=0)
    steps: int = param(3, "steps of conjugate gradients; 0: solve by Cholesky's method", low=0)
    precision = "f4"
    epochs, epochs_from = 10, 1
    monitor = "test_rmse"
    input = Feedback()
    user = Vertex(
        whole=True,
        f=shared("f4", "rank"),
        bias=shared("f4", bias_shape),
        n=shared("f4"),
        old=shared("f4", kept=False),
    )
    item = Vertex(
        f=shared("f4", "rank", init=first_factors),
        bias=shared("f4", bias_shape),
        n=value("f4"),
        old=value("f4", kept=False),
        seen=delta("i4"),
        here=delta("i4"),
        got=delta("f4", conjugate.numbers_per_item),
        d=value("f4", conjugate.numbers_per_item, kept=False),
        r=master("f4", conjugate.numbers_per_item, kept=False),
        square=master("f8", kept=False),
        a=delta("f8", normal.matrix_entries),
        b=delta("f8", normal.side_entries),
    )
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        **{name: metric() for name in ("objective", "train_rmse", "test_rmse")},
        mean=value("f8"),
        offset=value("f8"),
        gram=value("f4", gram_shape, kept=False),
        products=total("f8", gram_shape),
        **UNITS,
        **prior.CONTEXT,
        **{name: total() for name in ("edges", "loss", "norms")},
    )

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        if not self.steps and not self.reg:
            raise UsageError(
                "reg = 0 leaves equations without a single solution",
                do="give a larger reg, or 3 steps of conjugate gradients instead of 0",
            )
        if self.implicit and self.biases:
            raise UsageError(
                "biases are of ratings, and implicit feedback has none",
                do="leave out one of both",
            )
        if self.implicit:
            choose_monitor(self, ALS, "objective")

    def setup(self):
        counts = Exchange(count), Exchange(count_ratings, over="item", additive=True)
        return [*counts, GlobalSync(set_offset), Apply("item", copy_count)]

    def setup_from(self):
        counts = Exchange(prior.count_more), Exchange(count_ratings, over="item", additive=True)
        return [*counts, Apply("item", prior.add_count), GlobalSync(prior.set_weight)]

    def _solver(self):
        """Return what has the functions that solve for users and items, and the stages of items
        that are on several workers.
        """
        return conjugate if self.steps else normal

    def stages(self, cluster):
        of = self._solver()
        priors = {end: prior.mean_of(end) if cluster.from_model else [] for end in ("item", "user")}
        users = *gram_of(self, "item"), *priors["item"], Exchange(of.solve_user)
        ours = Exchange(of.solve_item, over="item", cut=False)
        items = *gram_of(self, "user"), *priors["user"], ours
        others = of.cut_item_stages() if cluster.workers > 1 else []
        # Steps of conjugate gradients need the latest products; exact solutions take older factors.
        wait = [Barrier()] if self.steps else []
        return [*wait, *users, *wait, *items, *others]

    def evaluate(self, cluster):
        return quality_stages(self, held_out=cluster.has_test)

    def predict(self):
        biases = ("bias", "bias") if self.biases else ("", "")
        return Score(rate, factors=("f", "f"), biases=biases, offset="offset")

    def fold_in(self, role):
        user = role == "user"
        find = normal.find_user if user else normal.find_item
        grams = gram_of(self, "item" if user else "user")
        last = "bias" if self.biases else ""
        return [*grams, Score(find, role, width=numbers_of_vertex(self), name="f", last=last)]
