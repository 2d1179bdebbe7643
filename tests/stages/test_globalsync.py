"""GlobalSync: totals are combined, given to a function of plain Python, and cleared; aggregates
run over masters.
"""

import numpy as np
import pytest
from support.programs.programs import both, both_later, drive, start

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    delta,
    master,
    metric,
    param,
    shared,
    total,
    uniform,
    value,
)
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange, GlobalSync

EDGES = from_arrays(["a", "a", "b"], [1, 2, 2], ends=("user", "item"))
HELD = EdgeData.of(("user", "item"), ["z"], [9], {}, against=EDGES.ids)


class TotalsOfAllKinds(Program):
    """Totals of each combination, and values that GlobalSync sets."""

    scale: float = param(3.0)

    user = Vertex(w=shared("f8", init=uniform(1, 2)), m=master("f8", init=5), d=delta("f8"))
    item = Vertex(w=shared("f8", init=uniform(1, 2)))
    link = Edge("user", "item")
    tau = Context(
        n=total("i8"),
        sum=total(),
        least=total(combine="min"),
        most=total("f8", 2, combine="max"),
        count=value("i8"),
        mean=value("f8", 2),
        rmse=metric(),
        unset=metric(),
    )


def along(user, tau):
    tau.n += 1
    tau.least = min(tau.least, user.w)
    tau.most[1] = max(tau.most[1], user.w)


def conclude(tau, p):
    tau.count = tau.n
    tau.mean[:] = np.array([tau.least, tau.most[1]]) * p.scale  # all of Python and numpy
    tau.rmse = float(np.sqrt(tau.n))


@both
def test_totals_are_given_then_cleared(jit):
    worker = drive(
        start(TotalsOfAllKinds(scale=2.0), EDGES, jit=jit), Exchange(along), GlobalSync(conclude)
    )
    w = worker.tables["user"].arrays["w"]
    assert worker.tau.count == 3 and worker.tau.mean.tolist() == [2 * w.min(), 2 * w.max()]
    assert (worker.tau.n, worker.tau.least) == (0, np.inf) and worker.tau.most.tolist() == [
        -np.inf
    ] * 2
    assert worker.metrics() == {"rmse": np.sqrt(3)}


def weigh(v, tau, p):
    tau.n += 1
    tau.sum += v.w * p.scale


def weigh_user(user, tau):
    tau.n += 1
    tau.sum += user.w + user.m


@both_later
def test_aggregate_runs_over_known_masters(jit):
    worker = start(TotalsOfAllKinds(), EDGES, HELD, jit=jit)
    users, items = (worker.tables[t].arrays["w"][:2].sum() for t in ("user", "item"))
    drive(worker, GlobalSync(aggregate=weigh, over="item"))
    np.testing.assert_allclose([worker.tau.n, worker.tau.sum], [2, 3 * items])
    drive(worker, GlobalSync(aggregate=weigh_user))  # without a function nothing is cleared yet
    np.testing.assert_allclose([worker.tau.n, worker.tau.sum], [4, 3 * items + users + 10])
    drive(worker, GlobalSync(conclude, aggregate=weigh_user))
    assert worker.tau.count == 6 and worker.tau.sum == 0


def test_new_totals_start_from_nothing():
    worker = start(TotalsOfAllKinds(), EDGES, jit=False)
    stages = worker.prepare([Exchange(along), GlobalSync(conclude)])
    for _ in range(3):
        worker.run(stages)
        assert worker.tau.count == 3


def writes_master(user, tau):
    user.m += 1
    tau.sum += user.m


@both
def test_an_aggregate_may_change_what_masters_alone_hold(jit):
    worker = drive(
        start(TotalsOfAllKinds(), EDGES, jit=jit),
        GlobalSync(aggregate=writes_master),
        GlobalSync(aggregate=writes_master),
    )
    assert worker.tables["user"].arrays["m"].tolist() == [7, 7] and worker.tau.sum == 2 * (6 + 7)


def writes_shared(user):
    user.w = 1.0


def reads_delta(user, tau):
    tau.sum += user.d


def writes_value(user, tau):
    tau.count += 1


@both
@pytest.mark.parametrize("udf", [writes_shared, reads_delta, writes_value])
def test_an_aggregate_changes_nothing_else_but_totals(jit, udf):
    with pytest.raises(ProgramError, match="read-only|'?d'?"):
        drive(start(TotalsOfAllKinds(), EDGES, jit=jit), GlobalSync(aggregate=udf))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: GlobalSync(wants_user),
            r"(?s)UDF wants_user of GlobalSync\(wants_user\) has a parameter 'user'.*tau, p",
        ),
        (
            lambda: GlobalSync(aggregate=weigh),
            r'(?s)which vertices are aggregated is not said.*over="...".*user, item',
        ),
        (lambda: GlobalSync(aggregate=weigh, over="film"), "(?s)film.*user, item"),
        (
            lambda: GlobalSync(aggregate=wants_both),
            r"(?s)UDF wants_both .*'item'.*user, v, tau, p, rng",
        ),
        (lambda: GlobalSync(3), "was given 3"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ProgramError, match=message):
        start(TotalsOfAllKinds(), EDGES).prepare([make()])


def wants_user(user, tau):
    pass


def wants_both(user, item, tau):
    pass


def test_an_unknown_field_of_the_context_is_named():
    def wrong(tau):
        tau.rsme = 3.0

    with pytest.raises(
        ProgramError, match=r"tau has no field rsme \(fields: n read-only, .*, rmse, unset\)"
    ):
        drive(start(TotalsOfAllKinds(), EDGES), GlobalSync(wrong))
