"""BlockPG with an intercept, which the search alone moves: it ends at its best value, whatever the
features are.
"""

import numpy as np
import pytest
from support.machines.blockpg_team import fit
from support.oracles.blockpg_oracle import Data

from tux.apps.blockpg.losses import LOSSES


def draw_samples(kind, seed, *, classes):
    """Draw samples of features that are far from 0, alike, there or not, of many scales, or rare,
    and labels that do not lie around 0.
    """
    rng = np.random.default_rng(seed)
    n, p = 200, 5
    x = {
        "far from 0": lambda: rng.normal(size=(n, p)) + 5,
        "alike": lambda: rng.normal(size=(n, p)) + 5 * rng.normal(size=(n, 1)),
        "there or not": lambda: (rng.random((n, p)) < 0.5) * 1.0,
        "of many scales": lambda: rng.random((n, p)) * 10.0 ** rng.integers(-2, 3, p),
        "rare": lambda: np.where(rng.random((n, p)) < 0.2, rng.normal(size=(n, p)), 0),
    }[kind]()
    score = x @ (rng.normal(size=p) / x.std(0)) + rng.normal(size=n) + 1
    y = np.where(score > np.quantile(score, 0.3), 1.0, -1.0) if classes else score
    return Data(x.astype("f4").astype("f8"), y.astype("f4").astype("f8"), np.ones(n))


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["far from 0", "alike", "there or not", "of many scales", "rare"])
def test_the_intercept_ends_at_its_best(loss, kind):
    for seed, share in ((0, 0.5), (1, 0.1), (2, 0.01)):
        data = draw_samples(kind, seed, classes=LOSSES[loss].of_classes)
        centred = data.x - data.x.mean(0)
        l1 = share * float(np.abs(centred.T @ (data.y - data.y.mean())).max())
        team = fit(data, loss=loss, l1=l1, fit_intercept=True, tol=1e-7, epochs=2000)
        b, objective = float(team.tau.b), team.history("objective")[-1]
        margins = data.x @ team.gather("feature", "w") + b
        model = [LOSSES[loss].model(y, m, 1.0, 1.35) for y, m in zip(data.y, margins, strict=True)]
        slope, curve = (sum(each[k] for each in model) for k in (1, 2))
        assert slope * slope <= 2 * curve * 1e-6 * objective
