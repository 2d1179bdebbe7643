"""`id`: the number of a vertex in every UDF, the same on any number of workers."""

import re

import numpy as np
import pytest
from support.machines.team import Team, train_team
from support.messages import message
from support.programs.links import DirectedLinks
from support.programs.programs import both, column, complete, drive, points_at, start

from tux import Context, Edge, Program, Vertex, delta, master, shared, total, value
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.engine.training import Training
from tux.program.fields import ID
from tux.stages import Apply, Exchange, Generate, GlobalSync, MiniBatch, Score

#   c -> c    a -> b -> c    d -> a    the numbers of a, b, c, d are 0 to 3
EDGES = from_arrays(list("cabd"), list("cbca"), ends=("page", "page"))
SOURCES = [3, 0, 1 + 2, 0]  # the sum of the numbers of each page's predecessors


def along(src, dst, tau):
    dst.sources += src.id
    if src.id == dst.id:
        tau.loops += 1


def neighbours(src, edges):
    for edge in edges:
        src.targets += edge.dst.id


def keep(page):
    page.own, page.before, page.after = page.id, page.sources, page.targets


def weigh(v, tau):
    v.twice = 2 * v.id
    tau.all += v.id


def conclude(tau):
    tau.found, tau.sum = tau.loops, tau.all


class Numbers(Program):
    """Sums of the ids that the UDFs of each stage see."""

    page = Vertex(
        sources=delta("i8"),
        targets=delta("i8"),
        own=value("i8"),
        before=value("i8"),
        after=value("i8"),
        twice=master("i8"),
    )
    link = Edge("page", "page")
    tau = Context(loops=total("i8"), all=total("i8"), found=value("i8"), sum=value("i8"))

    def stages(self):
        return [
            Exchange(along),
            Exchange(neighbours, over="src", additive=True),
            Apply("page", keep),
            GlobalSync(conclude, aggregate=weigh, over="page"),
        ]


def check(fields, tau):
    assert fields("own").tolist() == [0, 1, 2, 3]
    assert fields("before").tolist() == SOURCES
    assert fields("after").tolist() == [1, 2, 2, 0]
    assert fields("twice").tolist() == [0, 2, 4, 6]
    assert (tau.found, tau.sum) == (1, 6)


@pytest.mark.slow
@both
def test_every_udf_sees_the_number_of_a_vertex(jit):
    worker = complete(Numbers(), EDGES, 1, jit=jit)
    check(lambda field: column(worker, "page", field), worker.tau)


def test_a_checked_run_sees_the_same():
    worker = complete(Numbers(), EDGES, 1, check=True, jit=False)
    check(lambda field: column(worker, "page", field), worker.tau)


@pytest.mark.parametrize(("k", "jit"), [(2, True), (2, False), (3, False)])
def test_numbers_are_the_same_on_several_workers(k, jit):
    team = train_team(Numbers(), EDGES, 1, k=k, jit=jit)
    check(lambda field: team.gather("page", field), team.tau)


def test_only_kernels_that_use_ids_get_them():
    table = start(Numbers(), EDGES).tables["page"]
    assert ID not in table.visible_fields("exchange")[0].names
    assert ID in table.visible_fields("exchange", ids=True)[0].names
    assert "id read-only" in table.visible_fields("exchange")[0].visible


def writes_id(src, dst):
    dst.sources += 1
    dst.id = src.id


def test_an_id_cannot_be_written():
    with pytest.raises(ProgramError, match=r"page\.id is read-only") as error:
        start(Numbers(), EDGES).prepare([Exchange(writes_id)])
    assert points_at(error.value, writes_id)
    with pytest.raises(ProgramError, match="has raised ValueError: .*read-only"):
        drive(start(Numbers(), EDGES, jit=False), Exchange(writes_id))


def test_a_field_cannot_be_called_id():
    with pytest.raises(ProgramError, match=r"called id.*\n.*rename"):
        Vertex(id=value("i8"))


def rate(src, dst):
    return 10.0 * src.id + dst.id


@both
def test_a_score_sees_ids(jit):
    worker = start(Numbers(), EDGES, EDGES, jit=jit)
    (step,) = worker.prepare([Score(rate)])
    step.run()
    assert step.scores.tolist() == [22, 1, 12, 30]


def go(start, path, topology):
    path[0] = start
    if topology.bounds[start] < topology.bounds[start + 1]:
        path[1] = topology.ends[topology.bounds[start]]


def reads_lists(src, topology):
    src.sources += topology.bounds[1]


def passes_topology_on(src, topology):
    src.sources += length_of(topology)


def length_of(topology):
    return len(topology.ends)


@pytest.mark.parametrize(
    ("udf", "name"), [(reads_lists, "bounds"), (passes_topology_on, "bounds|ends")]
)
def test_a_vertex_known_by_id_reads_no_neighbour_lists(udf, name):
    what = message("reads-topology-whose-vertices-have", udf.__name__)
    with pytest.raises(ProgramError, match=what) as error:
        start(PulledIds(), EDGES).prepare([Exchange(udf)])
    assert re.search(name, error.value.what) and points_at(error.value, udf)


def mark(path):
    for i in range(len(path)):
        path[i].page.seen += path[i].page.id + 1
        path[i].page.times += 1


class PulledIds(Program):
    """Rows that are pulled know their numbers."""

    input = DirectedLinks()
    page = Vertex(remote=True, seen=shared("i8"), times=shared("i8"))
    link = Edge("page", "page")

    def stages(self):
        return [MiniBatch(Generate(go, mark, "page", path=2), vertices=2)]


@pytest.mark.parametrize(("k", "jit"), [(1, True), (1, False), (2, True), (3, False)])
def test_pulled_rows_have_ids(k, jit):
    if k == 1:
        worker = start(PulledIds(), EDGES, jit=jit)
        list(Training(worker).epochs(1))
        fields = [column(worker, "page", name) for name in ("seen", "times")]
    else:
        team = Team(PulledIds(), EDGES, k=k, jit=jit).train(1)
        fields = [team.gather("page", name) for name in ("seen", "times")]
    np.testing.assert_array_equal(fields[0], fields[1] * [1, 2, 3, 4])
    assert fields[1].sum() == 7
