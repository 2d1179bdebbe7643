"""Words that occur rarely in all documents, and features of few samples: the option to leave them
out (``--min-count``).
"""

from __future__ import annotations

import numpy as np

from tux.base.errors import UsageError
from tux.base.text import plural_noun
from tux.io.bags.rare import RareRule
from tux.options.options import Reading
from tux.program.input import Bags, Samples
from tux.program.program import Program


def rare_rule(program: Program, reading: Reading) -> RareRule | None:
    """Return the rule by which a program's words or features are left out, if they are to be.
    UsageError for a program that reads neither.
    """
    if reading.min_count is None:
        return None
    if not isinstance(program.input, Bags | Samples):
        raise UsageError(
            f"{type(program).__name__} reads neither documents nor samples",
            do="leave --min-count out",
        )
    fields = program.edge.columns if isinstance(program.input, Bags) else {}
    counts = [name for name, dtype in fields.items() if np.dtype(dtype).kind in "iu"]
    return RareRule(reading.min_count, next(iter(counts), ""), *program.edge.ends)


def refuse_rare(program: Program, reading: Reading, source: str) -> None:
    """Raise UsageError where rare columns are to be left out of a `source` that is cut already."""
    if reading.min_count is not None:
        raise UsageError(
            f"{source} is cut already, so no {plural_noun(program.edge.ends[1])} can be left out",
            do="name the files instead, or leave --min-count out",
        )
