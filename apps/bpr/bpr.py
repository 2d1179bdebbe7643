"""Bayesian personalised ranking (BPR), and WARP: vectors of users and items whose inner products
rank what a user has before other items.
"""

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    ForEach,
    GlobalSync,
    MiniBatch,
    Program,
    Ratings,
    Score,
    UsageError,
    Vertex,
    metric,
    mirror,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.apps.bpr.fold_in import FINDS
from tux.apps.bpr.losses import bpr, bpr_among_all, warp
from tux.apps.bpr.pairs import count_item, count_pairs, keep_count, remember, set_share
from tux.apps.bpr.quality import report_test, score, test

LOSSES = {"bpr": bpr, "warp": warp}
LOSSES_FROM_MODEL = {"bpr": bpr_among_all, "warp": warp}


def small_vectors(p):
    """Return the distribution of the first vectors: so close to 0 that all scores are small."""
    return uniform(-0.5 / p.rank, 0.5 / p.rank)


def sums_of_user(p):
    """Return the number of squared slopes that a user sums up."""
    return p.rank if p.loss == "warp" else 0


def sums_of_item(p):
    """Return the number of squared slopes that an item sums up: the last is that of its bias."""
    return p.rank + 1 if p.loss == "warp" else 0


class BPR(Program):
    """Vectors of users and items that rank what a user has before other items: by Bayesian
    personalised ranking, or by WARP.
    """

    loss: str = param("bpr", "loss of a pair and a drawn item", choices=tuple(LOSSES))
    rank: int = param(32, "latent dimensions", low=1)
    learning_rate: float = param(0.05, "step size; the first of each number with warp", low=1e-9)
    reg: float = param(0.01, "L2 penalty on factors and biases, per step", low=0)
    max_sampled: int = param(10, "with warp: items that are drawn for a pair, at most", low=1)
    precision = "f4"
    epochs, epochs_from = 30, 30
    monitor = "test_violations"
    keeps_best = False
    input = Ratings()
    user = Vertex(
        whole=True,
        f=shared("rank", init=small_vectors),
        G=shared(sums_of_user, init=1, kept=False),
        n=shared("i4"),
        share=mirror(init=1),
        items=mirror("i4", "edges"),
    )
    item = Vertex(
        f=shared("rank", init=small_vectors),
        b=shared(),
        G=shared(sums_of_item, init=1, kept=False),
        n=shared("i4"),
        share=mirror(init=1),
    )
    pair = Edge("user", "item")
    tau = Context(
        items=value("f8", kept=False),
        most=value("f8", kept=False),
        largest=total(combine="max"),
        violations=metric("wrong / n", wrong=total(), n=total()),
        test_violations=metric(),
        **{name: total() for name in ("counted", "below", "compared")},
    )

    def __init__(self, *nameless, **parameters):
        super().__init__(*nameless, **parameters)
        if self.loss != "warp" and self.max_sampled != self.params["max_sampled"].default:
            raise UsageError(
                f"max_sampled has no effect with the loss {self.loss}",
                do="leave it out, or choose the loss warp",
            )

    def setup(self):
        counts = Exchange(remember), Exchange(count_pairs)
        return [*counts, Apply("user"), Apply("item"), *self._count_items()]

    def _count_items(self):
        return [GlobalSync(keep_count, aggregate=count_item, over="item")]

    def setup_from(self):
        return [*(ForEach(kind, set_share) for kind in self.vertices), *self.setup()]

    def stages(self, cluster):
        losses = LOSSES_FROM_MODEL if cluster.from_model else LOSSES
        exchange = Exchange(losses[self.loss], over="item")
        return [MiniBatch(exchange, Apply("item"), Apply("user"), order="rotated")]

    def evaluate(self, cluster):
        judging = Exchange(test, over="item", held_out=True), GlobalSync(report_test)
        return [*judging] if cluster.has_test else []

    def predict(self):
        return Score(score, factors=("f", "f"), biases=("", "b"))

    def fold_in(self, role):
        if role == "item":  # whose pairs would be compared with those of training, which are gone
            return []
        return [*self._count_items(), Score(FINDS[self.loss], role, width="rank", name="f")]
