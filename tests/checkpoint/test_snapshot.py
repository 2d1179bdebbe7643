"""The state of a run: whoever goes on from it ends as the run would have ended."""

import numpy as np
import pytest
from support.machines.run_folders import drop_times
from support.machines.team import Team, ratings
from support.programs.programs import DanglingPageRank, random_pairs, start

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    data,
    delta,
    master,
    metric,
    mirror,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.arrays.networks import from_arrays
from tux.engine.training import Training
from tux.messages.message import Kind, Message
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Repeat


def bits(worker):
    """Return all that the worker's masters hold, as bytes."""
    tables = [worker.masters(name) for name in worker.program.vertices] + [worker.tables["tau"]]
    return [array.tobytes() for table in tables for _, array in sorted(table.arrays.items())]


class Keeping:
    """Keeps the state of each worker at mark `at`, when all have come there; then they go on."""

    def __init__(self, at, send=lambda message: None, workers=1):
        self.at, self.send, self.workers = at, send, workers
        self.states, self.marks, self.reached = {}, [], []

    def marks_for(self, rank):
        """Return the object that worker `rank` is given."""
        return OfWorker(self, rank)

    def all_have(self, done):
        """Wait until all workers are among those that have `done` something."""
        if len(done) == self.workers:
            for rank in range(self.workers):
                self.send(Message(Kind.CONTROL, rank, rank))
        while len(done) < self.workers:
            yield


class OfWorker:
    keeps = True

    def __init__(self, keeping, rank):
        self.keeping, self.rank = keeping, rank

    def keeps_state(self, mark, epoch):
        self.keeping.marks.append((mark, epoch))
        return mark == self.keeping.at

    def keep(self, state):
        self.keeping.reached.append(self.rank)
        yield from self.keeping.all_have(self.keeping.reached)
        self.keeping.states[self.rank] = state.copy()
        yield from self.keeping.all_have(self.keeping.states)


class Undecided(OfWorker):
    """Knows only when it is asked the third time whether a state is kept."""

    asked = 0

    def keeps_state(self, mark, epoch):
        self.asked += 1
        return None if self.asked % 3 else super().keeps_state(mark, epoch)


def train_alone(make, edges, test, epochs, *, state=None, marks=None, **options):
    worker = start(make(), edges, test, jit=False, **options)
    training = Training(worker)
    training.marks = marks.marks_for(0) if marks else None
    if state is not None:
        training.resume(state)
    return worker, drop_times(training.epochs(epochs))


def learn(user, item, rating, tau, p, rng):
    error = rating.value - user.bias - item.bias
    user.bias += p.rate * error
    item.bias += p.rate * error * rng.uniform()
    item.visits += 1
    rating.error = error
    tau.square += error * error


def note(item, tau):
    item.most += item.visits
    tau.carried += item.visits  # the end of the epoch takes it


def last(item):
    item.most += item.visits


def settle(user):
    user.mean = 0.5 * user.mean + user.bias


def report(tau):
    tau.rmse = np.sqrt(tau.square)
    tau.all += tau.carried


def judge(user, item, rating, tau):
    tau.judged += abs(rating.value - user.bias - item.bias)


def tell(tau):
    tau.error = tau.judged


class RatingsWithState(Program):
    """Both ends changed in place, a field of edges, a delta, a field of masters, and totals that
    wait for the end of the epoch.
    """

    rate: float = param(0.05, "how far a rating moves its ends", low=0)
    user = Vertex(bias=shared("f4", init=uniform(-1, 1), combine="mean"), mean=value("f8"))
    item = Vertex(
        bias=shared("f4", init=uniform(-1, 1), combine="mean"),
        visits=delta("f8"),
        most=master("f8"),
    )
    rating = Edge("user", "item", value=data("f4"), error=mirror("f4"))
    tau = Context(
        square=total("f8"),
        carried=total("f8"),
        judged=total("f8"),
        rmse=metric(),
        all=shared("f8"),
        error=metric(),
    )
    monitor = "error"

    def stages(self):
        return [
            MiniBatch(Exchange(learn, over="item"), Apply("item", note), vertices=3),
            GlobalSync(report),
            Exchange(count),
            Apply("item", last),
            Apply("user", settle),
        ]

    def evaluate(self):
        return [Exchange(judge, held_out=True), GlobalSync(tell)]


def count(item):
    item.visits += 1


class Again(RatingsWithState):
    """Stages that are repeated: there are marks at the ends of epochs only."""

    def stages(self):
        return [Repeat(*super().stages(), times=2)]


def marks_of(make, edges, test, epochs):
    keeping = Keeping(-1)
    worker, records = train_alone(make, edges, test, epochs, marks=keeping)
    return worker, records, keeping.marks


def few_ratings():
    return ratings(m=60, users=12, items=9)


def links():
    src, dst = random_pairs(30, 30, 90, seed=3)
    return from_arrays(src, dst, ends=("page", "page")), None


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(
    ("make", "make_data"),
    [(RatingsWithState, few_ratings), (Again, few_ratings), (DanglingPageRank, links)],
)
def test_a_run_goes_on_from_any_mark_as_if_it_had_not_stopped(make, make_data):
    edges, test = make_data()
    worker, records, marks = marks_of(make, edges, test, 3)
    assert [epoch for _, epoch in marks if epoch] == [1, 2, 3]
    assert (len(marks) > 3) == (make is RatingsWithState)
    for mark, _ in marks:
        keeping = Keeping(mark)
        kept, told = train_alone(make, edges, test, 3, marks=keeping)
        assert bits(kept) == bits(worker) and told == records  # keeping changes nothing
        state = keeping.states[0]
        other, rest = train_alone(make, edges, test, 3, state=state)
        assert bits(other) == bits(worker)
        assert rest == records[state.head.epoch :]


def test_a_state_that_is_wanted_late_is_kept_once():
    edges, test = few_ratings()
    worker, records, marks = marks_of(RatingsWithState, edges, test, 2)
    middle = next(mark for mark, epoch in marks if epoch is None)
    keeping = Keeping(middle)
    late = Undecided(keeping, 0)
    other = start(RatingsWithState(), edges, test, jit=False)
    training = Training(other)
    training.marks = late
    told = [record for record in training.steps(2) if record is not None]
    assert bits(other) == bits(worker) and drop_times(told) == records
    assert keeping.reached == [0] and late.asked == 3 * len(keeping.marks) == 3 * len(marks)


def train_team(make, edges, test, *, slack, k, states=None, at=-1):
    team = Team(make(), edges, test, k=k, slack=slack, delivery=7)
    trainings = [Training(worker) for worker in team.workers]
    keeping = Keeping(at, team.cluster.send, k)
    for rank, training in enumerate(trainings):
        training.marks = keeping.marks_for(rank)
        if states is not None:
            training.resume(states[rank])
    team.cluster.finish(
        {rank: team._steps(rank, each, 3, {}) for rank, each in enumerate(trainings)}
    )
    return [*map(bits, team.workers)], [*map(drop_times, team.records)], keeping


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "slack"), [pytest.param(2, 0, marks=pytest.mark.long), (3, 0), (2, 2)]
)
def test_several_workers_go_on_from_any_mark(k, slack):
    edges, test = few_ratings()
    held, records, keeping = train_team(RatingsWithState, edges, test, slack=slack, k=k)
    for mark in sorted({mark for mark, _ in keeping.marks}):
        kept, told, keeping = train_team(RatingsWithState, edges, test, slack=slack, k=k, at=mark)
        states = [keeping.states[rank] for rank in range(k)]
        other, rest = train_team(RatingsWithState, edges, test, slack=slack, k=k, states=states)[:2]
        if slack == 0:
            assert kept == held and told == records and other == held
            assert rest == [each[states[0].head.epoch :] for each in records]
        else:
            errors = [each[-1]["error"] for each in rest if each]
            assert errors == pytest.approx([records[0][-1]["error"]] * len(errors), rel=0.1)
