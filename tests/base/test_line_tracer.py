"""The tracer of plain Python: the line that takes most, what it calls, and an end of tracing."""

import itertools
import sys

import pytest
from support.programs.tiny_ratings import RATINGS

from tux.base import line_tracer
from tux.base.line_tracer import LineTracer


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Have the clock go on by one with each look: times count the lines that run."""
    looks = itertools.count()
    monkeypatch.setattr(line_tracer, "perf_counter", lambda: float(next(looks)))


def add(n):
    total = 0
    for k in range(n):
        total += k
    return total


def call(n):
    first = add(n)
    return first + len(sorted(RATINGS * n))


def trace(function, *arguments, **options):
    """Return what a tracer of this file finds in a call."""
    tracer = LineTracer(**options)
    tracer.files.add(__file__)
    tracer.start()
    function(*arguments)
    return {line - function.__code__.co_firstlineno: s for (_, line), s in tracer.stop().items()}


def test_a_loop_takes_most():
    found = trace(add, 2000, seconds=1e9)
    assert {*sorted(found, key=found.get)[-2:]} == {2, 3}
    assert {*found} == {0, 1, 2, 3, 4}


def test_lines_of_a_function_of_a_traced_file_are_told_by_themselves():
    found = trace(call, 1, seconds=1e9)
    assert min(found) < 0 and {1, 2} <= {*found}


def test_no_more_is_traced_than_was_asked_for():
    assert trace(add, 10, seconds=0) == {}
    assert sum(trace(add, 200_000, seconds=100).values()) <= 101
    assert sys.gettrace() is None


def test_another_tracer_is_left_alone():
    def other(frame, event, argument):
        return None

    sys.settrace(other)
    try:
        assert trace(add, 10) == {}
        assert sys.gettrace() is other
    finally:
        sys.settrace(None)
