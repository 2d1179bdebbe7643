"""Lists on disk of several workers whose states are kept: from each state on, whoever goes on ends
with the same lists, also where the launcher is on another machine.
"""

from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from support.machines.keeping import EPOCHS, InMemory, LedWorkers, UnusedWalks, run
from support.machines.members import job_in

from tux.base.errors import DataError
from tux.checkpoint import segments, shard
from tux.checkpoint.saved import SavedState, load, save, segments_in
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.segments import create_file, list_file_name
from tux.checkpoint.spool import Scratch, SpooledLists
from tux.cluster.checkpoint import pieces
from tux.cluster.checkpoint.keeper import Checkpointing
from tux.cluster.checkpoint.remote_files import RemoteFiles
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.messages.message import Kind

EACH = CheckpointInterval(seconds=1e-6)  # mark


@pytest.fixture
def files():
    """Yield a stack that closes files at the end."""
    with ExitStack() as stack:
        yield stack


class Folder:
    """The folder where the workers of one machine write lists; each start writes other files."""

    def __init__(self, path, files):
        self.path, self.files, self.starts, self.workers = path, files, 0, []

    def ready(self, worker):
        if worker.rank == 0:
            self.starts, self.workers = self.starts + 1, []
        worker.scratch = Scratch.in_folder(
            self.path, worker.rank, bytes([self.starts]), self.files.enter_context
        )
        self.workers.append(worker)

    def lists(self):
        """Return the lists of all workers, as the report gets them."""
        return read([worker.spool.open_all() for worker in self.workers], self.workers[0])


def read(files, worker):
    page = worker.graph.vertices["page"]
    n = page.n_train if page.part is None else page.part.vertices
    with SpooledLists(files, {"page": np.arange(n)}) as spooled:
        assert spooled.rounds == 2 * EPOCHS
        return np.concatenate([piece["path"] for piece in spooled.pieces()]).tobytes()


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("k", "slack"), [(1, 0), (2, 0), (3, 0), pytest.param(2, 2, marks=pytest.mark.slow)]
)
def test_from_any_mark_the_lists_are_the_same(tmp_path, files, k, slack):
    folder = Folder(tmp_path / "lists", files)
    run(UnusedWalks, k=k, slack=slack, seed=1, ready=folder.ready)
    whole = folder.lists()
    keeper = run(UnusedWalks, k=k, slack=slack, seed=2, every=EACH, ready=folder.ready)[2]
    assert folder.lists() == whole
    assert [(head.epoch, head.turns) for head, _ in keeper.kept][-1] == (EPOCHS, 0)
    assert len(keeper.kept) > 2 * EPOCHS and any(head.turns for head, _ in keeper.kept)
    for _, states in keeper.kept:
        for state in states:
            segments.check(folder.path, state.head.lists)
        run(UnusedWalks, k=k, slack=slack, seed=3, states=states, ready=folder.ready)
        assert folder.lists() == whole


def test_a_run_goes_on_often(tmp_path, files):
    """Each start goes on from the second state that the one before it has kept."""
    folder, states = Folder(tmp_path / "lists", files), None
    run(UnusedWalks, k=2, slack=0, seed=1, ready=folder.ready)
    whole, most = folder.lists(), 0
    while states is None or states[0].head.epoch < EPOCHS:
        keeper = run(
            UnusedWalks, k=2, slack=0, seed=2, states=states, every=EACH, ready=folder.ready
        )[2]
        assert folder.lists() == whole
        states = keeper.kept[:2][-1][1]
        most = max(most, *(len(each.head.lists) for each in states))
    assert most > 3


# ---- on several machines


class DiskKeeper(InMemory):
    """A keeper of files on machine 0."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.lists = folder, folder / "lists"

    def shard_path(self, rank):
        (self.folder / str(self.number)).mkdir(exist_ok=True)
        return self.folder / str(self.number) / str(rank)

    def finish(self, head, digests):
        self.open = False
        saved = [SavedState(str(self.shard_path(n)), each) for n, each in enumerate(digests)]
        for each in saved:
            segments.check(self.lists, segments_in(each))
        self.kept.append((head, [load(each, "part") for each in saved]))


class ListMachines:
    """Each worker on a machine of its own, worker 0 with the launcher."""

    def __init__(self, folder, k, files):
        self.folder, self.k, self.files, self.starts, self.workers = folder, k, files, 0, []

    def job(self, machine):
        own = self.folder / f"machine {machine}"
        own.mkdir(exist_ok=True)
        options = {"nonce": bytes([self.starts] * 16), "workers": self.k, "graph": str(own)}
        options |= {"checkpoint_every": EACH, "lists": "sent" if machine else "spooled"}
        options["lists_folder"] = "" if machine else str(self.folder / "lists")
        return job_in(self.folder, **options)

    def ready(self, worker):
        if worker.rank == 0:
            self.starts, self.workers = self.starts + 1, []
        scratch = self.job(worker.rank)._scratch(worker.rank)
        worker.scratch = scratch._replace(open=lambda: self.files.enter_context(scratch.open()))
        self.workers.append(worker)

    def make_leads(self, workers, seed, every, last, keeper):
        self.leads = ListLauncher(self, workers, seed, every, last, keeper)
        return self.leads

    def lists(self, states):
        """Return the lists at the end of a run that has gone on from `states`, as machine 0 has
        them.
        """
        for rank in range(1, self.k):
            self.leads.send_lists(rank)
        job, files = self.job(0), []
        for rank in range(self.k):
            self.workers[rank].spool.flush()
            earlier = states[rank].head.lists if states else []
            files.append(segments.join_files(job.lists_of(rank, earlier)))
        return read(files, self.workers[0])


class ListLauncher(LedWorkers):
    """The launcher of `machines`, and their workers."""

    def __init__(self, machines, workers, seed, every, last, keeper):
        k = len(workers)
        self.files = [WorkerFiles(machines.job(rank), rank, self.send) for rank in range(k)]
        super().__init__(workers, seed, every, last, keeper, remote=range(1, k))
        self.remote = RemoteFiles(machines.job(0), [0], self.checkpointing, self.send)

    def _marks(self, rank, every, last, keeper):
        files, marks = self.files[rank], super()._marks(rank, every, last, keeper)
        spool = self.workers[rank].spool
        marks._write = lambda path, state: save(path or files.new_path(), state, "part", spool)
        marks._send = files.begin
        return marks

    def deliver(self, channel):
        message = self.channels[channel][0]
        if message.kind not in (Kind.PIECE, Kind.TAKEN):
            return super().deliver(channel)
        self._next(channel)
        return None

    def _next(self, channel):
        """Let a message of files arrive. Return it if it is the main thread's."""
        message = self.channels[channel].popleft()
        if not self.channels[channel]:
            del self.channels[channel]
        if message.kind is Kind.PIECE:
            self.remote.take(message)
            self.checkpointing.look()
        elif not self.files[message.dest].handle(message):
            return message
        return None

    def send_lists(self, rank):
        def receive():
            while (message := self._next(next(iter(self.channels)))) is None:
                continue
            return message

        self.workers[rank].spool.flush()
        self.files[rank].send_lists(receive)


@pytest.mark.parametrize(("k", "piece"), [(2, 1 << 20), (3, 50)])
def test_the_launcher_has_the_lists_of_each_checkpoint(tmp_path, files, monkeypatch, k, piece):
    monkeypatch.setattr(pieces, "PIECE", piece)
    folder = Folder(tmp_path / "whole", files)
    run(UnusedWalks, k=k, slack=0, seed=1, ready=folder.ready)
    whole, machines, states = folder.lists(), ListMachines(tmp_path, k, files), None
    for start in range(3):
        keeper = DiskKeeper(tmp_path / str(start))
        keeper.folder.mkdir()
        keeper.lists = tmp_path / "lists"
        options = {
            "every": CheckpointInterval(seconds=0.05),
            "led": machines.make_leads,
            "ready": machines.ready,
        }
        run(UnusedWalks, k=k, slack=0, seed=start, states=states, keeper=keeper, **options)
        assert machines.lists(states) == whole
        assert keeper.kept[0][0].epoch < EPOCHS == keeper.kept[-1][0].epoch
        states = keeper.kept[0][1]


def test_no_checkpoint_without_all_its_lists(tmp_path):
    """A state may not count whose lists the launcher lacks, or has in part."""
    name = list_file_name(1, b"x")
    head = {"state": {"lists": [{"name": name, "size": 5, "crc32": "0" * 8}]}}
    digest = shard.write(tmp_path / "state", head, {})
    keeper = DiskKeeper(tmp_path)
    launcher = Checkpointing(2, EACH, keeper, lambda *_: None, lambda text: None, remote=[1])
    held = shard.read(tmp_path / "state", digest)
    for content in (None, b"1234"):
        if content:
            create_file(keeper.lists / name).close()
            (keeper.lists / name).write_bytes(content)
        with pytest.raises(Exception, match="No such file|4 bytes instead of 5") as caught:
            launcher._sync_lists(held)
        assert isinstance(caught.value, DataError) == bool(content)


def test_who_writes_lists_that_states_name_knows_their_folder(tmp_path):
    """So an error about them names it."""
    folder = tmp_path / "lists"
    job = job_in(tmp_path, lists="spooled", lists_folder=str(folder), checkpoint_every=EACH)
    scratch = job._scratch(1)
    with scratch.open() as file:
        assert Path(file.name) == job.list_file(1) == folder / scratch.name
    assert scratch.folder == folder
