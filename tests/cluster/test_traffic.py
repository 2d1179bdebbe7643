"""The quality tool predicts the bytes that workers send, exactly: rows of cut types, all values."""

import os
from pathlib import Path

import pytest
from support.machines.team import ratings, train_team

from tux import Edge, Program, Vertex, delta, value
from tux.apps.mf.mf import MF
from tux.io.edges.read import read_edges
from tux.options.options import RunOptions
from tux.partition import PARTITIONERS, quality
from tux.runs.session import run
from tux.stages import Apply, Exchange


def count(user, item):
    user.n += 1
    item.n += 1


def keep(v):
    v.seen += v.n


class Count(Program):
    """Degrees of both ends: 4 bytes up and 8 down."""

    user = item = Vertex(n=delta("i4"), seen=value("f8"))
    link = Edge("user", "item")

    def stages(self):
        return [Exchange(count), Apply("user", keep), Apply("item", keep)]


def predict_bytes(edges, method, k, rank, rounds=1):
    """Predict the bytes of an epoch of MF, whose workers rotate: a mirror goes up once a round, and
    comes down after the visit of each worker.
    """
    row_bytes, syncs = [(row(rank), k * row(rank))] * 2, rounds
    parts = PARTITIONERS[method](edges.src, edges.dst, k, 0, bipartite=True)
    return quality(
        edges.src, edges.dst, parts, k, bipartite=True, row_bytes=row_bytes, syncs=syncs
    ).volume


def row(rank):
    """Return the bytes of the fields that travel: f, G and norm, float32."""
    return 4 * (rank + 2 + 2)


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.long), 4])
@pytest.mark.parametrize("method", ["bicut", "aweto"])
def test_bytes_of_programs_that_rotate(method, k):
    edges, _ = ratings(200, 40, 25)
    records = [each[-1] for each in train_team(MF(rank=5), edges, 2, k=k, by=method).records]
    sent = sum(record["bytes_dense"] for record in records)
    assert sent == predict_bytes(edges, method, k, 5) > 0
    assert sum(record["bytes_sent"] for record in records) < 1.2 * sent + 2000 * k * k


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("method", ["random", "source", "dbh", "grid"])
def test_bytes_where_both_ends_are_cut(method, k):
    edges, _ = ratings(200, 40, 25)
    parts = PARTITIONERS[method](edges.src, edges.dst, k, 0, bipartite=True)
    records = [each[-1] for each in train_team(Count(), edges, 2, k=k, by=method).records]
    judged = quality(edges.src, edges.dst, parts, k, bipartite=True, row_bytes=[(4, 8), (4, 8)])
    assert sum(record["bytes_dense"] for record in records) == judged.volume > 0


@pytest.mark.skipif(
    "TUX_TEST_DATA" not in os.environ,
    reason="TUX_TEST_DATA does not name a folder with MovieLens 1M",
)
@pytest.mark.long
def test_bytes_of_movielens_on_four_processes():
    folder = Path(os.environ["TUX_TEST_DATA"]) / "ratings" / "ml-1m"
    [file] = [path for path in sorted(folder.iterdir()) if "train" in path.name]
    edges = read_edges(file, MF.edge.ends, {"value": MF.edge.fields["value"].dtype})
    records = run(MF(rank=8), file, options=RunOptions(epochs=2, eval_every=2, workers=4)).records
    # each item's block comes once a round; a worker has two blocks
    rounds = (records[1]["clock"] - records[0]["clock"] - 1) // 8
    assert records[1]["bytes_dense"] == predict_bytes(edges, "bicut", 4, 8, rounds) > 2_000_000
