"""Numbers of the context with formulas: metrics, measures of held-out data, and statistics."""

import numpy as np
import pandas as pd
import pytest
from support.machines.team import train_team
from support.programs.formula_programs import (
    EDGES,
    HELD,
    VALUES,
    BiasedRatings,
    WithStages,
    add,
    count,
    program_of,
    take,
    train,
    with_stages,
)
from support.programs.programs import both

import tux
from tux import (
    Context,
    Edge,
    Exchange,
    ForEach,
    GlobalSync,
    MiniBatch,
    Program,
    Repeat,
    Score,
    Vertex,
    data,
    mean_of,
    metric,
    metrics,
    shared,
    total,
    value,
)
from tux.apps.mf.mf import MF
from tux.program.program import evaluates, stages_of
from tux.program.stage import Cluster
from tux.stages.program_stages import needs_held_out

RMS = 3.0 * np.sqrt(np.mean(VALUES.astype(float) ** 2))


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
    measured, everything = (
        stages_of(BiasedRatings(), "evaluate", Cluster(has_test=each)) for each in (False, True)
    )  # the same, so that random numbers of stages behind them are
    assert [each.label for each in measured] == [each.label for each in everything]


def test_numbers_that_only_held_out_data_give():
    program, names = BiasedRatings(), BiasedRatings.context.fields
    for has_test, missing in ((False, {"test_rmse", "test_mae"}), (True, set())):
        cluster = Cluster(has_test=has_test)
        assert {name for name in names if needs_held_out(program, cluster, name)} == missing


def is_enough(tau):
    return tau.rms > 0


PLACES = {
    "none": lambda: [Exchange(add)],
    "bare": lambda: [Exchange(add), GlobalSync()],
    "in blocks": lambda: [MiniBatch(Exchange(add), blocks=1), GlobalSync()],
    "in a mini-batch": lambda: [MiniBatch(Exchange(add), GlobalSync(), blocks=1)],
    "in each block": lambda: [MiniBatch(Exchange(add), GlobalSync(), blocks=2)],
    "repeated": lambda: [Repeat(Exchange(add), GlobalSync(), times=2)],
    "until": lambda: [Repeat(Exchange(add), GlobalSync(), until=is_enough)],
}


@pytest.mark.parametrize("name", PLACES)
def test_the_global_sync_that_computes(name):
    record, worker = train(with_stages(PLACES[name]), held=None, jit=False)
    assert record["rms"] == pytest.approx(RMS, rel=1e-6)
    assert worker.tau.n == worker.tau.squares == 0  # they are taken


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


def test_numbers_that_formulas_name_are_computed_first():
    program = program_of(
        over=metric("rms - last"),
        last=value("f8", init=1.0),
        rms=metric("sqrt(squares / n)", squares=total(), n=total()),
        gap=metric("test_rmse - rms"),
        test_rmse=metrics.rmse("x"),
        twice=value("f8"),
        mean=mean_of("x"),
    )
    record, worker = train(program())
    assert record["over"] == pytest.approx(record["rms"] - 1)
    assert record["gap"] == pytest.approx(record["test_rmse"] - record["rms"])
    assert worker.tau.twice == pytest.approx(2 * record["rms"])


def test_a_formula_of_means_alone_is_reported_in_each_epoch():
    program = program_of(
        mean=mean_of("x"),
        square=mean_of("x ** 2"),
        deviation=metric("sqrt(square - mean ** 2)"),
        squares=total(),
        n=total(),
        twice=value(),
        rms=value(),
    )
    record, _ = train(program())
    assert record["deviation"] == pytest.approx(np.std(VALUES.astype(float)), rel=1e-5)


def test_an_aggregate_that_is_the_last_computes():
    stages = Repeat(Exchange(add), GlobalSync(aggregate=add_norm, over="user"), until=is_enough)
    record, _ = train(with_stages(lambda: [stages]), held=None)
    norms = 0.5 * len(EDGES.ids["user"])
    wanted = 3 * np.sqrt((np.sum(VALUES.astype(float) ** 2) + norms) / len(VALUES))
    assert record["rms"] == pytest.approx(wanted, rel=1e-6)


class EvaluatedRatings(WithStages):
    """Ratings whose evaluation adds to the totals of a training metric."""

    tau = Context(rms=metric("sqrt(squares / n) * base", squares=total(), n=total()), held=metric())

    def stages(self):
        return [Exchange(add)]

    def evaluate(self):
        return [Exchange(add, held_out=True), GlobalSync(set_held)]


def set_held(tau):
    tau.held = np.sqrt(tau.squares / tau.n)


def test_evaluation_leaves_training_metrics_alone():
    record, _ = train(EvaluatedRatings())
    assert record["rms"] == pytest.approx(RMS, rel=1e-6)
    assert record["held"] == pytest.approx(np.sqrt(7))


def sum_entries(edges):
    return 0.5


class NamelessSamples(JudgedSamples):
    def predict(self):
        return Score(sum_entries, over="sample")


def test_a_score_that_does_not_name_its_vertex():
    assert stages_of(NamelessSamples(), "evaluate", Cluster())[0].over == "sample"
