"""The values that UDFs read of `p`: parameters, and the number of workers."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import both, both_later, column, complete

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    data,
    delta,
    master,
    mirror,
    param,
    shared,
    total,
    value,
)
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, GlobalSync

#   a -1- b -2- c    d -1- e    distances from the vertex 0, a
EDGES = from_arrays(list("abd"), list("bce"), ends=("page", "page"), cost=np.float32([1, 2, 1]))


def offer(src, dst, link, p):
    dst.near = min(dst.near, src.far + link.cost / p.workers)
    src.times += 1.0 / p.workers


def keep(page, tau, p):
    page.far = 0.0 if page.id == 0 else min(page.far, page.near)
    tau.all += p.workers


def conclude(tau, p):
    tau.seen = tau.all / p.workers


class Distances(Program):
    """The distances to one vertex, divided by the number of workers; infinite at first."""

    page = Vertex(
        far=value("f8", init=np.inf, finite=False),
        near=delta("f8", combine="min"),
        times=shared("f8"),
        kept=master(init=np.inf, finite=False),
        here=mirror(init=np.inf, finite=False),
    )
    link = Edge("page", "page", cost=data("f4"))
    tau = Context(all=total(), seen=value("f8"))

    def stages(self):
        return [Exchange(offer), Apply("page", keep), GlobalSync(conclude)]


FAR = np.array([0, 1, 3, np.inf, np.inf])


@both_later
def test_the_number_of_workers_is_one(jit):
    worker = complete(Distances(), EDGES, 3, jit=jit)
    assert column(worker, "page", "far").tolist() == FAR.tolist() and worker.tau.seen == 5


@pytest.mark.parametrize(("k", "jit"), [(2, True), (3, False)])
def test_the_number_of_workers_is_that_of_the_job_and_infinities_travel(k, jit):
    team = train_team(Distances(), EDGES, 3, k=k, jit=jit)
    np.testing.assert_allclose(team.gather("page", "far"), FAR / k, rtol=1e-6)
    np.testing.assert_allclose(team.gather("page", "times"), np.array([3, 3, 0, 3, 0]) / k)
    assert team.tau.seen == 5 and team.agrees("page", "far")


def test_a_parameter_cannot_be_called_workers_or_slack():
    with pytest.raises(ProgramError, match="p.workers is the number of workers"):

        class Wrong(Distances):
            workers: int = param(3)

    with pytest.raises(
        ProgramError, match="p.slack is the number of clocks that workers may be apart"
    ):

        class WrongToo(Distances):
            slack: int = param(3)


@both
@pytest.mark.parametrize("slack", [0, 2])
def test_the_slack_of_the_run_is_read_in_all_functions(jit, slack):
    def note(page, p):
        page.far = p.slack

    def set_seen(tau, p):
        tau.seen = p.slack

    class Slack(Distances):
        def stages(self):
            return [Apply("page", note), GlobalSync(set_seen)]

    team = train_team(Slack(), EDGES, 2, k=1, jit=jit, slack=slack)
    assert team.tau.seen == slack and team.gather("page", "far").tolist() == [slack] * 5
