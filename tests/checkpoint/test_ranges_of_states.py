"""States that go to other workers a range of positions at a time have the bytes that they have when
all values of a field are joined as a whole.
"""

import numpy as np
import pytest
from support.machines.interrupted import TrainingJob
from support.machines.lda_team import draw_documents
from support.oracles.blockpg_oracle import draw_samples
from support.oracles.joined_states import JoinedStates
from support.programs.redistributing import (
    MADE,
    fill,
    rating_inputs,
    train,
    whole_state,
)

from tux.apps.kmeans.kmeans import SparseKMeans
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.linear.linear import Linear
from tux.apps.mf.mf import MF
from tux.checkpoint import old_states
from tux.checkpoint.old_states import OldState
from tux.checkpoint.redistribute import Redistribution
from tux.cluster.simulated import SimulatedCluster
from tux.engine.shares import shares_of
from tux.inputs.load import Inputs

MOVES = [(2, 3), (3, 2), (1, 2), (2, 1)]


def check_all_bytes(job, n, change=lambda trainings: None):
    """Train a job, and compare its states on n workers with those that are joined as a whole."""
    trainings = job.trainings()
    workers = [training.worker for training in trainings]
    train(trainings, SimulatedCluster(workers, job.seed) if job.k > 1 else None, job.epochs)
    change(trainings)
    states = [training.state().copy() for training in trainings]
    before, after = (
        shares_of(job.program, job.inputs, job.partitioner, each, job.seed).shares
        for each in (job.k, n)
    )
    expected = JoinedStates(job.program, job.seed, before, states, after)
    made, compared = Redistribution(job.program, job.seed, before, states, after), 0
    for rank in range(n):
        arrays = whole_state(made, rank).arrays
        for name, array in expected.arrays(rank).items():
            assert arrays[name].dtype == array.dtype and arrays[name].shape == array.shape
            assert arrays[name].tobytes() == array.tobytes(), name
            compared += 1
    assert compared


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    """Cut the positions of all types into several ranges."""
    monkeypatch.setattr(old_states, "RANGE_BYTES", 64)


@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize(("k", "n"), MOVES)
def test_factors_of_mini_batches(k, n, seed):
    program, inputs = MF(rank=2, batch_size=20), rating_inputs()
    check_all_bytes(
        TrainingJob(program, inputs, 2, k, seed=seed, partitioner="aweto", jit=False), n
    )


@pytest.mark.parametrize(("k", "n"), MOVES)
def test_all_kinds_of_fields_with_what_was_not_sent(k, n):
    for kind, made in MADE.items():
        job = TrainingJob(kind(), made(), 0, k, partitioner=kind.by, jit=False)
        check_all_bytes(job, n, lambda t, job=job: fill(job.program, t, np.random.default_rng(1)))


@pytest.mark.parametrize(("k", "n"), MOVES)
def test_the_best_model_and_changes_that_were_sent(k, n):
    def make_best(trainings):
        fill(trainings[0].worker.program, trainings, np.random.default_rng(2), unsent=False)
        for training in trainings:
            training._best_model.make()

    for kind, made in MADE.items():
        check_all_bytes(
            TrainingJob(kind(), made(), 0, k, partitioner=kind.by, jit=False), n, make_best
        )


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("k", "n"), MOVES)
@pytest.mark.parametrize("program", [LDA(topics=3), WarpLDA(topics=3)])
def test_topics_of_tokens(program, k, n):
    inputs = Inputs(draw_documents())
    check_all_bytes(TrainingJob(program, inputs, 1, k, partitioner="source", jit=False), n)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("k", "n"), MOVES)
@pytest.mark.parametrize("program", [Linear(), SparseKMeans(n_clusters=3)])
def test_weights_and_centres(program, k, n):
    inputs = Inputs(draw_samples(n=30, p=8).edges())
    check_all_bytes(TrainingJob(program, inputs, 2, k, partitioner="source", jit=False), n)


class WatchedRows:
    """Rows that note the most bytes of them that were asked for at once."""

    most = 0

    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, rows):
        found = self.array[rows]
        WatchedRows.most = max(WatchedRows.most, found.nbytes)
        return found


def test_no_more_than_a_range_is_read_at_once():
    job = TrainingJob(MF(rank=2), rating_inputs(), 0, 2, partitioner="aweto", jit=False)
    states = [
        OldState(each.head, {name: WatchedRows(array) for name, array in each.arrays.items()})
        for each in (training.state() for training in job.trainings())
    ]
    before, after = (
        shares_of(job.program, job.inputs, job.partitioner, k, job.seed).shares for k in (2, 3)
    )
    made = Redistribution(job.program, job.seed, before, states, after)
    rows = [whole_state(made, rank).arrays["rows/user/f"] for rank in range(3)]
    assert 0 < WatchedRows.most <= old_states.RANGE_BYTES < sum(each.nbytes for each in rows)
