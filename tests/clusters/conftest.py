"""Back-ends to run on: processes of this machine, and a Ray cluster in it."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from clusters_room import Engine, Room, processes, until

from tux.backends.machine_command import free_port


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
        # connected to the head, the only node until now, which no test removes
        ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
        for _ in range(2):
            cluster.add_node(num_cpus=2, object_store_memory=80_000_000)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before


@pytest.fixture(scope="session")
def spark_cluster(short_tmp, kernel_cache, helpers):
    """The address of a Spark master on this machine, and its two workers with two cores each."""
    pyspark = pytest.importorskip("pyspark", reason="make test-clusters installs it")
    home, java = Path(pyspark.__file__).parent, shutil.which("java")
    if java is None:
        pytest.skip("there is no java")
    environment = os.environ | {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "TMPDIR": str(short_tmp),
    }
    started, log = [], open(short_tmp / "spark.log", "w")

    def start(role, *words):
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{role}", *words]
        started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
        return started[-1]

    try:
        port = free_port()
        address = f"spark://127.0.0.1:{port}"
        start("master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
        until(lambda: "New state: ALIVE" in Path(log.name).read_text(), "the master is there")
        place = ["--webui-port", "0", "--work-dir", str(short_tmp / "work")]
        workers = [start("worker.Worker", "-c", "2", "-m", "1g", *place, address) for _ in "ab"]
        said = "Successfully registered with master"
        until(lambda: Path(log.name).read_text().count(said) == 2, "the workers are there")
        yield address, workers
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
        log.close()


@pytest.fixture
def local(short_tmp):
    return Engine("local", short_tmp, {"TMPDIR": str(short_tmp)})


@pytest.fixture
def on_ray(ray_cluster, short_tmp):
    return Engine("ray", short_tmp, {"RAY_ADDRESS": ray_cluster.address}, ray_cluster)


class OnSpark(Engine):
    """The Spark cluster."""

    def is_free(self):
        """No worker has an executor."""
        workers = {process.pid for process in self.cluster[1]}
        return not any(parent in workers for _, parent in processes().values())


@pytest.fixture
def on_spark(spark_cluster, short_tmp):
    settings = ["spark.ui.enabled=false", "spark.executor.memory=512m", "spark.driver.memory=512m"]
    words = [word for each in settings for word in ("--conf", each)]
    environment = {
        "PYSPARK_SUBMIT_ARGS": " ".join(["--master", spark_cluster[0], *words, "pyspark-shell"]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    return OnSpark("spark", short_tmp, environment, spark_cluster)


@pytest.fixture(params=["local", "on_ray", "on_spark"])
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
