"""What a job tells its workers."""

import numpy as np
import pytest

from tux.arrays.networks import from_arrays
from tux.cluster import job_folder
from tux.cluster import prepare as module
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


@pytest.mark.parametrize("threads", [1, 4])
def test_each_worker_of_a_machine_has_its_threads(monkeypatch, threads):
    users = np.arange(12)
    edges = from_arrays(users, users % 3, ends=("user", "item"), value=np.ones(12, np.float32))
    monkeypatch.setattr(module, "Training", lambda worker: None)
    monkeypatch.setattr(module, "Launcher", lambda job, folder, *rest: folder)
    folder = prepare(
        "mf",
        {"rank": 2},
        lambda k: Partitioned.of(edges, None, "source", k, 0, [], ""),
        workers=2,
        threads=threads,
        **OPTIONS,
    )
    try:
        assert Job.read(folder).threads == threads
    finally:
        job_folder.remove(folder)
