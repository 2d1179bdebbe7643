"""Arguments that several benchmarks take."""

import argparse

import pytest

from bench.arguments import names_among


def test_a_name_that_is_not_known_is_told_with_those_that_are():
    read = names_among({"a": 1, "b": 2})
    assert read("b,a") == ["b", "a"]
    with pytest.raises(argparse.ArgumentTypeError, match="there is no 'c'; there are: a,b"):
        read("a,c")
