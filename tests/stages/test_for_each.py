"""ForEach visits vertices without their edges: once a replica, or masters alone."""

import pytest
from support.machines.team import Team
from support.programs.programs import drive, start

from tux import Context, Edge, Program, Vertex, mirror, total
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import ForEach, MiniBatch

PAGES = 7
LINKS = from_arrays([0, 1, 2, 3, 4, 5, 6, 0], [1, 2, 3, 4, 5, 6, 0, 3], ends=("page", "page"))


def by_type(page, tau):
    page.seen += 1
    tau.n += 1


def by_letter(v, tau):
    v.seen += 1
    tau.n += 1


def by_role(dst, tau):
    dst.seen += 1
    tau.n += 1


class Pages(Program):
    page = Vertex(seen=mirror("i4"))
    link = Edge("page", "page")
    tau = Context(n=total())

    def stages(self):
        return []


@pytest.mark.parametrize("jit", [True, False])
def test_a_function_calls_the_vertex_by_its_type_its_end_or_v(jit):
    worker = start(Pages(), LINKS, jit=jit)
    drive(worker, ForEach("page", by_type), ForEach("page", by_letter), ForEach("dst", by_role))
    assert worker.tau.n == 3 * PAGES
    assert (worker.tables["page"].arrays["seen"] == 3).all()


def test_another_name_is_refused_with_those_that_it_may_have():
    with pytest.raises(ProgramError) as caught:
        drive(start(Pages(), LINKS, jit=False), ForEach("src", by_role))
    assert "a parameter 'dst'" in caught.value.what and "src, page, v, tau" in caught.value.do
    with pytest.raises(ProgramError, match="'book' is no end of link"):
        drive(start(Pages(), LINKS, jit=False), ForEach("book", by_letter))


@pytest.mark.parametrize("over", ["src", "dst"])
def test_in_the_blocks_of_either_end(over):
    worker = start(Pages(), LINKS, jit=False)
    drive(worker, MiniBatch(ForEach("page", by_letter), over=over, vertices=2))
    assert (worker.tables["page"].arrays["seen"] == 1).all()


@pytest.mark.parametrize("k", [2, 3])
def test_once_a_replica_or_masters_alone(k):
    counted = {}
    for once in (False, True):
        team = Team(Pages(), LINKS, k=k)
        team.drive(lambda worker, once=once: ForEach("page", by_letter, once=once, additive=True))
        counted[once] = [int(worker.tau.n) for worker in team.workers]
    assert sum(counted[True]) == PAGES < sum(counted[False])
