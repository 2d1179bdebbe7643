"""Crosses of the columns of labelled samples: which data of a run have none."""

from __future__ import annotations

from typing import Any

from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.inputs.origin import cut_folder
from tux.options.options import Reading
from tux.program.input import Samples
from tux.program.program import Program


def check_crosses(program: Program, data: Any, reading: Reading) -> None:
    """Raise UsageError where columns are to be crossed, and the data have no columns."""
    if reading.cross is None:
        return
    if not isinstance(program.input, Samples):
        raise UsageError(f"{type(program).__name__} reads no samples", do="leave --cross out")
    if folder := cut_folder(data):
        raise UsageError(
            f"{folder} is cut already, so no columns can be crossed",
            do="name the files instead, or leave --cross out",
        )
    if isinstance(data, EdgeData):
        raise UsageError(
            "edges in memory have no columns to cross",
            do="give a table instead, or leave --cross out",
        )
