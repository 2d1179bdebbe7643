"""Fields: kinds, dtypes, shapes, initial values, and what is refused."""

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import ProgramError
from tux.base.random import constant, key, normal, uniform
from tux.program.fields import data, delta, master, mirror, shared, total, value
from tux.program.types import Context, Vertex
from tux.stages.computed import metric


@pytest.mark.parametrize("make", [value, shared, delta, master, mirror, data])
def test_kind_default_and_spec(make):
    plain, full = make(), make("i8", "rank", 3)
    assert plain.kind == make.__name__ and plain.dtype == np.float32 and plain.shape == ()
    assert full.dtype == np.int64 and full.shape == ("rank", 3)


def test_dtype_may_stand_anywhere_among_the_dimensions():
    assert value("rank", "f8", 2) == value("f8", "rank", 2)


@pytest.mark.parametrize("code", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "b1"])
def test_dtypes(code):
    assert value(code).dtype == np.dtype(code)


@pytest.mark.parametrize("code", ["f1", "f2"])
def test_floats_without_a_compiled_type_are_refused(code):
    with pytest.raises(ProgramError, match=f"{code}.*\n.*f4"):
        value(code)


def test_two_dtypes_are_refused():
    with pytest.raises(
        ProgramError, match=message("a-field-names-several-dtypes", "shared", "f4, i8")
    ):
        shared("f4", 3, "i8")


def test_total_and_metric():
    assert (total().kind, total().dtype, total("i4", 2).dtype, total("i4", 2).shape) == (
        "delta",
        np.float64,
        np.int32,
        (2,),
    )
    assert metric().reported and metric().dtype == np.float64 and np.isnan(metric().init.a)
    assert not value("f8").reported


def test_sized_reads_parameters():
    field = value("rank", 2, init=lambda p: normal(0, p.spread)).resolve(
        {"rank": 5, "spread": 0.25}
    )
    assert field.shape == (5, 2) and field.init == normal(0, 0.25)


@pytest.mark.parametrize("given", [{}, {"size": 1.5, "rank": 3}])
def test_a_dimension_must_be_an_integer_parameter(given):
    with pytest.raises(ProgramError, match=message("a-field-s-shape-names", "size")) as error:
        value("size").resolve(given)
    assert error.value.do == f"integer parameters: {'rank' if given else 'none'}"


@pytest.mark.parametrize("length", [-1, "less"])
def test_a_dimension_is_not_negative(length):
    with pytest.raises(ProgramError, match="length|shape"):
        value(length).resolve({"less": -1})


@pytest.mark.parametrize(
    ("init", "law"),
    [(None, constant(0)), (3, constant(3)), (0.5, constant(0.5)), (uniform(1, 2), uniform(1, 2))],
)
def test_initial_values(init, law):
    assert value(init=init).resolve({}).init == law


def test_initial_values_that_f8_rounds_are_refused():
    value("i8", init=2**62)
    for declare in (
        lambda: value("i8", init=2**62 + 1),
        lambda: total("i8", combine=lambda a, b: a, init=2**63 - 1),
    ):
        with pytest.raises(ProgramError, match="initial values are f8, which round it"):
            declare()


@pytest.mark.parametrize("code", ["i1", "i4", "i8", "u1", "u8", "f4", "f8"])
def test_deltas_start_at_the_identity_of_their_combination(code):
    for combine, join in (("sum", np.add), ("min", np.minimum), ("max", np.maximum)):
        field = delta(code, combine=combine)
        start = np.empty(3, code)
        field.init.fill(start, key(0), np.arange(3))
        some = np.array([1, 2, 100], code)
        assert np.array_equal(join(start, some), some) and (start == field.identity).all()


def test_bool_deltas_have_an_identity_or_are_refused():
    for combine, identity in (("min", True), ("max", False)):
        try:
            assert bool(delta("b1", combine=combine).identity) is identity
        except ProgramError as error:
            assert "b1" in str(error) or "bool" in str(error)


def test_unknown_combination():
    with pytest.raises(
        ProgramError, match="a delta field cannot be combined by 'product'\n.*sum.*min.*max"
    ):
        delta(combine="product")


@pytest.mark.parametrize(
    ("make", "combine"), [(delta, "mean"), (total, "mean"), (shared, "min"), (shared, "max")]
)
def test_combinations_that_a_kind_does_not_have(make, combine):
    with pytest.raises(ProgramError, match=f"cannot be combined by '{combine}'"):
        make(combine=combine)


def test_shared_may_be_a_mean():
    assert shared(combine="mean").identity == 0
    assert shared(combine="sqrt_mean").identity == 0


@pytest.mark.parametrize(
    ("remote", "combine"), [(True, "mean"), (True, "replica_mean"), (False, "sqrt_mean")]
)
def test_remote_types_have_a_mean_of_their_own(remote, combine):
    with pytest.raises(ProgramError, match=f"field u cannot be combined by '{combine}'"):
        Vertex(remote=remote, u=shared(combine=combine))
    with pytest.raises(ProgramError, match=f"cannot be combined by '{combine}'"):
        shared("i4", combine=combine)


def test_rows_travel_as_bytes_only_where_workers_keep_none():
    assert Vertex(remote=True, u=shared(3, wire="i1")).fields["u"].wire == "i1"
    with pytest.raises(ProgramError, match=message("field-travels-as-and-its", "u", "i1")):
        Vertex(u=shared(3, wire="i1"))
    for dtype, wire in (("i4", "i1"), ("f4", "f2")):
        with pytest.raises(ProgramError, match=message("a-shared-field-of-dtype", dtype, wire)):
            shared(dtype, wire=wire)
    with pytest.raises(ProgramError, match=message("field-travels-as-and-its", "u")):
        Context(u=shared(wire="i1"))


def test_a_shape_may_be_a_function_of_the_parameters():
    field = shared("f8", lambda p: (p.nodes, 2 * p.bins), 3).resolve({"nodes": 4, "bins": 5})
    assert field.lengths == (4, 10, 3)
    assert shared(lambda p: p.nodes + 1).resolve({"nodes": 4}).lengths == (5,)
    assert shared(lambda p: np.int64(p.nodes)).resolve({"nodes": 4}).lengths == (4,)
    assert shared(lambda p: ()).resolve({}).lengths == ()


@pytest.mark.parametrize("returned", [2.5, "nodes", -1, True, None, (3, "f4")])
def test_a_function_that_returns_no_lengths(returned):
    with pytest.raises(ProgramError, match=r"shape has returned .*\n.*a tuple of lengths"):
        shared(lambda p: returned).resolve({})


@pytest.mark.parametrize(("dtype", "default"), [("u1", 300), ("i4", 0.5), ("b1", 2)])
def test_a_default_must_fit_its_dtype(dtype, default):
    with pytest.raises(ProgramError, match=message("a-data-field-of-dtype")):
        data(dtype, default=default)
    assert data(dtype, default=1).default == 1


def larger(a, b):
    return max(a, b)


def of_three(a, b, c):
    return a


def test_a_function_combines_deltas_from_their_initial_value():
    field = delta("i4", 3, combine=larger, init=-1)
    assert (field.kind, field.combine, field.identity) == ("delta", larger, -1)
    assert field.resolve({}).init == constant(-1)


@pytest.mark.parametrize(
    ("make", "words", "what"),
    [
        (delta, {"combine": of_three, "init": 0}, "a delta is combined by <function of_three"),
        (delta, {"combine": larger}, "a delta combined by `larger` has init=None"),
        (delta, {"combine": "max", "init": 0}, "a delta combined by max has init=0"),
        (shared, {"combine": larger}, "a shared field cannot be combined by 'larger'"),
    ],
)
def test_functions_that_cannot_combine(make, words, what):
    with pytest.raises(ProgramError) as error:
        make("i4", **words)
    assert what in error.value.what
    assert callable(words["combine"]) == ("test_fields.py:" in error.value.where)


def test_a_delta_begins_as_its_dtype_can():
    with pytest.raises(ProgramError, match=message("of-dtype-cannot-begin-as", "a delta field")):
        delta("u1", combine=larger, init=-1)
