"""An index that is one number for a whole stage is checked at each call of a compiled stage, not at
the first alone.
"""

import numpy as np
import pytest
from support.programs.programs import points_at, start

from tux import Axpy, Context, Copy, Dot, Edge, Program, Vertex, mirror, param, reduction, value
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, MiniBatch
from tux.stages.analysis.udf_source import definition
from tux.stages.check.stage_indices import StageIndices

EDGES = from_arrays([0, 1, 2], [1, 2, 0], ends=("node", "node"))


class IndexedEntries(Program):
    back: int = param(1, "how far to go back")
    node = Vertex(w=value("f8"), q=value("f8", 2))
    link = Edge("node", "node", f=mirror("f8", 2))
    tau = Context(i=value("i8"), at=value("i8", 4), alpha=value("f8", 2), out=reduction())


def directly(node, tau):
    node.q[tau.i] = 1.0


def by_names(node, tau, p):
    row = node.q
    k = tau.i + p.back
    row[k - 1] = 1.0


def by_a_list(node, tau):
    node.q[tau.at[tau.i]] = 1.0


def set_entry(node, tau):
    node.q[int(tau.i)] = 1.0


def by_another(node, tau):
    set_entry(node, tau)


def of_edges(link, tau):
    link.f[tau.i] = 1.0


STAGES = {
    "read": Copy("node", "w", "q[i]"),
    "summed": Dot("node", "q[i]", "w", into="out"),
    "of the context": Axpy("node", "w", "w", by="-alpha[i]"),
    **{f.__name__: Apply("node", f) for f in (by_names, by_a_list, by_another)},
    "edges": Exchange(of_edges),
    "in a block": MiniBatch(Copy("node", "q[i]", "w"), vertices=2, over="src"),
}


@pytest.fixture
def entries():
    worker = start(IndexedEntries(), EDGES)
    worker.tables["tau"].arrays["at"][:] = [0, 1, 2, 1]
    return worker


def run(worker, steps, i):
    worker.tables["tau"].arrays["i"][0] = i
    worker.run(steps)


@pytest.mark.long(after=3)
@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_each_call_is_checked(entries, stage):
    steps = entries.prepare([stage])
    for i in (0, 1, -1, 1):
        run(entries, steps, i)
    before = entries.tables["node"].arrays["q"].copy()
    with pytest.raises(ProgramError, match=r"index 2 is out of bounds for .*, which has 2 entr"):
        run(entries, steps, 2)
    np.testing.assert_array_equal(entries.tables["node"].arrays["q"], before)


@pytest.mark.slow
def test_an_operator_is_named_as_it_stands_in_the_program(entries):
    stage = Copy("node", "q[i]", "w")
    steps = entries.prepare([stage])
    with pytest.raises(ProgramError) as told:
        run(entries, steps, -3)
    assert told.value.what.startswith("Copy(node, q[i], w): index -3 is out of bounds for `q`, ")
    assert told.value.where == stage.where and __file__ in told.value.where


@pytest.mark.slow
def test_a_function_is_named_with_its_line(entries):
    steps = entries.prepare([Apply("node", directly)])
    with pytest.raises(ProgramError) as told:
        run(entries, steps, 9)
    points_at(told.value, directly)


def set_if_small(node, tau):
    if tau.i < 2:
        node.q[tau.i] = 5.0


def test_an_index_behind_a_condition_is_no_error(entries):
    steps = entries.prepare([Apply("node", set_if_small)])
    for i in (1, 2, 0):
        run(entries, steps, i)
    assert np.all(entries.tables["node"].arrays["q"] == 5)


def several(node, tau):
    node.w = node.q[tau.at].sum()


@pytest.mark.slow
def test_an_array_of_indices_is_checked(entries):
    steps, at = entries.prepare([Apply("node", several)]), entries.tables["tau"].arrays["at"]
    at[:] = [0, 1, -2, 1]
    entries.run(steps)
    at[:] = [0, 1, 2, 1]
    with pytest.raises(ProgramError, match="index 2 is out of bounds"):
        entries.run(steps)


def set_in_part(node, tau):
    k = 1
    if tau.i < 2:
        k = tau.i
    node.q[k] = 1.0


@pytest.mark.parametrize(("f", "found"), [(by_names, [2, 3]), (set_in_part, [])])
def test_a_name_is_an_index_of_the_stage_if_it_is_bound_once(f, found):
    worker = start(IndexedEntries(), EDGES, jit=False)
    tau = worker.tables["tau"]
    is_outside = StageIndices(worker, [f], tau)
    outside = []
    for i in range(4):
        tau.arrays["i"][0] = i
        outside += [i] * is_outside()
    assert outside == found


def test_a_form_feed_ends_no_line_of_a_function(tmp_path):
    path = tmp_path / "paged.py"
    path.write_text("def udf(x, k):\n\f\n    y = x[k]  # \f\n    return y\n")
    code = compile(path.read_text(), str(path), "exec")
    udf = next(each for each in code.co_consts if hasattr(each, "co_code"))
    assert definition(udf) is not None
