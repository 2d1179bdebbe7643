"""Several workers whose states are kept, over the real protocol: the launcher and deliveries are
simulated. What is kept, and what a run from there ends with.
"""

import numpy as np
from support.machines.team import Team

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    delta,
    master,
    metric,
    param,
    shared,
    total,
    value,
)
from tux.arrays.edges import EdgeData
from tux.base.background import Background, Outcome
from tux.base.errors import DiskError
from tux.checkpoint.shard import Digest
from tux.cluster.checkpoint.keeper import Checkpointing
from tux.cluster.checkpoint.worker_marks import WorkerMarks
from tux.cluster.simulated import SimulatedCluster
from tux.cluster.transport.control import pack, unpack
from tux.engine.training import Training
from tux.messages.message import Kind
from tux.stages import Apply, Exchange, Generate, GlobalSync, MiniBatch

EPOCHS = 3


def meet(user, item, tau):
    user.met += 1
    item.met += 1
    item.visits += 1
    tau.pairs += 1


def note(item, tau):
    item.most += item.visits + tau.all
    tau.carried += item.visits  # the end of the epoch takes it


def report(tau):
    tau.all += tau.carried
    tau.n = tau.all + tau.pairs


class ExactMeetings(Program):
    """Whole numbers whose sums depend neither on slack nor on the order of messages: each effect
    counts once.
    """

    user = Vertex(met=shared("f8"), mean=value("f8"))
    item = Vertex(met=shared("f8"), visits=delta("f8"), most=master("f8"))
    rating = Edge("user", "item")
    tau = Context(pairs=total("f8"), carried=total("f8"), all=shared("f8"), n=metric())

    def stages(self):
        return [
            MiniBatch(Exchange(meet, over="item"), Apply("item", note), vertices=2),
            GlobalSync(report),
            Apply("user"),
        ]


def step(start, path, rng):
    path[0] = start
    for i in range(1, len(path)):
        path[i] = rng.below(12)


def visit(path):
    for i in range(len(path)):
        path[i].page.seen += 1


class RandomWalks(Program):
    """Walks to pages drawn at random, on rows that are pulled."""

    length: int = param(4)
    page = Vertex(remote=True, seen=shared("f8"))
    link = Edge("page", "page")

    def stages(self):
        return [MiniBatch(Generate(step, visit, "page", path="length", rounds=2), vertices=2)]


def add_shares(path):
    for i in range(len(path)):
        for k in range(3):
            path[i].page.seen[k] += (i + 1) / (k + 3)


class CodedWalks(RandomWalks):
    """Walks to rows that travel as signed bytes, rounded at random."""

    page = Vertex(remote=True, seen=shared("f4", 3, wire="i1"))

    def stages(self):
        return [MiniBatch(Generate(step, add_shares, "page", path="length", rounds=2), vertices=2)]


class UnusedWalks(RandomWalks):
    """Walks that no stage uses: they are kept on disk."""

    def stages(self):
        return [MiniBatch(Generate(step, None, "page", path="length", rounds=2), vertices=2)]


def edges_of(program):
    """Return small data of a program: 12 pages, or 9 users and 6 items."""
    one_type = len(set(program.edge.ends)) == 1
    src, dst = np.random.default_rng(5).integers(
        0, [[12], [12]] if one_type else [[9], [6]], (2, 40)
    )
    sizes = {"page": range(12)} if one_type else {"user": range(9), "item": range(6)}
    return EdgeData.of(program.edge.ends, src, dst, {}, vertices=sizes)


def bits(team):
    """Return all that masters hold, as bytes."""
    names = [(name, f) for name, v in team.program.vertices.items() for f in v.fields]
    context = [worker.tables["tau"].arrays for worker in team.workers]
    return [team.gather(name, f).tobytes() for name, f in names], [
        each["all"].tobytes() for each in context if "all" in each
    ]


class AtOnceBackground(Background):
    """A `Background` that does its work at once."""

    def start(self, work):
        try:
            self.outcome = Outcome(work(), None)
        except DiskError as error:
            self.outcome = Outcome(None, error)

    def poll(self):
        outcome, self.outcome = getattr(self, "outcome", None), None
        return outcome


class InMemory:
    """A keeper: `kept` has the head and the states by rank of each checkpoint."""

    def __init__(self):
        self.number, self.files, self.kept, self.open = 0, {}, [], False

    def begin(self):
        assert not self.open, "one at a time"
        self.number, self.open = self.number + 1, True

    def shard_path(self, rank):
        return f"{self.number}/{rank}"

    def write(self, path, state):
        self.files[path] = state.copy()
        return Digest(len(self.files), path)

    def finish(self, head, digests):
        self.open = False
        self.kept.append((head, [self.files[each.sum] for each in digests]))

    def abandon(self):
        self.open = False


class LedWorkers(SimulatedCluster):
    """Workers with a launcher, which keeps states. A delivery takes a hundredth of a second."""

    def __init__(self, workers, seed, every, last, keeper, **options):
        super().__init__(workers, seed)
        self.clock_seconds, k = 0.0, len(workers)
        self.checkpointing = Checkpointing(
            k,
            every,
            keeper,
            lambda control, rank: self.send(pack(control, k, rank)),
            lambda text: None,
            AtOnceBackground(),
            **options,
        )
        self.marks = [self._marks(rank, every, last, keeper) for rank in range(k)]
        self.checkpointing.start(0.0)

    def _marks(self, rank, every, last, keeper):
        return WorkerMarks(
            rank,
            every,
            last,
            lambda control: self.send(pack(control, rank, len(self.workers))),
            keeper.write,
            lambda state: state,
        )

    def deliver(self, channel):
        self.clock_seconds += 0.01
        message = self.channels[channel][0]
        if message.dest == len(self.workers):
            self.channels[channel].popleft()
            if not self.channels[channel]:
                del self.channels[channel]
            self.checkpointing.handle(message.source, unpack(message), self.clock_seconds)
            return
        if message.kind is Kind.CONTROL:
            assert self.marks[message.dest].take_control(unpack(message))
        super().deliver(channel)


def run(
    make,
    *,
    k,
    slack,
    seed,
    every=None,
    states=None,
    epochs=EPOCHS,
    led=LedWorkers,
    keeper=None,
    ready=None,
):
    """Run k workers whose states are kept `every` so often, or from `states` on. Return what the
    run ends with, and the keeper. `led`: how the launcher leads them; `ready(worker)` is called
    with each.
    """
    program = make()
    team = Team(program, edges_of(program), k=k, slack=slack, delivery=seed)
    for worker in team.workers if ready else []:
        ready(worker)
    trainings, keeper = [Training(worker) for worker in team.workers], keeper or InMemory()
    cluster = team.cluster
    if every:
        cluster = led(team.workers, seed, every, epochs, keeper)
    for rank, training in enumerate(trainings):
        training.marks = cluster.marks[rank] if every else None
        if states is not None:
            training.resume(states[rank])
    cluster.finish(
        {rank: team._steps(rank, each, epochs, {}) for rank, each in enumerate(trainings)}
    )
    while cluster.channels:
        cluster.deliver(next(iter(cluster.channels)))
    return bits(team), team.records, keeper
