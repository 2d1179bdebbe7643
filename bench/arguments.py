"""Arguments that several benchmarks take."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import TypeVar

Number = TypeVar("Number", int, float)


def names_among(known: Collection[str]) -> Callable[[str], list[str]]:
    """Return a reader (`type=` of argparse) of names with commas between them, each one of
    `known`.
    """

    def read(text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in known:
                raise ArgumentTypeError(f"there is no {name!r}; there are: {','.join(known)}")
        return names

    return read


def number_from(least: Number) -> Callable[[str], Number]:
    """Return a reader of a number that is at least `least`, and of its kind."""

    def read(text: str) -> Number:
        number: Number | None = None
        with suppress(ValueError):
            number = type(least)(text)
        if number is None or not least <= number < math.inf:
            kind = "whole number" if isinstance(least, int) else "number"
            raise ArgumentTypeError(f"a {kind} from {least} on is needed, not {text!r}")
        return number

    return read


def numbers_from(least: Number) -> Callable[[str], list[Number]]:
    """Return a reader of such numbers with commas between them."""
    read = number_from(least)
    return lambda text: [read(each) for each in text.split(",")]
