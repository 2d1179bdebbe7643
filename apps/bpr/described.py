"""Users and items with features (`tux.apps.features`). Of an item, features explain the vector and
the bias.
"""

from tux import dot
from tux.apps.features.regression import add_rest, keep_prior


def score(user, item):
    """Return the score of a pair; of a user of which neither pairs nor features are known, the
    item's bias; of such an item, 0.
    """
    known = user.n + user.features > 0 and item.n + item.features > 0
    return dot(user.f, item.f) + item.b if known else item.b


def number_of_user(user, k, p):
    """Return an entry of a user's vector."""
    return user.f[k]


def number_of_item(item, k, p):
    """Return an entry of an item's vector, or behind them its bias."""
    return item.f[k] if k < len(item.f) else item.b


def gather_user(user, user_feature, p):
    """Add to a feature what it does not explain of a user."""
    add_rest(user, user_feature, number_of_user, p)


def gather_item(item, item_feature, p):
    """Add to a feature what it does not explain of an item."""
    add_rest(item, item_feature, number_of_item, p)


def settle_user(v):
    """Set the prior of a user, which is the vector of one that has no pairs."""
    keep_prior(v)
    if v.pairs == 0:
        for k in range(len(v.f)):
            v.f[k] = v.prior[k]


def settle_item(v):
    """Set the prior of an item, which is the vector and the bias of one that has no pairs."""
    keep_prior(v)
    if v.pairs == 0:
        for k in range(len(v.f)):
            v.f[k] = v.prior[k]
        v.b = v.prior[len(v.f)]
