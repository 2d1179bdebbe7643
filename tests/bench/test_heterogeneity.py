"""bench.heterogeneity compares programs that differ in what travels alone: all take the same
steps.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest
from support.machines.team import Team

from tux.inputs.samples import samples_to_edges
from tux.synthetic.clicks import clicks


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AlikeBlockPG", "UntrackedBlockPG", "CompactBlockPG"])
def test_all_take_the_steps_of_the_app(name, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    heterogeneity = importlib.import_module("bench.heterogeneity")
    edges = samples_to_edges(clicks(60, 30, 6, 5).split()[0], heterogeneity.PlainBlockPG())
    cut = edges.src % 2 if name != "AlikeBlockPG" else "random"

    def objectives(kind):
        program = getattr(heterogeneity, kind)(l1=0.5, blocks=3, tol=0.0)
        return (
            Team(program, edges, k=2, by=cut if kind == name else edges.src % 2)
            .train(3, every=100)
            .history("objective")
        )

    np.testing.assert_allclose(objectives(name), objectives("PlainBlockPG"), rtol=1e-5)
