"""GloVe: vectors and biases of words and of their neighbours, so that inner products give how often
both stand near each other:

    min sum over pairs of f(count) (w.c + b_w + b_c - log(count))^2, f(x) = min(1, (x / most)^alpha)

Pennington, Socher and Manning, "GloVe: global vectors for word representation", EMNLP 2014,
equations 8 and 9, by Adagrad as in its section 4.2. The file has a word, a word near it and a count
on each line, each pair in both directions. The vector of a word may be the sum of its two.

    tux run docs/examples/glove.py counts.csv --out vectors
"""

from math import log, sqrt

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    MiniBatch,
    Program,
    Score,
    Vertex,
    data,
    dot,
    metric,
    param,
    shared,
    total,
    uniform,
)


def predict(word, neighbour):
    return word.bias + neighbour.bias + dot(word.f, neighbour.f)


def descend(word, neighbour, pair, tau, p):
    error = predict(word, neighbour) - log(pair.count)
    g = min(1.0, (pair.count / p.most) ** p.alpha) * error
    tau.loss, tau.n = tau.loss + g * error, tau.n + 1
    for k in range(p.rank):
        w, c = word.f[k], neighbour.f[k]
        word.f[k] -= p.step * g * c / sqrt(word.h[k])
        neighbour.f[k] -= p.step * g * w / sqrt(neighbour.h[k])
        word.h[k] += (g * c) ** 2
        neighbour.h[k] += (g * w) ** 2
    word.bias -= p.step * g / sqrt(word.h_bias)
    neighbour.bias -= p.step * g / sqrt(neighbour.h_bias)
    word.h_bias += g * g
    neighbour.h_bias += g * g


class GloVe(Program):
    """Vectors of words from how often two words stand neighbour each other."""

    rank: int = param(50, "numbers of a vector", low=1)
    step: float = param(0.05, "first step", low=0)
    most: float = param(100.0, "count from which on a pair has the weight 1", low=0)
    alpha: float = param(0.75, "power of the weight of a smaller count", low=0)

    epochs = 50
    precision = "f4"
    word = neighbour = Vertex(
        f=shared("rank", init=lambda p: uniform(-0.5 / p.rank, 0.5 / p.rank)),
        bias=shared(),
        h=shared("rank", init=1, kept=False),
        h_bias=shared(init=1, kept=False),
    )
    pair = Edge("word", "neighbour", count=data("f4"))
    tau = Context(loss_per_pair=metric("loss / n", loss=total(), n=total()))

    def stages(self):
        step = Exchange(descend, over="neighbour")
        return [MiniBatch(step, Apply("neighbour"), Apply("word"), order="rotated")]

    def predict(self):
        return Score(predict, factors=("f", "f"), biases=("bias", "bias"))
