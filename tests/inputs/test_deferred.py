"""Edges that are made when a run reads them: only the run holds them, and not while it trains."""

import weakref

import numpy as np
from support.machines.watchers import RecordingSilent
from support.programs.held_data import ROWS, RatedPairs, columns, load_data, rows

import tux
from tux.arrays.edges import EdgeData
from tux.inputs.deferred import DeferredEdges


def edges():
    given = columns()
    return EdgeData.of(
        ("user", "item"), given["user"], given["item"], {"value": np.float32(given["rating"])}
    )


class Looking(RecordingSilent):
    """A watcher that notes at the end of an epoch which of the columns that `make` has made still
    exist.
    """

    def __init__(self):
        super().__init__()
        self.made, self.there = [], []

    def make(self):
        found = edges()
        columns = found.src, found.dst, *found.fields.values()
        self.made = [weakref.ref(column) for column in columns]
        return found

    def epoch(self, record, most):
        self.there = [column() is not None for column in self.made]


def test_they_are_what_they_are_made_to_be():
    inputs, told = load_data(RatedPairs, DeferredEdges((None,), edges))
    assert rows(inputs.train) == ROWS and not told and inputs.origin == "memory"
    inputs, told = load_data(RatedPairs, columns(), DeferredEdges((None,), edges))
    assert rows(inputs.test) == ROWS and not told


def test_a_run_gives_them_up():
    watch = Looking()
    data = DeferredEdges((None,), watch.make)
    tux.run(tux.MF(rank=2), data, epochs=1, jit=False, progress=watch)
    assert watch.there == [False] * 3
