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


@pytest.mark.parametrize(("cores", "workers", "threads"), [(8, 2, 4), (8, 3, 2), (2, 4, 1)])
def test_the_workers_of_a_machine_share_its_cores(monkeypatch, cores, workers, threads):
    users = np.arange(12)
    edges = from_arrays(users, users % 3, ends=("user", "item"), value=np.ones(12, np.float32))
    monkeypatch.setattr(module, "cores", lambda: cores)
    monkeypatch.setattr(module, "Training", lambda worker: None)
    monkeypatch.setattr(module, "Launcher", lambda job, folder, *rest: folder)
    folder = prepare(
        "mf",
        {"rank": 2},
        lambda k: Partitioned.of(edges, None, "source", k, 0, [], ""),
        workers=workers,
        **OPTIONS,
    )
    try:
        assert Job.read(folder).threads == threads
    finally:
        job_folder.remove(folder)
