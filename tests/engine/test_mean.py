"""Fields combined by the mean: replicas weigh by the edges that they have in the block, or the
same.
"""

import pytest
from support.machines.team import SMALL, train_team

from tux import Context, Edge, Program, Vertex
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.program.fields import shared
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch


def add_one(item):
    item.x += 1


def fold_by_mean(ends, src, dst, by, *, block=None, combine="mean", **options):
    """Run one pass in which each edge raises a field at its second end by 1. Return the field,
    folded by the mean over replicas.
    """
    name = ends[1]

    def raise_by_one(dst):
        dst.x += 1

    class Mean(Program):
        locals()[name] = Vertex(x=shared("f8", combine=combine))
        if ends[0] != name:
            locals()[ends[0]] = Vertex()
        link = Edge(*ends)

        def stages(self):
            inner = [Exchange(raise_by_one if ends[0] == name else add_one), Apply(name)]
            return [MiniBatch(*inner, over=ends[0], vertices=block)] if block else inner

    team = train_team(Mean(), from_arrays(src, dst, ends=ends), 1, by=by, **options)
    assert team.agrees(name, "x")
    return team.gather(name, "x")


def test_mean_weighs_replicas_by_their_edges():
    assert fold_by_mean(("user", "item"), [0, 1, 2, 3], [7, 7, 7, 7], [0, 0, 0, 1]).tolist() == [
        (3 * 3 + 1 * 1) / 4
    ]
    assert fold_by_mean(("user", "item"), [0, 1, 2, 3], [7, 7, 7, 7], [0] * 4).tolist() == [4]


def test_mean_weighs_by_edges_of_either_end_within_one_type():
    #   0 --> 9 <-- 1    both on worker 0, 2 --> 9 on worker 1, 3 --> 0 makes 0 and 3 of both
    means = fold_by_mean(("page", "page"), [0, 1, 2, 3, 3], [9, 9, 9, 0, 0], [0, 0, 1, 0, 1])
    assert means.tolist() == [1, 0, 0, 0, (2 * 2 + 1 * 1) / 3]


def test_mean_weighs_by_the_edges_in_the_block():
    #   user 0: 1 edge on worker 0, 2 on worker 1; user 1: 3 edges on worker 0
    means = fold_by_mean(("user", "item"), [0, 0, 0, 1, 1, 1], [7] * 6, [0, 1, 1, 0, 0, 0], block=1)
    assert means[0] == pytest.approx((1 * 1 + 2 * 2) / 3 + 3)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ([0, 0, 0, 1], (3 + 1) / 2),
        ([0, 0, 1, 2], (2 + 1 + 1) / 3),
        ([0, 0, 0, 0], 4),  # the other workers do not hold the item
    ],
)
def test_replicas_that_weigh_the_same(by, expected):
    means = fold_by_mean(
        ("user", "item"), [0, 1, 2, 3], [7] * 4, by, combine="replica_mean", k=3, jit=False
    )
    assert means.tolist() == [pytest.approx(expected)]


def test_replicas_that_hold_a_vertex_without_a_change_weigh_too():
    #   3 --> 0 makes 0 of worker 1 too, but nothing raises it there
    means = fold_by_mean(
        ("page", "page"), [0, 1, 2, 0], [9, 9, 9, 5], [0, 0, 1, 1], combine="replica_mean"
    )
    assert means.tolist() == [0, 0, 0, 1, (2 + 1) / 2]


def test_equal_weights_count_replicas_with_edges_in_the_block():
    #   user 0: 1 edge on worker 0, 2 on worker 1; user 1: 3 edges on worker 0
    means = fold_by_mean(
        ("user", "item"),
        [0, 0, 0, 1, 1, 1],
        [7] * 6,
        [0, 1, 1, 0, 0, 0],
        block=1,
        combine="replica_mean",
    )
    assert means[0] == pytest.approx((1 + 2) / 2 + 3)


def add_to_tau(tau):
    tau.x += 1


@pytest.mark.parametrize("combine", ["mean", "replica_mean"])
def test_the_context_has_no_mean(combine):
    """A worker's context has no local edges to weigh by."""

    def run():
        class Middle(Program):
            user = item = Vertex()
            link = Edge("user", "item")
            tau = Context(x=shared("f8", combine=combine))

            def stages(self):
                return [Exchange(add_to_tau), GlobalSync()]

        train_team(Middle(), SMALL, 1)

    with pytest.raises(ProgramError, match="(?s)x.*mean"):
        run()
