"""The directions of monotone features: what the parameter `monotone` says, and what the context
holds of it.
"""

from __future__ import annotations

from tux.base.errors import UsageError
from tux.base.random import listed_values
from tux.base.text import join_class_names
from tux.program.fields import value
from tux.program.input import listed_names
from tux.program.vertex_params import numbers_named

DIRECTIONS = {"+1": 1, "1": 1, "-1": -1, "0": 0}


def read_directions(text):
    """Return the direction of each feature that the text of the parameter `monotone` names, 1 or
    -1, by its id; features with 0 are left out. UsageError for another direction, and for a feature
    that is named twice.
    """
    found = {}
    for each in listed_names(text, "monotone"):
        name, _, written = (part.strip() for part in each.rpartition(":"))
        if not name or written not in DIRECTIONS:
            raise UsageError(
                f"monotone {each} does not name a feature and its direction",
                do=f"write {name or 'NAME'}:+1 or {name or 'NAME'}:-1, and commas between features",
            )
        if name in found:
            raise UsageError(f"monotone names the feature {name} twice", do="name it once")
        found[name] = DIRECTIONS[written]
    return {name: direction for name, direction in found.items() if direction}


def write_directions(text):
    """Return the text of the parameter `monotone` in its one form, for all texts that say the same:
    features in the order of their ids, without those that have the direction 0.
    """
    directions = sorted(read_directions(text).items())
    return join_class_names([f"{name}:{direction:+d}" for name, direction in directions])


def number_directions(text, ids):
    """Return the directions in a text by the numbers of the features, of which these are the `ids`,
    as a text, too. UsageError for a feature that the data do not have.
    """
    directions = read_directions(text)
    numbers = numbers_named("monotone", "feature", [*directions], ids, len(ids))
    numbered = sorted(zip(numbers, directions.values(), strict=True))
    return ",".join(f"{number}:{direction}" for number, direction in numbered)


def by_number(p):
    """Return pairs of the number of a monotone feature and its direction, by number."""
    pairs = (each.split(":") for each in p.directions.split(",") if each)
    return [(int(number), int(direction)) for number, direction in pairs]


def monotone_features(p):
    """Return the number of monotone features."""
    return len(by_number(p))


def feature_numbers(p):
    """Return the numbers of the monotone features, ascending, as first values of a field."""
    return listed_values({(0, at): number for at, (number, _) in enumerate(by_number(p))})


def feature_directions(p):
    """Return the directions of the monotone features as first values of a field."""
    return listed_values({(0, at): direction for at, (_, direction) in enumerate(by_number(p))})


def bounded_nodes(p):
    """Return the number of nodes of the last level, if their steps have bounds; else 0."""
    return 2**p.max_depth if p.directions else 0


MONOTONE = {
    "monotone": value("i4", monotone_features, init=feature_numbers, kept=False),
    "direction": value("i1", monotone_features, init=feature_directions, kept=False),
    "least_step": value("f8", bounded_nodes, kept=False, finite=False),
    "most_step": value("f8", bounded_nodes, kept=False, finite=False),
}
"""The monotone features, and the bounds of the steps of a level's nodes; see `rules.py`."""
