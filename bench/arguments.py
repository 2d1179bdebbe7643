"""Arguments that several benchmarks take."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Collection


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
