"""Stale Synchronous Parallel between real processes: the seven assertions over ZeroMQ, where
nobody draws the order of deliveries.
"""

import pytest
from support.programs.probe_job import PASSES, WORKERS, RealSimulation, StaleProbe, edges, scenario

from tux.options.options import RunOptions
from tux.runs.session import run


@pytest.mark.long
@pytest.mark.parametrize(
    "slack", [pytest.param(0, marks=pytest.mark.long), 1, pytest.param(3, marks=pytest.mark.long)]
)
def test_the_seven_assertions_hold_between_processes(slack, tmp_path):
    program = StaleProbe(slots=WORKERS, folder=str(tmp_path), allowed=slack)
    run(
        program,
        edges(),
        options=RunOptions(
            epochs=PASSES, jit=False, workers=WORKERS, slack=slack, partitioner="random"
        ),
    )
    assert RealSimulation(scenario(slack), tmp_path).check() == slack, (
        "the stalest read is as stale as the slack allows"
    )
