"""Values of a field from several workers, combined by a word or by a function of the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.program.combining import COMBINE, Merge
from tux.program.fields import Field
from tux.program.naming import describe_value, place


def combine_values(field: Field, held: np.ndarray, given: np.ndarray) -> np.ndarray:
    """Return the combination of what is `held` and what is `given` of a sized field, arrays of rows
    (n, ...): by a word of `COMBINE`, or by a function that is called for each row. Raise
    ProgramError for an error in it, and where it returns no number of two.
    """
    combine = field.combine
    if isinstance(combine, str):
        combined: np.ndarray = COMBINE[combine](held, given)
        return combined
    merged = held.copy()
    rows, others = (each.reshape(len(held), *field.lengths) for each in (merged, given))
    for row, other in enumerate(others):
        with _locate_errors(combine):
            returned = combine(rows[row], other)
        if not field.lengths:
            rows[row] = _check_number(combine, returned)
        elif returned is not None:
            raise ProgramError(
                f"`{combine.__name__}` combines two arrays, and returns {describe_value(returned)}",
                where=place(combine),
                do="change the first of its arrays, and return nothing",
            )
    return merged


@contextmanager
def _locate_errors(merge: Merge) -> Iterator[None]:
    """Raise ProgramError for any error in a user's function."""
    try:
        yield
    except Exception as error:
        raise ProgramError(
            f"`{merge.__name__}` combines two values, and failed: {type(error).__name__}: {error}",
            where=place(merge),
            do="correct the function: it gets two values of the field's shape",
        ) from error


def _check_number(merge: Merge, returned: Any) -> Any:
    """Return what a user's function has returned of two numbers. ProgramError if it is none."""
    if isinstance(returned, bool | int | float | np.number | np.bool_):
        return returned
    raise ProgramError(
        f"`{merge.__name__}` combines two numbers, and returns {describe_value(returned)}",
        where=place(merge),
        do="return the number that both make",
    )
