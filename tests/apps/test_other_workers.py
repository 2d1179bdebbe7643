"""Apps that go on on another number of workers: counts stay exact, and curves go on as before."""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from support.machines.interrupted import PART, TrainingJob, all_kept
from support.machines.interrupted import run as trained
from support.machines.lda_team import Sampling, draw_documents
from support.machines.warplda_team import WarpTeam
from support.oracles.blockpg_oracle import draw_samples as samples
from support.programs.redistributing import knowledge, whole_state
from support.programs.shown import write_shown_program

from tux.apps.blockpg import start
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.lda.lda import LDA
from tux.apps.lda.metropolis import TOPIC
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.checkpoint.redistribute import Redistribution
from tux.checkpoint.saved import load
from tux.checkpoint.snapshot import State, arrays_of, put_back
from tux.engine.shares import are_alike, shares_of
from tux.engine.training import Training
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import resume, run
from tux.synthetic.graph import graph

SMALL = {"topics": 4, "parts": 3}


def samplers(kind, program, k):
    """Return a team, its counts checked after an epoch."""
    team = kind(program, draw_documents(), k=k, jit=False)
    team.epoch()
    return team.check()


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "program"), [(Sampling, LDA(**SMALL)), (WarpTeam, WarpLDA(**SMALL))]
)
@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 2)])
def test_topics_are_counted_exactly_on_other_workers(kind, program, k, n):
    before, after = samplers(kind, program, k), samplers(kind, program, n)
    cuts = [
        shares_of(program, Inputs(draw_documents()), "source", each, 0).shares for each in (k, n)
    ]
    with without_topic(before.workers[0]):
        head = Training(before.workers[0]).state().head
    states = [State(head, copy_state(worker)) for worker in before.workers]
    made = Redistribution(program, 0, cuts[0], states, cuts[1])
    for worker in after.workers:
        with without_topic(worker):
            put_back(worker, whole_state(made, worker.rank).arrays)
    after.check()
    assert np.array_equal(after.gather("word", "n"), before.gather("word", "n"))
    after.epoch()
    after.check()


def copy_state(worker):
    """Return copies of the arrays of a worker's state."""
    with without_topic(worker):
        return {name: array.copy() for name, array in arrays_of(worker).items()}


@pytest.mark.long
@pytest.mark.parametrize(("k", "n"), [(1, 2), (2, 1)])
def test_steps_are_damped_as_the_new_workers_need(k, n, tmp_path):
    """From the second pass on: the first one goes on with the model that it was given."""
    inputs = Inputs(samples(n=60, p=40).edges())
    job = TrainingJob(BlockPG(l1=0.5, tol=0.0), inputs, 3, k=k, jit=False)
    others = job._replace(k=n, epochs=6)
    ending = trained(others, states=MovedStates(job, tmp_path).states((3, 0), n))
    whole = trained(others)
    for mine, expected in zip(ending.workers, whole.workers, strict=True):
        assert mine.tau.crowd == expected.tau.crowd == (start.CROWD / 64 if n > 1 else 0)
        assert (mine.tables["sample"].arrays["near"].max() > 0) == (n > 1)
    objective = [record["objective"] for record in ending.records[0]]
    assert objective == sorted(objective, reverse=True)


@contextmanager
def without_topic(worker):
    """Yield the edges without the field that the team of WarpLDA has added."""
    fields = worker.graph.edges.fields
    added = fields.pop("topic") if "z" in fields else None
    yield
    if added is not None:
        fields["topic"] = added


BEFORE, AFTER = 4, (1, 2, 3, 8)
"""Workers before and after."""

MADE = {
    "mf": (lambda: MF(rank=8), ["objective", "test_rmse"]),
    "sparse": (lambda: LDA(topics=20, sampler="sparse"), ["loglik_per_token"]),
    "warp": (lambda: LDA(topics=20, sampler="warp"), ["loglik_per_token"]),
    "blockpg": (lambda: BlockPG(tol=0.0), ["objective"]),
}


@pytest.mark.long
@pytest.mark.parametrize("app", MADE)
def test_curves_go_on_on_other_workers(app, tmp_path):
    """From 4 workers to fewer and to more: each epoch within .5% of that on 4."""
    (make, metrics), half, last = MADE[app], 5, 10
    whole = run(make(), options=RunOptions(workers=BEFORE, epochs=last)).records
    options = RunOptions(out=tmp_path / "half", workers=BEFORE, epochs=half, checkpoint_every="9")
    run(make(), options=options)
    for n in AFTER:
        shutil.copytree(tmp_path / "half", tmp_path / str(n))
        rest = resume(tmp_path / str(n), epochs=last, workers=n).records
        assert [record["epoch"] for record in rest] == [*range(1, last + 1)]
        for metric in metrics:
            curve = [record[metric] for record in rest]
            assert curve == pytest.approx([record[metric] for record in whole], rel=5e-3)


class MovedStates:
    """The checkpoints of a job of 4 workers, and their states on others."""

    def __init__(self, job, folder):
        self.job, self.kept = job, all_kept(job, folder)[0]
        self._shares = {}

    def shares(self, k, epoch):
        """Return the share that each of k workers holds at the end of `epoch`, the last one that is
        over.
        """
        if (k, epoch) not in self._shares:
            job = self.job
            self._shares[k, epoch] = shares_of(
                job.program,
                job.inputs,
                job.partitioner,
                k,
                job.seed,
                epoch=epoch,
                slack=job.slack if k > 1 else 0,
            )
        return self._shares[k, epoch]

    def states(self, place, n):
        """Return the states of a checkpoint on n workers; None if the clocks of its epoch are
        others there.
        """
        epoch, clocks = place
        cuts = [self.shares(k, epoch if clocks else None) for k in (self.job.k, n)]
        if clocks and not are_alike(clocks, *cuts):
            return None
        states = [load(file, PART) for file in self.kept[place]]
        made = Redistribution(
            self.job.program, self.job.seed, cuts[0].shares, states, cuts[1].shares
        )
        return [whole_state(made, rank) for rank in range(n)]

    def workers(self, states):
        """Return workers that have these states."""
        trainings = self.job._replace(k=len(states)).trainings()
        for training, state in zip(trainings, states, strict=True):
            training.resume(state)
        return [training.worker for training in trainings]


class Counting(Sampling):
    """Workers whose counts are looked at."""

    def __init__(self, job, workers):
        self.program, self.edges, self.workers = job.program, job.inputs.train, workers
        for worker in workers:
            fields = worker.graph.edges.fields
            if "z" in fields:
                fields["topic"] = fields["z"][:, TOPIC]  # where the team looks for it


@pytest.mark.parametrize(
    ("program", "slack"),
    [
        pytest.param(LDA(sampler="sparse", **SMALL), 2, marks=pytest.mark.long, id="exact-2"),
        pytest.param(LDA(sampler="sparse", **SMALL), 0, marks=pytest.mark.long, id="exact-0"),
        pytest.param(WarpLDA(**SMALL), 2, marks=pytest.mark.long, id="warp-2"),
        pytest.param(WarpLDA(**SMALL), 0, marks=pytest.mark.long, id="warp-0"),
    ],
)
def test_counts_of_topics_are_exact(program, slack, tmp_path):
    inputs = Inputs(draw_documents(documents=40, words=20))
    job = TrainingJob(program, inputs, 3, k=BEFORE, slack=slack)
    moved = MovedStates(job, tmp_path)
    ends = [place for place in moved.kept if not place[1]]
    assert len(ends) == 3
    for place in ends:
        workers = moved.workers([load(file, PART) for file in moved.kept[place]])
        known = knowledge(workers)
        Counting(job, workers).check()
        for n in AFTER:
            states = moved.states(place, n)
            workers = moved.workers(states)
            assert repr(knowledge(workers)) == repr(known)
            Counting(job, workers).check()
            if place[0] < job.epochs:
                Counting(job, trained(job._replace(k=n), states=states).workers).check()


@pytest.mark.long
def test_counts_of_a_shuffled_program_are_exact_within_epochs_too(tmp_path):
    """Its clocks, and its walks, are the same on any number of workers."""
    program = find(str(write_shown_program("Visits", tmp_path))).program(length=4)
    edges = EdgeData.of(("page", "page"), *graph(3000, 4000), {})
    job = TrainingJob(program, Inputs(edges), 2, k=BEFORE, partitioner="random")
    moved, expected = MovedStates(job, tmp_path), visits(job, trained(job))
    assert expected.sum() > 0 and any(clocks for _, clocks in moved.kept)
    for place in moved.kept:
        for n in AFTER:
            ending = trained(job._replace(k=n), states=moved.states(place, n))
            assert np.array_equal(visits(job, ending), expected)


def visits(job, ending):
    """Return the visits of all pages, at the end of a run."""
    return Counting(job, ending.workers).gather("page", "visits")
