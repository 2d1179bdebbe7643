"""The workers' own copies of weights, and two means of them:

    workers     each worker that has entries of a feature counts the same
    entries     a worker counts as often as it has entries of feature j: n_jr of n_j. So that its
                samples don't count more than others, a step is n_j / (R_j n_jr) times as long, R_j
                being the number of workers that have entries

By either, an epoch of short steps moves a weight along the slope of the whole objective, so the
optimum is the only fixed point. By the counts alone it is not: in tests, four workers then stayed
.5 to 3% above the optimum. A worker without entries of a feature has no copy, and does not count.
Four workers take 95 (workers) and 87 epochs (entries) to 1e-3 of the optimum on 150 samples, 79 and
78 on a9a. `workers` is the default, as it needs no counts and no longer steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tux.program.fields import mirror, shared, value
from tux.stages import Apply, Exchange, ForEach


def averages(p):
    """Return 1 if models are averaged, else 0."""
    return int(p.solver == "averaging")


def by_workers(p):
    """Return 1 if workers count the same, else 0."""
    return averages(p) * (p.average == "workers")


def by_entries(p):
    """Return 1 if workers count by their entries, else 0."""
    return averages(p) * (p.average == "entries")


FEATURE: dict[str, Any] = {
    "copy": shared("f8", by_workers, combine="replica_mean", kept=False),
    "counted_copy": shared("f8", by_entries, combine="mean", kept=False),
    "part": value("f8", averages, kept=False),  # 1 / n_j
    "even": value("f8", by_entries, kept=False),  # n_j / R_j
    "own": mirror("f8", by_entries),  # n_jr
}


def count(sample, feature):
    """Count the entries of a feature."""
    feature.gathered += 1


def count_own(sample, feature):
    """Count the entries of a feature, on all workers and on each."""
    feature.gathered += 1
    feature.own[0] += 1


def set_part(feature):
    """Set the share of the feature's penalty that each entry has."""
    feature.part[0] = 1 / max(feature.gathered, 1.0)


def count_holders(feature):
    """Count the workers that have entries of the feature."""
    feature.gathered += 1


def set_even(feature):
    """Set how many entries each worker would have if all had the same number."""
    feature.even[0] = 1 / (feature.part[0] * max(feature.gathered, 1.0))


def read_copy(feature):
    """Return (copy of the weight, how many times as long its steps are)."""
    return feature.copy[0], 1.0


def write_copy(feature, w):
    """Write a new copy."""
    feature.copy[0] = w


def keep_mean(feature):
    """Set the weight to the mean of the copies."""
    feature.w = feature.copy[0]


def read_counted(feature):
    """Return (copy of the weight, how many times as long its steps are)."""
    return feature.counted_copy[0], feature.even[0] / feature.own[0]


def write_counted(feature, w):
    """Write a new copy."""
    feature.counted_copy[0] = w


def keep_counted(feature):
    """Set the weight to the mean of the copies."""
    feature.w = feature.counted_copy[0]


class CopyRule(NamedTuple):
    """The functions that read and write a worker's copy of a weight."""

    read: Callable[..., tuple[float, float]]
    write: Callable[..., None]


RULES = {
    "workers": CopyRule(read_copy, write_copy),
    "entries": CopyRule(read_counted, write_counted),
}


def count_stages(rule):
    """Return the stages that count entries, before the first epoch."""
    if rule == "workers":
        return [Exchange(count), Apply("feature", set_part)]
    holders = ForEach("feature", count_holders, additive=True)
    return [Exchange(count_own), Apply("feature", set_part), holders, Apply("feature", set_even)]


def mean_stage(rule):
    """Return the stage that sets weights to the means of their copies."""
    return Apply("feature", keep_mean if rule == "workers" else keep_counted)
