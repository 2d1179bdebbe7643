"""Runs whose states are kept at every mark, over the real protocol, and what a run that goes on
from one of them ends with.
"""

from typing import NamedTuple

from support.machines.keeping import InMemory, LedWorkers
from support.machines.run_folders import drop_times

from tux.checkpoint.saved import SavedState, load, save
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.snapshot import arrays_of
from tux.cluster.checkpoint.worker_marks import WorkerMarks
from tux.cluster.simulated import SimulatedCluster
from tux.cluster.transport.control import pack
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.graph.partitioned import partition_inputs

PART = "part"  # the digest of the graph's part, which no test here looks at


class TrainingJob(NamedTuple):
    """A program on data, a `tux.inputs.load.Inputs`, for some workers."""

    program: object
    inputs: object
    epochs: int
    k: int = 1
    slack: int = 0
    partitioner: str = "bicut"
    seed: int = 0
    jit: bool = True

    def trainings(self):
        """Return workers that are ready to train, as a run makes them."""
        options = {"seed": self.seed, "jit": self.jit}
        inputs = self.inputs
        if self.k == 1:
            graphs = [LocalGraph.whole(self.program, inputs.train, inputs.test, self.seed)]
        else:
            cut = partition_inputs(self.program, inputs, self.partitioner, self.k, self.seed)
            graphs = [LocalGraph.of(self.program, part) for part in cut.parts]
            options |= {"slack": self.slack, "workers": self.k}
        return [
            Training(Worker(self.program, graph, rank=rank, **options))
            for rank, graph in enumerate(graphs)
        ]


class RunEnding(NamedTuple):
    """The end of a run: the arrays of each worker's state as bytes, and its records."""

    arrays: list[dict[str, bytes]]
    records: list[list[dict[str, float]]]
    workers: list[Worker]

    def since(self, epoch):
        """Return this end without the records of the first epochs."""
        return self._replace(records=[records[epoch:] for records in self.records])

    def differences(self, other):
        """Return the names of arrays and of numbers in records that are not the same."""
        assert [len(each) for each in self.records] == [len(each) for each in other.records]
        pairs = [*zip(self.arrays, other.arrays, strict=True)]
        for mine, others in zip(self.records, other.records, strict=True):
            # as text, so that NaN is NaN, and 1 is not 1.0
            pairs += [
                [{f: repr(x) for f, x in r.items()} for r in p]
                for p in zip(mine, others, strict=True)
            ]
        return sorted({f for a, b in pairs for f in a.keys() | b.keys() if a.get(f) != b.get(f)})


class InFiles(InMemory):
    """A keeper that writes files. `kept` has the files by rank of each checkpoint, by its place."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.kept = folder, {}

    def write(self, path, state):
        file = self.folder / path.replace("/", ".")
        self.files[path] = SavedState(str(file), save(file, state, PART))
        return self.files[path].digest

    def finish(self, head, digests):
        self.open = False
        files = [self.files[self.shard_path(rank)] for rank in range(len(digests))]
        assert [each.digest for each in files] == digests
        self.kept[head.epoch, head.turns] = files


class OneWorker:
    """The marks of a run of one worker, of which each is kept."""

    keeps = True

    def __init__(self, keeper):
        self.keeper = keeper

    def keeps_state(self, mark, epoch):
        return True

    def keep(self, state):
        self.keeper.begin()
        self.keeper.finish(state.head, [self.keeper.write(self.keeper.shard_path(0), state)])
        yield from ()

    def finish(self):
        pass


class Unkept(WorkerMarks):
    """The marks of a worker of several. Each is wanted of which there is no checkpoint yet."""

    def __init__(self, *given):
        super().__init__(*given)
        self.places, self.kept = {}, ()

    def keeps_state(self, mark, epoch):
        super().keeps_state(mark, epoch)
        return mark not in self.places or self.places[mark] not in self.kept

    def keep(self, state):
        self.places[self._mark] = state.head.epoch, state.head.turns
        return super().keep(state)


class AllKept(LedWorkers):
    """Workers whose launcher is asked to keep what it has not kept yet; `places`: where in a run
    each mark is, as far as that is known.
    """

    def __init__(self, workers, seed, last, keeper, places):
        super().__init__(workers, seed, CheckpointInterval(epochs=1), last, keeper)
        for each in self.marks:
            each.places, each.kept = places, {*keeper.kept}

    def _marks(self, rank, every, last, keeper):
        say = lambda control: self.send(pack(control, rank, len(self.workers)))  # noqa: E731
        return Unkept(rank, every, last, say, keeper.write, lambda state: state)


def run(job, *, files=(), keeper=None, places=None, delivery=0, states=()):
    """Run a job to its end, and keep its states if there is a `keeper`; or from the `files` of a
    checkpoint on, or from `states`. `delivery` decides the order of messages.
    """
    trainings = job.trainings()
    workers = [training.worker for training in trainings]
    for training, state in zip(trainings, states or [load(f, PART) for f in files], strict=False):
        training.resume(state)
    records = [[] for _ in trainings]
    steps = {rank: _steps(each, job, records[rank]) for rank, each in enumerate(trainings)}
    if job.k == 1:
        trainings[0].marks = OneWorker(keeper) if keeper else None
        list(steps[0])
    else:
        cluster = SimulatedCluster(workers, delivery)
        if keeper:
            cluster = AllKept(workers, delivery, job.epochs, keeper, places)
            for training, each in zip(trainings, cluster.marks, strict=True):
                training.marks = each
        cluster.finish(steps)
        while cluster.channels:
            cluster.deliver(next(iter(cluster.channels)))
    arrays = [
        {name: array.tobytes() for name, array in arrays_of(each).items()} for each in workers
    ]
    return RunEnding(arrays, [drop_times(each) for each in records], workers)


def _steps(training, job, records):
    for record in training.steps(job.epochs, keep_best=job.inputs.test is not None):
        if record is None:
            yield
        else:
            records.append(record)


def all_kept(job, folder):
    """Return the files of the checkpoints at all marks of a job, by place, and what the runs that
    have kept them have ended with. Where the checkpoint before is still being written, one is left
    out, so there may be several runs.
    """
    keeper, places, endings = InFiles(folder), {}, []
    while not endings or len(keeper.kept) < len(places):
        endings.append(run(job, keeper=keeper, places=places, delivery=len(endings)))
    return keeper.kept, endings


def check_every_mark(job, folder):
    """Interrupt a job at each of its marks. What its runs end with is that of one that keeps
    nothing and does not stop. Returns the places of the marks.
    """
    whole = run(job)
    kept, endings = all_kept(job, folder)
    for ending in endings:
        assert ending.differences(whole) == []
    for (epoch, _), files in kept.items():
        assert run(job, files=files, delivery=9).differences(whole.since(epoch)) == []
    return [*kept]
