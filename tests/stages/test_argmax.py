"""Totals that keep the largest or smallest value with its key."""

import itertools

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import both, complete, drive, points_at, start

from tux import Context, Edge, Program, Vertex, argmax, argmin, data, param, total, value
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.program.combining import COMBINE
from tux.rows.extreme import Extreme
from tux.stages import Exchange, GlobalSync, MiniBatch

WEIGHTS = np.float32([2, 7, 7, 1, -3, 1])
EDGES = from_arrays(
    list("abcdea"), list("bcdeab"), ends=("page", "page"), weight=WEIGHTS
)  # the number of a is 0


def along(src, dst, link, tau):
    tau.far.add(link.weight, src.id)
    tau.near.add(link.weight, 10 + dst.id)
    tau.n += 1


def also(page, tau):
    tau.late.add(-abs(page.id - 3), page.id)


def conclude(tau):
    tau.found[0], tau.found[1] = tau.far.value, tau.far.key
    tau.found[2], tau.found[3] = tau.near.value, tau.near.key
    tau.found[4], tau.found[5] = tau.late.value, tau.late.key
    tau.count = tau.n


class ExtremeEdges(Program):
    """The ends of the heaviest and of the lightest edge."""

    page = Vertex()
    link = Edge("page", "page", weight=data("f4"))
    tau = Context(
        far=argmax(),
        near=argmin(),
        late=argmax(),
        n=total(),
        found=value("f8", 6, init=9),
        count=value("f8"),
    )

    def stages(self):
        return [Exchange(along), GlobalSync(conclude, aggregate=also)]


FOUND = [7, 1, -3, 10, 0, 3]


@both
def test_values_come_with_their_keys_and_are_cleared(jit):
    worker = complete(ExtremeEdges(), EDGES, 2, jit=jit)
    assert worker.tau.found.tolist() == FOUND
    assert worker.tau.count == 6
    assert (worker.tau.far.value, worker.tau.far.key) == (-np.inf, -1)
    assert (worker.tau.near.value, worker.tau.near.key) == (np.inf, -1)


@pytest.mark.parametrize(("k", "jit"), [(2, True), (3, False)])
def test_several_workers_find_the_same(k, jit):
    team = train_team(ExtremeEdges(), EDGES, 2, k=k, jit=jit)
    assert [worker.tau.found.tolist() for worker in team.workers] == [FOUND] * k
    assert team.tau.count == 6 and team.tau.far.key == -1


class InBlocks(ExtremeEdges):
    """Blocks of which some are under way while others are combined."""

    def stages(self):
        return [MiniBatch(Exchange(along, over="src"), vertices=1), GlobalSync(conclude)]


def test_clocks_under_way_do_not_mix_values_and_keys():
    team = train_team(InBlocks(), EDGES, 2, k=3, slack=1)
    assert team.tau.found.tolist() == [*FOUND[:4], -np.inf, -1]


def test_the_combination_does_not_depend_on_the_order():
    given = [(1.0, 5.0), (2.0, 7.0), (2.0, 3.0), (0.0, 1.0), (-np.inf, -np.inf)]
    for order in itertools.permutations(given):
        held = np.array([order[0]])
        for each in order[1:]:
            held = COMBINE["argmax"](held, np.array([each]))
        assert held.tolist() == [[2.0, 3.0]]


def test_nan_is_never_kept():
    entry = np.array([-np.inf, -np.inf])
    kept = Extreme(entry, largest=True)
    kept.add(np.nan, 3)
    assert (kept.value, kept.key) == (-np.inf, -1)
    kept.add(0.5, 2)
    kept.add(np.nan, 1)
    assert (kept.value, kept.key) == (0.5, 2)


def assigns(src, dst, tau):
    tau.far = 3.0


def keyed_by_float(src, dst, link, tau):
    tau.far.add(src.id, link.weight)


def writes_key(src, dst, tau):
    tau.far.key = 3


@pytest.mark.parametrize(
    ("udf", "message", "plain"),
    [
        (assigns, r"write tau\.far\.add\(value, key\)", "TypeError"),
        (keyed_by_float, "the key of tau.far .* cannot be float32: it is an integer", "TypeError"),
        (writes_key, "key", "AttributeError"),
    ],
    ids=["assigned", "float key", "written key"],
)
def test_mistakes_are_told_with_the_line(udf, message, plain):
    with pytest.raises(ProgramError, match=message) as error:
        start(ExtremeEdges(), EDGES).prepare([Exchange(udf)])
    assert points_at(error.value, udf), str(error.value)
    with pytest.raises(ProgramError, match=f"has raised {plain}"):
        drive(start(ExtremeEdges(), EDGES, jit=False), Exchange(udf))


def adds_in_sync(tau):
    tau.far.add(1, 1)


def test_a_function_of_globalsync_only_reads():
    with pytest.raises(ProgramError, match="read-only"):
        drive(start(ExtremeEdges(), EDGES, jit=False), GlobalSync(adds_in_sync))


def test_a_vertex_has_none():
    with pytest.raises(
        ProgramError, match=r"far is an argmax.*\n.*tau = Context\(far=argmax\(\)\)"
    ):
        Vertex(far=argmax())


def of_each(src, dst, link, tau):
    tau.far[src.id % 2].add(link.weight, src.id)
    tau.far[len(tau.far) - 1].add(link.weight, dst.id)
    tau.near[-1].add(link.weight, src.id)


def conclude_each(tau):
    for k in range(3):
        tau.found[2 * k], tau.found[2 * k + 1] = tau.far[k].value, tau.far[k].key
    tau.count = tau.near[1].key


class ExtremesByGroup(Program):
    """The heaviest edges of even and of odd pages, and of all."""

    groups: int = param(3, "groups")
    page = Vertex()
    link = Edge("page", "page", weight=data("f4"))
    tau = Context(
        far=argmax("groups"),
        near=argmin(lambda p: p.groups - 1),
        found=value("f8", 6),
        count=value("f8"),
    )

    def stages(self):
        return [Exchange(of_each), GlobalSync(conclude_each)]


@pytest.mark.parametrize(("k", "jit"), [(1, True), (2, True), (3, False)])
def test_several_values_with_their_keys(k, jit):
    team = train_team(ExtremesByGroup(), EDGES, 2, k=k, jit=jit)
    assert team.tau.found.tolist() == [7, 2, 7, 1, 7, 2]
    assert team.tau.count == 4
    assert len(team.tau.far) == 3 and team.tau.far[0].key == -1


def beyond(src, dst, link, tau):
    tau.far[3 + src.id].add(link.weight, src.id)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("check", [True, False])
def test_an_index_of_several_is_checked(check):
    worker = start(ExtremesByGroup(), EDGES, check=check)
    with pytest.raises(ProgramError, match=r"out of bounds for `tau\.far`, which has 3"):
        drive(worker, Exchange(beyond))


def test_several_have_one_length():
    with pytest.raises(ProgramError, match=r'argmax\("groups"\)'):
        argmax(2, 3)
    with pytest.raises(ProgramError, match="lengths 2, 3"):
        argmax(lambda p: (2, 3)).resolve({})
