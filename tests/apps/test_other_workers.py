"""Apps that go on on another number of workers: counts stay exact, and curves go on as before."""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from lda_team import Sampling, drawn
from warplda_team import Warped

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.engine.redistribute import Redistribution
from tux.engine.shares import shares_of
from tux.engine.state import State, arrays_of, put_back
from tux.engine.training import Training
from tux.run.inputs import Inputs
from tux.run.options import RunOptions
from tux.run.session import resume, run

SMALL = {"topics": 4, "parts": 3}


def samplers(kind, program, k):
    """A team, its counts checked after an epoch."""
    team = kind(program, drawn(), k=k, jit=False)
    team.epoch()
    return team.check()


@pytest.mark.parametrize(
    ("kind", "program"), [(Sampling, LDA(**SMALL)), (Warped, WarpLDA(**SMALL))]
)
@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 2)])
def test_topics_are_counted_exactly_on_other_workers(kind, program, k, n):
    before, after = samplers(kind, program, k), samplers(kind, program, n)
    cuts = [shares_of(program, Inputs(drawn()), "source", each, 0).shares for each in (k, n)]
    with without_topic(before.workers[0]):
        head = Training(before.workers[0]).state().head
    states = [State(head, kept(worker)) for worker in before.workers]
    made = Redistribution(program, 0, cuts[0], states, cuts[1])
    for worker in after.workers:
        with without_topic(worker):
            put_back(worker, made.state(worker.rank).arrays)
    after.check()
    assert np.array_equal(after.gather("word", "n"), before.gather("word", "n"))
    after.epoch()
    after.check()


def kept(worker):
    """The arrays of a worker's state."""
    with without_topic(worker):
        return {name: array.copy() for name, array in arrays_of(worker).items()}


@contextmanager
def without_topic(worker):
    """The edges without the field that the team of WarpLDA has added."""
    fields = worker.graph.edges.fields
    added = fields.pop("topic") if "z" in fields else None
    yield
    if added is not None:
        fields["topic"] = added


MADE = {
    "mf": (lambda: MF(rank=8), ["objective", "test_rmse"]),
    "sparse": (lambda: LDA(topics=20, sampler="sparse"), ["loglik_per_token"]),
    "warp": (lambda: LDA(topics=20, sampler="warp"), ["loglik_per_token"]),
    "blockpg": (lambda: BlockPG(tol=0.0), ["objective"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("app", MADE)
def test_curves_go_on_on_other_workers(app, tmp_path):
    """From 4 workers to fewer and to more: each epoch within .5% of that on 4."""
    (make, metrics), k, half, last = MADE[app], 4, 5, 10
    whole = run(make(), options=RunOptions(workers=k, epochs=last)).records
    options = RunOptions(out=tmp_path / "half", workers=k, epochs=half, checkpoint_every="9")
    run(make(), options=options)
    for n in (1, 2, 3, 8):
        shutil.copytree(tmp_path / "half", tmp_path / str(n))
        rest = resume(tmp_path / str(n), epochs=last, workers=n).records
        assert [record["epoch"] for record in rest] == [*range(1, last + 1)]
        for metric in metrics:
            curve = [record[metric] for record in rest]
            assert curve == pytest.approx([record[metric] for record in whole], rel=5e-3)
