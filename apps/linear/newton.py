"""Newton's method, whose directions conjugate gradients find, an epoch being an iteration:

    g = gradient of F at w, H = its Hessian there
    d = 0, r = -g, q = M r
    until the length of r, by M, is a SHARE of that of g:
        d += length q
        r -= length H q
        q = M r + turn q
    step = a step along d that fulfils Wolfe's strong conditions
    w += step d

Dembo and Steihaug, Mathematical Programming 1983; for linear models Lin, Weng and Keerthi, "Trust
region Newton method for logistic regression", JMLR 2008. M is diagonal: the units of weights, which
L-BFGS has too.

A product H q is one Exchange: a sample adds up how its margin changes along q, and gives its
features how the slope of its loss follows. `length` and `turn` need inner products of r and H q
alone, so a product has one GlobalSync. The context has the intercept's part of each vector.

L-BFGS takes about as many passes over the entries, but each of its steps computes the losses of all
samples, which cost as much as a pass where samples have few entries.
"""

from __future__ import annotations

from types import SimpleNamespace

from tux.apps.linear import lbfgs
from tux.apps.linear.conjugate import (
    advance,
    begin_direction,
    finish,
    is_solved,
    set_goal,
    set_lengths,
    take_product,
)
from tux.apps.linear.path import path_stages
from tux.apps.linear.wolfe import begin_search, is_over, search_step
from tux.stages import Barrier, Exchange, ForEach, GlobalSync, Repeat, Zip


def settle(sample, tau):
    """Make the last step of the margin."""
    sample.m += tau.step * sample.along


def multiply(sample, edges, tau, p):
    """Add a sample's part of H q to its features."""
    if sample.c > 0:
        q = tau.d
        for edge in edges:
            q += edge.value * edge.feature.d
        hq = sample.c * p.loss.curvature(sample.r / sample.c, p.epsilon) * q
        tau.of_b += hq
        tau.bent += q * hq
        for edge in edges:
            edge.feature.gathered += edge.value * hq


NARROW = SimpleNamespace(**vars(lbfgs.NARROW), settle=settle, multiply=multiply)
"""The functions of samples with one margin."""


def epoch(program, loss):
    """Return the stages of an iteration."""
    of = loss.wide or NARROW
    stages = [
        Barrier(),
        ForEach("sample", of.settle),
        Exchange(of.gather, additive=True),
        Zip("feature", begin_direction, gather=True, each="w"),
        GlobalSync(set_goal),
        Repeat(
            Zip("feature", advance, each="w"),
            Exchange(of.multiply, over="sample"),
            Zip("feature", take_product, gather=True, each="w"),
            GlobalSync(set_lengths),
            until=is_solved,
        ),
        Zip("feature", finish, each="w"),
        Exchange(of.project),
        GlobalSync(begin_search),
        Repeat(ForEach("sample", of.attempt), GlobalSync(search_step), until=is_over),
        Zip("feature", lbfgs.move, each="w"),
    ]
    return path_stages(program, stages)


start_stages = lbfgs.start_stages
