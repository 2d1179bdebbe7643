"""The launcher waits as long as a worker works."""

from types import SimpleNamespace

import pytest
from support.messages import message

from tux.base.errors import DeadlinePassed
from tux.cluster.job.leader import LOOK, Leader
from tux.cluster.transport.heartbeat import Heartbeat


@pytest.mark.parametrize("busy", [0, 100])
def test_a_launcher_waits_while_a_worker_loads_or_computes(busy):
    """An epoch may take hours, and so may the start; silence may not."""
    life, looks = Heartbeat(0.0), []

    def receive(seconds, waiting_for):
        looks.append(seconds)
        life.work += len(looks) <= busy  # heartbeats of one that works
        raise DeadlinePassed("nothing has come")

    launcher = SimpleNamespace(
        _refusals=SimpleNamespace(warn=lambda beat: None),
        socket_thread=SimpleNamespace(receive=receive, reactor=SimpleNamespace(heartbeat=life)),
        here=SimpleNamespace(role="worker"),
        _look_around=lambda: None,
    )
    with pytest.raises(
        DeadlinePassed, match=message("waited-s-for-and-no", "5", "epoch 3", "worker")
    ):
        Leader._receive(launcher, 5.0, "epoch 3")
    assert len(looks) == pytest.approx(busy + 5.0 / LOOK, abs=1)
