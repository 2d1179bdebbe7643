"""Score per vertex: a number, or a row of numbers, for each vertex of one type, by the edges
that are held out.
"""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.messages import message
from support.programs.programs import both, both_later, column, drive, run_steps, start

from tux import Context, Edge, Program, Vertex, data, param, shared, total, uniform, value
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange, Score

# held out s0: f0 w=2, f1 w=3 s7: f1 w=5, f1 w=7 s9: nothing s3: f2 w=1 (s7, s9 and s3 are new, in
# this order)
TRAIN = from_arrays([0, 1, 2], [0, 1, 2], ends=("sample", "feature"), w=np.ones(3, np.float32))


def make_held_out():
    known, order = len(TRAIN.ids["sample"]), np.array([7, 9, 3])
    ids = dict(TRAIN.ids) | {
        "sample": type(TRAIN.ids["sample"])(np.concatenate([TRAIN.ids["sample"].values, order]))
    }
    fields = {"w": np.float32([1, 5, 3, 2, 7])}
    src, dst = np.int32([known + 2, known, 0, 0, known]), np.int32([2, 1, 1, 0, 1])
    return EdgeData(TRAIN.ends, ids, src, dst, fields)


HELD = make_held_out()
# by dense index of samples
W = np.array([[2, 3, 0], [0, 0, 0], [0, 0, 0], [0, 12, 0], [0, 0, 0], [0, 0, 1.0]])


class ScoredSamples(Program):
    """Something to read from the other end."""

    parts: int = param(3, "how many columns")
    bias: float = param(0.5)
    sample = Vertex(y=value("f4", init=2))
    feature = Vertex(x=shared("f8", init=uniform()))
    entry = Edge("sample", "feature", w=data("f4"))
    tau = Context(mean=value("f8", init=7))


def product(sample, edges, tau, p):
    total = 0.0
    for edge in edges:
        total += edge.w * edge.feature.x
    return total + sample.y + tau.mean + p.bias


def spread(edges, out, p):
    for edge in edges:
        for k in range(p.parts):
            out[k] += edge.w * (k + 1)


def walk(sample, feature):
    pass


@both
def test_a_number_for_each_vertex(jit):
    worker = start(ScoredSamples(), TRAIN, HELD, jit=jit)
    (step,) = run_steps(worker, Score(product, over="sample"))
    x = column(worker, "feature", "x")
    assert step.scores.dtype == np.float64
    np.testing.assert_allclose(step.scores, W @ x + 9.5)
    worker.tables["tau"].arrays["mean"][0] = 0
    step.run()
    np.testing.assert_allclose(step.scores, W @ x + 2.5)


@both_later
@pytest.mark.parametrize(("width", "columns"), [("parts", 3), (4, 4)])
def test_a_row_for_each_vertex(jit, width, columns):
    worker = start(ScoredSamples(), TRAIN, HELD, jit=jit)
    _, step = run_steps(
        worker, Exchange(walk, held_out=True), Score(spread, over="sample", width=width)
    )
    expected = np.zeros((6, columns))
    expected[:, :3] = W.sum(1)[:, None] * [1, 2, 3]
    for _ in range(2):  # rows are zeros again before each run
        assert step.scores.dtype == np.float32 and step.scores.shape == (6, columns)
        np.testing.assert_allclose(step.scores, expected)
        step.run()


@both
def test_either_end_can_be_asked(jit):
    worker, stage = start(ScoredSamples(), TRAIN, HELD, jit=jit), Score(mine)
    (step,) = run_steps(worker, stage)
    np.testing.assert_allclose(step.scores, [4, 24 + 6, 2])
    assert (
        stage.enumerated_role(worker.program) == "feature"
        and Score(product).enumerated_role(worker.program) == "sample"
    )


def mine(feature, edges):
    total = 0.0
    for edge in edges:
        total += edge.w * edge.sample.y
    return total


def rest(feature, edges, vertices):
    total = 10.0 * len(vertices)
    for vertex in vertices:
        total += vertex.sample.y
    for edge in edges:
        total -= edge.w
    return total


@both
def test_all_vertices_of_the_other_end_that_training_has_can_be_seen(jit):
    worker = start(ScoredSamples(), TRAIN, HELD, jit=jit)
    (step,) = run_steps(worker, Score(rest))  # three samples; those held out are not among them
    np.testing.assert_allclose(step.scores, 36 - W.sum(axis=0))


def test_udfs_are_plain_functions():
    edges = [Row(w=2.0, feature=Row(x=0.5)), Row(w=1.0, feature=Row(x=3.0))]
    assert product(Row(y=1.0), edges, Row(mean=2.0), Row(bias=0.25)) == 7.25
    out = np.zeros(2)
    spread(edges, out, Row(parts=2))
    assert out.tolist() == [3, 6]


def test_without_held_out_edges_each_vertex_is_asked():
    (step,) = run_steps(start(ScoredSamples(), TRAIN, jit=False), Score(product))
    assert step.scores.tolist() == [9.5] * 3


def changes(feature, edges):
    feature.x = 0.0
    return 1.0


@both
def test_it_changes_nothing(jit):
    with pytest.raises(ProgramError, match="read-only"):
        drive(start(ScoredSamples(), TRAIN, HELD, jit=jit), Score(changes))


def of_edge(sample, feature):
    return 0.0


@pytest.mark.parametrize(
    ("stage", "what"),
    [
        (Score(product, over="page"), r"(?s)'page' is no end of entry.*sample, feature"),
        (Score(of_edge, over="sample"), "called per edge"),
        (Score(of_edge, width=3), "called per edge"),
        (Score(spread, width="bias"), r"(?s)a width of 'bias'.*parts"),
        (
            Score(spread),
            r"(?s)UDF spread of Score\(spread\).*'out'.*sample, vertices, edges, tau, p",
        ),
    ],
)
def test_errors(stage, what):
    with pytest.raises(ProgramError, match=what):
        start(ScoredSamples(), TRAIN, HELD).prepare([stage])


def test_the_last_number_of_a_row_may_have_a_name_of_its_own():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    stage = Score(spread, width=3, name="f", last="bias")
    columns = stage.columns(rows)
    assert [*columns] == ["f", "bias"] and columns["f"].tolist() == rows[:, :2].tolist()
    assert columns["bias"].tolist() == [2, 5]
    assert stage.array(columns).tolist() == rows.tolist()
    with pytest.raises(ProgramError, match=message("the-last-number-of-a", "bias")):
        Score(product, last="bias")


def wrong(sample, feature):
    sample.nothing += 1


def adds(sample, edges, tau):
    tau.mean += len(edges)


def test_without_held_out_edges_nothing_is_walked_or_compiled():
    drive(
        start(ScoredSamples(), TRAIN), Exchange(wrong, held_out=True), Exchange(adds, held_out=True)
    )
    for udf in (wrong, adds):
        with pytest.raises(ProgramError):
            drive(start(ScoredSamples(), TRAIN, HELD), Exchange(udf, held_out=True))


def draws(sample, rng, tau):
    tau.drawn += rng.uniform()


def look(sample, feature, tau):
    tau.drawn += 0


class ScoredDraws(ScoredSamples):
    tau = Context(drawn=total())


def test_random_numbers_are_the_same_with_and_without_held_out_edges():
    found = [
        drive(
            start(ScoredDraws(), TRAIN, test, jit=False),
            Exchange(look, held_out=True),
            Exchange(draws),
        ).tau.drawn
        for test in (None, HELD)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12) and found[0] > 0
