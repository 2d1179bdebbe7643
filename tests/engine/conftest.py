"""Fixtures that tests of threads share."""

from functools import partial

import pytest

from tux.engine.threads import Threads
from tux.stages.kernel import shared_kernel, tickets


@pytest.fixture
def shares(monkeypatch):
    """Cut small lists into many items and share them. Return a list of how many items each shared
    list has.
    """
    monkeypatch.setattr(shared_kernel, "ALONE_SECONDS", -1.0)
    monkeypatch.setattr(tickets, "WEIGHT", 4)
    monkeypatch.setattr(tickets, "EDGES_PER_ITEM", 8)
    found, run = [], Threads.run

    def note_items(self, work, stop):
        found.append(len(work.args[1][1]) if isinstance(work, partial) else 0)
        run(self, work, stop)

    monkeypatch.setattr(Threads, "run", note_items)
    return found
