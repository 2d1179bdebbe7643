"""The promises of every back-end, on machines that are processes of this one."""

import pytest
from support.machines.conformance import promises

pytestmark = [pytest.mark.clusters, pytest.mark.filterwarnings("ignore")]


@promises(in_ci=["nothing", "in-turn", "ctrl-c", "wrong-program", "driver-killed"])
def test_it_keeps_its_promises(plays, scenario):
    plays(f"on-local-{scenario}")
