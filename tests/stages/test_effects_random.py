"""Random UDFs, run as plain Python on rows that record, never do what the analysis did not find."""

import linecache
import warnings
from itertools import count
from random import Random
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.machines.team import relaxed
from support.oracles.recorded import FieldRecorder, edges, rows
from support.programs.random_udfs import COMMON, source

from tux.stages.analysis.effects import Shape, effects

FIELDS = {"a": 0, "b": 0, "f": 1, "g": 2, "h": 1}
ROW = Shape(FIELDS)
SHAPES = {
    "user": ROW,
    "item": ROW,
    "rating": ROW,
    "edges": Shape(FIELDS, {"user": ROW}, several=True),
    "tau": Shape(FIELDS | {"far": 1}),
}
SIZES = {"a": (), "b": (), "f": (2,), "g": (2, 2), "h": (1,)}
CHANGES = {"add", "min", "max", "write", "unknown"}
SHIFTS = {"none": 7, "add": 7, "write": 7, "min": -4, "max": 4}
"""By the kind of changes of a field that is not read: how its start is moved."""
NUMBERS = count()


def load_udf(text):
    """Return the function `udf` of a source, which is found as of a file."""
    name = f"random_{next(NUMBERS)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"__name__": name}
    FunctionType(compile(text, name, "exec"), space)()
    return space["udf"]


def fields(name, start, shift, n=1):
    """Draw numbers for the fields of n rows called `name`, by seed `start`; one field is moved."""
    rng = np.random.default_rng([start, *name.encode()])
    return {f: rng.integers(0, 6, (n, *s)) + shift.get((name, f), 0) for f, s in SIZES.items()}


def run_recorded(udf, start, shift=(), *, records=True):
    """Return a run on rows that record: what it has read and written, what the fields hold then,
    and the error at which it ended.
    """
    record, shift = FieldRecorder(records=records), dict(shift)
    only = {n: rows(record, n, fields(n, start, shift))[0] for n in ("user", "item", "rating")}
    far = {"far": np.array([[2.0 + shift.get(("tau", "far"), 0), 3.0]])}
    tau = rows(record, "tau", fields("tau", start, shift) | far, (("far", "argmax"),))
    own = rows(record, "edges", fields("edges", start, shift, 3))
    others = rows(record, "edges.user", fields("edges.user", start, shift, 2))
    given = only | {
        "tau": tau[0],
        "edges": edges(own, "user", (others[0], others[1], others[0])),
        "p": SimpleNamespace(rank=2),
    }
    code, ended = udf.__code__, ""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            udf(*(given[name] for name in code.co_varnames[: code.co_argcount]))
    except Exception as error:  # what was done before is done
        ended = type(error).__name__
    return record, {at: array.tolist() for at, array in record.held.items()}, ended


def check(text, start):
    """Assert that a run does only what was found. Return the kind of error at which it ended."""
    try:
        udf = load_udf(text)
    except SyntaxError:
        return "SyntaxError"  # such as := where Python forbids it
    found = effects(udf, SHAPES)
    record, left, ended = run_recorded(udf, start)
    read, written = set(record.read), set(record.written)
    assert not {at for at in read if not found.of(*at)}, "read"
    assert not {at for at in written if not found.of(*at).keys() & CHANGES}, "written"
    if not ended:
        # loaded again, as its module may keep what the run before has put there
        check_alone(load_udf(text), start, {at: kind(found.of(*at)) for at in left}, left)
    return ended


def kind(found):
    """Return the one kind of changes of a field that is not found to be read, "none" of one that is
    not found at all; "" of others.
    """
    one = [*found] if len(found) == 1 else [""]
    return one[0] if found else "none"


def check_alone(udf, start, kinds, left):
    """Assert that fields which are not found to be read do not influence others, whatever they
    hold, and that they are changed as it was found.
    """
    shift = {at: SHIFTS[kind] for at, kind in kinds.items() if kind in SHIFTS}
    _, again, ended = run_recorded(udf, start, shift, records=False)
    assert not ended, ended
    before = run_recorded(lambda: None, start, shift, records=False)[1]
    for at, kind in kinds.items():
        now = np.array(again[at])
        if kind not in SHIFTS:
            assert again[at] == left[at], f"{at} changes with {shift}"
        elif kind in ("none", "add") and at[1] != "far":
            assert np.array_equal(now, np.array(left[at]) + shift[at]), f"{at}: {kind}"
        elif kind in ("min", "max"):
            combine = {"min": np.minimum, "max": np.maximum}[kind]
            assert (combine(np.array(before[at]), now) == now).all(), f"{at}: {kind}"


@pytest.mark.long
@given(st.randoms(use_true_random=False), st.integers(0, 3))
@settings(relaxed, derandomize=True, max_examples=examples(100))
def test_nothing_happens_that_was_not_found(random, start):
    check(source(random)[1], start)


def test_what_a_module_keeps_of_one_run_does_not_reach_the_next():
    assert (
        check(f"{COMMON}\ndef udf(user, item):\n    (x,) = keep(item.f)\n    x[0] += 1\n", 0) == ""
    )


@pytest.mark.long
def test_nothing_happens_in_many_udfs_that_was_not_found():
    for number in range(3000):
        text = source(Random(number), wild=0.3)[1]
        try:
            check(text, number % 4)
        except AssertionError as error:
            raise AssertionError(f"UDF {number}:\n{text}") from error
