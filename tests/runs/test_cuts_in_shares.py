"""A checkpoint becomes one of other workers by the parts that loaders make: its states have the
bytes that they have where one process reads all edges.
"""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from support.machines.interrupted import TrainingJob
from support.machines.keeping_job import UNKNOWN
from support.machines.lda_team import draw_documents
from support.machines.same_loads import without_processes
from support.machines.watchers import RecordingSilent
from support.programs.redistributing import CutPages, FieldMeetings, fill, train, whole_state
from support.programs.tiny_ratings import RATINGS

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.kmeans.kmeans import SparseKMeans
from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.apps.mf.mf import MF
from tux.checkpoint import old_states
from tux.checkpoint.redistribute import Redistribution
from tux.checkpoint.store import Checkpoint, CheckpointManifest
from tux.cluster.simulated import SimulatedCluster
from tux.engine.shares import shares_of
from tux.inputs.in_shares import ShareLoading
from tux.options.options import RunOptions
from tux.runs.begin import load_for
from tux.runs.other_workers import Cuts, whole_reason

MANIFEST = CheckpointManifest(epoch=1, turns=0, workers=2, **UNKNOWN)
MOVES = [(2, 3), (3, 2)]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in a folder with data; loaders run in this process, and ranges are small."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(old_states, "RANGE_BYTES", 64)
    without_processes(monkeypatch)
    Path("ratings.csv").write_text(RATINGS)
    Path("held.csv").write_text("user,item,rating\nu1,3,2\nu5,8,4\nu77,5,5\nu1,3,1\nu1,99,1\n")
    rng = np.random.default_rng(3)
    links = rng.integers(0, 12, (40, 2))  # some occur several times
    Path("links.csv").write_text("".join(f"{a},{b},{a % 2}\n" for a, b in links))
    counts = "".join(f"{a},{b},{a + 1},{(a + b) % 4}\n" for a, b in links)
    Path("counts.csv").write_text("user,item,value,count\n" + counts)
    edges = draw_documents()
    documents = zip(edges.src, edges.dst, edges.fields["count"], strict=True)
    lines = "".join(f"{a + 1} {b + 1} {c}\n" for a, b, c in documents)
    Path("docs.txt").write_text(f"12\n9\n{len(edges)}\n{lines}")
    samples = [f"{i % 2 * 2 - 1} {i % 5 + 1}:1.5 {i % 4 + 6}:{i % 7 + 1}\n" for i in range(24)]
    Path("samples.svm").write_text("".join(samples))
    return tmp_path


def load(program, data, test, options, folder=None):
    """Load data whole, or in shares in a new folder."""

    def folders():
        folder.mkdir()
        return folder, folder

    told = RecordingSilent()
    how = ShareLoading(options.plan_for(program), folders, told) if folder else None
    return load_for(program, data, test, options, told, how, needs_judge=False)


def check_all_bytes(program, data, test, k, n, by, fills):
    """Compare the states of k workers on n, by the parts of loaders and by all edges."""
    options = RunOptions(workers=n, partitioner=by)
    plan = options.plan_for(program)
    whole, program = load(program, data, test, options)
    shared, _ = load(program, data, test, options, Path(f"parts-{k}-{n}"))
    assert shared.loaded
    job = TrainingJob(program, whole, 0 if fills else 2, k, partitioner=by, jit=False)
    trainings = job.trainings()
    cluster = SimulatedCluster([each.worker for each in trainings], 0) if k > 1 else None
    train(trainings, cluster, job.epochs)
    if fills:
        fill(program, trainings, np.random.default_rng(1))
    states = [training.state().copy() for training in trainings]
    with Cuts(plan, program, shared, RecordingSilent()) as cuts:
        pairs = [(shares_of(program, whole, by, each, 0), cuts.shares(each)) for each in (k, n)]
        for one, other in pairs:
            assert one.digests == other.digests
        first, second = (
            Redistribution(program, 0, old.shares, states, new.shares)
            for old, new in zip(*pairs, strict=True)
        )
        for rank in range(n):
            mine, others = whole_state(first, rank), whole_state(second, rank)
            assert mine.head == others.head and [*mine.arrays] == [*others.arrays]
            for name, array in mine.arrays.items():
                assert array.dtype == others.arrays[name].dtype
                assert array.tobytes() == others.arrays[name].tobytes(), name
    assert not Path(shared.loaded.folder, "cuts").exists()


CASES = [
    (lambda: MF(rank=2, batch_size=20), "ratings.csv", "held.csv", "aweto", False),
    (FieldMeetings, "counts.csv", "counts.csv", "bicut", True),
    (CutPages, "links.csv", "links.csv", "random", True),
    (lambda: DeepWalk(dimensions=2, hold=0.3), "links.csv", None, "random", True),
    (lambda: LDA(topics=3), "docs.txt", None, "source", False),
    (Linear, "samples.svm", None, "aweto", False),
    (lambda: SparseKMeans(n_clusters=3), "samples.svm", None, "aweto", False),
]


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("make", "data", "test", "by", "fills"), CASES)
@pytest.mark.parametrize(("k", "n"), MOVES)
def test_states_are_those_of_all_edges(here, make, data, test, by, fills, k, n):
    check_all_bytes(make(), data, test, k, n, by, fills)


@pytest.mark.parametrize(("make", "data", "test", "by", "fills"), [CASES[0], CASES[3]])
def test_the_state_of_one_worker_needs_no_edges(here, make, data, test, by, fills):
    check_all_bytes(make(), data, test, 1, 3, by, fills)


def test_clocks_of_an_epoch_are_known_by_parts(here):
    options = RunOptions(workers=3, partitioner="bicut")
    whole, program = load(FieldMeetings(), "counts.csv", None, options)
    shared, _ = load(FieldMeetings(), "counts.csv", None, options, Path("parts"))
    with Cuts(options.plan_for(program), program, shared, RecordingSilent()) as cuts:
        for k in (2, 3):
            expected = shares_of(program, whole, "bicut", k, 0, epoch=1).outlines
            assert len(expected) == k and cuts.shares(k, epoch=1).outlines == expected


def test_what_needs_all_edges(tmp_path):
    def reason(program, workers, turns=0, **options):
        kept = msgspec.structs.replace(MANIFEST, workers=workers, turns=turns)
        plan = RunOptions(workers=3, **options).plan_for(program)
        return whole_reason(Checkpoint(tmp_path, kept), plan, program)

    assert whole_reason(None, RunOptions(workers=3).plan_for(MF()), MF()) == ""
    assert reason(LDA(), 2) == reason(LDA(), 3) == reason(MF(), 1) == reason(MF(), 2, 4) == ""
    pages = CutPages()
    assert reason(pages, 7, partitioner="random") == reason(MF(), 7, partitioner="pds") == ""
    assert reason(pages, 7, partitioner="pds").startswith("fields of edges that pds places are")
    for program, turns, why in ((LDA(), 0, "fields of edges"), (MF(), 4, "the clocks")):
        assert reason(program, 1, turns).startswith(f"{why} of one worker are")
