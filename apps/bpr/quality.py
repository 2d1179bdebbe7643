"""The score of a pair, and how often held-out pairs are ranked below others."""

import numpy as np

from tux import dot
from tux.apps.bpr.pairs import has_item


def score(user, item):
    """Return the score of a pair; of a user that training does not have, the item's bias; of such
    an item, 0.
    """
    return dot(user.f, item.f) + item.b if user.n > 0 and item.n > 0 else item.b


def test(user, item, others, tau, rng):
    """Compare a held-out pair with the item of another one, unless training has that item of the
    user.
    """
    if len(others) == 0 or user.n == 0 or item.n == 0:
        return
    other = others[rng.below(len(others))].item
    if other.n > 0 and other.id != item.id and not has_item(user, other):
        tau.compared += 1
        tau.below += 1 if score(user, item) <= score(user, other) else 0


def report_test(tau):
    """Set the share of held-out pairs that are ranked below."""
    tau.test_violations = tau.below / tau.compared if tau.compared else np.nan
