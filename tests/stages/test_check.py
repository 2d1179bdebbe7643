"""--check: an index out of bounds and NaN that replaces a number are told with name and line;
correct programs are not disturbed.
"""

import linecache
import math
import re
from pathlib import Path

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.programs import (
    ConnectedComponents,
    NodeDegrees,
    both,
    both_later,
    column,
    complete,
    drive,
    start,
)

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
from tux.base.errors import DataError, ProgramError
from tux.stages import Apply, Exchange, Generate, GlobalSync, MiniBatch, Score
from tux.stages.check.sites import Sites

#   u0   u1   u2        values are the numbers of the edges
#   | \ /|    |
#   i0 i1     i2
EDGES = from_arrays(
    [0, 0, 1, 1, 2], [0, 1, 0, 1, 2], ends=("user", "item"), value=np.float32(range(5))
)
TABLE = np.arange(4)
LINES = Path(__file__).read_text().splitlines()


def far(rating):
    return int(rating.value) + 1


def store(item, rating):
    item.hist[far(rating)] = 1.0  # here: store


def add(item, rating):
    item.hist[far(rating)] += 1  # here: add


def read(user, item, rating):
    user.x += item.hist[far(rating)]  # here: read


def constant_index(user, item):
    user.x = item.hist[3]  # here: constant_index


def negative(item, p):
    item.hist[p.below] = 1.0  # here: negative


def bump(array, k):
    array[k] += 1  # here: bump_far


def bump_far(item, rating):
    bump(item.hist, far(rating))


def view(item, rating):
    mine = item.hist
    mine[far(rating)], item.n = 1.0, 2  # here: view


def wide(item, rating):
    item.grid[1, far(rating)] += 1  # here: wide


def tall(item, p):
    item.grid[p.three, 0] = 1  # here: tall


def whole_table(user, rating):
    user.x = TABLE[far(rating)]  # here: whole_table


def own_array(user, rating):
    mine = np.zeros(2)
    mine[far(rating)] = 1  # here: own_array
    user.x = mine[0]


def neighbour(item, edges):
    item.n = edges[len(edges)].user.k  # here: neighbour


def write_past_end(user, edges, p):
    user.list[p.three] = len(edges)  # here: write_past_end


def settle(v, p):
    v.kept = v.hist[p.three]  # here: settle


def gather(v, tau, p):
    tau.sums[p.three] += v.kept  # here: gather


def judge(user, item, p):
    return user.x + item.top[p.three]  # here: judge


def keep(v):
    v.kept = v.hist[0]


class CheckedFields(Program):
    three: int = param(3, "an index past the end")
    below: int = param(-4, "an index before the beginning")
    item = Vertex(
        hist=delta("f8", 3),
        grid=mirror("f4", 2, 4),
        n=mirror("i4"),
        kept=value("f8"),
        top=value("f4", 2),
        best=master("f8"),
    )
    user = Vertex(x=shared("f4"), k=mirror("i4"), list=mirror("u4", "edges"))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(sums=total("f8", 2))


HIST = "`item.hist`, which has 3 entries"
EXCHANGES = {
    store: f"index [345] is out of bounds for {HIST}",
    add: f"index [345] is out of bounds for {HIST}",
    read: f"index [345] is out of bounds for {HIST}",
    constant_index: f"index 3 is out of bounds for {HIST}",
    negative: f"index -4 is out of bounds for {HIST}",
    bump_far: "index [345] is out of bounds for `array`, which has 3 entries",
    view: f"index [345] is out of bounds for {HIST}",
    wide: "index [45] is out of bounds for axis 1 of `item.grid`, which has 4 entries",
    tall: "index 3 is out of bounds for `item.grid`, which has 2 entries",
    whole_table: "index [45] is out of bounds for `TABLE`, which has 4 entries",
    own_array: "index [2-5] is out of bounds for `mine`, which has 2 entries",
    # by the first vertex
    neighbour: r"index [12] is out of bounds for `edges`, which has (1 entry|2 entries)",
    write_past_end: r"index 3 is out of bounds for `user\.list`, which has (1 entry|2 entries)",
}


def check_error(error, udf, what):
    """Assert that the message of an error matches `what`, and that its place is the line of this
    file that is marked with the name of `udf`.
    """
    line = next(i for i, text in enumerate(LINES, 1) if text.endswith(f"# here: {udf.__name__}"))
    assert re.fullmatch(what, error.what), error.what
    assert error.where == f"{__file__}:{line}" and error.do


@both_later
@pytest.mark.parametrize("udf", EXCHANGES, ids=lambda udf: udf.__name__)
def test_exchange(udf, jit):
    worker = start(CheckedFields(), EDGES, jit=jit, check=True)
    with pytest.raises(ProgramError) as caught:
        drive(worker, Exchange(udf))
    check_error(caught.value, udf, EXCHANGES[udf])


@pytest.mark.parametrize(
    ("stage", "udf", "what"),
    [
        (
            Apply("item", settle),
            settle,
            "index 3 is out of bounds for `v.hist`, which has 3 entries",
        ),
        (
            GlobalSync(None, gather, over="item"),
            gather,
            "index 3 is out of bounds for `tau.sums`, which has 2 entries",
        ),
    ],
    ids=["apply", "aggregate"],
)
@pytest.mark.parametrize("k", [1, 2])
def test_masters(stage, udf, what, k):
    """On one worker, and on two, where a server runs the function on masters of cut vertices."""
    by = [0] * 5 if k == 1 else [0, 1, 1, 0, 0]
    with pytest.raises(ProgramError) as caught:
        Team(CheckedFields(), EDGES, k=k, by=by, jit=True, check=True).drive(lambda _: stage)
    check_error(caught.value, udf, what)


def test_score():
    held = EdgeData.of(
        ("user", "item"), [0, 1], [1, 2], {"value": np.float32([1, 2])}, against=EDGES.ids
    )
    with pytest.raises(ProgramError) as caught:
        drive(start(CheckedFields(), EDGES, held, check=True), Score(judge))
    check_error(caught.value, judge, "index 3 is out of bounds for `item.top`, which has 2 entries")


# ---- generated edges


def make(start, path, p):
    for i in range(p.most):
        path[i] = start  # here: make


def leave_graph(start, path):
    path[0] = 1000


def use(path, p):
    path[p.at].page.u[0] += 1.0  # here: use


def use_view(path, p):
    path[0].page.u[p.at] += 1.0  # here: use_view


class CheckedWalk(Program):
    most: int = param(3, "entries written")
    at: int = param(2, "an index")
    page = Vertex(remote=True, u=shared("f4", 2))
    link = Edge("page", "page")


LINKS = from_arrays([0, 1, 2], [1, 2, 0], ends=("page", "page"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("most", "at", "udfs", "what"),
    [
        (4, 0, (make, use), "index 3 is out of bounds for `path`, which has 3 entries"),
        (2, 2, (make, use), "index 2 is out of bounds for `path`, which has 2 entries"),
        (
            2,
            2,
            (make, use_view),
            "index 2 is out of bounds for `path\\[0\\].page.u`, which has 2 entries",
        ),
    ],
)
def test_generate(most, at, udfs, what):
    stage = MiniBatch(Generate(*udfs, "page", path=3), vertices=2)
    with pytest.raises(ProgramError) as caught:
        drive(start(CheckedWalk(most=most, at=at), LINKS, check=True), stage)
    check_error(caught.value, udfs[0] if most == 4 else udfs[1], what)


def test_numbers_of_no_vertex_are_refused_always():
    with pytest.raises(
        ProgramError, match="UDF leave_graph wrote 1000 into `path`, and pages are numbered 0 to 2"
    ):
        drive(
            start(CheckedWalk(at=0), LINKS),
            MiniBatch(Generate(leave_graph, use, "page", path=3), vertices=2),
        )


# ---- NaN


def lose(user, rating):
    user.x = user.x + (rating.value - rating.value) / (rating.value - 1)  # here: lose


def lose_in_place(item, rating):
    item.hist[0] += math.sqrt(rating.value - 2)  # here: lose_in_place


def mean_it(user):
    user.x = np.nan


def make_infinite(item, rating):
    item.hist[0] = min(item.hist[0], np.inf)
    item.hist[1] -= np.inf


@pytest.mark.parametrize(
    ("udf", "text"),
    [(lose, "user.x"), (lose_in_place, "item.hist[0]")],
    ids=["attribute", "in place"],
)
def test_nan_is_told_where_it_arises(udf, text):
    with pytest.raises(DataError) as caught:
        drive(start(CheckedFields(), EDGES, check=True), Exchange(udf))
    check_error(caught.value, udf, f"NaN replaces a number in `{re.escape(text)}`")


@both
def test_a_written_nan_and_infinities_are_meant(jit):
    worker = start(CheckedFields(), EDGES, jit=jit, check=True)
    drive(worker, Exchange(mean_it), Exchange(make_infinite))


# ---- what is right stays as it is


def gymnastics(item, edges, tau, p):
    """Use every form of index and of store that is right, up to both ends."""
    shape = (p.three, 2.5)
    a, b = item.grid, item.hist
    a[-1, -4], a[0, 3] = 1.0, a[-1, 3] + shape[1]
    a[0, :2] = 7
    a[1][2] = b[-3] = b[2] = 4
    rows = a[0, 1:3]
    rows[1] *= 2
    flat = a[None, ..., 0]
    b[1] += flat[0, 1] + shape[0] + TABLE[-4] + len(edges)
    k = 0
    for e in edges:
        e.user.x += np.float32(e.value)
        k += edges[-1].user.k + edges[k].user.k
    tau.sums[-1], tau.sums[0] = tau.sums[-1] + 1, [3.0, 4.0][1]


def by_item(item, edges, tau, p):
    gymnastics(item, edges, tau, p)


@both_later
def test_right_functions_compute_the_same(jit):
    results = []
    for check in (False, True):
        worker = drive(
            start(CheckedFields(), EDGES, jit=jit, check=check),
            Exchange(by_item),
            Apply("item", keep),
        )
        fields = {
            f"{v}.{f}": array
            for v, table in worker.tables.items()
            for f, array in table.arrays.items()
        }
        results.append(fields)
    assert results[0].keys() == results[1].keys() and results[0]["item.grid"].any()
    for name, array in results[0].items():
        np.testing.assert_array_equal(array, results[1][name], err_msg=name)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("program", "field"), [(NodeDegrees, "indegree"), (ConnectedComponents, "label")]
)
def test_right_programs_give_the_same_bits(program, field):
    edges = from_arrays([0, 1, 2, 4, 5], [1, 2, 0, 5, 6], ends=("node", "node"))
    found = [
        column(complete(program(), edges, 4, check=check), "node", field) for check in (False, True)
    ]
    assert np.array_equal(*found) and len(np.unique(found[0])) > 1


def test_a_function_whose_source_has_changed_is_not_rewritten(tmp_path):
    path = tmp_path / "changed.py"
    path.write_text("def udf(x, k):\n    return x[k]\n")
    scope = {}
    code = compile(path.read_text(), str(path), "exec")
    udf = type(store)(next(c for c in code.co_consts if hasattr(c, "co_code")), scope)
    assert Sites().rewrite(udf) is not None
    path.write_text("def udf(x, k):\n    return x[other]\n")
    linecache.checkcache()
    assert Sites().rewrite(udf) is None
    assert Sites().rewrite(LAMBDA) is None


LAMBDA = lambda x: x[0]  # noqa: E731


def without_source(item, p):
    item.hist[p.three] = 1.0


def test_without_source_the_function_is_named(monkeypatch):
    monkeypatch.setattr("tux.stages.check.sites.Sites.rewrite", lambda self, function: None)
    with pytest.raises(ProgramError, match="an index in UDF without_source is out of bounds"):
        drive(start(CheckedFields(), EDGES, check=True), Exchange(without_source))
