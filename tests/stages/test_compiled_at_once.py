"""Kernels that forks of the process compile beside it."""

import sys

import numpy as np
import pytest
from support.programs.programs import column, points_at, start

import tux.stages.kernel.compile as kernels
from tux import Edge, Program, Vertex, shared
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.base.forks import Forks
from tux.stages import Exchange

EDGES = from_arrays([0, 0, 1], [1, 2, 2], ends=("user", "item"))

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")


class ThreeCounts(Program):
    user = Vertex(n=shared("i8"), twice=shared("i8"))
    item = Vertex(n=shared("i8"))
    link = Edge("user", "item")


def count(user):
    user.n += 1


def count_twice(user):
    user.twice += 2


def count_items(item):
    item.n += 1


def read_a_file(user):
    user.n += open(".").fileno()


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """Begin with a process without kernels, and an empty cache; list whether forks for kernels are
    started. Functions of tux may have forks, too.
    """
    monkeypatch.setenv("TUX_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "_LOADED", {})
    monkeypatch.setattr("tux.base.forks.free", lambda: 1 << 62)  # however little there is now
    started, start_fork = [], Forks.start

    def start_noted(self, name, work, take):
        fork = start_fork(self, name, work, take)
        if name.startswith("tux_kernel_"):
            started.append(fork is not None)
        return fork

    monkeypatch.setattr(Forks, "start", start_noted)
    return started


def prepare(*stages, most=2):
    worker = start(ThreeCounts(), EDGES)
    with worker.compiling_at_once(most):
        return worker, worker.prepare(stages)


def test_a_fork_compiles_what_this_process_loads(cold):
    stages = Exchange(count), Exchange(count), Exchange(count_twice), Exchange(count_items)
    worker, steps = prepare(*stages, most=9)
    assert cold == [True] * 3
    worker.run(steps)
    assert list(column(worker, "user", "n")) == [4, 2]
    assert list(column(worker, "user", "twice")) == [4, 2]
    assert list(column(worker, "item", "n")) == [1, 2]
    made = kernels._LOADED.values()
    assert [sum(each.stats.cache_hits.values()) for each in made] == [1] * 3
    worker, steps = prepare(*stages, most=9)
    assert len(cold) == 3
    worker.run(steps)
    np.testing.assert_array_equal(column(worker, "user", "n"), [4, 2])


def test_one_process_compiles_all_if_it_may_have_no_other(cold):
    worker, steps = prepare(Exchange(count), Exchange(count_twice), most=1)
    assert not any(cold)
    worker.run(steps)
    assert list(column(worker, "user", "twice")) == [4, 2]


def test_what_a_fork_cannot_compile_is_told_as_here(cold):
    with pytest.raises(ProgramError, match="cannot be compiled") as told:
        prepare(Exchange(count), Exchange(read_a_file), most=9)
    assert cold == [True, True]
    assert points_at(told.value, read_a_file)
    with pytest.raises(ProgramError) as here:
        prepare(Exchange(read_a_file), most=1)
    assert str(here.value) == str(told.value)
    worker, steps = prepare(Exchange(count), most=9)
    worker.run(steps)
    assert list(column(worker, "user", "n")) == [2, 1]


def test_a_fork_that_dies_leaves_its_kernel_to_this_process(cold, monkeypatch):
    monkeypatch.setattr("tux.base.forks._leave_to_parent", lambda: 1 // 0)
    worker, steps = prepare(Exchange(count), Exchange(count_twice), most=9)
    assert cold == [True, True]
    worker.run(steps)
    assert list(column(worker, "user", "twice")) == [4, 2]
