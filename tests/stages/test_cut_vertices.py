"""Exchanges on the vertices that one worker alone holds, and on the others."""

import pytest
from support.machines.team import Team, train_team
from support.messages import message

from tux import Context, Edge, Program, Vertex, delta, shared, total, value
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, GlobalSync
from tux.stages.analysis.effects import effects

#   u0   u1   u2   u3      u2's edge is on worker 1, the others on worker 0
#   | \ /| \   |           so i2 is cut; u3 and i3 have no edge
#   i0 i1 i2 -'   i3
EDGES = EdgeData.of(
    ("user", "item"), [0, 0, 1, 1, 2], [0, 1, 1, 2, 2], {}, vertices={"item": [3], "user": [3]}
)
BY = [0, 0, 0, 0, 1]


def count_alone(item, edges, tau):
    item.alone += len(edges)
    tau.visits += 1


def count_together(item, edges, tau):
    item.got += len(edges)
    tau.visits += 1


def keep(item):
    item.together = item.got


def copy_visits(tau):
    tau.seen = tau.visits


class CutCounts(Program):
    user = Vertex(whole=True)
    item = Vertex(alone=shared("i4"), together=value("i4"), got=delta("i4"))
    link = Edge("user", "item")
    tau = Context(visits=total("i4"), seen=value("i4"))

    def stages(self):
        return [
            Exchange(count_alone, cut=False),
            Exchange(count_together, additive=True, cut=True),
            Apply("item", keep),
            GlobalSync(copy_visits),
        ]


@pytest.mark.slow
@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.parametrize(
    ("k", "alone", "together", "visits"),
    [(1, [1, 2, 2, 0], [0, 0, 0, 0], 4), (2, [1, 2, 0, 0], [0, 0, 2, 0], 5)],
)
def test_each_item_is_visited_by_one_of_two_stages(jit, k, alone, together, visits):
    team = Team(CutCounts(), EDGES, k=k, by=BY if k > 1 else [0] * 5, jit=jit).train(1)
    assert team.gather("item", "alone").tolist() == alone
    assert team.gather("item", "together").tolist() == together
    assert team.workers[0].tau.seen == visits


def test_cut_vertices_have_shares_of_edges():
    program = type(
        "Wrong", (CutCounts,), {"stages": lambda self: [Exchange(count_alone, cut=True)]}
    )
    with pytest.raises(ProgramError, match=message("sees-the-edges-of-a", "item")):
        train_team(program(), EDGES, 1, k=1)


def make_udf(step):
    def add(item, edges):
        """A docstring of more than
        one line, in a function inside another.
        """
        item.alone += step * len(edges)

    return add


def test_the_effects_of_inner_functions_with_long_docstrings_are_known():
    shapes = Exchange(make_udf(1), over="item").calls(CutCounts(), "item")[0].shapes
    assert set(effects(make_udf(2), shapes).found) == {("item", "alone")}
