"""Threads of a worker: its rows, records, lists and scores have the same bits for any number of
them.
"""

import numpy as np
import pytest
from support.machines.team import Team, ratings
from support.programs.links import UndirectedLinks
from support.programs.programs import random_pairs, start

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    argmax,
    data,
    delta,
    master,
    metric,
    mirror,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.arrays.networks import from_arrays
from tux.engine.training import Training
from tux.graph import layout
from tux.stages import (
    Apply,
    Exchange,
    Generate,
    GlobalSync,
    MiniBatch,
    Score,
)


def bits(worker):
    """Return the bytes of all that a worker holds."""
    arrays = {
        f"{name}.{f}": array
        for name, table in worker.tables.items()
        for f, array in table.arrays.items()
    }
    arrays |= {f"edge.{f}": array[:] for f, array in worker.graph.edges.fields.items()}
    for name, table in worker.server.tables.items():
        arrays |= {f"master {name}.{f}": array for f, array in table.arrays.items()}
    return {name: array.tobytes() for name, array in arrays.items()}


def drop_times(records):
    """Return records without the fields that clocks have measured."""
    return [
        {
            f: x
            for f, x in each.items()
            if "seconds" not in f and "per_second" not in f and not f.endswith("_s")
        }
        for each in records
    ]


# ---- a program with an Exchange of each kind, on ratings


def learn(user, item, rating, tau, p, rng):
    error = rating.value - user.bias - item.bias * item.bias
    user.bias += p.rate * error
    item.bias += p.rate * error * rng.uniform()
    rating.error = error
    tau.square += error * error
    tau.worst = max(tau.worst, abs(error))
    tau.least = min(tau.least, error)
    tau.far.add(error, user.id)
    tau.counts[int(rating.value)] += 1


def gather(user, edges, tau):
    for edge in edges:
        user.sum += edge.item.bias * edge.value
        tau.seen += edge.error


def warm(user, edges, tau, rng):
    for edge in edges:
        edge.item.bias += 0.01 * user.bias * rng.uniform()
        user.bias -= 0.01 * edge.item.bias
        tau.seen += edge.value


def keep(user, tau, rng):
    user.mean = user.sum
    user.luck = rng.uniform()
    tau.drawn += user.luck


def spread(user, tau):
    user.rank = user.mean + user.bias
    tau.sums[0] += user.rank
    tau.sums[1] += user.rank * user.rank


def report(tau):
    tau.rmse = np.sqrt(tau.square)
    tau.found[:] = tau.worst, tau.least, tau.far.value, tau.far.key, tau.seen, tau.drawn
    tau.spread[:] = tau.sums
    tau.known[:] = tau.counts


def judge(user, item, rating, tau):
    tau.judged += abs(rating.value - user.bias - item.bias)


def tell(tau):
    tau.test = tau.judged


class ThreadRatings(Program):
    """Both ends, edges and totals of each kind; blocks; masters; held-out edges."""

    rate: float = param(0.05, "how far a rating moves its ends", low=0)

    user = Vertex(
        bias=shared("f4", init=uniform(-1, 1)),
        sum=delta("f8"),
        mean=value("f8"),
        luck=value("f4"),
        rank=master("f8"),
    )
    item = Vertex(bias=shared("f4", init=uniform(-1, 1)))
    rating = Edge("user", "item", value=data("f4"), error=mirror("f4"))
    tau = Context(
        square=total("f4"),
        worst=total("f4", combine="max"),
        least=total("f8", combine="min"),
        far=argmax(),
        counts=total("i8", 6),
        seen=total("f4"),
        drawn=total("f8"),
        sums=total("f8", 2),
        judged=total("f8"),
        rmse=metric(),
        test=metric(),
        found=value("f8", 6),
        spread=value("f8", 2),
        known=value("i8", 6),
    )

    def stages(self):
        walk = MiniBatch(Exchange(learn, over="item"), Apply("item"), blocks=3, order="rotated")
        return [
            walk,
            Exchange(warm, over="user", shares=4),
            Apply("item"),
            Exchange(gather, over="user", additive=True),
            Apply("user", keep),
            GlobalSync(report, aggregate=spread),
        ]

    def evaluate(self):
        return [Exchange(judge, held_out=True), GlobalSync(tell)]


@pytest.fixture(scope="module")
def many_ratings():
    return ratings(m=1500, users=80, items=60)


def train_worker(program, edges, test=None, *, threads, epochs=2, **options):
    worker = start(program, edges, test, threads=threads, **options)
    return worker, drop_times(Training(worker).epochs(epochs))


@pytest.mark.long
def test_ratings_give_the_same_bits_for_any_number_of_threads(shares, many_ratings):
    worker, records = train_worker(ThreadRatings(), *many_ratings, threads=1)
    assert shares == [] and records[-1]["rmse"] > 0
    for threads in (2, 3, 8):
        shares.clear()
        other, told = train_worker(ThreadRatings(), *many_ratings, threads=threads)
        assert bits(other) == bits(worker) and told == records
        assert len(shares) >= 8 and min(shares) > 1


def test_runs_of_tiles_give_the_same_bits_for_any_number_of_threads(
    shares, many_ratings, monkeypatch
):
    monkeypatch.setattr(layout, "LAST_LEVEL_BYTES", 0)  # as if the rows were too many for it
    worker, records = train_worker(ThreadRatings(), *many_ratings, threads=1)
    for threads in (2, 3, 8):
        shares.clear()
        other, told = train_worker(ThreadRatings(), *many_ratings, threads=threads)
        assert bits(other) == bits(worker) and told == records
        assert shares and min(shares) > 1


@pytest.mark.long(after=1)
@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("slack", "by"), [(0, "bicut"), (2, "bicut"), (0, "random")])
def test_two_workers_of_several_threads(shares, many_ratings, slack, by):
    teams = [
        Team(ThreadRatings(), *many_ratings, by=by, slack=slack, jit=True, threads=threads).train(2)
        for threads in (1, 2, 8)
    ]
    assert shares
    for team in teams[1:]:
        assert [*map(bits, team.workers)] == [*map(bits, teams[0].workers)]
        assert [*map(drop_times, team.records)] == [*map(drop_times, teams[0].records)]


# ---- one vertex type: loops, vertices with their edges, copies of shared fields


def count(src, dst, link, rng):
    src.leaving += 1
    dst.entering += link.weight * rng.uniform()
    link.seen += 1


def look(src):
    src.near = 0


def visit(src, dst, link, tau):
    src.near += dst.rank * link.weight
    tau.walked += link.weight


def leave(src, tau, rng):
    src.near *= 1 + rng.uniform()
    tau.counts[int(src.rank) % 4] += 1
    tau.held += tau.counts[0] % 3


def settle(page, tau):
    page.rank = 1 + page.leaving + page.entering
    tau.least = min(tau.least, page.rank)


def publish(tau):
    tau.lowest = tau.least
    tau.way = tau.walked + tau.held


class ThreadPages(Program):
    page = Vertex(rank=value("f8"), leaving=delta("i4"), entering=delta("f8"), near=mirror("f8"))
    link = Edge("page", "page", weight=data("f4"), seen=mirror("i4"))
    tau = Context(
        counts=shared("i8", 4),
        walked=total("f4"),
        held=total("i8"),
        least=total("f8", combine="min"),
        lowest=value("f8"),
        way=value("f8"),
    )

    def stages(self):
        return [
            Exchange(count),
            Exchange(visit, over="src", enter=look, leave=leave, stale_context=True, additive=True),
            Apply("page", settle),
            GlobalSync(publish),
        ]


def pages(m=900, n=70):
    """Return links, of which some lead from a page to itself."""
    src, dst = random_pairs(n, n, m, seed=5)
    weights = np.random.default_rng(6).normal(size=m).astype("f4")
    return from_arrays(src, dst, ends=("page", "page"), weight=weights)


@pytest.mark.long
def test_one_vertex_type_with_loops_and_copies_of_shared_fields(shares):
    edges = pages()
    worker, _ = train_worker(ThreadPages(), edges, threads=1)
    assert worker.tau.counts.sum() == 2 * 70 and worker.tau.way != 0
    for threads in (2, 8):
        shares.clear()
        other, _ = train_worker(ThreadPages(), edges, threads=threads)
        assert bits(other) == bits(worker)
        assert len(shares) >= 6


@pytest.mark.slow
def test_copies_of_shared_fields_on_two_workers(shares):
    teams = [
        Team(ThreadPages(), pages(), slack=1, jit=True, threads=threads).train(2)
        for threads in (1, 3)
    ]
    assert [*map(bits, teams[0].workers)] == [*map(bits, teams[1].workers)] and shares
    assert [worker.tau.counts.tolist() for worker in teams[0].workers] == [
        teams[0].tau.counts.tolist()
    ] * 2


# ---- made lists, predictions


def walk(start, path, at, topology, rng, round):
    if at == 0:
        path[0] = start
        return
    v = path[at - 1]
    lo, hi = topology.bounds[v], topology.bounds[v + 1]
    if v >= 0 and lo < hi:
        path[at] = topology.ends[lo + rng.below(hi - lo)]


def pass_by(path, rng):
    for k in range(1, len(path)):
        path[k].page.heat += path[k - 1].page.heat * rng.uniform()


def feel(page, edges, out, rng):
    out[0] = page.heat + rng.uniform()
    for edge in edges:
        out[1] += edge.page.heat


class ThreadWalks(Program):
    input = UndirectedLinks()
    page = Vertex(heat=shared("f4", init=uniform()), remote=True)
    link = Edge("page", "page")

    def stages(self):
        return [MiniBatch(Generate(walk, pass_by, "page", path=5), vertices=200)]


@pytest.mark.slow
def test_lists_are_the_same_for_any_number_of_threads(shares):
    src, dst = random_pairs(400, 400, 1500, seed=5)
    edges = from_arrays(src, dst, ends=("page", "page"))
    worker, _ = train_worker(ThreadWalks(), edges, threads=1)
    for threads in (2, 8):
        shares.clear()
        other, _ = train_worker(ThreadWalks(), edges, threads=threads)
        assert bits(other) == bits(worker) and shares


class Guesses(ThreadRatings):
    """Scores of held-out ratings, one by one or by user."""

    def stages(self):
        return []

    def evaluate(self):
        return []


def guess(user, item, tau, rng):
    return user.bias + item.bias * rng.uniform()


def describe(user, edges, out, rng):
    out[0] = user.bias + rng.uniform()
    for edge in edges:
        out[1] += edge.item.bias


@pytest.mark.long
def test_scores_are_the_same_for_any_number_of_threads(shares, many_ratings):
    train, test = many_ratings
    for stage in (Score(guess), Score(describe, over="user", width=2)):
        found = []
        for threads in (1, 2, 8):
            worker = start(Guesses(), train, test, threads=threads)
            (step,) = worker.prepare([stage])
            for _ in range(2):
                worker.run([step])
            found.append(step.scores.tobytes())
        assert found[1:] == [found[0]] * 2
    assert len(shares) >= 4
