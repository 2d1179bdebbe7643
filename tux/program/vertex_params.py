"""Parameters that name a vertex: users give its id, UDFs see its number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.arrays.ids import Ids
from tux.base.errors import UsageError
from tux.base.text import did_you_mean
from tux.program.params import Param

if TYPE_CHECKING:
    from tux.program.base_program import BaseProgram

COMPARED = 10_000  # ids of text that are compared with a wrong one, which takes 0.1 s
SHOWN = 3


def vertex_param(
    vertex: str, help: str = "", *, default: str | int | None = None, metavar: str = "ID"
) -> Any:
    """Declare a parameter that is a vertex of type `vertex`:
    ``source: str = vertex_param("place", help="where paths begin")``.

    The flag, or the keyword of the program, takes the id as the data have it. `program.source` is
    the id as text; `p.source` in UDFs is the vertex's number, as `id` is. Without `default` it must
    be given.
    """
    return Param(None if default is None else str(default), help, metavar=metavar, vertex=vertex)


def vertex_numbers(program: BaseProgram, known: Callable[[str], tuple[Ids, int]]) -> dict[str, int]:
    """Return the number of each vertex that a parameter of `program` names. `known(type)` gives the
    ids of a type, and how many of them, from the first on, are of vertices of the training graph.

    A type without vertices, such as that of new vertices to predict for, gives -1. Raise UsageError
    for an id that is not there.
    """
    return {
        name: numbers_named(
            name, declared.vertex, [program.parameters[name]], *known(declared.vertex)
        )[0]
        for name, declared in program.params.items()
        if declared.vertex
    }


def numbers_named(name: str, vertex: str, texts: Sequence[str], ids: Ids, n: int) -> list[int]:
    """Return the number of each vertex that the parameter `name` names by the `texts` of ids; -1 if
    the type has no vertices. UsageError for a text that is none of the first `n` of the `ids`.
    """
    numbers = ids.indices_of(texts).tolist()
    for text, number in zip(texts, numbers, strict=True):
        if n and not 0 <= number < n:
            raise UsageError(
                f"--{name.replace('_', '-')}: no {vertex} of the training data has the id {text!r}",
                do=_advice(text, ids.values[:n]),
            )
    return [number if n else -1 for number in numbers]


def _advice(text: str, values: np.ndarray) -> str:
    """Return advice that names ids (n,) like the one that was meant."""
    if values.dtype.kind in "iu" and text.strip("-").isdecimal():
        near = np.argsort(np.abs(values.astype(np.float64) - float(text)), kind="stable")[:SHOWN]
        return f"the nearest ids are {', '.join(map(str, values[near].tolist()))}"
    known = [str(value) for value in values[:COMPARED].tolist()]
    return (
        f"{did_you_mean(text, known)}ids are written as in the data, e.g. "
        f"{', '.join(known[:SHOWN])}"
    )
