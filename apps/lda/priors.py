"""The priors of LDA as the context holds them, and their optimisation by Minka's fixed point.

With n_dk occurrences of topic k in document d, N_d in all and A = sum_k alpha_k, a step is (Minka
2000, Estimating a Dirichlet distribution, eq. 55):

    alpha_k <- alpha_k  sum_d [psi(n_dk + alpha_k) - psi(alpha_k)] / sum_d [psi(N_d + A) - psi(A)]

Where all topics have one alpha, numerators are averaged over topics. One beta for all words goes
likewise, topics being the documents and words the topics. Every step raises the likelihood of the
topics as they are drawn, which draws between then follow.
"""

from __future__ import annotations

import math

import numpy as np

from tux.apps.lda.topic_lists import count_tokens
from tux.base.random import constant
from tux.program.fields import total, value
from tux.stages import ForEach, GlobalSync

MIN_PRIOR = (
    1e-6  # of a prior: that of a topic which no longer occurs would be 0, and the topic lost
)
STEPS = 3  # of the fixed point at a time

PRIORS = {
    "alpha": value("f4", "topics", init=lambda p: constant(p.alpha)),
    "beta": value("f4", init=lambda p: constant(p.beta)),
    "alpha_sum": value("f8", kept=False),
    "alpha_mean": value("f4", kept=False),
    "lean": value("f4", "topics", kept=False),  # alpha over its mean: 1 where all are alike
    "upto": value("f8", "topics", kept=False),  # sums of lean up to each topic, itself included
    "passes": value("i4", kept=False),
    "due": value("b1", kept=False),
    "alpha_up": total("topics"),
    "alpha_down": total(),
    "beta_up": total(),
}
"""Fields of the context."""


def scale_by_alpha(x, lean, k):
    """Return `x` times the ratio of alpha_k to the mean alpha; `x` itself if all are alike (`lean`
    is None), a branch that is chosen when this is compiled.
    """
    return x if lean is None else x * lean[k]


def place_unevenly(y, lean, upto):
    """Return where `y`, from 0 to K, falls if topic k takes `lean` of k: from k to k + 1."""
    low = min(np.searchsorted(upto, y, "right"), len(upto) - 1)
    return low + min(max((y - upto[low]) / lean[low] + 1, 0.0), 1 - 2.0**-24)


def follow_alpha(tau):
    """Set all that follows from tau.alpha: its sum, its mean, and the ratios to the mean."""
    alpha = tau.alpha.astype(np.float64)
    tau.alpha_sum, tau.alpha_mean = alpha.sum(), alpha.mean()
    tau.lean[:] = alpha / tau.alpha_mean
    tau.upto[:] = np.cumsum(tau.lean, dtype=np.float64)


def digamma(x):
    """Return the logarithmic derivative psi of the gamma function, for x > 0: recurrence up to 10,
    then its asymptotic series, to 1e-13.
    """
    below = 0.0
    while x < 10:
        below += 1 / x
        x += 1
    y = 1 / (x * x)
    series = y * (
        1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760))))
    )
    return math.log(x) - 0.5 / x - series - below


def rise(f, prior, times):
    """Return f(prior + times) - f(prior), in double precision."""
    prior = np.float64(prior)
    return f(prior + times) - f(prior)


def weigh_topics(document, tau):
    """Add a document's part to the sums for alpha, when a step is due."""
    if tau.due:
        for i in range(document.size):
            k = document.topics[i]
            tau.alpha_up[k] += rise(digamma, tau.alpha[k], document.times[i])
        tau.alpha_down += rise(digamma, tau.alpha_sum, count_tokens(document))


def weigh_words(word, tau, p):
    """Add a word's part to the sum for beta."""
    if tau.due:
        for k in range(p.topics):
            if word.n[k] > 0:
                tau.beta_up += rise(digamma, tau.beta, word.n[k])


def count_epoch(tau, p):
    """Count an epoch, and set whether the priors are due."""
    tau.passes += 1
    tau.due = tau.passes % p.optimise == 0


def step(tau, p):
    """Make a step of the fixed point, of alpha and of beta; none without documents or words, and
    none of beta where seed words have priors of their own.
    """
    smooth = tau.V * tau.beta
    beta_down = tau.V * sum(rise(digamma, smooth, n) for n in tau.n) if tau.due and tau.V else 0.0
    if tau.alpha_down > 0:
        up = tau.alpha_up if p.asymmetric else tau.alpha_up.mean()
        tau.alpha[:] = np.maximum(MIN_PRIOR, tau.alpha * up / tau.alpha_down)
        follow_alpha(tau)
    if beta_down > 0 and tau.seeded == 0:
        tau.beta = max(MIN_PRIOR, tau.beta * tau.beta_up / beta_down)
        tau.smooth = tau.V * tau.beta


def prior_stages(program, *before):
    """Return the stages that estimate the priors at the end of an epoch, if the program's
    `optimise` asks for it. The stages `before` come first, where documents do not list their
    topics.
    """
    if not program.optimise:
        return []
    steps = [
        [ForEach("document", weigh_topics), GlobalSync(step, aggregate=weigh_words)]
        for _ in range(STEPS)
    ]
    return [GlobalSync(count_epoch), *before, *(stage for each in steps for stage in each)]
