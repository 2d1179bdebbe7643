"""Back-ends to run on: processes of this machine, and a Ray cluster in it."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from clusters_room import Engine, Room, until


@pytest.fixture(scope="session")
def short_tmp():
    """A folder with a short name, as sockets lie in it."""
    folder = tempfile.mkdtemp(prefix="tc")
    yield Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def ray_cluster(short_tmp, kernel_cache, helpers):
    """A Ray cluster in this machine: a head without cores, and two nodes with two each."""
    cluster_utils = pytest.importorskip(
        "ray.cluster_utils", reason="make test-clusters installs it"
    )
    import ray

    before, os.environ["TMPDIR"] = os.environ.get("TMPDIR"), str(short_tmp)
    small = {"object_store_memory": 80_000_000, "include_dashboard": False}
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **small})
    try:
        for _ in range(2):
            cluster.add_node(num_cpus=2, object_store_memory=80_000_000)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before


@pytest.fixture
def local(short_tmp):
    return Engine("local", short_tmp, {"TMPDIR": str(short_tmp)})


@pytest.fixture
def on_ray(ray_cluster, short_tmp):
    return Engine("ray", short_tmp, {"RAY_ADDRESS": ray_cluster.address}, ray_cluster)


@pytest.fixture(params=["local", "on_ray"])
def engine(request):
    """Each back-end. Nothing may be left on its machines when a test is over."""
    chosen = request.getfixturevalue(request.param)
    yield chosen
    until(lambda: not chosen.left(), "processes and folders are gone", 60.0)
    until(chosen.is_free, "the engine has its cores back", 60.0)


@pytest.fixture
def room(tmp_path):
    made = Room(tmp_path)
    yield made
    for process in made.running:
        if process.poll() is None:
            process.kill()
            process.wait()
