"""Boosted trees before the first one: weights of samples, and the score at which all begin.

The first score depends on the sums of weights and labels. Each number is rounded to a multiple of a
small power of two, and is added up as two whole numbers. So sums are exact in any order.
"""

from __future__ import annotations

import math

from tux.apps.blockpg.samples import check_positive_weight
from tux.apps.gbdt.bins import into_bins
from tux.apps.gbdt.growing import derive
from tux.apps.gbdt.units import BITS, set_units
from tux.apps.linear.samples import unknown_classes
from tux.base.errors import DataError, UsageError
from tux.base.text import plural
from tux.stages import Exchange, ForEach, GlobalSync

OF_LOSS = {"quantile": "quantile", "truncation": "lambdarank", "ndcg_at": "lambdarank"}
"""The parameters that one loss alone reads."""
FINE = 2.0**BITS  # how many times smaller the second unit is


def weigh(sample, tau, p):
    """Set the weight of a sample, and find the largest numbers of all."""
    c = float(sample.weight)
    if sample.label > 0:
        c *= p.positive_weight
    sample.c = c
    tau.most_g = max(tau.most_g, abs(c * sample.label))
    tau.most_h = max(tau.most_h, c)


def count(sample, tau, p):
    """Add up weights and labels, in units and in finer units; count labels that are too small."""
    if sample.label < p.loss.low:
        tau.small += 1
    weight, label = sample.c * tau.per_h, sample.c * sample.label * tau.per_g
    whole = math.floor(weight)
    tau.weights[0] += whole
    tau.weights[1] += math.floor((weight - whole) * FINE)
    whole = math.floor(label)
    tau.labels[0] += whole
    tau.labels[1] += math.floor((label - whole) * FINE)


def join_sums(sums, unit):
    """Return the number that two sums of whole numbers stand for: one in units, one in finer
    units.
    """
    return (sums[0] + sums[1] / FINE) * unit


def sum_of_weights(tau):
    """Return the sum of the weights of the samples. DataError if it is 0."""
    weights = join_sums(tau.weights, tau.unit_h)
    if not weights > 0:
        raise DataError("the weights of the samples add up to 0", do="give some of them weight")
    return weights


def check_labels(tau, p):
    """Raise DataError for labels that are too small."""
    if tau.small > 0:
        raise DataError(
            f"the labels of {plural(int(tau.small), 'sample')} are below {p.loss.low:g}",
            do="leave these samples out; for any numbers, --loss squared",
        )


def check_parameters(program, loss):
    """Raise UsageError where a parameter is given to a `loss` that does not read it, and for
    directions of features that cannot be read, or do not hold.
    """
    check_positive_weight(program, unknown_classes(loss))
    for name, of in OF_LOSS.items():
        given = program.parameters[name] != program.params[name].default
        if given and program.loss != of:
            raise UsageError(
                f"{name} has no effect with the loss {program.loss}",
                do=f"leave {name} out, or choose the loss {of}",
            )
    if program.monotone and loss.renews:
        raise UsageError(
            f"monotone cannot hold with the loss {program.loss}, which renews the weights of "
            "leaves",
            do="leave monotone out, or choose the loss squared",
        )


def begin(tau, p):
    """Set the first score: the constant of least loss, which XGBoost starts from, too."""
    check_labels(tau, p)
    tau.seen, tau.depth = sum_of_weights(tau), p.max_depth
    tau.base = p.loss.start(join_sums(tau.labels, tau.unit_g) / tau.seen)


def go_on(tau, p):
    """Count the samples beside those of the model, for which the new ones stand: their slopes add
    up to 0 at the scores of the model, and their curvatures are as those of the new ones.
    """
    check_labels(tau, p)
    weights = sum_of_weights(tau)
    tau.seen += weights
    tau.copies = tau.seen / weights


def begin_score(sample, tau, p):
    """Set the score of a sample to the first one, and derive the loss there."""
    derive(sample, tau.base, tau, p)


def check_workers(cluster):
    """Raise UsageError unless the run, which begins with a model, has one worker: a sample goes
    through the trees of the model by all its entries.
    """
    if cluster.workers > 1:
        raise UsageError(
            f"a run of gbdt that begins with a model has one worker, not {cluster.workers}",
            do="leave out --workers; new data are few",
        )


def stages_before(count_all, *first):
    """Return the stages before the first tree of a run: the function `count_all` counts the
    samples, and the stages `first` set their scores, and the derivatives there.
    """
    return [
        ForEach("sample", weigh),
        GlobalSync(set_units),
        ForEach("sample", count, once=True),
        GlobalSync(count_all),
        Exchange(into_bins, over="feature"),
        *first,
        GlobalSync(set_units),
    ]
