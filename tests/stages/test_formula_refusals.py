"""Formulas, measures and means that are refused, each with what is wrong."""

from types import FunctionType

import pytest
from support.messages import message
from support.programs.formula_programs import (
    EDGES,
    WithStages,
    add,
    count,
    program_of,
    take,
    train,
    with_stages,
)
from support.programs.programs import both, start

from tux import (
    Context,
    DataError,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    ProgramError,
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
from tux.engine.training import Training
from tux.program.program import stages_of
from tux.program.stage import Cluster


def test_names_that_nothing_has():
    with pytest.raises(ProgramError, match=message("the-formula-names", "sum", "base")):
        program_of(m=metric("sum / base"))
    with pytest.raises(ProgramError, match=message("the-formula-names", "y", "x")):
        program_of(m=mean_of("y"))


def test_a_name_of_several_numbers():
    with pytest.raises(ProgramError, match=message("the-formula-names", "several numbers")):
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
    assert "test_formula_refusals.py:" in error.value.where


def test_a_formula_of_which_one_total_is_never_added_to():
    with pytest.raises(ProgramError, match=message("tau-is-never-computed-no", "rms", "squares")):
        stages_of(with_stages(lambda: [Exchange(count), GlobalSync(take)]), "stages", Cluster())


def test_a_formula_of_totals_of_a_function_without_a_source():
    scope = {}
    text = "def hidden(user, tau):\n    tau.squares += 1\n    tau.n += 1"
    FunctionType(compile(text, "<nowhere>", "exec"), scope)()
    with pytest.raises(ProgramError, match=message("which-totals-adds-to-is", "hidden", "rms")):
        stages_of(with_stages(lambda: [Exchange(scope["hidden"])]), "stages", Cluster())


def test_formulas_in_a_circle():
    with pytest.raises(ProgramError, match=message("the-formula-of-tau-names", "a", "b")):
        program_of(a=metric("b + n", n=total()), b=metric("a + 1"))


def test_a_formula_of_nothing_that_changes():
    with pytest.raises(ProgramError, match=message("the-formula-of-tau-names-2", "base")):
        program_of(a=metric("2 * base"))


def test_a_name_of_a_parameter_and_of_a_number():
    with pytest.raises(ProgramError, match=message("the-formula-of-tau-names-3", "base")):
        program_of(a=metric("n * base", n=total(), base=total()))


def test_a_metric_has_no_name_of_the_record():
    with pytest.raises(ProgramError, match=message("cannot-name-a-metric-the", "seconds")):
        program_of(seconds=metric("n", n=total()))
    with pytest.raises(ProgramError, match=message("cannot-name-a-metric-the", "epoch")):
        program_of(epoch=metric())


def test_terms_and_truths_that_mean_nothing():
    with pytest.raises(ProgramError, match=message("the-formula-does-not-name", "n")):
        metrics.measure("s / 5", s="score", n="1")
    with pytest.raises(ProgramError, match=message("the-formula-names-which-no", "score")):
        metrics.measure("s / score", s="truth")
    for truth in ("", value):
        with pytest.raises(ProgramError, match=message("a-measure-is-given-as")):
            metrics.rmse(truth)


@pytest.mark.filterwarnings("ignore:invalid value")
@both
def test_a_mean_that_is_no_number(jit):
    program = program_of(m=mean_of("log(x - 100)"), squares=total(), n=total())
    with pytest.raises(DataError, match=message("the-mean-of-over-the", "log")):
        train(program(), held=None, jit=jit)


def set_rms(tau):
    tau.rms = 7.0


def test_a_function_does_not_set_what_a_formula_computes():
    with pytest.raises(ProgramError, match="tau.rms is read-only here"):
        train(with_stages(lambda: [Exchange(add), GlobalSync(set_rms)]), held=None)


def rate_by_mean(user, item, tau):
    return tau.mean


def test_a_score_reads_numbers_of_the_model():
    program = program_of(mean=mean_of("x", kept=False), test_rmse=metrics.rmse("x"))
    program.predict = lambda self: Score(rate_by_mean)
    with pytest.raises(ProgramError, match=message("which-tau-measures-reads-tau", "tau.mean")):
        stages_of(program(), "evaluate", Cluster(has_test=True))


def test_scores_that_are_no_probabilities_have_no_log_loss():
    given = {"a": metrics.logloss("x"), "b": metrics.accuracy("x")}
    record, _ = train(program_of(**given, squares=total(), n=total(), twice=value(), rms=value())())
    assert "a" not in record and "b" not in record


class ConvergingRatings(WithStages):
    def stages(self):
        return [Exchange(add)]

    def converged(self, metrics):
        return metrics["test_rmse"] < 0

    tau = Context(
        rms=metric("sqrt(squares / n)", squares=total(), n=total()), test_rmse=metrics.rmse("x")
    )


def test_convergence_by_a_metric_without_a_value():
    with pytest.raises(ProgramError, match=message("converged-reads-of-which-this", "rms")):
        train(ConvergingRatings(), held=None)


def change(user, item):
    user.bias += 1
    return user.bias


def forget(user, item):
    user.bias + 1.0


def test_a_score_that_changes_a_field():
    program = program_of(test_rmse=metrics.rmse("x"))
    program.predict = lambda self: Score(change)
    with pytest.raises(ProgramError, match=message("changes-and-predict-may-change", "user.bias")):
        stages_of(program(), "evaluate", Cluster())


@both
def test_a_score_that_returns_nothing(jit):
    program = program_of(test_rmse=metrics.rmse("x"), squares=total(), n=total(), twice=value())
    program.predict = lambda self: Score(forget)
    program.stages = lambda self: [Exchange(add), GlobalSync(take)]
    with pytest.raises(ProgramError, match=r"UDF measure|Exchange\(test_rmse\) has raised"):
        train(program(), jit=jit)


def test_a_total_of_a_measure_that_is_declared_too():
    with pytest.raises(ProgramError, match=message("context-field-is-a-reduction", "test_n")):
        Context(test=metrics.rmse(), test_n=total())


def judge(sample, edges):
    return len(edges) / 9


class CutSamples(Program):
    sample = Vertex(label=data("f4"))
    entry = Edge("sample", "feature")
    feature = Vertex(w=shared())
    tau = Context(loss=metrics.logloss("label"))

    def stages(self):
        return []

    def predict(self):
        return Score(judge)


def test_samples_whose_held_out_edges_lie_anywhere():
    with pytest.raises(ProgramError, match=message("a-measure-judges-each-by", "sample")):
        stages_of(CutSamples(), "evaluate", Cluster())


class RemoteEnds(Program):
    user = item = Vertex(remote=True, bias=shared())
    rating = Edge("user", "item", x=data("f4"))
    tau = Context(mean=mean_of("x"))

    def stages(self):
        return []


def test_edges_of_a_remote_type():
    with pytest.raises(ProgramError, match=message("visits-edges-of-a-remote", "user")):
        Training(start(RemoteEnds(), EDGES, jit=False))
