"""Score: one number for each held-out edge, in the order in which the edges were given."""

import numpy as np
import pytest
from support.messages import message
from support.programs.programs import both, column, drive, random_pairs, run_steps, start

from tux import Context, Edge, Program, Vertex, data, param, shared, uniform, value
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange, Score

LEFT, RIGHT = random_pairs(12, 9, 60, seed=2)
EDGES = from_arrays(LEFT, RIGHT, ends=("user", "item"), w=np.arange(60, dtype=np.float32))
HELD = EdgeData.of(
    ("user", "item"),
    [3, 50, 1, 3, 0],
    [4, 2, 60, 4, 8],
    {"w": np.float32([1, 2, 3, 4, 5])},
    against=EDGES.ids,
)


class ScoredEdges(Program):
    """Something to read from either end."""

    bias: float = param(0.5)

    user = Vertex(x=shared("f8", init=uniform()))
    item = Vertex(x=shared("f8", init=uniform()))
    link = Edge("user", "item", w=data("f4"))
    tau = Context(mean=value("f8", init=7))


def score(user, item, link, tau, p):
    return user.x - item.x + 100 * link.w + tau.mean + p.bias


def walk(user, item):
    pass


@both
def test_scores_come_in_the_order_given(jit):
    worker = start(ScoredEdges(), EDGES, HELD, jit=jit)
    _, step = run_steps(worker, Exchange(walk, held_out=True), Score(score))
    x, y = column(worker, "user", "x"), column(worker, "item", "x")
    np.testing.assert_allclose(
        step.scores, x[HELD.src] - y[HELD.dst] + 100 * HELD.fields["w"] + 7.5
    )
    assert step.scores.dtype == np.float64
    worker.tables["tau"].arrays["mean"][0] = 0
    step.run()
    np.testing.assert_allclose(
        step.scores, x[HELD.src] - y[HELD.dst] + 100 * HELD.fields["w"] + 0.5
    )


def test_no_edges_no_scores():
    (step,) = run_steps(start(ScoredEdges(), EDGES, jit=False), Score(score))
    assert step.scores.shape == (0,)


def changes(user):
    user.x = 0.0
    return 1.0


@both
def test_a_scoring_udf_changes_nothing(jit):
    with pytest.raises(ProgramError, match="read-only"):
        drive(start(ScoredEdges(), EDGES, HELD, jit=jit), Score(changes))


def test_errors():
    with pytest.raises(
        ProgramError,
        match=r"(?s)UDF wants_more of Score\(wants_more\).*'other'.*user, item, link, tau, p",
    ):
        start(ScoredEdges(), EDGES, HELD).prepare([Score(wants_more)])
    with pytest.raises(ProgramError, match="was given 3"):
        start(ScoredEdges(), EDGES, HELD).prepare([Score(3)])


def wants_more(user, other):
    return 0.0


@pytest.mark.parametrize("named", [("p",), ("p", 1), ["p", "q"], "pq"])
@pytest.mark.parametrize("what", ["factors", "biases"])
def test_a_pair_of_fields_is_a_tuple_of_two_names(what, named):
    with pytest.raises(ProgramError, match=message("of-a-score-are", what)):
        Score(score, **{"factors": ("p", "q"), what: named})
