"""Numbers of the context with formulas: metrics, measures of held-out data, and statistics."""

from types import FunctionType

import numpy as np
import pandas as pd
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both, start

import tux
from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    ForEach,
    GlobalSync,
    MiniBatch,
    Program,
    ProgramError,
    Repeat,
    Score,
    Vertex,
    data,
    mean_of,
    metric,
    metrics,
    param,
    shared,
    total,
    value,
)
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.engine.training import Training
from tux.program.program import evaluates, stages_of
from tux.program.stage import Cluster

RNG = np.random.default_rng(5)
VALUES = RNG.normal(3, 1, 60).astype(np.float32)
EDGES = EdgeData.of(("user", "item"), RNG.integers(0, 9, 60), RNG.integers(0, 7, 60), {"x": VALUES})
HELD = EdgeData.of(
    ("user", "item"), [0, 1, 2], [3, 4, 5], {"x": np.float32([1, 2, 4])}, against=EDGES.ids
)


def add(user, item, rating, tau):
    tau.squares += rating.x**2
    tau.n += 1


def double(tau):
    tau.twice = 2 * tau.rms


def rate(user, item, tau, p):
    return p.base + user.bias + item.bias


class BiasedRatings(Program):
    base: float = param(3.0, "a guess")
    epochs = 2
    user = item = Vertex(bias=shared("f8", init=0.5))
    rating = Edge("user", "item", x=data("f4"))
    tau = Context(
        mean=mean_of("x"),
        square=mean_of("x ** 2", kept=False),
        rms=metric("sqrt(squares / n) * base", squares=total(), n=total()),
        twice=value("f8"),
        test_rmse=metrics.rmse("x"),
        test_mae=metrics.mae("x"),
    )

    def stages(self):
        return [Exchange(add), Apply("user"), Apply("item"), GlobalSync(double)]

    def predict(self):
        return Score(rate)


RMS = 3.0 * np.sqrt(np.mean(VALUES.astype(float) ** 2))


def train(program, *, held=HELD, **options):
    worker = start(program, EDGES, held, **options)
    return list(Training(worker).epochs(2))[-1], worker


@both
def test_all_numbers_against_numpy(jit):
    record, worker = train(BiasedRatings(), jit=jit)
    assert worker.tau.mean == pytest.approx(VALUES.astype(float).mean())
    assert worker.tau.square == pytest.approx(np.mean(VALUES**2.0), rel=1e-6)
    assert record["rms"] == pytest.approx(RMS, rel=1e-6)
    errors = 4.0 - np.array([1, 2, 4])
    assert record["test_rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert record["test_mae"] == pytest.approx(np.mean(np.abs(errors)))


def test_a_formula_is_computed_before_the_function_of_its_global_sync():
    _, worker = train(BiasedRatings())
    assert worker.tau.twice == 2 * worker.tau.rms


@pytest.mark.parametrize(("k", "slack"), [(2, 0), (3, 2)])
def test_several_workers(k, slack):
    team = train_team(BiasedRatings(), EDGES, 2, HELD, k=k, slack=slack)
    one, worker = train(BiasedRatings(), jit=False)
    for name in ("rms", "test_rmse", "test_mae"):
        assert team.history(name)[-1] == pytest.approx(one[name])
    assert team.tau.mean == pytest.approx(worker.tau.mean)


def test_held_out_measures_are_left_out_where_nothing_is_held_out():
    record, _ = train(BiasedRatings(), held=None)
    assert "test_rmse" not in record and record["rms"] == pytest.approx(RMS, rel=1e-6)
    assert stages_of(BiasedRatings(), "evaluate", Cluster()) == []


class WithStages(BiasedRatings):
    """Ratings with stages of a test."""

    tau = Context(rms=metric("sqrt(squares / n) * base", squares=total(), n=total()))
    given = staticmethod(list)

    def stages(self):
        return type(self).given()


def with_stages(make):
    """Return the program whose stages `make` returns."""
    return type("Given", (WithStages,), {"given": staticmethod(make), "__module__": __name__})()


def is_enough(tau):
    return tau.rms > 0


PLACES = {
    "none": lambda: [Exchange(add)],
    "bare": lambda: [Exchange(add), GlobalSync()],
    "in blocks": lambda: [MiniBatch(Exchange(add), blocks=1), GlobalSync()],
    "in a mini-batch": lambda: [MiniBatch(Exchange(add), GlobalSync(), blocks=1)],
    "repeated": lambda: [Repeat(Exchange(add), GlobalSync(), times=2)],
    "until": lambda: [Repeat(Exchange(add), GlobalSync(), until=is_enough)],
}


@pytest.mark.parametrize("name", PLACES)
def test_the_global_sync_that_computes(name):
    record, worker = train(with_stages(PLACES[name]), held=None, jit=False)
    assert record["rms"] == pytest.approx(RMS, rel=1e-6)
    assert worker.tau.n == worker.tau.squares == 0  # they are taken


def count(user, item, rating, tau):
    tau.n += 1


def take(tau):
    pass


def add_norm(v, tau):
    tau.squares += v.bias


def test_an_aggregate_without_a_function_leaves_the_totals_to_others():
    stages = [
        Exchange(add),
        GlobalSync(aggregate=add_norm, over="user"),
        GlobalSync(aggregate=add_norm, over="item"),
    ]
    record, _ = train(with_stages(lambda: stages), held=None)
    norms = 0.5 * (len(EDGES.ids["user"]) + len(EDGES.ids["item"]))
    wanted = 3 * np.sqrt((np.sum(VALUES.astype(float) ** 2) + norms) / len(VALUES))
    assert record["rms"] == pytest.approx(wanted, rel=1e-6)


def test_a_formula_waits_for_all_of_its_totals():
    stages = [Exchange(count), GlobalSync(take), Exchange(add), GlobalSync(take)]
    first, second = (
        each
        for each in stages_of(with_stages(lambda: stages), "stages", Cluster())
        if isinstance(each, GlobalSync)
    )
    assert first.computes == () and second.computes == ("rms",)
    assert first is stages[1] and stages[3].computes == ()  # the user's own stay as they are


def test_statistics_follow_the_order_of_the_first_exchange():
    program = MF()
    first, *_ = stages_of(program, "setup", Cluster())
    assert first.role(program) == "item"


def probability(sample, edges, tau):
    score = 0.0
    for i in range(len(edges)):
        score += edges[i].x
    return score


class JudgedSamples(Program):
    epochs = 1
    sample = Vertex(label=data("f4"))
    feature = Vertex(w=shared())
    entry = Edge("sample", "feature", x=data("f4"), held_out="sample")
    tau = Context(loss=metrics.logloss("label"), right=metrics.accuracy("label"))

    def stages(self):
        return [ForEach("sample", ignore)]

    def predict(self):
        return Score(probability)


def ignore(sample):
    pass


@both
def test_scores_of_vertices(jit):
    labels = pd.DataFrame({"sample": range(5), "label": [1, -1, 1, -1, 1]})
    train = pd.DataFrame({"sample": [0, 1], "feature": [0, 1], "x": [1.0, 1.0]})
    test = pd.DataFrame(
        {"sample": [2, 2, 3, 4], "feature": [0, 1, 1, 0], "x": [0.5, 0.25, 0.25, 0.125]}
    )
    run = tux.run(JudgedSamples(), train, test=test, vertices={"sample": labels}, jit=jit)
    # scores 0.75, 0.25, 0.125 of labels 1, -1, 1
    assert run.history["loss"][-1] == pytest.approx(-np.mean(np.log([0.75, 0.75, 0.125])), rel=1e-6)
    assert run.history["right"][-1] == pytest.approx(2 / 3)


def test_a_program_that_only_measures_evaluates():
    class Plain(WithStages):
        pass

    assert evaluates(BiasedRatings) and evaluates(JudgedSamples()) and evaluates(MF)
    assert not evaluates(Plain)


# ---- refusals


def program_of(**context):
    """Return a program with these numbers in its context."""
    return type("Wrong", (BiasedRatings,), {"tau": Context(**context), "__module__": __name__})


def test_names_that_nothing_has():
    with pytest.raises(ProgramError, match=message("the-formula-of-tau-names", "sum", "base")):
        program_of(m=metric("sum / base"))
    with pytest.raises(ProgramError, match=message("the-formula-of-tau-names", "y", "x")):
        program_of(m=mean_of("y"))


def test_a_name_of_several_numbers():
    with pytest.raises(ProgramError, match=message("the-formula-of-tau-names", "several")):
        program_of(m=metric("several / 2", several=total(3)))


def test_totals_that_are_declared_twice():
    assert program_of(a=metric("n", n=total()), b=metric("2 * n", n=total()))
    with pytest.raises(ProgramError, match=message("context-field-is-a-reduction", "n")):
        Context(a=metric("n", n=total()), b=metric("2 * n", n=total(combine="max")))


def test_what_is_no_total():
    with pytest.raises(ProgramError, match=message("a-metric-is-given-which", "n")):
        metric("n", n=value())
    with pytest.raises(ProgramError, match=message("a-formula-is")):
        metric(n=total())


def test_a_formula_in_a_vertex():
    with pytest.raises(ProgramError, match=message("field-is-a-reduction-which", "Vertex")):
        Vertex(m=metric("n", n=total()))


def test_terms_of_a_measure():
    with pytest.raises(ProgramError, match=message("the-formula-names-which-no", "n")):
        metrics.measure("s / n", s="score")
    with pytest.raises(ProgramError, match=message("the-term-names", "user")):
        metrics.measure("s", s="score - user")


class PredictsNothing(WithStages):
    tau = Context(test_rmse=metrics.rmse("x"))

    def predict(self):
        return None


class MissesTruth(WithStages):
    tau = Context(test_rmse=metrics.rmse("y"))


def fill(user, edges, out):
    out[0] = 1


class WideScored(WithStages):
    tau = Context(test_rmse=metrics.rmse("x"))

    def predict(self):
        return Score(fill, width=2)


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (PredictsNothing, "tau-measures-what-predict-says"),
        (MissesTruth, "tau-measures-against-which-is"),
        (WideScored, "tau-measures-a-score-that"),
    ],
)
def test_what_cannot_be_measured(program, code):
    with pytest.raises(ProgramError, match=message(code, "test_rmse")) as error:
        stages_of(program(), "evaluate", Cluster(has_test=True))
    assert "test_formulas.py:" in error.value.where


def test_a_formula_of_which_one_total_is_never_added_to():
    with pytest.raises(ProgramError, match=message("tau-is-never-computed-no", "rms", "squares")):
        stages_of(with_stages(lambda: [Exchange(count), GlobalSync(take)]), "stages", Cluster())


def test_a_formula_of_totals_of_a_function_without_a_source():
    scope = {}
    text = "def hidden(user, tau):\n    tau.squares += 1\n    tau.n += 1"
    FunctionType(compile(text, "<nowhere>", "exec"), scope)()
    with pytest.raises(ProgramError, match=message("which-totals-adds-to-is", "hidden", "rms")):
        stages_of(with_stages(lambda: [Exchange(scope["hidden"])]), "stages", Cluster())
