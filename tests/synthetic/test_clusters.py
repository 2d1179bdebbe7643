"""Points around known centers."""

import numpy as np
import pytest

from tux.base.errors import UsageError
from tux.cli.main import main
from tux.synthetic.clusters import clusters


def test_points_are_around_their_centers():
    made = clusters(4_000, 3, 5, spread=2.0, seed=1)
    assert made.inertia() / made.x.size == pytest.approx(4, rel=0.05)
    means = [made.x[made.cluster == c].mean(axis=0) for c in range(5)]
    assert np.stack(means) == pytest.approx(made.center, abs=0.4)
    assert np.array_equal(made.x, clusters(4_000, 3, 5, spread=2.0, seed=1).x)
    assert not np.array_equal(made.x, clusters(4_000, 3, 5, spread=2.0, seed=2).x)


def test_a_negative_spread():
    with pytest.raises(UsageError, match=r"a spread of -1"):
        clusters(spread=-1)


def test_the_command(tmp_path, capsys):
    file = tmp_path / "points.csv"
    assert (
        main(["generate", "clusters", "--points", "9", "--features", "2", "--out", str(file)]) == 0
    )
    head, *rows = file.read_text().splitlines()
    assert head == "id,x_0,x_1,cluster"
    assert len(rows) == 9
    assert "the truth itself has an inertia of" in capsys.readouterr().out
