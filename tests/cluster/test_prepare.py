"""The job that workers are given."""

import re

import numpy as np
import pytest

from tux.arrays.networks import from_arrays
from tux.cluster.job import job_folder
from tux.cluster.job import prepare as module
from tux.cluster.job.job import Job
from tux.cluster.job.prepare import prepare
from tux.cluster.rendezvous.agreement import differences
from tux.engine.training import Training
from tux.graph.partitioned import PartitionedGraph
from tux.stages.kernel import compile as compiling

OPTIONS = {
    "seed": 0,
    "slack": 0,
    "jit": False,
    "check": False,
    "epochs": 1,
    "eval_every": 1,
    "patience": 0,
    "keep_best": False,
    "deadline": 5.0,
}


MINE = """
from tux import Edge, Program, Vertex
import beside_mine


class Mine(Program):
    page = Vertex()
    link = Edge("page", "page")
"""


def test_machines_may_differ_in_the_place_of_a_program_not_in_its_text(tmp_path):
    paths = [tmp_path / name / "mine.py" for name in ("one", "other")]
    for path in paths:
        path.parent.mkdir()
        path.write_text(MINE)
        (path.parent / "beside_mine.py").write_text("step = 0.1\n")

    def difference():
        first, other = (module._traits(f"{path}:Mine", {}, OPTIONS, {"data": ""}) for path in paths)
        return differences(first, other)

    assert difference() == ""
    (paths[1].parent / "beside_mine.py").write_text("step = 0.2\n")
    assert re.fullmatch(
        r"program's source is [0-9a-f]{8}, and [0-9a-f]{8} on machine 0", difference()
    )
    (paths[1].parent / "beside_mine.py").write_text("step = 0.1\n")
    paths[1].write_text(MINE + "# another\n")
    assert difference().startswith("program's source is ")


@pytest.mark.parametrize("threads", [1, 4])
def test_each_worker_of_a_machine_has_its_threads(monkeypatch, threads):
    users = np.arange(12)
    edges = from_arrays(users, users % 3, ends=("user", "item"), value=np.ones(12, np.float32))
    monkeypatch.setattr(module, "Training", lambda worker, compilers: None)
    monkeypatch.setattr(module, "Incarnations", lambda job, folder, *rest: folder)
    folder = prepare(
        "mf",
        {"rank": 2},
        lambda k: PartitionedGraph.of(edges, None, "source", k, 0, [], ""),
        workers=2,
        threads=threads,
        sizes={"number of ratings": "12"},
        **OPTIONS,
    )
    try:
        assert Job.read(folder).threads == threads
        assert Job.read(folder).traits["number of ratings"] == "12"
    finally:
        job_folder.remove(folder)


WALKS = """
from tux import Apply, Edge, Exchange, Program, Vertex, data, delta, value


def each(first, second, link):
    second.sum += first.own * link.weight


def lists(first, edges):
    for e in edges:
        e.second.sum += first.own


def add(v):
    v.all += v.sum


class Walks(Program):
    first = Vertex(own=value("f4"))
    second = Vertex(all=value("f4"), sum=delta("f4"))
    link = Edge("first", "second", weight=data("f4"))

    def stages(self):
        return [Exchange(each), Exchange(lists, shares=8), Apply("second", add)]
"""


def test_kernels_are_compiled_with_few_edges_and_are_those_of_the_workers(tmp_path, monkeypatch):
    """A kernel's text has the number of shares that a vertex's edges are cut into, which depends on
    how many edges there are.
    """
    (tmp_path / "walks.py").write_text(WALKS)
    src, dst = np.repeat(np.arange(4), 200), np.tile(np.arange(200), 4)
    edges = from_arrays(src, dst, ends=("first", "second"), weight=np.ones(800, np.float32))
    seen = []

    def training(worker, compilers):
        seen.append(len(worker.graph.edges))
        return Training(worker, compilers=compilers)

    monkeypatch.setattr(module, "COMPILED_EDGES", 10)
    monkeypatch.setattr(module, "Training", training)
    monkeypatch.setattr(module, "Incarnations", lambda job, folder, *rest: folder)
    monkeypatch.setattr(compiling, "_LOADED", {})
    folder = prepare(
        f"{tmp_path}/walks.py:Walks",
        {},
        lambda k: PartitionedGraph.of(edges, None, "source", k, 0, [], ""),
        workers=2,
        **{**OPTIONS, "jit": True},
    )
    try:
        known = set(compiling._LOADED)
        assert seen == [10] and known
        job = Job.read(folder)
        assert sum(len(Training(job.worker(rank)).worker.graph.edges) for rank in (0, 1)) == 800
        assert set(compiling._LOADED) == known
    finally:
        job_folder.remove(folder)
