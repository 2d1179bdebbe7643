"""What a job tells its workers."""

import re

import numpy as np
import pytest

from tux.arrays.networks import from_arrays
from tux.cluster import job_folder
from tux.cluster import prepare as module
from tux.cluster.agreement import differences
from tux.cluster.job import Job
from tux.cluster.prepare import prepare
from tux.graph.partitioned import Partitioned

OPTIONS = {
    "seed": 0,
    "slack": 0,
    "jit": False,
    "check": False,
    "epochs": 1,
    "every": 1,
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
    monkeypatch.setattr(module, "Training", lambda worker: None)
    monkeypatch.setattr(module, "Incarnations", lambda job, folder, *rest: folder)
    folder = prepare(
        "mf",
        {"rank": 2},
        lambda k: Partitioned.of(edges, None, "source", k, 0, [], ""),
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
