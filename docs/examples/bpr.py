"""Bayesian personalised ranking: vectors of users and items, whose products are larger for items
that a user has than for others,

    min sum over (u, i, j) of -log(sigmoid(p_u.q_i - p_u.q_j)) + reg (|p_u|^2 + |q_i|^2 + |q_j|^2)

for users u with an item i and without an item j. Rendle, Freudenthaler, Gantner and Schmidt-Thieme,
"BPR: Bayesian personalized ranking from implicit feedback", UAI 2009, section 4.3. In each epoch
items are drawn into slots of the context, and each pair (u, i) draws one of the slots that are full
for its j. If u has j too, the pair waits for the next epoch; so all triples are equally likely, as
in the paper. A mini-batch of users goes along the sum of its gradients; `batch_loss` is the mean
loss of a triple in the last one of an epoch.

    tux run docs/examples/bpr.py likes.csv --out run1
    tux predict run1 --top 10 --exclude likes.csv --out top.csv
"""

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    MiniBatch,
    Program,
    Ratings,
    Score,
    Vertex,
    argmax,
    axpy,
    delta,
    dot,
    metric,
    mirror,
    normal,
    param,
    total,
    value,
)

START = normal(0, 0.1)


def draw(item, tau, p, rng):
    item.slot = rng.below(p.slots)
    tau.draws[item.slot].add(rng.uniform(), item.id)


def choose(tau):
    full = np.flatnonzero(tau.draws.keys >= 0)
    tau.drawn[:], tau.full[: len(full)], tau.n_full = tau.draws.keys, full, len(full)


def mark(user, item, tau):
    """Mark the slots that hold an item of the user by the item."""
    if tau.drawn[item.slot] == item.id:
        user.has[item.slot] = item.id + 1


def lend(item, tau):
    if tau.drawn[item.slot] == item.id:
        axpy(1.0, item.f, tau.lent[item.slot])


def show(tau):
    tau.f[:] = tau.lent


def predict(user, item):
    return dot(user.f, item.f)


def compare(user, item, tau, p, rng):
    s = tau.full[rng.below(tau.n_full)]
    if user.has[s] == tau.drawn[s] + 1:
        return
    x = predict(user, item) - dot(user.f, tau.f[s])
    tau.loss, tau.n = tau.loss + np.logaddexp(0.0, -x), tau.n + 1
    slope = 1 / (1 + np.exp(x))
    for k in range(p.rank):
        user.g[k] += slope * (item.f[k] - tau.f[s, k]) - p.reg * user.f[k]
        item.g[k] += slope * user.f[k] - p.reg * item.f[k]
        tau.gathered[s, k] -= slope * user.f[k] + p.reg * tau.f[s, k]


def collect(tau):
    tau.g[:] = tau.gathered


def descend(user, p):
    axpy(p.step, user.g, user.f)


def descend_item(item, tau, p):
    axpy(p.step, item.g, item.f)
    if tau.drawn[item.slot] == item.id:
        axpy(p.step, tau.g[item.slot], item.f)


class BPR(Program):
    """Vectors of users and items that rank what each user has before the rest."""

    rank: int = param(16, "latent dimensions", low=1)
    slots: int = param(1000, "items drawn in an epoch, at most", low=1)
    step: float = param(0.05, "of the gradient", low=0)
    reg: float = param(0.01, "L2 penalty", low=0)
    batch: int = param(100, "users in a mini-batch", low=1)

    epochs = 100
    precision = "f4"
    input = Ratings()
    user = Vertex(
        whole=True, f=value("rank", init=START), g=delta("rank"), has=mirror("i4", "slots")
    )
    item = Vertex(f=value("rank", init=START), g=delta("rank"), slot=value("i4", kept=False))
    like = Edge("user", "item")
    tau = Context(
        draws=argmax("slots"),
        **{name: value("i4", "slots", kept=False) for name in ("drawn", "full")},
        n_full=value("i4", kept=False),
        **{name: value("slots", "rank", kept=False) for name in ("f", "g")},
        **{name: total("slots", "rank") for name in ("lent", "gathered")},
        batch_loss=metric("loss / n", loss=total(), n=total()),
    )

    def stages(self):
        exchange = GlobalSync(show, aggregate=lend), Exchange(compare, over="user")
        step = Apply("user", descend), GlobalSync(collect), Apply("item", descend_item, all=True)
        batch = MiniBatch(*exchange, *step, vertices=self.batch)
        return [Apply("item", draw), GlobalSync(choose), Exchange(mark, over="user"), batch]

    def predict(self):
        return Score(predict, factors=("f", "f"))
