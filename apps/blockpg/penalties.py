"""A path of penalties, from the least at which no weight moves down to the one asked for; each
begins with the weights of the last.
"""

from __future__ import annotations

import numpy as np


def lower_penalty(tau, p):
    """Go on to the next penalty of a path, with the weights of the last one, if the last pass has
    ended the run of that one.
    """
    if tau.ended and tau.l1 > p.l1:
        next_l1 = tau.l1 * (p.l1 / tau.largest) ** (1 / (p.path - 1))
        if next_l1 < p.l1 * (1 + 1e-9):  # the last, whatever the powers have been rounded to
            next_l1 = p.l1
        tau.penalty += (next_l1 - tau.l1) * tau.size
        tau.F += (next_l1 - tau.l1) * tau.size
        tau.l1, tau.full, tau.mark = next_l1, True, np.inf
