"""Repeat: as many repetitions as asked for, in clocks of their own; `until` is asked when all
workers hold the same context; nothing depends on the number of workers.
"""

import networkx as nx
import numpy as np
import pytest
from support.machines.team import Team
from support.programs.programs import ConnectedComponents, Spy, random_pairs, start

from faults.running import Running
from tux import Context, Edge, Program, Vertex, delta, metric, param, total, value
from tux.arrays.arrow import read_parquet
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.engine.training import Training
from tux.stages import Apply, Exchange, ForEach, Generate, GlobalSync, MiniBatch, Repeat, minibatch

WORKERS = pytest.mark.parametrize(
    ("k", "slack"), [(1, 0), (2, 0), (2, 2), (3, 0), (3, 2)], ids=lambda number: str(number)
)
LEFT, RIGHT = random_pairs(40, 40, 30, seed=3)
LINKS = from_arrays([*LEFT, *range(100, 112)], [*RIGHT, *range(101, 113)], ends=("node", "node"))


def components(labels, ids):
    """Return the sets of ids with one label."""
    groups = {}
    for label, each in zip(labels.tolist(), ids.tolist(), strict=True):
        groups.setdefault(label, set()).add(each)
    return {frozenset(group) for group in groups.values()}


def true_components():
    ids = LINKS.ids["node"].values
    graph = nx.Graph(zip(ids[LINKS.src].tolist(), ids[LINKS.dst].tolist(), strict=True))
    return {frozenset(each) for each in nx.connected_components(graph)}


class ComponentsAtOnce(ConnectedComponents):
    """Connected components in one epoch."""

    in_batches = False

    def __init__(self):
        super().__init__()
        self.asked = []  # what `until` has seen, on all workers

    def stages(self):
        def is_unchanged(tau):
            self.asked.append(tau.changed)
            return tau.changed == 0

        *offer_and_take, count = super().stages()
        if self.in_batches:
            offer_and_take = [MiniBatch(*offer_and_take, over="src", vertices=12)]
        return [Repeat(*offer_and_take, count, until=is_unchanged)]


class InBatches(ComponentsAtOnce):
    in_batches = True


@pytest.mark.slow(after=3)
@WORKERS
@pytest.mark.parametrize("program", [ComponentsAtOnce, InBatches])
def test_components_in_one_epoch(program, k, slack):
    team = Team(program(), LINKS, k=k, slack=slack).train(1)
    assert components(team.gather("node", "label"), LINKS.ids["node"].values) == true_components()
    assert team.agrees("node", "label")
    asked = team.program.asked
    assert len(asked) % k == 0 and asked.count(0) == k
    for i in range(0, len(asked), k):  # all workers are asked alike, one repetition after another
        assert len(set(asked[i : i + k])) == 1
    if not team.program.in_batches:
        assert {records[0]["clock"] for records in team.records} == {len(asked) // k}


def add(page, tau, rng):
    page.seen += page.n + rng.below(1000)
    tau.drawn += rng.below(1000)


def store(page, rng):
    page.seen += page.n + rng.below(1000)


def count(src, dst, rng):
    src.n += 1
    dst.n += rng.below(1000)


def watch(v, tau, rng):
    tau.drawn += rng.below(1000)


def keep(tau):
    tau.all += tau.drawn
    tau.turns += 1
    tau.turned = tau.turns


class DrawsNumbers(Program):
    """Every stage draws random whole numbers, of which only sums are kept."""

    turns: int = param(3, "repetitions", low=1)
    page = Vertex(n=delta("i8"), seen=value("i8"))
    link = Edge("page", "page")
    tau = Context(drawn=total("i8"), all=value("i8"), turns=value("i8"), turned=metric())

    def __init__(self, make=None, **parameters):
        super().__init__(**parameters)
        self.make = make or (lambda program: [Repeat(*program.inner(), times="turns")])

    def inner(self):
        """Return an Apply, a GlobalSync that walks masters, and a mini-batch."""
        return [
            MiniBatch(Exchange(count), Apply("page", add), over="dst", vertices=9),
            GlobalSync(keep, aggregate=watch, over="page"),
        ]

    def stages(self):
        return self.make(self)


PAGES = from_arrays(LEFT, RIGHT, ends=("page", "page"))


def run(k=1, slack=0, epochs=1, make=None, delivery=0, **parameters):
    program = DrawsNumbers(make, **parameters)
    return Team(program, PAGES, k=k, slack=slack, delivery=delivery).train(epochs)


def sums_of(team):
    return int(team.tau.all), int(team.gather("page", "seen").sum())


def test_random_numbers_do_not_depend_on_the_number_of_workers():
    one, *others = [
        sums_of(run(k, slack, epochs=2)) for k, slack in ((1, 0), (2, 0), (3, 0), (2, 2), (3, 2))
    ]
    assert others == [one] * 4


def test_random_numbers_differ_from_one_repetition_to_the_next():
    """Numbers of 6 repetitions are the same in one epoch and in two, and none is drawn twice."""
    sums = [sums_of(run(turns=turns)) for turns in range(1, 7)]
    assert [sums_of(run(turns=turns, epochs=2)) for turns in (1, 2, 3)] == sums[1::2]
    each = np.diff([(0, 0), *sums], axis=0)
    assert all(len(set(column)) == 6 for column in each.T.tolist())


def sprinkle(dst, rng):
    dst.n += rng.below(1000)


def test_blocks_in_one_loop_draw_the_same(monkeypatch):
    """On one worker the blocks of a mini-batch may be one loop: see `tux.stages.blocks.fused`."""

    def sum_seen(times):
        sprinkled = ForEach("dst", sprinkle, additive=True)
        batch = MiniBatch(sprinkled, Apply("page", add), vertices=9)
        return sums_of(run(make=lambda program: [Repeat(batch, times=times), GlobalSync(keep)]))[1]

    sums = [0, *map(sum_seen, range(1, 5))]
    assert len(set(np.diff(sums).tolist())) == 4
    monkeypatch.setattr(minibatch, "can_be_fused", lambda *_: False)
    assert [0, *map(sum_seen, range(1, 5))] == sums


@pytest.mark.parametrize("k", [1, 2])
def test_blocks_come_in_another_order_each_time(k):
    orders = {}

    def make(program):
        note = Spy(lambda worker, block: orders.setdefault(worker.rank, []).append(block.number))
        batch = MiniBatch(note, over="src", vertices=4)
        return [Repeat(batch, times=3), Apply("page", add), GlobalSync(keep)]

    blocks = run(k, 2, epochs=2, make=make).records[0][0]["clock"] // 3  # and one more
    one = np.array(orders[0]).reshape(6, blocks)
    assert all(found == orders[0] for found in orders.values())
    assert (np.sort(one) == np.arange(blocks)).all() and len(np.unique(one, axis=0)) == 6


def twice(tau):
    return tau.turns % 2 == 0


@WORKERS
def test_repetitions_are_clocks(k, slack):
    """Stages before and after, a Repeat in a Repeat, and one in which there is another."""

    def make(program):
        around = [Exchange(count), Apply("page", store)]
        inner = Repeat(*around, GlobalSync(keep), until=twice)
        return [*around, Repeat(inner, *around, times=2), *around]

    team = run(k, slack, make=make)
    assert [record[0]["clock"] for record in team.records] == [1 + 2 * (2 + 1) + 1] * k
    assert team.tau.turns == 4
    added = team.gather("page", "seen").sum()
    assert added == run(1, make=make).gather("page", "seen").sum()


def six(tau, p):
    return tau.turns == 6 * min(p.workers, 1)


def test_only_until_waits():
    """Workers that may be 2 clocks apart are so from one repetition to the next, and from the
    stages before to the first, unless `until` is asked after each.
    """

    def stalest(**how):
        def make(program):
            stages = Exchange(count), Apply("page", add), GlobalSync(keep)
            return [*stages, Repeat(*stages, **how)]

        return max(
            run(2, 2, make=make, delivery=delivery).records[0][0]["max_staleness"]
            for delivery in range(4)
        )

    assert stalest(times=6) == 2 and stalest(until=six) == 0


def test_it_may_stand_in_setup():
    class DrawsInSetup(DrawsNumbers):
        def setup(self):
            return self.stages()

    worker = start(DrawsInSetup(turns=4), PAGES, jit=False)
    records = list(Training(worker).epochs(2))
    assert [record["turned"] for record in records] == [8, 12]


def test_until_gets_the_parameters():
    def make(program):
        return [Repeat(*program.inner(), until=lambda tau, p: tau.turned == p.turns + 2)]

    assert run(make=make, turns=3).tau.turns == 5


def never(tau):
    return False


@pytest.mark.parametrize("most", [4, "turns"])
def test_too_many_repetitions(most):
    def make(program):
        return [Repeat(*program.inner(), until=never, most=most)]

    with pytest.raises(ProgramError, match="never was still False after 4 repetitions") as told:
        run(2, 1, make=make, turns=4)
    assert "test_repeat.py:" in told.value.where and "most=" in told.value.do


def unsure(tau):
    return tau.turns


def sees_total(tau):
    return tau.drawn > 0


def sets(tau):
    tau.turns = 9
    return True


def walk(start, path, rng):
    pass


SYNC = GlobalSync(keep)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Repeat(times=3), "Repeat needs stages"),
        (lambda: Repeat(count, times=3), "Repeat needs stages"),
        (lambda: Repeat(SYNC), "either times or until"),
        (lambda: Repeat(SYNC, times=2, until=never), "either times or until"),
        (lambda: Repeat(SYNC, times=0), "(?s)times is 0.*1 or more"),
        (lambda: Repeat(SYNC, times=2.0), "times=2.0 is neither"),
        (lambda: Repeat(SYNC, times=True), "times=True is neither"),
        (lambda: Repeat(SYNC, times="turn"), "(?s)times='turn' is neither.*parameters: turns"),
        (lambda: Repeat(SYNC, until=never, most="x"), "most='x' is neither"),
        (lambda: Repeat(SYNC, until=never, most=-1), "most is -1"),
        (lambda: Repeat(SYNC, Apply("page"), until=never), r"last stage is Apply.*GlobalSync"),
        (lambda: Repeat(SYNC, until=3), "was given 3"),
        (lambda: Repeat(SYNC, until=walk), "has a parameter 'start'"),
        (lambda: Repeat(SYNC, until=unsure), "(?s)unsure of .* returned 1.*True to stop"),
        (
            lambda: MiniBatch(Repeat(Exchange(count), times=2), vertices=3),
            "(?s)stands in a MiniBatch.*put the MiniBatch into the Repeat",
        ),
        (
            lambda: Repeat(MiniBatch(Generate(walk, None, "page", path=3), vertices=3), times=2),
            "(?s)contains a Generate.*rounds",
        ),
    ],
)
def test_wrong_use_is_told_with_its_line(make, message):
    with pytest.raises(ProgramError, match=message) as told:
        worker = start(DrawsNumbers(), PAGES, jit=False)
        worker.run(worker.prepare([make()]))
    assert "was given 3" in str(told.value) or "test_repeat.py:" in told.value.where


@pytest.mark.parametrize(
    ("until", "message"), [(sees_total, "tau has no field drawn"), (sets, "read-only")]
)
def test_until_only_reads_what_all_workers_have(until, message):
    with pytest.raises(ProgramError, match=message):
        worker = start(DrawsNumbers(), PAGES, jit=False)
        worker.run(worker.prepare([Repeat(SYNC, until=until)]))


PROGRAM = '''"""Connected components in one epoch."""

from tux import Context, Edge, Program, Vertex, delta, total, uniform, value
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Repeat


def offer(src, dst):
    src.least = min(src.least, dst.label)
    dst.least = min(dst.least, src.label)


def take(node, tau):
    if node.least < node.label:
        node.label = node.least
        tau.changes += 1


def count(tau):
    tau.changed = tau.changes


def unchanged(tau):
    return tau.changed == 0


class Components(Program):
    epochs = 1
    node = Vertex(label=value("f8", init=uniform()), least=delta("f8", combine="min"))
    link = Edge("node", "node")
    tau = Context(changes=total("i8"), changed=value("i8"))

    def stages(self):
        batch = MiniBatch(Exchange(offer), Apply("node", take), over="src", vertices=12)
        return [Repeat(batch, GlobalSync(count), until=unchanged)]
'''


@pytest.mark.long
def test_real_processes(tmp_path):
    ids = LINKS.ids["node"].values
    (tmp_path / "components.py").write_text(PROGRAM)
    (tmp_path / "links.txt").write_text(
        "".join(f"{a} {b}\n" for a, b in zip(ids[LINKS.src], ids[LINKS.dst], strict=True))
    )
    argv = ("--workers", 2, "--slack", 2, "--no-jit", "--out", "out")
    with Running(tmp_path, "run", "components.py", "links.txt", *argv) as running:
        assert running.wait(300.0) == 0, running.output()
        assert running.leftovers() == []
    node = read_parquet(tmp_path / "out" / "model" / "node.parquet")
    assert components(node["label"], node["id"]) == true_components()
