"""Generated edges: what a UDF makes is walked, rows come from their masters no staler than the
slack allows, and nothing is lost.
"""

from pathlib import Path

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.links import UndirectedLinks
from support.programs.programs import random_pairs, start
from support.programs.pull_probe import PullSimulation

from tux import Context, Edge, Program, Vertex, metric, mirror, param, shared, total, uniform
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.base.forks import Fork
from tux.cli.main import main
from tux.engine.training import Training
from tux.graph.topology import Topology
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run
from tux.stages import Exchange, Generate, GlobalSync, MiniBatch
from tux.stages.generate import ABREAST
from tux.stages.kernel import thread_loop
from tux.sync.pull import PullServer

LEFT, RIGHT = random_pairs(40, 40, 90, seed=3)
EDGES = from_arrays(LEFT, RIGHT, ends=("page", "page"))
N = len(EDGES.ids["page"])


def step(start, path, topology, rng, round):
    """Walk up to four pages from `start` on; every third walk in odd rounds is shorter."""
    v = start
    for i in range(len(path) - (1 if round % 2 == 1 and start % 3 == 0 else 0)):
        path[i] = v
        lo, hi = topology.bounds[v], topology.bounds[v + 1]
        if lo == hi:
            return
        v = topology.ends[lo + rng.below(hi - lo)]


def place(start, path, at, topology, rng, round):
    """Take one step of the walk of `step`. In odd rounds every third walk is one place shorter."""
    if at == 0:
        path[0] = start
        return
    v = path[at - 1]
    if v < 0 or (at == len(path) - 1 and round % 2 == 1 and start % 3 == 0):
        return
    lo, hi = topology.bounds[v], topology.bounds[v + 1]
    if lo < hi:
        path[at] = topology.ends[lo + rng.below(hi - lo)]


place.__name__ = step.__name__  # random numbers depend on the stage's name too


def visit(path, tau):
    for i in range(len(path)):
        path[i].page.seen += 1
        path[i].page.last[0] += i
    tau.visits += len(path)
    tau.walks += 1


class WalkVisits(Program):
    """Counts of the walks that come by each page: the same whatever the workers and the slack."""

    input = UndirectedLinks()
    size: int = param(7)
    length: int = param(4)
    rounds: int = param(3)
    page = Vertex(remote=True, seen=shared("i8"), last=shared("f4", 2))
    link = Edge("page", "page")
    tau = Context(visits=total(), walks=total())

    def stages(self):
        walks = Generate(step, visit, "page", rounds=self.rounds, path="length")
        return [MiniBatch(walks, vertices=self.size), GlobalSync(lambda tau: None)]


def train_alone(program, epochs=2, jit=True, edges=EDGES):
    worker = start(program, edges, jit=jit)
    records = list(Training(worker).epochs(epochs))
    rows = worker.graph.vertices["page"].row_of
    return {
        f: worker.tables["page"].arrays[f][rows] for f in program.vertices["page"].fields
    }, records


@pytest.mark.slow
def test_every_vertex_starts_a_walk_in_each_round():
    found, records = train_alone(WalkVisits(length=1, rounds=5), 1)
    odd = sum((v % 3 == 0) for v in range(N))  # these have no place in odd rounds
    assert found["seen"].sum() == 5 * N - 2 * odd and set(found["seen"].tolist()) == {3, 5}
    assert records[0]["edges_per_second"] > 0


def test_compiled_or_not_is_the_same():
    one, other = (train_alone(WalkVisits(), jit=jit)[0] for jit in (True, False))
    assert all(np.array_equal(one[f], other[f]) for f in one)
    assert one["seen"].sum() > 2 * 3 * N


class Stepwise(WalkVisits):
    def stages(self):
        walks = Generate(place, visit, "page", rounds=self.rounds, path="length")
        return [MiniBatch(walks, vertices=self.size), GlobalSync(lambda tau: None)]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, ABREAST, ABREAST + 1, 1000])
def test_lists_made_place_by_place_side_by_side_are_the_same(size):
    """Each vertex goes on with its own random numbers, however many stand beside it."""
    whole = train_alone(WalkVisits(size=size))[0]
    for found in (
        train_alone(Stepwise(size=size))[0],
        train_alone(Stepwise(size=size), jit=size < 1000)[0],
    ):
        assert all(np.array_equal(found[f], whole[f]) for f in whole)


def test_nothing_is_compiled_while_it_trains(monkeypatch):
    kernels, build = [], thread_loop.build_beside
    monkeypatch.setattr(
        thread_loop,
        "build_beside",
        lambda *given, **options: kernels.append(build(*given, **options)) or kernels[-1],
    )
    train_alone(Stepwise(length=3), 1)
    made = [each.result() if isinstance(each, Fork) else each for each in kernels]
    assert len(made) >= 2 and all(len(kernel.signatures) == 1 for kernel in made)


def number_places(start, path, more, at):
    """Write the number of each place. A second list notes that places are made once, in order."""
    path[at] = at
    more[0] = at if at == more[0] + 1 else -9


def count_places(path, more):
    for i in range(len(path)):
        path[i].page.seen += 1
    more[0].page.last[1] += 1


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("jit", [True, False])
def test_places_are_those_of_the_first_list(jit):
    class PlaceNumbers(WalkVisits):
        def stages(self):
            return [MiniBatch(Generate(number_places, count_places, "page", path=5, more=2))]

    worker = start(PlaceNumbers(), EDGES, jit=jit)
    list(Training(worker).epochs(1))
    pages = worker.tables["page"].arrays
    assert pages["seen"].tolist() == [N] * 5 + [0] * (N - 5)
    assert pages["last"][:, 1].tolist() == [0] * 4 + [N] + [0] * (N - 5)


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("slack", [0, 1, 3])
@pytest.mark.parametrize("delivery", [0, 1])
def test_workers_make_the_same_walks_as_one(k, slack, delivery):
    expected, _ = train_alone(WalkVisits())
    team = Team(WalkVisits(), EDGES, k=k, slack=slack, delivery=delivery, jit=True).train(2)
    assert np.array_equal(team.gather("page", "seen"), expected["seen"])
    assert np.allclose(team.gather("page", "last"), expected["last"])
    assert team.total_sent()["page"] > 0
    assert all(len(worker.tables["page"].arrays["seen"]) == 0 for worker in team.workers)


def add_seen(page, tau):
    tau.seen += page.seen


def keep_seen(tau):
    tau.all_seen = tau.seen


class SeenByAll(WalkVisits):
    """The sum of what all masters of a remote type hold."""

    tau = Context(visits=total(), walks=total(), seen=total(), all_seen=metric())

    def stages(self):
        walks, take = super().stages()
        return [walks, take, GlobalSync(keep_seen, aggregate=add_seen, over="page")]


@pytest.mark.parametrize("k", [1, 2])
def test_masters_of_a_remote_type_are_aggregated(k):
    """A graph in one part, as a partitioned folder may have it, is with the only worker."""
    team = Team(SeenByAll(), EDGES, k=k).train(1)
    seen = team.gather("page", "seen").sum()
    assert team.records[0][0]["all_seen"] == seen > 0
    assert not team.total_sent() if k == 1 else team.total_sent()


@pytest.mark.slow(after=4)
@pytest.mark.parametrize("seed", range(8))
def test_rows_are_as_stale_as_the_slack_and_no_more(seed):
    simulation = PullSimulation(seed)
    assert simulation.run().check() == simulation.slack


def test_rows_come_with_the_fields_of_their_lists(monkeypatch):
    """`use_fields` reads both fields of the rows of `path`, and one of those of `more`."""
    asked, pull = [], PullServer.pull
    monkeypatch.setattr(
        PullServer,
        "pull",
        lambda self, worker, clock, request: (
            asked.append(request.rows.counts.tolist()) or pull(self, worker, clock, request)
        ),
    )
    PullSimulation(0).run()
    deep, wide = np.array(asked).T
    assert (deep <= wide).all() and 0 < deep.sum() < wide.sum()


def test_the_graph_as_neighbours():
    src, dst = np.array([0, 0, 1, 2, 2, 0]), np.array([1, 1, 0, 2, 0, 3])
    both = Topology.of(src, dst, 5, directed=False)
    assert both.bounds.tolist() == [0, 3, 4, 5, 6, 6] and both.ends.tolist() == [1, 2, 3, 0, 0, 0]
    one = Topology.of(src, dst, 5, directed=True)
    assert one.bounds.tolist() == [0, 2, 3, 4, 4, 4] and one.ends.tolist() == [1, 3, 0, 0]
    heavy = Topology.of(src, dst, 5, directed=False, weights=np.array([1, 2, 4, 8, 16, 32.0]))
    assert heavy.sums.tolist() == [7, 23, 55, 7, 16, 32]
    again = Topology.from_arrays(heavy.arrays)
    assert again.sums is heavy.sums and again.ends is heavy.ends


def test_a_topology_knows_the_extra_tables():
    class WithDegrees(UndirectedLinks):
        def extra_tables(self, program, topology):
            return {"degree": np.diff(topology.bounds).astype("f4")}

    class Degrees(WalkVisits):
        input = WithDegrees()

    worker = start(Degrees(), EDGES)
    assert worker.topology.arrays["degree"].shape == (1, N) and worker.topology.arrays[
        "degree"
    ].sum() == len(worker.graph.topology.ends)


PROGRAM = '''
"""Visits of walks, as a file that worker processes can find."""

import sys

sys.path.insert(0, {tests!r})

from test_generate import WalkVisits


class Walks(WalkVisits):
    """How often walks come by."""
'''


@pytest.mark.long
def test_processes_and_stored_graphs_give_the_same(tmp_path):
    file, graph = tmp_path / "walks.py", tmp_path / "edges.txt"
    file.write_text(PROGRAM.format(tests=str(Path(__file__).parent)))
    ids = EDGES.ids["page"].values
    graph.write_text(
        "".join(f"{ids[a]} {ids[b]}\n" for a, b in zip(EDGES.src, EDGES.dst, strict=True))
    )
    program = find(str(file)).program()
    results = [
        run(
            program,
            graph,
            options=RunOptions(epochs=2, workers=k, slack=s, out=tmp_path / f"out{k}{s}"),
        )
        for k, s in ((1, 0), (2, 0), (2, 2))
    ]
    assert (
        main(
            [
                "partition",
                str(graph),
                "--parts",
                "3",
                "--out",
                str(tmp_path / "parts"),
                "--one-type",
            ]
        )
        == 0
    )
    results.append(run(program, tmp_path / "parts", options=RunOptions(epochs=2)))
    seen = [r.model.rows("page")["seen"] for r in results]
    assert all(np.array_equal(each, seen[0]) for each in seen) and seen[0].sum() > 6 * N
    assert [r.records[-1]["max_staleness"] for r in results[:3]] == [0, 0, 2]


class WithoutRemote(WalkVisits):
    page = Vertex(seen=shared("i8"), last=shared("f4", 2))


class WithMirror(WalkVisits):
    page = Vertex(
        remote=True, seen=shared("i8"), last=shared("f4", 2), own=mirror("f4", init=uniform())
    )


class Beside(WalkVisits):
    def stages(self):
        walks = Generate(step, visit, "page", path="length")
        batch = MiniBatch(walks, Exchange(lambda src: None), vertices=self.size)
        return [batch, GlobalSync(lambda tau: None)]


class Twice(WalkVisits):
    def stages(self):
        return [MiniBatch(Generate(make, None, "page", path="length")) for make in (step, place)]


class WithoutMeasure(WalkVisits):
    def stages(self):
        walks = Generate(step, visit, "page", path="width")
        return [MiniBatch(walks), GlobalSync(lambda tau: None)]


@pytest.mark.long(after=4)
@pytest.mark.parametrize(
    ("program", "k", "words"),
    [
        (WithoutRemote, 1, "remote=True"),
        (WithMirror, 2, "mirror field"),
        (Beside, 1, "give it one of its own"),
        (WithoutMeasure, 1, "no integer parameter"),
        (Twice, 1, "let one make all lists"),
    ],
)
def test_what_cannot_be_is_refused(program, k, words):
    with pytest.raises(ProgramError) as error:
        Team(program(), EDGES, k=k).train(1) if k > 1 else train_alone(program(), 1)
    assert words in f"{error.value.what} {error.value.do}"
