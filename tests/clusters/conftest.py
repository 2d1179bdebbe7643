"""Engines in this machine, one start of each; a room for a run; kernels that all tests share.

Each engine has a file of tests, which run one after the other. `--dist loadfile` runs the engines
beside each other, so that one works while another waits.
"""

import dataclasses
import os
from random import Random

import pytest

from faults import clusters
from faults.registry import scenarios
from faults.room import ReferenceRuns, Room, lock_folder
from faults.scenario import play

LIMIT = 600.0  # seconds after which a run counts as hung


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory):
    """Return a folder of all processes that the tests run in."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def kernel_cache(shared_folder):
    """Return a fresh cache for the session, which all its processes share."""
    folder = shared_folder / "kernels"
    folder.mkdir(exist_ok=True)
    os.environ["TUX_CACHE_DIR"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def whole(shared_folder, kernel_cache, helpers):
    """Return small data, and what uninterrupted runs of two local workers leave."""
    folder = shared_folder / "whole"
    folder.mkdir(exist_ok=True)
    with lock_folder(folder):
        made = ReferenceRuns.small(folder)
    made.of({"--workers": 2, **made.flags})  # compiles the kernels
    return made


@pytest.fixture(scope="session")
def engines(kernel_cache, helpers):
    """Stop at the end the engines that tests have started."""
    yield
    clusters.end()


def engine_named(name):
    """Return an engine that runs; skip the test if there is none."""
    if why := clusters.missing(name):
        pytest.skip(why)
    return clusters.start_engine(name)


@pytest.fixture
def plays(engines, whole, tmp_path):
    """Play a scenario of faults/: nothing may be wrong."""

    def play_it(name):
        scenario = scenarios()[name]
        engine_named(scenario.engine)
        found = dataclasses.replace(scenario, limit=LIMIT)
        assert play(found, 0, 0, whole, tmp_path).wrong == ()

    return play_it


@pytest.fixture
def on_ray(engines):
    return engine_named("ray")


@pytest.fixture
def on_spark(engines):
    return engine_named("spark")


@pytest.fixture
def room(tmp_path, whole):
    """Yield a folder in which nothing may be left of the commands that were run in it."""
    with Room(tmp_path / "room", whole, LIMIT, Random(0)) as made:
        yield made
        assert made.remains() == []
