"""Users and items with features (`tux.apps.features.regression`): their stages. A program has the
edge types `user_features` and `item_features`, and the vertex types `user_feature` and
`item_feature`.
"""

from __future__ import annotations

from tux.apps.features.regression import (
    add_feature,
    count_features,
    keep_weight,
    list_feature,
    move_feature,
)
from tux.stages import Apply, Exchange

SWEEPS = 3
"""Sweeps of the regression after each epoch."""


def find_pair(user, item):
    """Note that both ends have a pair."""
    user.found += 1
    item.found += 1


def list_user(user, user_feature):
    """Count the features of a user."""
    user.listed += 1


def list_item(item, item_feature):
    """Count the features of an item."""
    item.listed += 1


def list_user_feature(user, user_feature):
    """Add the weight of a user to its feature's."""
    list_feature(user, user_feature)


def list_item_feature(item, item_feature):
    """Add the weight of an item to its feature's."""
    list_feature(item, item_feature)


def describe_user(user, user_feature):
    """Add up the vectors of a user's features."""
    add_feature(user, user_feature)


def describe_item(item, item_feature):
    """Add up the vectors of an item's features."""
    add_feature(item, item_feature)


def counting_stages():
    """Return the stages that count pairs and features of both ends, and weigh features."""
    lists = {"user": (list_user, list_user_feature), "item": (list_item, list_item_feature)}
    stages = [Exchange(find_pair)]
    for kind, (list_end, list_of_end) in lists.items():
        edge = f"{kind}_features"
        stages += [Exchange(list_end, edge=edge), Apply(kind, count_features)]
        stages += [Exchange(list_of_end, edge=edge), Apply(f"{kind}_feature", keep_weight)]
    return stages


def regression_stages(gather, settle):
    """Return the stages of all sweeps of both ends. `gather` and `settle`: for users and items, the
    function on an edge that adds what a feature does not explain, and the one that sets a prior.
    """
    stages = []
    for kind, describe, own, set_prior in zip(
        ("user", "item"), (describe_user, describe_item), gather, settle, strict=True
    ):
        edge = f"{kind}_features"
        stages += [Exchange(own, edge=edge), Apply(f"{kind}_feature", move_feature)]
        stages += [Exchange(describe, edge=edge), Apply(kind, set_prior)]
    return SWEEPS * stages
