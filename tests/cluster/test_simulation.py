"""Stale Synchronous Parallel over the real protocol, with deliveries drawn from seeds: what is true
of every read, and that it can fail.

The assertions and programs are in probe.py, the bugs to be caught in mutants.py; prove.py runs
many more seeds.
"""

import numpy as np
import pytest
from prove import catch_mutant
from support.mutants.mutants import MUTANTS
from support.mutants.mutation import CAUGHT, OF_EPOCHS, OF_PROGRAMS
from support.programs.probe import Simulation
from support.programs.probe_scenario import MOST_WORKERS, ProbeScenario
from support.programs.stretch_probe import FINITE, StretchSimulation

from tux import Context, Edge, Program, Vertex, mirror, shared, total, value
from tux.arrays.networks import from_arrays
from tux.cluster.simulated import SimulatedCluster
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.cut import cut
from tux.graph.local import LocalGraph
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "slack",
    [
        1,
        pytest.param(0, marks=pytest.mark.slow),
        *(pytest.param(slack, marks=pytest.mark.long) for slack in (2, 4, 8)),
    ],
)
def test_reads_are_as_stale_as_the_slack_and_no_more(slack):
    scenarios = [
        scenario
        for scenario in map(ProbeScenario.draw_scenario, range(80))
        if scenario.slack == slack
    ]
    assert {scenario.workers for scenario in scenarios} == set(range(1, MOST_WORKERS + 1))
    assert max(Simulation(scenario).run().check() for scenario in scenarios) == slack


@pytest.mark.slow
def test_epochs_of_one_pass_are_as_stale_as_the_slack_and_no_more():
    """Some seeds, among them one for each slack in which a read is as stale."""
    stalest = dict.fromkeys(FINITE, 0)
    for simulation in map(StretchSimulation, (*range(11), 17, 63)):
        found = simulation.run().check()
        if simulation.slack in stalest:
            stalest[simulation.slack] = max(stalest[simulation.slack], found)
    assert stalest == {slack: slack for slack in FINITE}


def test_epochs_of_one_pass_stop_together():
    """Seeds with two to four workers, at slack 3 and without a bound."""
    for seed in (13, 15, 21):
        StretchSimulation(seed).run().check()


def test_one_worker_is_never_stale():
    assert all(
        Simulation(ProbeScenario.draw_scenario(seed, workers=1, slack=8)).run().check() == 0
        for seed in range(4)
    )


@pytest.mark.slow
def test_scenarios_are_of_all_kinds():
    scenarios = [ProbeScenario.draw_scenario(seed) for seed in range(100)]
    for kind in ("one_type", "over", "segments", "plain", "sync", "order", "repeat"):
        assert len({getattr(scenario, kind) for scenario in scenarios}) > 1, kind
    assert {tuple(scenario.size) for scenario in scenarios} == {(), ("vertices",), ("edges",)}
    assert any(len(np.unique(scenario.parts)) < scenario.workers for scenario in scenarios), (
        "a worker without edges"
    )
    cut_types = [
        part.cut
        for scenario in scenarios[:20]
        for part in Simulation(scenario).parts[0].types.values()
    ]
    assert any(cut_types) and not all(cut_types)


@pytest.mark.slow
def test_a_seed_repeats_its_events():
    one, two = (Simulation(ProbeScenario.draw_scenario(7)).run() for _ in range(2))
    assert one.log.reads.keys() == two.log.reads.keys()
    for key, reads in one.log.reads.items():
        assert all(
            (a.count == b.count).all() and a.t == b.t
            for a, b in zip(reads, two.log.reads[key], strict=True)
        )


# found late, after many seeds
LONG = ("deltas_of_another_clock_come_back", "changes_of_a_clock_are_sent_by_another")


@pytest.mark.long(after=16)
@pytest.mark.slow(after=8)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] if name in LONG else [])
        for name in MUTANTS
        if name not in OF_PROGRAMS
    ],
)
def test_mutants_are_caught(name):
    seeds = 40 if name in OF_EPOCHS else 20
    assert catch_mutant(name, seeds), f"{seeds} seeds do not tell {name} from the real thing"


@pytest.mark.slow
def test_a_mutant_leaves_nothing_behind():
    scenario = ProbeScenario.draw_scenario(5)
    with MUTANTS["starts_one_clock_early"](), pytest.raises(CAUGHT):
        Simulation(scenario).run().check()
    Simulation(scenario).run().check()


def team(program, data, parts, *, slack=0, test=None, seed=0):
    """Return workers on the parts of a small graph; as many as `parts` names."""
    parts = np.asarray(parts, np.int16)
    workers = int(parts.max()) + 1
    pieces = cut(data, test, parts, workers, 0)
    options = {"jit": False, "slack": slack, "workers": workers}
    return SimulatedCluster(
        [
            Worker(program, LocalGraph.of(program, piece), rank=rank, **options)
            for rank, piece in enumerate(pieces)
        ],
        seed,
    )


def run_once(cluster, make):
    """Let every worker prepare and run ``make()``'s stages once."""
    stages = [worker.prepare(make()) for worker in cluster.workers]
    cluster.run(lambda worker: stages[worker.rank])
    return cluster.workers


def grow(user, item):
    user.x += 1.0
    item.x += 1.0


def see(item, rating):
    rating.seen = item.x


class Growing(Program):
    """x counts the epochs times the degree; held-out edges note what they see of it."""

    user = item = Vertex(x=shared("f8"))
    rating = Edge("user", "item", seen=mirror("f8"))

    def stages(self):
        return [MiniBatch(Exchange(grow, over="item"), Apply("item"), Apply("user"), vertices=1)]

    def evaluate(self):
        return [Exchange(see, held_out=True)]


def check_evaluation(cluster, degrees, epochs=4):
    """Train. After each epoch, compare what each held-out edge sees with epochs * degree of its
    item.
    """

    def steps(worker):
        for record in training[worker.rank].steps(epochs):
            if record is None:
                yield
                continue
            held_out, items = worker.graph.held_out, worker.graph.vertices["item"]
            expected = record["epoch"] * degrees[items.order[held_out.dst]]
            assert held_out.fields["seen"].tolist() == expected.tolist(), (
                f"worker {worker.rank}, epoch {record['epoch']}"
            )

    training = [Training(worker) for worker in cluster.workers]
    cluster.finish({worker.rank: steps(worker) for worker in cluster.workers})
    assert not cluster.channels and not any(worker.inbox for worker in cluster.workers)


@pytest.mark.long
@pytest.mark.parametrize("slack", [0, 3])
def test_evaluation_sees_the_masters_of_its_epoch(slack):
    """Items 0..3 with edges on all of three workers; a held-out edge of a user whose worker
    knows its item, or does not.
    """
    pairs = np.array([(u, i) for u in range(6) for i in range(4) if (u + i) % 3])
    data = from_arrays(*pairs.T, ends=("user", "item"))
    for seed in range(8):
        parts = np.random.default_rng(seed).integers(0, 3, len(pairs))
        parts[-1] = 2
        test = type(data).of(
            ("user", "item"), [0, 1, 2, 3, 4, 5], [0, 2, 1, 3, 2, 1], {}, against=data.ids
        )
        cluster = team(Growing(), data, parts, slack=slack, test=test, seed=seed)
        check_evaluation(cluster, np.bincount(data.dst))


@pytest.mark.slow
def test_evaluation_where_nothing_else_makes_workers_meet():
    """0-0 1-1 2-2: no vertex is cut, so workers meet in the evaluation alone, and one may be
    there an epoch before another.
    """
    data = from_arrays([0, 1, 2], [0, 1, 2], ends=("user", "item"))
    test = type(data).of(
        ("user", "item"), [0, 0, 1, 1, 2, 2], [1, 2, 0, 2, 0, 1], {}, against=data.ids
    )
    for seed in range(40):
        check_evaluation(team(Growing(), data, [0, 1, 2], test=test, seed=seed), np.ones(3))


def add_one(user, tau):
    tau.n += 1


def keep(tau):
    tau.seen = tau.n


class Bare(Program):
    """A type without fields, whose vertices are counted by Apply."""

    user = item = Vertex()
    rating = Edge("user", "item")
    tau = Context(n=total("i8"), seen=value("i8"))


def test_apply_on_a_type_without_fields():
    data = from_arrays([0, 0, 1, 2], [0, 1, 1, 2], ends=("user", "item"))
    workers = run_once(
        team(Bare(), data, [0, 1, 0, 1]), lambda: [Apply("user", add_one), GlobalSync(keep)]
    )
    assert [worker.tau.seen for worker in workers] == [3, 3]


def test_a_mini_batch_without_stages():
    data = from_arrays([0, 0, 1, 2], [0, 1, 1, 2], ends=("user", "item"))
    workers = run_once(
        team(Bare(), data, [0, 1, 0, 1]), lambda: [MiniBatch(over="user", vertices=1)]
    )
    assert [worker.clock for worker in workers] == [3, 3]


def lift(src, dst):
    dst.x += 1.0


class Means(Program):
    node = Vertex(x=shared("f8", combine="mean"))
    link = Edge("node", "node")


def test_means_of_changes_at_the_other_end_of_one_type():
    """0, 1, 2, 3 -> 4, two of the links on each of two workers."""
    links = from_arrays([0, 1, 2, 3], [4, 4, 4, 4], ends=("node", "node"))
    for worker in run_once(
        team(Means(), links, [0, 1, 0, 1]), lambda: [Exchange(lift), Apply("node")]
    ):
        assert worker.tables["node"].arrays["x"][worker.graph.vertices["node"].row_of[4]] == 2.0
