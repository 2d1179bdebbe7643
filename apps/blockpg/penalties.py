"""A path of penalties, from the least at which no weight moves down to the one asked for; each
begins with the weights of the last.
"""

from __future__ import annotations

import numpy as np

from tux.base.errors import UsageError


def check_end(program, name):
    """Raise UsageError for a path of the penalty `name` of a program that would end at 0."""
    if program.path > 1 and getattr(program, name) == 0:
        raise UsageError(
            f"a path of penalties cannot end at {name} 0, as each is a share of the one before",
            do=f"give {name} a number above 0, such as 0.001",
        )


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
