"""Apply: the UDF runs once on each master, deltas are combined and cleared, and what it may see
and change.
"""

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both, both_later, column, drive, points_at, start

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
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

#   a --5-- 1       held out:  d ---- 1
#    `--2--.
#   b --7-- 2
EDGES = from_arrays(["a", "a", "b"], [1, 2, 2], ends=("user", "item"), value=np.int32([5, 2, 7]))
HELD = EdgeData.of(("user", "item"), ["d"], [1], {"value": np.int32([0])}, against=EDGES.ids)


class KindsOfFields(Program):
    """A user with every kind of field; deltas of every combination."""

    step: float = param(0.5)

    user = Vertex(
        **{kind: delta("i4", combine=kind) for kind in ("sum", "min", "max")},
        pair=delta("f4", 2),
        a=value("i4", 3),
        b=value("f8"),
        c=master("i8", init=10),
        d=shared("i8"),
        e=mirror("i8"),
    )
    item = Vertex(n=shared("i8"), draw=value("f8"))
    rating = Edge("user", "item", value=data("i4"))
    tau = Context(n=total("i8"), fixed=value("f8"))

    def stages(self):
        return [Exchange(send), Apply("user", take)]


def send(user, rating):
    user.sum += rating.value
    user.min = min(user.min, rating.value)
    user.max = max(user.max, rating.value)
    user.pair[1] += 0.5


def take(user, tau, p):
    user.a[0], user.a[1], user.a[2] = user.sum, user.min, user.max
    user.b = user.pair[1] * p.step
    user.c += 1
    user.d += user.sum
    tau.n += 1


@both
def test_deltas_are_combined_then_cleared(jit):
    worker = start(KindsOfFields(), EDGES, HELD, jit=jit)
    stages = worker.prepare(worker.program.stages())
    for _ in range(2):
        worker.run(stages)
    a, known = column(worker, "user", "a").tolist(), 2
    assert a[:known] == [[7, 2, 5], [7, 7, 7]] and column(worker, "user", "b")[:known].tolist() == [
        0.5,
        0.25,
    ]
    assert column(worker, "user", "c").tolist() == [12, 12, 10] and column(
        worker, "user", "d"
    ).tolist() == [14, 14, 0]
    arrays = worker.tables["user"].arrays
    assert worker.tau.n == 4 and (arrays["sum"] == 0).all() and (arrays["pair"] == 0).all()
    assert (arrays["min"] == 2**31 - 1).all() and (arrays["max"] == -(2**31)).all()


def by_v(v, tau):
    v.n += 1
    tau.n += 1


@pytest.mark.long
@both
def test_the_vertex_is_also_v(jit):
    worker = drive(start(KindsOfFields(), EDGES, jit=jit), Apply("item", by_v))
    assert column(worker, "item", "n").tolist() == [1, 1] and worker.tau.n == 2


def draw(item, rng):
    item.draw = rng.normal()


@both_later
def test_random_numbers_depend_on_the_vertex_alone(jit):
    stages = [
        lambda: Apply("item", draw),
        lambda: MiniBatch(Apply("item", draw), over="item", vertices=1),
    ]
    draws = [
        column(drive(start(KindsOfFields(), EDGES, HELD, jit=jit), make()), "item", "draw").tolist()
        for make in stages
    ]
    assert draws[0] == draws[1] and draws[0][0] != draws[0][1]
    plain = column(
        drive(start(KindsOfFields(), EDGES, jit=False), Apply("item", draw)), "item", "draw"
    )
    np.testing.assert_allclose(draws[0], plain, rtol=1e-12)


def test_a_vertex_draws_anew_in_each_block_that_touches_it():
    seen = []

    def note(item, rng):
        seen.append(rng.uniform())

    drive(
        start(KindsOfFields(), EDGES, jit=False),
        MiniBatch(Exchange(send_nothing, over="user"), Apply("item", note), vertices=1),
    )
    assert len(seen) == 3 and len(set(seen)) == 3


def send_nothing(item):
    item.n += 0


def test_without_a_udf_there_is_nothing_to_do():
    worker = start(KindsOfFields(), EDGES)
    before = {name: array.copy() for name, array in worker.tables["item"].arrays.items()}
    drive(worker, Apply("item"))
    assert all(
        np.array_equal(before[name], array) for name, array in worker.tables["item"].arrays.items()
    )


def writes_delta(user):
    user.sum = 3


def reads_mirror(user):
    user.c += user.e


def writes_context_value(item, tau):
    tau.fixed = 3.0


@pytest.mark.parametrize(
    ("over", "udf", "message", "plain"),
    [
        ("user", writes_delta, "user.sum is read-only", "ValueError"),
        ("user", reads_mirror, "'?e'?", "AttributeError"),
        ("item", writes_context_value, "tau.fixed is read-only", "ValueError"),
    ],
)
def test_what_apply_may_not_do(over, udf, message, plain):
    with pytest.raises(ProgramError, match=message) as error:
        start(KindsOfFields(), EDGES).prepare([Apply(over, udf)])
    assert points_at(error.value, udf), str(error.value)
    with pytest.raises(ProgramError, match=f"has raised {plain}"):
        drive(start(KindsOfFields(), EDGES, jit=False), Apply(over, udf))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Apply("film"), r"(?s)Apply\(film\): 'film' is no vertex type.*user, item"),
        (lambda: Apply("user"), r'(?s)Apply\(user\) would lose delta user.sum.*Apply\("user", f\)'),
        (
            lambda: Apply("user", by_v_and_item),
            r"(?s)UDF by_v_and_item of Apply\(user, by_v_and_item\).*'item'.*user, v, tau, p, rng",
        ),
        (lambda: Apply("item", len), "was given <built-in function len>"),
        (lambda: Apply("item", 3), "was given 3"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ProgramError, match=message):
        start(KindsOfFields(), EDGES).prepare([make()])


def by_v_and_item(v, item):
    v.d = item.n


def test_a_delta_that_no_apply_takes_is_an_error():
    class Lost(KindsOfFields):
        def stages(self):
            return [Exchange(send)]

    from tux.engine.training import Training

    with pytest.raises(ProgramError, match="user.sum"):
        Training(start(Lost(), EDGES, jit=False))


class DecidesOnMasters(Program):
    """Items count their edges; a decision on the masters alone comes between counting and
    telling.
    """

    item = Vertex(
        seen=delta("i8"),
        total=value("i8"),
        decided=value("i8"),
        times=master("i8"),
        told=mirror("i8"),
    )
    user = Vertex()
    link = Edge("user", "item")
    tau = Context(asked=total("i8"))

    def stages(self):
        def count(item):
            item.seen += 1

        def decide(item, tau):
            item.times += 1
            item.decided = 10 * item.times + item.total
            tau.asked += 1

        def tell(item):
            item.total += item.seen

        def hear(item):
            item.told = item.decided

        return [
            Exchange(count),
            Apply("item", decide, gather=False),
            Exchange(hear),
            Apply("item", tell),
            GlobalSync(lambda tau: None),
        ]


@pytest.mark.slow
@pytest.mark.parametrize(("k", "jit"), [(1, True), (1, False), (2, False), (3, False)])
def test_masters_may_decide_without_asking_their_mirrors(k, jit):
    edges = from_arrays([0, 1, 2, 3, 3], [7, 7, 7, 7, 8], ends=("user", "item"))
    team = train_team(DecidesOnMasters(), edges, 2, k=k, jit=jit, by=np.arange(5) % k)
    assert team.gather("item", "total").tolist() == [8, 2] and team.gather(
        "item", "decided"
    ).tolist() == [24, 21]
    assert team.agrees("item", "decided")
    for worker in team.workers:
        known = worker.graph.vertices["item"].n_train
        assert np.array_equal(
            column(worker, "item", "told")[:known], column(worker, "item", "decided")[:known]
        )


def sees_delta(user):
    user.a[0] = user.sum


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (Apply("user", sees_delta, gather=False), "sum"),
        (Apply("item", gather=False), "does nothing"),
    ],
)
def test_who_gathers_nothing_sees_nothing_gathered(stage, told):
    with pytest.raises(ProgramError, match=told):
        drive(start(KindsOfFields(), EDGES, jit=False), stage)


def test_a_decision_is_no_gathering():
    class Lost(DecidesOnMasters):
        def stages(self):
            stages = super().stages()
            return [*stages[:3], stages[-1]]

    with pytest.raises(ProgramError, match=message("nothing-takes-the-delta", "item", "seen")):
        train_team(Lost(), from_arrays([0], [7], ends=("user", "item")), 1, k=1)
