"""Rows in compiled code: loads, stores and views of every dtype, what is refused and where, the
same as in plain Python.
"""

import sys

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from support.programs.programs import both, both_later, drive, points_at, run_steps, start

from tux import Context, Edge, Program, Vertex, data, master, param, shared, total, value
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.rows.plain import PlainRow
from tux.rows.table import RowSpec, allocate_aligned
from tux.stages import Apply, Exchange

DTYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "b1")
EDGES = from_arrays(
    ["a", "a", "b", "c"], [1, 2, 2, 3], ends=("thing", "other"), weight=np.float32([1, 2, 3, 4])
)


class AllFields(Program):
    """A scalar and a matrix field of each dtype, and one field of each kind."""

    width: int = param(3)
    gain: float = param(0.25, dtype="f4")
    fine: float = param(0.1)
    loud: bool = param(True)
    method: str = param("sgd")

    thing = Vertex(
        **{d: shared(d) for d in DTYPES}, **{f"m_{d}": shared(d, 2, "width") for d in DTYPES}
    )
    other = Vertex(
        seen=value(), seen_too=value(3), row=shared(3), secret=master(), cube=shared("f8", 2, 3, 4)
    )
    link = Edge("thing", "other", weight=data("f4"))
    tau = Context(sum=total(2), n=total("i8"))


def move(thing):
    thing.i1, thing.m_i1[1, 0] = thing.m_i1[0, 1] + 1, thing.i1
    thing.i2, thing.m_i2[1, 0] = thing.m_i2[0, 1] + 1, thing.i2
    thing.i4, thing.m_i4[1, 0] = thing.m_i4[0, 1] + 1, thing.i4
    thing.i8, thing.m_i8[1, 0] = thing.m_i8[0, 1] + 1, thing.i8
    thing.u1, thing.m_u1[1, 0] = thing.m_u1[0, 1] + 1, thing.u1
    thing.u2, thing.m_u2[1, 0] = thing.m_u2[0, 1] + 1, thing.u2
    thing.u4, thing.m_u4[1, 0] = thing.m_u4[0, 1] + 1, thing.u4
    thing.u8, thing.m_u8[1, 0] = thing.m_u8[0, 1] + 1, thing.u8
    thing.f4, thing.m_f4[1, 0] = thing.m_f4[0, 1] + 1, thing.f4
    thing.f8, thing.m_f8[1, 0] = thing.m_f8[0, 1] + 1, thing.f8
    thing.b1, thing.m_b1[1, 0] = not thing.m_b1[0, 1], thing.b1
    thing.i1 -= 3
    thing.u4 *= 2
    thing.f4 /= 4
    thing.f8 += 0.1
    thing.m_f8[1, 2] += thing.i8
    thing.m_i4[1, 1] *= -2


@both_later
def test_every_dtype(jit):
    worker = start(AllFields(), EDGES, jit=jit)
    rng, before = np.random.default_rng(0), {}
    for name, array in worker.tables["thing"].arrays.items():
        array[...] = rng.integers(0, 2 if array.dtype == bool else 60, array.shape)
        before[name] = array.copy()
    drive(worker, Apply("thing", move))
    expected = {name: array.copy() for name, array in before.items()}
    for d in DTYPES:
        expected[d] = (
            ~before["m_b1"][:, 0, 1]
            if d == "b1"
            else before[f"m_{d}"][:, 0, 1] + np.dtype(d).type(1)
        )
        expected[f"m_{d}"][:, 1, 0] = before[d]
    expected["i1"] -= 3
    expected["u4"] *= 2
    expected["f4"] /= 4
    expected["f8"] += 0.1
    expected["m_f8"][:, 1, 2] += expected["i8"]
    expected["m_i4"][:, 1, 1] *= -2
    for name, array in worker.tables["thing"].arrays.items():
        assert array.dtype == before[name].dtype
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def through_views(other, tau):
    cube, plane = other.cube, other.cube[1]
    for i in range(cube.shape[0]):
        for j in range(cube.shape[1]):
            for k in range(len(cube[i, j])):
                cube[i, j, k] = 100 * i + 10 * j + k
    plane[2, 3] = -1
    other.cube[0, 1:, 2] += 0.5
    tail = other.row[1:]
    tail[0] = len(tail)
    other.row[0], other.row[2] = cube.size, other.row.sum()
    tau.sum[0] += plane[2, 2]
    tau.sum[1] += cube[:, 0, 1].sum()


@pytest.mark.long
@both
def test_views_write_through(jit):
    worker = drive(start(AllFields(), EDGES, jit=jit), Apply("other", through_views))
    cube = np.add.outer(np.add.outer([0, 100], [0, 10, 20]), np.arange(4)).astype(float)
    cube[1, 2, 3] = -1
    cube[0, 1:, 2] += 0.5
    assert all(np.array_equal(found, cube) for found in worker.tables["other"].arrays["cube"])
    assert worker.tables["other"].arrays["row"].tolist() == [[24, 2, 2]] * 3
    assert worker.tau.sum.tolist() == [3 * 122, 3 * 102]


@pytest.mark.long
def test_views_count_no_references():
    _nrt_python.memsys_enable_stats()
    worker = start(AllFields(), EDGES)
    (step,) = run_steps(worker, Apply("other", through_views))
    arrays = [array for table in worker.tables.values() for array in table.arrays.values()]
    references, stats = [sys.getrefcount(array) for array in arrays], rtsys.get_allocation_stats()
    for _ in range(5):
        step.run()
    after = rtsys.get_allocation_stats()
    assert [sys.getrefcount(array) for array in arrays] == references
    assert (
        after.alloc - stats.alloc == after.free - stats.free
        and after.mi_alloc - stats.mi_alloc == after.mi_free - stats.mi_free
    )


def all_parameters(tau, p):
    tau.sum[0] += p.width * p.gain
    tau.sum[1] += p.fine if p.loud else 0.0


@both
def test_parameters(jit):
    worker = drive(start(AllFields(gain=0.3, width=2), EDGES, jit=jit), Exchange(all_parameters))
    gain = np.float32(0.3) if jit else 0.3
    np.testing.assert_allclose(worker.tau.sum, [4 * 2 * gain, 0.4], rtol=1e-9 if jit else 1e-6)


def stores_value(other):
    other.seen = 1.0


def stores_value_entry(other):
    other.row[0] = 2
    other.seen_too[1] = 1.0


def stores_data(link):
    link.weight += 1


def stores_nothing_known(other):
    other.sene = 1.0


def loads_nothing_known(other, tau):
    tau.n += other.sene


def loads_master(other, tau):
    tau.n += other.secret


def stores_all_entries(other):
    other.row = 1.0


def loads_unknown_parameter(tau, p):
    tau.n += p.widht


REFUSED = [
    (stores_value, "other.seen is read-only", "ValueError"),
    (stores_value_entry, "read-?only", "ValueError"),
    (stores_data, "link.weight is read-only", "ValueError"),
    (stores_nothing_known, "sene", "AttributeError"),
    (loads_nothing_known, "sene.*seen", "AttributeError"),
    (loads_master, "secret.*seen", "AttributeError"),
    (stores_all_entries, r"other.row has several entries: assign to other.row\[k\]", "TypeError"),
    (loads_unknown_parameter, "widht", "AttributeError"),
]


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(
    ("udf", "message", "plain"), REFUSED, ids=[udf.__name__ for udf, *_ in REFUSED]
)
def test_what_a_udf_must_not_do_is_refused_where_it_stands(udf, message, plain):
    with pytest.raises(ProgramError, match=f"(?s){message}") as error:
        start_and_prepare(udf)
    assert points_at(error.value, udf), str(error.value)
    said = "read-only" if plain == "ValueError" else message
    with pytest.raises(ProgramError, match=f"has raised {plain}: .*{said}"):
        drive(start(AllFields(), EDGES, jit=False), Exchange(udf))


def start_and_prepare(udf):
    start(AllFields(), EDGES).prepare([Exchange(udf)])


def test_unknown_fields_are_told_with_the_known_ones():
    for udf in (loads_nothing_known, stores_nothing_known):
        with pytest.raises(
            ProgramError,
            match=r"other has no field sene \(fields: seen read-only, seen_too read-only, row, "
            r"cube, id read-only\)",
        ):
            start_and_prepare(udf)


def reads_anything(other, thing, tau):
    tau.n += 1


@both
def test_a_row_without_fields(jit):
    class Bare(Program):
        thing = Vertex()
        other = Vertex()
        link = Edge("thing", "other")
        tau = Context(n=total("i8"))

    assert drive(start(Bare(), EDGES, jit=jit), Exchange(reads_anything)).tau.n == 4


def per_edge(thing, link, tau, p):
    thing.x[0] += p.by * link.weight
    tau.sum += link.weight


def per_vertex(thing, edges, tau, p):
    for edge in edges:
        thing.x[0] += p.by * edge.weight
        edge.other.y += edge.weight
        tau.sum += edge.other.y


@pytest.mark.long
@pytest.mark.parametrize("udf", [per_edge, per_vertex])
def test_programs_whose_fields_have_the_same_names_but_other_types(udf):
    edges = {
        code: from_arrays([1, 1], [1, 2], ends=("thing", "other"), weight=np.array([1, 3], code))
        for code in ("i8", "f4")
    }
    for x, y, by, weight in (
        ("i8", "f8", 2, "i8"),
        ("f4", "f4", 2.0, "f4"),
        ("f8", "i8", 2.0, "f4"),
        ("f8", "f8", 2, "i8"),
    ):
        members = {
            "by": param(by),
            "thing": Vertex(x=shared(x, 2)),
            "other": Vertex(y=shared(y)),
            "tau": Context(sum=total()),
        }
        program = type(
            "Same", (Program,), {**members, "link": Edge("thing", "other", weight=data(weight))}
        )
        worker = drive(start(program(), edges[weight]), Exchange(udf))
        assert worker.tables["thing"].arrays["x"].tolist() == [[8, 0]] and worker.tau.sum == 4


def test_plain_rows():
    arrays = {"n": np.zeros(3, np.int32), "q": np.zeros((3, 2), np.float32)}
    row = PlainRow(RowSpec("item", ("n", "q"), "n, q"), arrays, 1)
    row.n += 2
    row.q[1] = 0.1
    assert (
        arrays["n"].tolist() == [0, 2, 0]
        and arrays["q"][1].tolist() == [0, np.float32(0.1)]
        and isinstance(row.n, int)
    )
    with pytest.raises(AttributeError, match=r"item has no field w \(fields: n, q\)"):
        row.w = 3
    with pytest.raises(TypeError, match="assign to"):
        row.q = 3


@pytest.mark.parametrize("dtype", ["i1", "f4", "f8"])
def test_arrays_start_at_cache_lines(dtype):
    for n in (1, 7, 100):
        array = allocate_aligned((n, 3), np.dtype(dtype))
        assert (
            array.ctypes.data % 64 == 0
            and array.shape == (n, 3)
            and array.flags.c_contiguous
            and array.flags.writeable
        )
