"""The look at a kernel's first edges: it finds an index out of bounds unasked, changes nothing,
and refuses nothing that is right.
"""

import numpy as np
import pytest
from support.programs.programs import DanglingPageRank, column, complete, drive, start

from tux import Edge, Program, Vertex, data, delta, mirror, param, shared
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange
from tux.stages.check import sample
from tux.stages.check.sample import STEPS, CopyOnRead, look_at_call
from tux.stages.kernel import thread_loop
from tux.stages.kernel.compile import InjectedGlobal

EDGES = from_arrays(
    [0, 0, 1, 1, 2], [0, 1, 0, 1, 2], ends=("user", "item"), value=np.float32(range(5))
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Use a cache folder of the test's own, so that nothing has been looked at yet."""
    monkeypatch.setenv("TUX_CACHE_DIR", str(tmp_path))


class HistogramFields(Program):
    bins: int = param(3, "entries of a histogram", low=1)
    at: int = param(3, "where to add")
    item = Vertex(hist=delta("f8", "bins"), n=mirror("i4"), x=shared("f4"))
    user = Vertex(x=shared("f4"), list=mirror("u4", "edges"))
    rating = Edge("user", "item", value=data("f4"), seen=mirror("i2"))


def add(item, p):
    item.hist[p.at] += 1


def test_an_index_out_of_bounds_is_found_unasked():
    with pytest.raises(
        ProgramError, match="index 3 is out of bounds for `item.hist`, which has 3 entries"
    ):
        drive(start(HistogramFields(), EDGES), Exchange(add))


def test_other_parameters_are_looked_at_anew_and_the_same_are_not(monkeypatch):
    looks = []
    monkeypatch.setattr(
        sample, "look_at_call", lambda *given: looks.append(given) or look_at_call(*given)
    )
    drive(start(HistogramFields(at=1), EDGES), Exchange(add))
    drive(start(HistogramFields(at=1), EDGES), Exchange(add))
    assert len(looks) == 1
    for wrong in (HistogramFields(at=3), HistogramFields(bins=1, at=1)):
        with pytest.raises(ProgramError):
            drive(start(wrong, EDGES), Exchange(add))
    assert len(looks) == 3


def change_all(item, edges, rng):
    met = 0
    for e in edges:
        e.seen = 3
        e.user.x += np.float32(e.value) + np.float32(rng.uniform())
        met += 1
    item.n = met
    item.x *= np.float32(1.5)
    item.hist[0], item.hist[1] = item.x, item.hist[1] + 2


def by_item(item, edges, rng):
    change_all(item, edges, rng)


def fill_list(user, edges, p):
    for i in range(len(user.list)):
        user.list[i] += np.uint32(edges[i].item.n)


def arrays(worker):
    tables = {**worker.tables, "rating": worker.edge_table(worker.graph.edges)}
    return {
        (name, f): array[:].copy()
        for name, table in tables.items()
        for f, array in table.arrays.items()
    }


@pytest.mark.slow
def test_the_look_changes_no_bit(monkeypatch):
    stages = by_item, fill_list
    looked = arrays(drive(start(HistogramFields(), EDGES), *map(Exchange, stages)))
    monkeypatch.setattr(thread_loop, "SampledKernel", lambda kernel, *_: kernel)
    plain = arrays(drive(start(HistogramFields(), EDGES), *map(Exchange, stages)))
    assert looked.keys() == plain.keys()
    for name, array in looked.items():
        np.testing.assert_array_equal(array, plain[name], err_msg=str(name))
    assert looked["user", "list"].any() and looked["rating", "seen"].all()


@pytest.mark.slow
def test_a_program_of_many_kernels_is_the_same(monkeypatch):
    links = from_arrays([0, 1, 2, 4, 5], [1, 2, 0, 5, 6], ends=("page", "page"))
    looked = column(complete(DanglingPageRank(), links, 3), "page", "rank")
    monkeypatch.setattr(thread_loop, "SampledKernel", lambda kernel, *_: kernel)
    assert np.array_equal(looked, column(complete(DanglingPageRank(), links, 3), "page", "rank"))


def overflows(item, p):
    """Compute a product that is right where integers have 64 bits: it wraps around to 0."""
    item.hist[(p.at << 63) * 2] += 1


def divides(item, p):
    """Divide by 0: an error in Python, an infinity in compiled code."""
    item.x = np.float32(1) / (p.at - p.at)


@pytest.mark.slow
@pytest.mark.parametrize("udf", [overflows, divides])
def test_where_python_differs_nothing_is_refused(udf):
    item = drive(start(HistogramFields(), EDGES), Exchange(udf)).tables["item"].arrays
    assert item["hist"][:, 0].sum() == 5 if udf is overflows else np.isinf(item["x"]).all()


KERNEL = "def kernel(n, out):\n    for i in range(n):\n        out[i] = 1\n        udf(out, i)\n"


def count(out, i):
    while out[i] < 10**9:
        out[i] += 1


def test_a_look_ends_and_writes_nothing():
    out = np.zeros(3, np.int64)
    wrong, steps = look_at_call(KERNEL, {"udf": InjectedGlobal("udf", (count,))}, (3, out))
    assert not wrong and steps == STEPS + 1 and not out.any()


def test_copies():
    array = np.zeros((3, 2))
    copied = CopyOnRead(array)
    copied[1][0] = 5
    assert (
        copied[1][0] == 5 and copied[0:2].shape == (2, 2) and len(copied) == 3 and not array.any()
    )
    ones = CopyOnRead(array[:, 0])
    ones[2] = 7.5
    assert ones[2] == 7.5 and not array.any()
