"""Means over replicas: of vertices without edges, and of changes that one replica makes alone."""

import pytest
from support.machines.team import Team, train_team
from support.messages import message

from tux import Edge, Program, Vertex, shared
from tux.arrays.edges import EdgeData
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, ForEach


def bump(src):
    src.f += 1


def bump_with_edges(src, edges):
    src.f += len(edges) - len(edges) + 1


class ReplicaMeans(Program):
    page = Vertex(f=shared("f8", combine="mean"))
    link = Edge("page", "page", whole="src")

    def stages(self):
        return self.make()


@pytest.mark.parametrize(
    "stage", [lambda: ForEach("src", bump, once=True), lambda: Exchange(bump_with_edges)]
)
def test_a_change_of_one_replica_is_no_mean(stage):
    program = type(
        "Once", (ReplicaMeans,), {"make": staticmethod(lambda: [stage(), Apply("page")])}
    )
    with pytest.raises(ProgramError, match=message("changes-of-which-the-mean")) as caught:
        train_team(program(), ALONE, 1, k=1)
    assert "test_replica_means.py:" in caught.value.where and 'combine="sum"' in caught.value.do


ALONE = EdgeData.of(("page", "page"), [0, 1], [1, 0], {}, vertices={"page": [2, 3]})


@pytest.mark.parametrize(
    ("edge", "stage"),
    [
        (ReplicaMeans.link, ForEach("src", bump, additive=True)),
        (Edge("page", "page"), Exchange(bump_with_edges, additive=True)),
    ],
)
def test_changes_of_each_replica_have_a_mean(edge, stage):
    class EachReplica(ReplicaMeans):
        link = edge
        make = staticmethod(lambda: [stage, Apply("page")])

    for k in (1, 2):
        team = Team(EachReplica(), ALONE, k=k, by=[0, k - 1]).train(2)
        assert team.gather("page", "f").tolist() == [2.0] * 4
