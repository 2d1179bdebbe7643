"""The context of boosted trees, the widths of fields, and the samples that the program reads."""

from __future__ import annotations

import math

from tux.apps.gbdt.directions import MONOTONE, number_directions
from tux.apps.gbdt.losses import LOSSES
from tux.apps.gbdt.moves import MASK
from tux.apps.gbdt.quantiles import DIGITS
from tux.base.errors import UsageError
from tux.program.fields import argmax, total, value
from tux.program.input import Samples, class_names
from tux.stages.computed import metric


class BoostedSamples(Samples):
    """Samples of two classes or more, or with numbers as labels, or of queries."""

    def numeric(self, program):
        """Return whether labels are numbers, as the loss says."""
        return not LOSSES[program.loss].of_classes

    def least_label(self, program):
        """Return the least label that the loss knows."""
        return LOSSES[program.loss].low

    def multiclass(self, program):
        """Return whether there may be more than two classes, as the loss says."""
        return LOSSES[program.loss].wide is not None

    def ranked(self, program):
        """Return whether samples belong to queries, as the loss says."""
        return LOSSES[program.loss].ranks

    def specialise(self, program, facts):
        """Return the program with the names of the classes, the numbers of monotone features, room
        for the trees of the model with which the run begins, if there is one, and for samples that
        are ranked. UsageError if the trees have another depth.
        """
        program, before = super().specialise(program, facts), 0
        if facts.context:
            before, depth = int(facts.context["tree"][0]), facts.context["depth"]
            if depth is None or depth[0] != program.max_depth:
                raise UsageError(
                    f"max_depth is {program.max_depth}, and trees of the model have another one",
                    do="leave it out, or train anew",
                )
        samples = len(facts.all_ids["sample"]) if self.ranked(program) else 0
        directions = number_directions(program.monotone, facts.all_ids["feature"])
        return program.replace_parameters(
            trees_before=before,
            ranked_samples=samples,
            directions=directions,
            rule="monotone" if directions else "free",
        )


def nodes(p):
    """Return the number of nodes of a whole tree, numbered from 1."""
    return 2 ** (p.max_depth + 1)


def last_level_nodes(p):
    """Return the number of nodes of the last level."""
    return 2**p.max_depth


def split_nodes(p):
    """Return the number of nodes of the last level that is split."""
    return 2 ** (p.max_depth - 1)


def score_shape(p):
    """Return the shape of a sample's score: that of one number, or of a number for each class."""
    return (len(class_names(p.classes)),) if p.loss == "softmax" else ()


def trees_of_epoch(p):
    """Return the number of trees that an epoch grows."""
    return math.prod(score_shape(p))


def ranked_nodes(p):
    """Return the number of nodes of which quantiles are found: with the loss quantile alone."""
    return nodes(p) if LOSSES[p.loss].renews else 0


def forest_shape(p):
    """Return the shape of an array with a number for each node of each tree."""
    return p.trees_before + p.max_iter * trees_of_epoch(p), nodes(p)


PER_NODE = {
    "sums": value("i8", 2, last_level_nodes, kept=False),  # of g and of h
    "fit": value("f8", last_level_nodes, kept=False),
    "open": value("b1", last_level_nodes, kept=False),
    "best": argmax(split_nodes),
    "feature_of": value("i4", split_nodes, kept=False),
    "bin_of": value("i4", split_nodes, kept=False),
    "left": value("b1", split_nodes, kept=False),
    "child": value(
        "i4", last_level_nodes, kept=False
    ),  # of samples that go as the missing do, and of others
    "moved": total(
        "i8", 2, split_nodes
    ),  # the sums of samples that go another way than the missing do
    "low": total("f8", split_nodes, combine="max"),  # of values that go left
    "high": total("f8", split_nodes, combine="min"),  # and right
}
"""What is known of the nodes of a level, from 0."""

FOREST = {
    "feature": value("i4", forest_shape, init=-1, grows=True),  # -1: a leaf
    "cut": value("f8", forest_shape, grows=True),
    "default_left": value("b1", forest_shape, grows=True),
    "weight": value("f4", forest_shape, grows=True),
    "gain": value("f4", forest_shape, grows=True),
    "cover": value("f4", forest_shape, grows=True),
}

QUANTILES = {
    "digits": value("i4", kept=False),  # found so far
    "found": value("i8", ranked_nodes, kept=False),
    "rank": value("i8", ranked_nodes, kept=False),  # the weight up to the quantile, of those left
    "held": total("i8", ranked_nodes, DIGITS),
}
"""By node, whose digits of the quantile are found; see `quantiles.py`."""

OF_A_TREE = {
    "base": value("f8"),
    "tree": value("i4"),
    "turn": value("i4", kept=False),  # the class whose tree is grown
    "depth": value("i4"),
    "seen": value("f8"),  # the sum of the weights of all samples so far
    "copies": value("f8", init=1, kept=False),  # samples for which a new one stands
    "nodes": value("i4", kept=False),
    "grown": value("b1", kept=False),
    "mask": value("b1", MASK + 1, kept=False),
    **{name: value("f8", kept=False) for name in ("unit_g", "unit_h", "per_g", "per_h")},
    **{name: value("f8", kept=False) for name in ("least_h", "least_gain")},
    **{name: total("i8") for name in ("all_g", "all_h")},
    **{name: total("i8", 2) for name in ("weights", "labels")},
    "small": total("i8"),  # labels that the loss does not know
    **{name: total(combine="max") for name in ("most_g", "most_h")},
    **{name: metric() for name in ("leaves", "trees")},
}

CONTEXT = {**FOREST, **PER_NODE, **QUANTILES, **MONOTONE, **OF_A_TREE}
