"""L-BFGS (Liu and Nocedal, Mathematical Programming 1989), an epoch being an iteration:

    g = gradient of F at w
    s, y = the last step, and what the gradient has changed along it
    d = -H g, H being the inverse Hessian that the last pairs (s, y) and gamma I give
    step = a step along d that fulfils Wolfe's strong conditions
    w += step d

H g is a sum of g and of the pairs s and y. Its coefficients follow from the inner products of these
2 `pairs` + 1 vectors (Chen, Wang and Zhou, "Large-scale L-BFGS using MapReduce", NIPS 2014). Of
these, only those with g are added up, as y is the difference of two g. So an iteration needs one
pass over the features for all products that are new, and one that adds up d, instead of 4 `pairs`
of them one after the other; docs/examples/lbfgs.py has the two loops as
textbooks have them. The products with the intercept's part of each vector are added in tau.

All this is done for w / unit in place of w, where a feature's `unit` is smaller the more the loss
bends along it: so g is multiplied by the unit, and s, y and d are those of w / unit.

The margins m = x.w + b of samples, and their changes x.d along d, are kept. So a trial of the line
search is a pass over samples, not over entries (`tux.apps.linear.wolfe`).
"""

from __future__ import annotations

from types import SimpleNamespace

from tux.apps.linear.path import path_stages, start_path
from tux.apps.linear.prior import penalty_of
from tux.apps.linear.two_loops import set_coefficients
from tux.apps.linear.wolfe import begin_search, is_over, search_step, start_search
from tux.stages import Barrier, Exchange, ForEach, GlobalSync, Repeat, Zip

UNIT = -0.25  # of a weight: the power of the curvature along it


def curve(feature, edges):
    """Add up the curvature of the losses along a feature at w = 0, but for a factor."""
    h = 0.0
    for edge in edges:
        h += edge.sample.c * edge.value * edge.value
    feature.gathered += h


def scale(feature, tau):
    """Set the unit of a weight. Steps along features of little curvature are longer, though not in
    proportion, as curvatures change.
    """
    weight, _ = penalty_of(feature, tau)
    h = feature.gathered * tau.bend
    tau.stiffest = max(tau.stiffest, h)
    feature.stiffness[0] += h
    h += tau.l2 * weight
    feature.unit = h**UNIT if h > 0 else 1.0


def gather(feature, edges):
    """Add up the gradient of the losses along a feature."""
    g = 0.0
    for edge in edges:
        g += edge.value * edge.sample.r
    feature.gathered += g


def differentiate(feature, tau, p):
    """Set the gradient and the last pair; add up the products of the gradient with all vectors."""
    weight, away = penalty_of(feature, tau)
    g = (feature.gathered + tau.l2 * weight * away) * feature.unit
    at = (tau.iteration - 1) % p.pairs
    s, y = tau.step * feature.d / feature.unit, g - feature.g
    feature.past[at], feature.past[p.pairs + at] = s, y
    feature.g = g
    for j in range(2 * p.pairs):
        tau.fresh[j] += g * feature.past[j]
    tau.ss += s * s
    tau.yy += y * y
    tau.gg += g * g


def combine(feature, tau, p):
    """Set d, and add up what the penalty and the slope of F along d need."""
    d = tau.coefficients[2 * p.pairs] * feature.g
    for j in range(2 * p.pairs):
        d += tau.coefficients[j] * feature.past[j]
    tau.gd += feature.g * d
    feature.d = d = d * feature.unit
    weight, away = penalty_of(feature, tau)
    tau.ww += weight * away * away
    tau.wd += weight * away * d
    tau.dd += weight * d * d


def project(sample, edges, tau, p):
    """Keep a margin after the last step, and its change along d, and add up how the losses bend
    along d.
    """
    sample.m += tau.step * sample.along
    along = tau.d
    for edge in edges:
        along += edge.value * edge.feature.d
    sample.along = along
    if sample.c > 0:
        tau.bent += sample.c * p.loss.curvature(sample.r / sample.c, p.epsilon) * along * along


def attempt(sample, tau, p):
    """Add up the loss and its slope where the search is."""
    value, slope = p.loss.f(sample.label, sample.m + tau.step * sample.along, p.epsilon)
    sample.r = sample.c * slope
    tau.loss += sample.c * value
    tau.of_b += sample.r
    tau.slope += sample.r * sample.along


def move(feature, tau):
    """Make the step."""
    feature.w += tau.step * feature.d


NARROW = SimpleNamespace(curve=curve, gather=gather, project=project, attempt=attempt)
"""The functions of samples with one margin."""


def start_stages(program, loss):
    """Return the stages before the first iteration: units of weights, and F and its slopes at w =
    0.
    """
    of = loss.wide or NARROW
    begin = start_path if program.path > 1 else start_search
    units = Exchange(of.curve, additive=True), Zip("feature", scale, gather=True, each="w")
    return [*units, ForEach("sample", of.attempt), GlobalSync(begin)]


def epoch(program, loss):
    """Return the stages of an iteration."""
    of = loss.wide or NARROW
    stages = [
        Barrier(),
        Exchange(of.gather, additive=True),
        Zip("feature", differentiate, gather=True, each="w"),
        GlobalSync(set_coefficients),
        Zip("feature", combine, each="w"),
        Exchange(of.project),
        GlobalSync(begin_search),
        Repeat(ForEach("sample", of.attempt), GlobalSync(search_step), until=is_over),
        Zip("feature", move, each="w"),
    ]
    return path_stages(program, stages)
