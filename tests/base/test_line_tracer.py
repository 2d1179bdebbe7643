"""The tracer of plain Python: the line that takes most, what it calls, and an end of tracing."""

import sys

from support.programs.tiny_ratings import RATINGS

from tux.base.line_tracer import LineTracer


def add(n):
    total = 0
    for k in range(n):
        total += k
    return total


def call(n):
    first = add(n)
    return first + len(sorted(RATINGS * 300))


def trace(function, *arguments, **options):
    """Return what a tracer of this file finds in a call."""
    tracer = LineTracer(**options)
    tracer.files.add(__file__)
    tracer.start()
    function(*arguments)
    return {line - function.__code__.co_firstlineno: s for (_, line), s in tracer.stop().items()}


def test_a_loop_takes_most():
    found = trace(add, 2000, seconds=60.0)
    assert {*sorted(found, key=found.get)[-2:]} == {2, 3}
    assert {*found} == {0, 1, 2, 3, 4}


def test_what_a_line_calls_in_other_files_is_its_own():
    found = trace(call, 1, seconds=60.0)
    assert max(found, key=found.get) == 2
    assert min(found) < 0, "lines of a function of the same file are told by themselves"


def test_no_more_is_traced_than_was_asked_for():
    assert trace(add, 10, seconds=0) == {}
    assert sum(trace(add, 200_000, seconds=0.01).values()) < 0.1
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
