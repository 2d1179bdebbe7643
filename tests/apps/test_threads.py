"""The built-in apps have the same bits for any number of threads."""

import pytest

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.apps.mf.mf import MF
from tux.engine.threads import Threads
from tux.runs.options import RunOptions
from tux.runs.session import run
from tux.stages import shared_kernel, tickets

APPS = [
    LDA(topics=10, optimise=1),
    WarpLDA(topics=10, optimise=1, asymmetric=True),
    BlockPG(path=2),
]


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "app",
    [
        MF(rank=8),
        *(pytest.param(app, marks=pytest.mark.slow) for app in APPS),
        # tests/apps/test_deepwalk_threads.py is slow
        pytest.param(DeepWalk(dimensions=8), marks=pytest.mark.long),
    ],
    ids=lambda app: type(app).__name__,
)
def test_the_model_does_not_depend_on_threads(monkeypatch, app):
    monkeypatch.setattr(shared_kernel, "ALONE_SECONDS", -1.0)
    monkeypatch.setattr(tickets, "WEIGHT", 64)
    monkeypatch.setattr(tickets, "EDGES_PER_ITEM", 128)
    shared, found, pool = [], [], Threads.run
    monkeypatch.setattr(
        Threads, "run", lambda self, work, stop: (shared.append(work), pool(self, work, stop))
    )
    for threads in (1, 3):
        result = run(app, options=RunOptions(epochs=3, threads=threads))
        rows = {
            f"{name}.{f}": array.tobytes()
            for name, table in result.worker.tables.items()
            for f, array in table.arrays.items()
        }
        edges = {f: array.tobytes() for f, array in result.worker.graph.edges.fields.items()}
        found.append((rows, edges))
    assert found[0] == found[1] and shared
