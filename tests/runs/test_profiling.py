"""The table of a profile, as a pure function of what was measured; and whole runs that have one."""

import pytest
from support.messages import message
from support.programs.tiny_ratings import RATINGS

from tux.apps.mf.mf import MF
from tux.base.errors import UsageError
from tux.base.memory_speed import copy_speed
from tux.cluster.rendezvous.place import Place
from tux.engine.profile import LineShare, StageWork, WorkerProfile
from tux.options.options import RunOptions
from tux.runs.profiling import make_profile
from tux.runs.session import run

LARGE = 1 << 30
"""Bytes that no cache holds."""


def work(stage="Exchange(f)", functions=("f",), **more):
    given = {"held": LARGE, "calls": 1, "seconds": 1.0, "edges": 10, "bytes": 100}
    return StageWork("stages", stage, list(functions), **(given | more))


def table(*works, threads=2, memory=100.0, workers=1):
    measured = WorkerProfile(
        works=[*works], workers=workers, seconds=5.0, waited=1.0, sent=0.5, lines=[], how="so"
    )
    return make_profile(measured, threads, memory)


def test_a_row_has_numbers_for_each_edge_or_vertex():
    profile = table(
        work(seconds=3e-6, edges=1000, bytes=24_000, vertices=7),
        work("Apply(page, g)", ["g"], seconds=1e-6, edges=0, vertices=500, bytes=4000),
        memory=16e9,
    )
    first, second = profile.rows
    assert (first.unit, first.visited, first.bytes) == ("edge", 1000, 24.0)
    assert (second.unit, second.visited, second.bytes) == ("vertex", 500, 8.0)
    assert (first.ns, first.gb_s, first.memory_gb_s) == pytest.approx((3.0, 8.0, 16.0))
    assert (first.share, second.share) == pytest.approx((0.75, 0.25))
    assert profile.slowest == "Exchange(f)" and profile.how == "so"
    assert profile.besides == pytest.approx(3.499996)


@pytest.mark.parametrize(
    ("of", "bound"),
    [
        ({"bytes": 90}, "memory"),
        ({"bytes": 20}, "far from memory"),
        ({"bytes": 200}, "in caches"),
        ({"bytes": 20, "held": 1000}, "in caches"),
        ({"bytes": 90, "calls": 1_000_000}, "short calls"),
        ({"bytes": 90, "why": "`f` changes v.x"}, "one thread"),
        ({"edges": 0, "bytes": 0}, "plain Python"),
        ({"calls": 0}, ""),
    ],
)
def test_what_bounds_a_stage(of, bound):
    (row,) = table(work(**of)).rows
    assert row.bound == bound
    assert of.get("why", "") in row.why


def test_with_one_thread_a_plan_bounds_nothing():
    (row,) = table(work(bytes=90, why="`f` changes v.x"), threads=1).rows
    assert row.bound == "memory"


def test_kernels_of_one_stage_are_told_apart():
    label = "Generate(make, learn)"
    rows = table(work(label, ["make"]), work(label, ["learn"]), work("Apply(x, f)")).rows
    assert [row.stage for row in rows] == [f"{label}: make", f"{label}: learn", "Apply(x, f)"]


def test_a_program_without_stages_has_an_empty_table():
    assert table().rows == [] and table().slowest == ""


def test_memory_has_a_speed():
    assert copy_speed(2) > 0


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS)
    return str(path)


def test_a_run_has_a_profile_where_it_is_wanted(data):
    options = {"epochs": 2, "jit": False}
    program = MF(rank=4)
    profile = run(program, data, options=RunOptions(profile=True, **options)).profile
    sgd = next(row for row in profile.rows if row.stage.startswith("Exchange(sgd"))
    assert (sgd.method, sgd.calls, sgd.unit, sgd.visited) == ("stages", 2, "edge", 140)
    assert sum(row.share for row in profile.rows) == pytest.approx(1)
    assert all(isinstance(line, LineShare) for line in profile.lines)
    assert run(program, data, options=RunOptions(**options)).profile is None


@pytest.mark.slow
def test_two_workers_tell_their_sum(data):
    options = RunOptions(epochs=2, jit=False, workers=2, profile=True)
    profile = run(MF(rank=4), data, options=options).profile
    sgd = next(row for row in profile.rows if row.stage.startswith("Exchange(sgd"))
    assert (profile.workers, sgd.visited) == (2, 140)
    assert sum(line.share for line in profile.lines) == pytest.approx(1)


def test_several_machines_have_no_profile():
    place = Place(2, 0, "127.0.0.1", 29400, None)
    with pytest.raises(UsageError, match=message("profile-on-several-machines-whose")):
        RunOptions(profile=True, place=place).plan_for(MF())
