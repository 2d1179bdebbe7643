"""bench.trees: its arguments, and how it judges."""

import numpy as np
import pytest

from bench import trees


def test_what_it_compares_is_told(capsys):
    with pytest.raises(SystemExit):
        trees.main(["--parts", "peers,memory"])
    assert "there is no 'memory'; there are: peers,bytes" in capsys.readouterr().err


def test_quality():
    y, chance = np.array([True, False, True, False]), np.array([0.9, 0.2, 0.5, 0.5])
    loss, area = trees.quality(y, chance)
    assert loss == pytest.approx(-np.log([0.9, 0.8, 0.5, 0.5]).mean())
    assert area == pytest.approx(3.5 / 4)
