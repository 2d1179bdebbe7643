"""The operators of vectors: each against numpy, on any number of workers; what is refused."""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team, ratings
from support.messages import message
from support.programs.programs import drive, start

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
    reduction,
    total,
    uniform,
    value,
)
from tux.base.errors import ProgramError
from tux.stages import (
    Add,
    Apply,
    Axpy,
    Copy,
    Div,
    Dot,
    Exchange,
    Fill,
    GlobalSync,
    MiniBatch,
    Mul,
    Nnz,
    Norm2,
    Repeat,
    Sub,
    Sum,
    Zip,
)

EDGES = ratings()[0]


def keep(item):
    item.got = item.gathered


class Vectors(Program):
    """Fields of all shapes."""

    factor: float = param(0.75)
    width: int = param(3)
    name: str = param("a")

    user = Vertex(f=value("f8"))
    item = Vertex(
        w=value("f8", init=uniform(-1, 1)),
        d=master("f8", init=uniform(1, 2)),
        s=master("f8", "width", init=uniform(-1, 1)),
        t=value("f8", "width", init=uniform(1, 2)),
        cube=master("f8", 2, "width", init=uniform(-1, 1)),
        single=value("f4", init=uniform(-1, 1)),
        n=value("i4", init=3),
        got=value("f8"),
        there=value("b1"),
        gathered=delta("f8"),
        own=mirror("f8"),
        other=master("f8", 4),
    )
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(
        alpha=value("f8", init=0.5),
        steps=value("f8", "width", init=0.25),
        at=value("i8", init=1),
        count=value("u4", init=3),
        large=value("u8", init=3),
        width=value("i8"),
        out=reduction(),
        shown=reduction(reported=True),
        loss=total(),
        kept=value("f8"),
    )


A, AT, P = 0.5, 1, 0.75  # tau.alpha, tau.at, p.factor
COLUMNS = [
    (Copy("item", "d", "w"), "d", lambda v: v.w),
    (Copy("item", "s", "t"), "s", lambda v: v.t),
    (Fill("item", "there", 1), "there", lambda v: v.w == v.w),
    (Fill("item", "w", 2), "w", lambda v: v.w * 0 + 2),
    (Fill("item", "d", float("-inf")), "d", lambda v: v.w * 0 - np.inf),
    (Fill("item", "cube[0]", "factor"), "cube", lambda v: set_(v.cube, 0, P)),
    (Axpy("item", "w", "d", by="alpha"), "w", lambda v: v.w + A * v.d),
    (Axpy("item", "w", "d", by="-factor"), "w", lambda v: v.w - P * v.d),
    (Axpy("item", "w", "d", by="-count"), "w", lambda v: v.w - 3 * v.d),
    (Axpy("item", "w", "d", by="-large"), "w", lambda v: v.w - 3 * v.d),
    (Add("item", "n", by="-count"), "n", lambda v: v.n - 3),
    (Axpy("item", "s", "t", by="-steps[at]"), "s", lambda v: v.s - 0.25 * v.t),
    (Axpy("item", "d", "s[at]", by=-1.5), "d", lambda v: v.d - 1.5 * v.s[:, AT]),
    (Axpy("item", "s[2]", "w", by=2), "s", lambda v: set_(v.s, 2, v.s[:, 2] + 2 * v.w)),
    (Axpy("item", "cube", "cube", by=0.5), "cube", lambda v: 1.5 * v.cube),
    (Axpy("item", "s", "cube[at]", by=0.5), "s", lambda v: v.s + v.cube[:, AT] / 2),
    (Axpy("item", "single", "w", by="alpha"), "single", lambda v: v.single + A * v.w),
    (Add("item", "w", "d"), "w", lambda v: v.w + v.d),
    (Add("item", "n", by=4), "n", lambda v: v.n + 4),
    (Sub("item", "s", "t"), "s", lambda v: v.s - v.t),
    (Mul("item", "w", "d"), "w", lambda v: v.w * v.d),
    (Mul("item", "w", by="-alpha"), "w", lambda v: v.w * -A),
    (Div("item", "w", "d"), "w", lambda v: v.w / v.d),
    (Div("item", "s[at]", by="alpha"), "s", lambda v: set_(v.s, AT, v.s[:, AT] / A)),
]
ROWS = [
    (Dot("item", "w", "d", into="out"), lambda v: v.w @ v.d),
    (Dot("item", "s[at]", "d", into="out"), lambda v: v.s[:, AT] @ v.d),
    (Dot("item", "s", "t", into="out"), lambda v: (v.s * v.t).sum()),
    (Sum("item", "cube[0]", into="out"), lambda v: v.cube[:, 0].sum()),
    (Sum("item", "n", into="out"), lambda v: v.n.sum()),
    (Norm2("item", "single", into="out"), lambda v: np.linalg.norm(v.single.astype("f8"))),
    (Norm2("item", "s", into="out"), lambda v: np.linalg.norm(v.s)),
    (Nnz("item", "t", into="out"), lambda v: np.count_nonzero(v.t)),
    (Nnz("item", "there", into="out"), lambda v: 0),
]


def label(case):
    return getattr(case, "label", "")


def set_(array, at, values):
    out = array.copy()
    out[:, at] = values
    return out


def fields(team):
    return Row(**{f: team.gather("item", f) for f in Vectors.vertices["item"].fields})


class VectorsWithoutWidth(Vectors):
    """Without the field of tau that has the name of a parameter."""

    tau = Context(**{n: f for n, f in Vectors.context.fields.items() if n != "width"})


def teams(**options):
    return [Team(VectorsWithoutWidth(), EDGES, k=k, **options) for k in (1, 2, 3)]


@pytest.mark.slow(after=10)
@pytest.mark.parametrize(("stage", "field", "oracle"), COLUMNS, ids=label)
def test_column_operators_are_those_of_numpy(stage, field, oracle):
    for team in teams():
        before = fields(team)
        team.drive(lambda _: stage)
        expected = oracle(before).astype(getattr(before, field).dtype)
        np.testing.assert_allclose(team.gather("item", field), expected, rtol=1e-15, atol=0)
        kind = Vectors.vertices["item"].fields[field].kind
        assert kind == "master" or team.agrees("item", field)  # mirrors see it


@pytest.mark.parametrize(("stage", "oracle"), ROWS, ids=label)
def test_row_operators_are_those_of_numpy(stage, oracle):
    for team in teams():
        team.drive(lambda _: stage)
        assert [worker.tau.out for worker in team.workers] == [team.tau.out] * len(team.workers)
        assert team.tau.out == pytest.approx(oracle(fields(team)), rel=1e-12)


SOME = [
    *(COLUMNS[at][0] for at in (2, 8, 12, 13)),
    *(ROWS[at][0] for at in (2, 8)),
]


@pytest.mark.slow
def test_compiled_operators_are_those_of_plain_python():
    compiled, plain = (
        drive(start(VectorsWithoutWidth(), EDGES, jit=jit), *SOME) for jit in (True, False)
    )
    for name, array in plain.tables["item"].arrays.items():
        np.testing.assert_allclose(compiled.tables["item"].arrays[name], array, rtol=1e-14)
    assert compiled.tau.out == pytest.approx(plain.tau.out, rel=1e-12)


def test_their_functions_can_be_called_as_plain_python():
    call = Axpy("item", "w", "d", by="alpha").calls(VectorsWithoutWidth(), "")[0]
    v = Row(w=1.0, d=4.0)
    call.udf(v, Row(alpha=0.5))
    assert v.w == 3
    found = {f"{row}.{f}": set(kinds) for (row, f), kinds in call.effects.found.items()}
    assert found == {"v.w": {"add"}, "v.d": {"read"}, "tau.alpha": {"read"}}


def meet(item, tau):
    item.w, item.d = item.d, item.w
    tau.loss += item.w


def take(tau):
    tau.kept = tau.loss


def offer(user, item, tau):
    item.gathered += 1
    tau.loss += 1


def test_a_function_on_all_fields_sees_deltas_if_it_gathers():
    for team in teams():
        before = fields(team)
        team.drive(lambda _: Zip("item", meet), lambda _: GlobalSync(take))
        np.testing.assert_array_equal(team.gather("item", "w"), before.d)
        assert team.tau.kept == pytest.approx(before.d.sum())
        stages = Exchange(offer), Zip("item", keep, gather=True), GlobalSync(take)
        team.drive(*[lambda _, stage=stage: stage for stage in stages])
        assert team.gather("item", "got").sum() == team.tau.kept == len(EDGES)


def test_totals_of_others_stay():
    """Whatever operators come between."""
    stages = [Exchange(offer), ROWS[0][0], Apply("item", keep), Sum("item", "got", into="shown")]
    for team in teams():
        make = [lambda _, stage=stage: stage for stage in [*stages, GlobalSync(take)]]
        team.drive(*make).drive(*make)
        assert team.tau.kept == team.tau.shown == len(EDGES)
        assert team.tau.loss == 0


def enough(tau):
    return bool(tau.out < 1)


def test_they_stand_in_mini_batches_and_repeats():
    """In a block too, they concern all vertices; a Repeat may end with a sum."""
    for team in teams():
        before = fields(team)
        team.drive(
            lambda _: MiniBatch(
                Exchange(offer), Apply("item", keep), Mul("item", "d", by=2), blocks=3
            ),
            lambda _: GlobalSync(take),
            lambda _: Repeat(
                Mul("item", "w", by=0.5), Norm2("item", "w", into="out"), until=enough
            ),
        )
        np.testing.assert_allclose(team.gather("item", "d"), before.d * 8)
        assert 0.25 < team.tau.out < 1 and team.agrees("item", "w")


def forward(tau):
    tau.at = (tau.at + 1) % 3


def test_operators_come_in_the_order_of_the_program_at_any_slack():
    for team in teams(slack=2):
        v = fields(team)
        gram_schmidt = [
            Dot("item", "s[at]", "w", into="out"),
            Axpy("item", "w", "s[at]", by="-out"),
            GlobalSync(forward),
        ]
        stages = [Repeat(*gram_schmidt, times="width"), Norm2("item", "w", into="shown")]
        team.drive(*[lambda _, stage=stage: stage for stage in stages], slack=2)
        for at in (1, 2, 0):
            v.w -= (v.s[:, at] @ v.w) * v.s[:, at]
        np.testing.assert_allclose(team.gather("item", "w"), v.w, rtol=1e-12)
        assert team.tau.shown == pytest.approx(np.linalg.norm(v.w), rel=1e-12)


WRONG = [
    (lambda: Dot("page", "w", "d", into="out"), "'page' is no vertex type"),
    (lambda: Dot("item", "w", "x", into="out"), "item has no field x"),
    (lambda: Dot("item", "w", "gathered", into="out"), "item.gathered is a delta"),
    (lambda: Copy("item", "w", "own"), "item.own is a mirror field"),
    (lambda: Dot("item", "w", "s", into="out"), "w is one number, and s is [3]"),
    (lambda: Copy("item", "s", "other"), "s is [3], and other is [4]"),
    (lambda: Dot("item", "w", "d", into="slope"), "tau has no 'slope'"),
    (lambda: Dot("item", "w", "d", into="alpha"), "tau.alpha is no reduction"),
    (lambda: Axpy("item", "w", "d", by="beta"), "'beta' is neither a field of tau nor a param"),
    (lambda: Axpy("item", "w", "d", by="name"), "'name' is neither a field of tau nor a param"),
    (lambda: Axpy("item", "w", "d", by="width"), "width is a field of tau and a parameter"),
    (lambda: Axpy("item", "w", "d", by="steps"), "tau.steps has several numbers"),
    (lambda: Axpy("item", "w", "d", by="loss"), "tau.loss is a total"),
    (lambda: Axpy("item", "w", "d", by=None), "is given None"),
    (lambda: Fill("item", "w", float("nan")), "is given NaN"),
    (lambda: Copy("item", "w", "s[3]"), "s has 3 entries, and no [3]"),
    (lambda: Copy("item", "w", "s[alpha]"), "the index alpha is no whole number"),
    (lambda: Copy("item", "w", "d[at]"), "d is one number, and has no entry [at]"),
    (lambda: Mul("item", "n", by="alpha"), "item.n has whole numbers"),
    (lambda: Div("item", "n", "n"), "item.n has whole numbers"),
    (lambda: Add("item", "there", "there"), "item.there has truth values"),
    (lambda: Add("item", "w"), "needs either a second field or by"),
    (lambda: Copy("item", "w", 3), "is given 3 as a field"),
    (lambda: Copy("item", "w", "a.b"), "is given 'a.b' as a field"),
]


@pytest.mark.parametrize(("make", "what"), WRONG, ids=[what for _, what in WRONG])
def test_what_does_not_fit_is_refused(make, what):
    with pytest.raises(ProgramError) as refused:
        start(Vectors(), EDGES, jit=False).prepare([make()])
    assert what in refused.value.what and refused.value.do
    assert refused.value.where.startswith(__file__)


def test_an_operator_is_called_as_it_is_written():
    made = Copy("item", "w", "s[at]"), Axpy("item", "w", "d", by="-out"), Fill("item", "w", 0.5)
    assert [each.label for each in made] == [
        "Copy(item, w, s[at])",
        "Axpy(item, w, d, by=-out)",
        "Fill(item, w, by=0.5)",
    ]


class GivenVectors(Program):
    item = Vertex(w=value("f8"), given=data("f8"))
    link = Edge("item", "item")


def test_a_data_field_is_read_and_not_changed():
    row = Row(w=1.0, given=3.0)
    Copy("item", "w", "given").expand(GivenVectors()).f(row)
    assert row.w == 3.0
    with pytest.raises(ProgramError, match="item.given is a data field, which is read-only"):
        Copy("item", "given", "w").expand(GivenVectors())


def test_reductions_belong_to_the_context():
    with pytest.raises(ProgramError, match=message("field-is-a-reduction-which")):
        Vertex(x=reduction())
    with pytest.raises(ProgramError, match=message("context-field-is-a-reduction", "x_total")):
        Context(x=reduction(), x_total=value())
