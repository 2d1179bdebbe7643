"""However two workers are placed, at slack 0 all files of the model have the same bytes: of
MovieLens 1M, where TUX_TEST_DATA has it, else of drawn ratings.
"""

from contextlib import nullcontext
from random import Random

import pytest

from faults import clusters, real
from faults.machines import Machines
from faults.network import Cable, no_namespaces
from faults.room import ReferenceRuns, Room, broken_rules

pytestmark = [pytest.mark.clusters, pytest.mark.long, pytest.mark.filterwarnings("ignore")]

LIMIT = 900.0  # seconds after which a run counts as hung
ONE_CORE_EACH = "local-cluster[2,1,1024]"
"""Spark's name for two executors on this machine."""


@pytest.fixture(scope="module")
def ratings(tmp_path_factory, whole):
    """Run two workers on one machine, and return the run with which others are compared."""
    if len(real.files()) < 2:
        return whole
    flags = {"--epochs": 3, "--threads": 1, "--trace-clocks": ""}
    return ReferenceRuns(tmp_path_factory.mktemp("real"), real.words(), flags)


@pytest.fixture
def room(tmp_path, ratings):
    with Room(tmp_path / "room", ratings, LIMIT, Random(0)) as made:
        yield made
        assert made.remains() == [] and broken_rules(made.folder) == []


def train_on_engine(room, name, environment):
    """Train with two machines on an engine, each with one worker."""
    more = ["--workers", 1, "--on", name, "--nnodes", 2]
    room.expect(room.train(more=more, env=environment), 0)


def test_two_machines(room):
    """Joined by a link, where there are namespaces; else by the loopback interface."""
    cable = None if no_namespaces() else Cable()
    with cable or nullcontext():
        machines = Machines(room, cable)
        for each in [machines.start(rank) for rank in (0, 1)]:
            room.expect(each, 0)
    assert room.differences() == []


def test_ray_on_two_nodes(on_ray, room):
    train_on_engine(room, "ray", on_ray.environment)
    assert room.differences() == []


def test_spark_on_two_executors(engines, room):
    if why := clusters.missing("spark"):
        pytest.skip(why)
    train_on_engine(room, "spark", clusters.spark_environment(ONE_CORE_EACH))
    assert room.differences() == []
