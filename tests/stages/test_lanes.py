"""Lanes: what their copies hold at first, what they are folded into, and that a kernel is compiled
once for both.
"""

import itertools

import numba
import numpy as np
import pytest
from support.programs.programs import random_pairs, start

from tux import Context, Edge, Program, Vertex, argmax, argmin, shared, total, value
from tux.arrays.networks import from_arrays
from tux.rows.table import RowTable
from tux.stages import ForEach, GlobalSync
from tux.stages.analysis.plan import LANES
from tux.stages.kernel import shared_kernel, tickets
from tux.stages.kernel.lanes import Lanes

DTYPES = "b1 i1 i2 i4 i8 u1 u2 u4 u8 f4 f8".split()
SHAPES = {"one": (), "none": (0,), "single": (1,), "some": (3,), "grid": (2, 3)}


def context(make, **how):
    """Return a table of the context with a field of each shape, and its lanes."""
    declared = {name: make(*shape, **how).resolve({}) for name, shape in SHAPES.items()}
    table = RowTable.allocate("tau", declared, 1)
    for name, field in declared.items():
        table.arrays[name][...] = field.identity if field.kind == "delta" else 1
    spec, arrays = table.visible_fields("exchange")
    return table, Lanes(table, spec.names, arrays, LANES)


def kinds(dtype):
    """Yield fields of a dtype that an Exchange may change, and how their lanes combine."""
    yield (lambda *shape, **how: shared(dtype, *shape, **how)), {}
    for combine in ("sum", "min", "max"):
        yield (lambda *shape, **how: total(dtype, *shape, **how)), {"combine": combine}


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_have_the_type_of_what_they_copy(dtype):
    for make, how in kinds(dtype):
        _, lanes = context(make, **how)
        assert numba.typeof(lanes.one) == numba.typeof(lanes.apart)


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_two_copies_share_a_cache_line(dtype):
    _, lanes = context(lambda *shape: total(dtype, *shape))
    spans = []
    for copies in lanes.apart:
        for lane in range(LANES if copies.size else 0):
            first = copies.ctypes.data + lane * copies.strides[0]
            spans.append((first // 64, (first + copies[0].nbytes - 1) // 64))
    spans.sort()
    assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unchanged_copies_change_nothing(dtype):
    for make, how in kinds(dtype):
        table, lanes = context(make, **how)
        before = {name: array.copy() for name, array in table.arrays.items()}
        for _ in range(2):
            lanes.start()
            lanes.fold()
        assert all(np.array_equal(array, before[f]) for f, array in table.arrays.items())


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_total_is_combined_with_what_the_context_holds(dtype):
    numbers = np.arange(LANES) % 2 if dtype == "b1" else np.arange(LANES)
    for combine, of in (("sum", np.add), ("min", np.minimum), ("max", np.maximum)):
        table, lanes = context(lambda *shape, c=combine: total(dtype, *shape, combine=c))
        for array in table.arrays.values():
            array[...] = 1
        lanes.start()
        for copies in lanes.apart:
            copies.T[...] = numbers.astype(dtype)
        lanes.fold()
        expected = of.reduce(np.append(numbers, 1).astype(dtype), dtype=dtype)
        assert all((array == expected).all() for array in table.arrays.values())


@pytest.mark.parametrize("dtype", DTYPES)
def test_changes_of_shared_fields_add_up(dtype):
    table, lanes = context(lambda *shape: shared(dtype, *shape))
    lanes.start()
    for copies in lanes.apart:
        copies[2], copies[5] = 0, 0 if dtype == "b1" else 7
    lanes.fold()
    expected = np.dtype(dtype).type(0 if dtype == "b1" else 6)  # 1 - 1 + 6
    assert all((array == expected).all() for array in table.arrays.values())


def test_numbers_that_are_not_finite():
    """Infinities that nobody changes stay, and sums that overflow warn of nothing."""
    table, lanes = context(lambda *shape: shared("f4", *shape))
    table.arrays["some"][0] = np.inf, -np.inf, 2
    lanes.start()
    lanes.apart[3][4] += 1
    lanes.fold()
    assert table.arrays["some"].tolist() == [[np.inf, -np.inf, 3]]
    table, lanes = context(lambda *shape: total("f4", *shape))
    lanes.start()
    for copies in lanes.apart:
        copies[...] = 3e38
    lanes.fold()
    assert table.arrays["one"].tolist() == [np.inf]


@pytest.mark.parametrize("make", [argmax, argmin])
def test_values_with_their_keys(make):
    table = RowTable.allocate("tau", {"far": make().resolve({})}, 1)
    field = table.declared["far"]
    table.arrays["far"][...] = 5, 40
    spec, arrays = table.visible_fields("exchange")
    lanes = Lanes(table, spec.names, arrays, LANES)
    assert numba.typeof(lanes.one) == numba.typeof(lanes.apart)
    sign = 1 if make is argmax else -1
    lanes.start()
    assert (lanes.apart[0] == field.identity).all()
    lanes.apart[0][3], lanes.apart[0][9] = (5 + 2 * sign, 8), (5 + 2 * sign, 6)
    lanes.fold()
    assert table.arrays["far"].tolist() == [[5 + 2 * sign, 6]]


# ---- a kernel


def add_all(src, tau):
    tau.a += 1
    tau.b += 1
    tau.c[1, 2] += 1
    tau.d = max(tau.d, src.id)
    tau.e = min(tau.e, 3)
    tau.far.add(float(src.id), src.id)
    tau.g[src.id % 3] += tau.known
    tau.h += 0.5


def nothing(tau):
    pass


class KindsOfTotals(Program):
    page = Vertex()
    link = Edge("page", "page")
    tau = Context(
        a=total("f4"),
        b=total("u1"),
        c=total("i2", 2, 3),
        d=total("f8", combine="max"),
        e=total("i4", combine="min"),
        far=argmax(),
        g=total("i8", 3),
        h=shared("f4"),
        known=value("i4", init=2),
    )

    def stages(self):
        return [GlobalSync(nothing)]


@pytest.mark.slow
def test_a_kernel_is_compiled_once_for_lanes_and_without(monkeypatch):
    src, dst = random_pairs(90, 90, 500)
    edges = from_arrays(src, dst, ends=("page", "page"))
    made, init = [], shared_kernel.SharedKernel.__init__

    def note_kernel(self, worker, built, *others):
        made.append(built._built)
        init(self, worker, built, *others)

    monkeypatch.setattr(shared_kernel.SharedKernel, "__init__", note_kernel)
    monkeypatch.setattr(shared_kernel, "ALONE_SECONDS", -1.0)
    worker = start(KindsOfTotals(), edges, threads=3)
    steps = worker.prepare([ForEach("src", add_all, stale_context=True)])
    monkeypatch.setattr(tickets, "EDGES_PER_ITEM", 4)
    for weight in (1 << 13, 2, 2):  # one item without lanes, then many
        monkeypatch.setattr(tickets, "WEIGHT", weight)
        (step,) = steps
        step._ranges.clear()
        worker.run(steps)
    tau, n = worker.tau, 3 * len(edges.ids["page"])
    assert (tau.a, tau.b, tau.h, tau.c[1, 2]) == (n, n % 256, n / 2, n)
    assert (tau.d, tau.e, tau.far.key, tau.g.sum()) == (89, 3, 89, 2 * n)
    assert [len(kernel.signatures) for kernel in made] == [1]
