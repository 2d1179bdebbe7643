"""The names of a table's columns."""

from __future__ import annotations

from collections.abc import Sequence

from tux.base.errors import DataError


def check_names_differ(names: Sequence[str], where: str) -> None:
    """Raise DataError if two columns have one name."""
    known = set[str]()
    for name in names:
        if name in known:
            raise DataError(
                f"two columns are called {name!r}",
                where=where,
                do="Give each column a name of its own.",
            )
        known.add(name)
