"""Runs of MF on tiny ratings, in the present folder, that stop within an epoch."""

import os
from pathlib import Path

import pytest
from support.machines.watchers import RecordingSilent
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.background import Background
from tux.options.options import RunOptions
from tux.runs.session import run


def stand_beside_ratings(folder, monkeypatch):
    """Go to a folder with ratings; each checkpoint is written before training goes on, so that none
    is left out.
    """
    monkeypatch.chdir(folder)
    monkeypatch.setattr(Background, "start", lambda self, work: bool(work()))
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu2,2,5\n")


class StopsInEpoch(RecordingSilent):
    """Stops the run as a kill would: within the epoch after so many."""

    def __init__(self, after, error=None):
        super().__init__()
        self.after, self.error = after, error or SystemError("stopped")

    def epoch(self, record, most):
        super().epoch(record, most)
        if record["epoch"] == self.after:
            raise self.error


def train(out, *, epochs=6, every="2", watch=None, test="held.csv", **options):
    options = RunOptions(out=out, epochs=epochs, jit=False, checkpoint_every=every, **options)
    return run(MF(rank=3), os.path.abspath("ratings.csv"), test, options, watch)


def stop(out, after, **options):
    with pytest.raises(SystemError, match="stopped"):
        train(out, watch=StopsInEpoch(after), **options)
