"""Teams that run BlockPG on made samples until little changes."""

import numpy as np
from support.machines.team import Team
from support.oracles.blockpg_oracle import draw_samples

from tux.apps.blockpg.blockpg import BlockPG

MADE = draw_samples()


def fit(
    data,
    test=None,
    *,
    epochs=300,
    k=1,
    by="source",
    slack=0,
    seed=0,
    jit=True,
    delivery=0,
    program=BlockPG,
    every=1000,
    **parameters,
):
    """Return a team that has been trained to a tight tolerance."""
    edges = data.edges()
    program = program(**{"tol": 1e-13, **parameters})
    team = Team(
        program,
        edges,
        None if test is None else test.edges(edges),
        k=k,
        by=by,
        slack=slack,
        seed=seed,
        jit=jit,
        delivery=delivery,
    )
    return team.train(epochs, every=every)


def result_of(team):
    """Return F of the last record, w and b."""
    return team.history("objective")[-1], team.gather("feature", "w"), float(team.tau.b)


def unbalanced_samples():
    """Return samples of which one of nine is of the second class."""
    rng = np.random.default_rng(5)
    return MADE._replace(y=np.where(rng.random(len(MADE.y)) < 1 / 9, 1.0, -1.0))
