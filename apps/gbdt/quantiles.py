"""The loss quantile, whose best constant is the alpha-quantile of the labels (Koenker and Bassett,
Econometrica 1978):

    loss = alpha (y - m) where y > m, else (1 - alpha) (m - y)

It does not bend, so a tree is grown with 1 for the second derivative. Then the weight of a leaf
becomes the learning rate times the alpha-quantile of y - m over the samples of the leaf (Friedman
2001, section 4.3; XGBoost's reg:quantileerror): the smallest such number that is not below those of
the share alpha of the weight. In a run that begins with a model it is divided by the number of
samples for which a new one stands, as other weights of leaves are.

The numbers y - m in single precision become whole numbers in the same order, of 32 bits, whose
digits are found one after the other, the first one first. What is added up are weights as whole
numbers, so quantiles are exact, on any number of workers and threads. The first score is found
twice, the second time by what is left beside the first one: labels far from 0, such as times, lie
close together there, and keep their digits.
"""

from __future__ import annotations

import numpy as np

from tux.stages import Barrier, ForEach, GlobalSync, Repeat

BITS, DIGIT = 32, 4
DIGITS = 2**DIGIT
MIDDLE = 2**31  # the whole number of 0
SLACK = 1e-12  # by which the rounding of alpha may not ask for one sample more


def slopes(y, m, alpha):
    """Return the slope of the loss, and 1."""
    return (1.0 - alpha if m >= y else -alpha), 1.0


def loss(y, m, alpha):
    """Return the loss alone."""
    return max(alpha * (y - m), (1.0 - alpha) * (m - y))


def no_score(mean):
    """Return the score to which labels are compared until their quantile is found."""
    return 0.0


def place(number):
    """Return a whole number, from 0 and below 2^32, in the order of single precision."""
    bits = int(np.float32(number).view(np.int32))
    return MIDDLE + bits if bits >= 0 else -bits


def number_at(places):
    """Return the numbers in single precision at such places, (n,): the inverse of `place`."""
    size = np.abs(places - MIDDLE).astype(np.int32).view(np.float32)
    return np.where(places < MIDDLE, -size, size)


def sort_sample(sample, tau):
    """Add a sample's weight to those of the next digit, if the first ones are those of the quantile
    of its leaf.
    """
    if sample.state[1] > 0:
        at = place(sample.label - sample.score) >> (BITS - DIGIT - DIGIT * tau.digits)
        if at // DIGITS == tau.found[sample.node]:
            tau.held[sample.node, at % DIGITS] += int(sample.state[1])


def find_digit(tau, p):
    """Find the next digit of each leaf's quantile; set the weights of leaves after the last one.
    Before the first tree all samples are in leaf 0, of which the quantile is the first score.
    """
    upto = np.cumsum(tau.held, axis=1)
    if tau.digits == 0:
        tau.rank[:] = np.ceil(p.quantile * (1 - SLACK) * upto[:, -1])
    digit = (upto < tau.rank[:, None]).sum(axis=1)
    before = np.take_along_axis(upto, np.maximum(digit - 1, 0)[:, None], axis=1)[:, 0]
    tau.rank[:] -= np.where(digit > 0, before, 0)
    tau.found[:] = DIGITS * tau.found + digit
    tau.digits += 1
    if tau.digits == BITS // DIGIT:
        set_weights(tau, p)
        tau.found[:], tau.digits = 0, 0


def set_weights(tau, p):
    """Set the weights of the leaves that have samples."""
    there, found = tau.rank > 0, number_at(tau.found)
    if there[0]:
        tau.base += float(found[0])
    else:
        new = p.learning_rate / tau.copies * found[there]
        tau.weight[tau.tree, there] = new


def search_stages():
    """Return the stages that set the weights of leaves to quantiles."""
    digit = ForEach("sample", sort_sample, once=True), GlobalSync(find_digit), Barrier()
    return [Repeat(*digit, times=BITS // DIGIT)]
