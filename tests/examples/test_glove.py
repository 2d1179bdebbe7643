"""`docs/examples/glove.py`: against numpy, and on several workers."""

import numpy as np
import pytest
from support.machines.team import train_team

from tux.arrays.networks import from_arrays
from tux.program.sources import find

GloVe = find("docs/examples/glove.py").program

ENDS, WORDS = ("word", "neighbour"), 40


def adagrad(program, pairs, f, epochs):
    """Return vectors and biases of both ends of pairs that share no word."""
    f, bias = [each.copy() for each in f], [np.zeros(len(pairs)) for _ in f]
    h, h_bias = [np.ones_like(each) for each in f], [np.ones_like(each) for each in bias]
    weight = np.minimum(1, (pairs / program.most) ** program.alpha)
    for _ in range(epochs):
        g = weight * ((f[0] * f[1]).sum(axis=1) + bias[0] + bias[1] - np.log(pairs))
        slopes = [g[:, None] * f[1], g[:, None] * f[0]]
        for side in (0, 1):
            f[side] = f[side] - program.step * slopes[side] / np.sqrt(h[side])
            bias[side] = bias[side] - program.step * g / np.sqrt(h_bias[side])
            h[side], h_bias[side] = h[side] + slopes[side] ** 2, h_bias[side] + g**2
    return f, bias


@pytest.mark.parametrize("jit", [pytest.param(True, marks=pytest.mark.slow), False])
def test_steps_on_pairs_that_share_no_word(jit):
    counts = np.array([3.0, 250.0, 40.0, 1.0])
    edges = from_arrays(range(4), range(4), ends=ENDS, count=counts.astype("f4"))
    program = GloVe(rank=3, step=0.3)
    start = train_team(program, edges, 0, k=1)
    before = [start.gather(end, "f").astype(float) for end in ENDS]
    team = train_team(program, edges, 5, k=1, jit=jit)
    f, bias = adagrad(program, counts, before, 5)
    for side, end in enumerate(ENDS):
        np.testing.assert_allclose(team.gather(end, "f"), f[side], rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(team.gather(end, "bias"), bias[side], rtol=1e-4)


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 2)])
def test_planted_vectors_give_the_counts(k, slack):
    rng = np.random.default_rng(0)
    f, bias = rng.normal(0, 0.7, (WORDS, 3)), rng.normal(0, 0.5, WORDS)
    word, neighbour = np.nonzero(rng.random((WORDS, WORDS)) < 0.7)
    logs = 3 + (f[word] * f[neighbour]).sum(axis=1) + bias[word] + bias[neighbour]
    edges = from_arrays(word, neighbour, ends=ENDS, count=np.exp(logs).astype("f4"))
    team = train_team(GloVe(rank=4, step=0.3), edges, 60, k=k, slack=slack, jit=True)
    ends = zip(ENDS, (word, neighbour), strict=True)
    (p, b), (q, c) = ((team.gather(end, "f")[at], team.gather(end, "bias")[at]) for end, at in ends)
    assert np.corrcoef((p * q).sum(axis=1) + b + c, logs)[0, 1] > 0.99
    assert team.history("loss_per_pair")[-1] < 0.02 * team.history("loss_per_pair")[0]
