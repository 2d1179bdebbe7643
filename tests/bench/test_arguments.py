"""Arguments that several benchmarks take."""

import argparse

import pytest

from bench.arguments import names_among, number_from, numbers_from


def test_a_name_that_is_not_known_is_told_with_those_that_are():
    read = names_among({"a": 1, "b": 2})
    assert read("b,a") == ["b", "a"]
    with pytest.raises(argparse.ArgumentTypeError, match="there is no 'c'; there are: a,b"):
        read("a,c")


def test_numbers_from_a_least_on():
    assert numbers_from(1)("4,1") == [4, 1] and number_from(0.5)("2") == 2.0
    for read, text in ((number_from(1), "0"), (number_from(1), "1.5"), (number_from(0.0), "nan")):
        with pytest.raises(argparse.ArgumentTypeError, match="from"):
            read(text)
