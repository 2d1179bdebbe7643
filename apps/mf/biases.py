"""Biases: a number of each vertex that is added to all of its predictions (Koren, Bell and Volinsky
2009, equation 4). A rating is then

    mean of all ratings + bias of the user + bias of the item + inner product of both vectors

A parameter chooses between `NONE` and `OWN`, which functions on rows read as ``p.biases``. They are
known when a kernel is compiled, so a model without biases costs nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Biases(NamedTuple):
    """The biases of a model. `width`: the numbers that a vertex has of them, 0 or 1. ``of(v)``:
    that of a vertex, 0 if it has none; ``put(v, bias)`` sets it.
    """

    width: int
    of: Callable[[Any], Any]
    put: Callable[[Any, Any], None]


def no_bias(v):
    """Return the bias of a vertex that has none."""
    return 0.0


def put_nothing(v, bias):
    """Set no bias."""


def bias_of(v):
    """Return the bias of a vertex."""
    return v.bias


def put_bias(v, bias):
    """Set the bias of a vertex."""
    v.bias = bias


NONE, OWN = Biases(0, no_bias, put_nothing), Biases(1, bias_of, put_bias)
CHOICES = {False: NONE, True: OWN}


def bias_shape(p):
    """Return the shape of a vertex's bias: one number, or no field at all."""
    return () if p.biases else 0


def numbers_of_vertex(p):
    """Return how many numbers of a vertex are found: its factors, and its bias."""
    return p.rank + int(p.biases)


def mean_of_biased(tau, p):
    """Return the constant of all predictions: the mean of the ratings if there are biases."""
    return tau.mean if p.biases.width else 0.0
