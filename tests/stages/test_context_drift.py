"""Shared fields of the context that functions of a MiniBatch change: refused where none of its
stages synchronises them.
"""

import pytest

from tux import Context, Edge, Program, Vertex, delta, shared, value
from tux.base.errors import ProgramError
from tux.stages import Exchange, GlobalSync, MiniBatch


def drift(src, dst, tau):
    tau.bias += 0.1 * (src.at - tau.bias)


def tick(src, tau):
    tau.bias += 1


def read_later(src, dst, tau):
    dst.got += tau.bias


class Drifting(Program):
    page = Vertex(at=value("f8"), got=delta("f8"))
    link = Edge("page", "page")
    tau = Context(bias=shared("f8"))


@pytest.mark.parametrize(
    ("stages", "size"),
    [((Exchange(drift),), {"vertices": 2}), ((Exchange(tick), Exchange(read_later)), {"edges": 3})],
)
def test_a_minibatch_must_synchronise_the_context_that_it_changes_in_place(stages, size):
    with pytest.raises(ProgramError, match="tau.bias, a shared field, in a MiniBatch") as error:
        MiniBatch(*stages, **size).check_replicas(Drifting())
    assert error.value.do == "add GlobalSync() to the MiniBatch"
    assert "test_context_drift.py:" in error.value.where


@pytest.mark.parametrize(
    ("stages", "size"),
    [
        ((Exchange(drift), GlobalSync()), {"vertices": 2}),
        ((Exchange(drift),), {}),
        ((Exchange(drift),), {"blocks": 1}),
        ((Exchange(tick),), {"vertices": 2}),
    ],
)
def test_a_context_that_is_synchronised_or_only_added_to_is_allowed(stages, size):
    MiniBatch(*stages, **size).check_replicas(Drifting())
