"""The faults of a parser are found, whatever they are, and the inputs after them are read."""

import os

import pytest
from support.programs.faulty_parsers import (
    SAMPLE,
    crash,
    error_of_tux,
    nothing,
    parsers,
    text,
    warning,
)

from fuzz import watch
from fuzz.outcome import fault_in_words, fault_of
from tux.base.errors import DataError
from tux.base.text import LONGEST

COUNT = 130
FAULTY = "support.programs.faulty_parsers"


def find_faults(name, limit=1.0):
    """Return the finds of a faulty parser, and the numbers of the inputs that show its fault."""
    parser = parsers(None)[name]
    numbers = [n for n in range(COUNT) if parser.input(name, 0, n)[0] % 32 == 7]
    count = numbers[-1]  # the last one ends the list, and inputs stand before it
    numbers = numbers[:-1]
    assert numbers and numbers[-1] < count - 1
    finds = watch.finds(name, 0, count, os.environ | {}, registry=FAULTY, limit=limit)
    return list(finds), numbers


def test_a_value_and_an_error_of_tux_are_no_faults():
    assert fault_of(nothing, b"") is None and fault_of(error_of_tux, b"") is None


def test_another_exception_is_a_fault_of_its_line():
    fault = fault_of(text, b"\xff")
    assert fault.kind.startswith("UnicodeDecodeError at tests/support/programs/faulty_parsers.py:")
    assert "invalid start byte" in fault.detail
    assert fault.kind == fault_of(text, b"a\xc0").kind


@pytest.mark.filterwarnings("error")
def test_a_warning_is_a_fault():
    assert fault_of(warning, b"\xff").kind.startswith("RuntimeWarning at ")


def test_errors_must_be_told_in_words():
    assert fault_in_words(DataError(" ")) == "an error without words"
    error = DataError("what")
    error.do = "two\nlines"
    assert fault_in_words(error) == "several lines (do)"
    error.do = "x" * (LONGEST + 1)
    assert fault_in_words(error) == "a line of over 2,000 characters (do)"


def test_inputs_after_an_exception_are_read():
    finds = watch.finds("text", 0, COUNT, os.environ | {}, registry=FAULTY)
    bad = [n for n in range(COUNT) if fault_of(text, parsers(None)["text"].input("text", 0, n))]
    assert [find.number for find in finds] == bad and len(bad) > 2


@pytest.mark.slow
def test_inputs_after_a_crash_are_read():
    assert crash(SAMPLE) is None
    finds, numbers = find_faults("crash")
    assert [find.number for find in finds] == numbers
    assert {find.kind for find in finds} == {"the process ended by SIGSEGV"}
    assert "faulty_parsers.py" in finds[0].detail  # the traceback of the crash


@pytest.mark.long
def test_an_endless_input_is_ended():
    finds, numbers = find_faults("endless", limit=0.05)
    assert [(find.number, find.kind) for find in finds] == [(n, "takes too long") for n in numbers]


@pytest.mark.slow
def test_too_much_memory_is_refused():
    finds, numbers = find_faults("memory")
    assert [find.number for find in finds] == numbers
    assert all("MemoryError" in find.kind for find in finds)


def test_a_parser_that_refuses_its_samples_is_none():
    with pytest.raises(RuntimeError, match="does not read its samples"):
        list(watch.finds("unknown", 0, 1, os.environ | {}, registry=FAULTY))
