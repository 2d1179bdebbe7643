"""The places at which a kernel's checks stand, and the code of UDFs with these checks."""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, field

from tux.stages.rewrite import Rewriter
from tux.stages.source import compiled, definition


@dataclass(frozen=True)
class Site:
    """A place in a UDF's source: ``file:line``, and the text of what is indexed or stored to
    there.
    """

    where: str
    text: str


@dataclass
class Sites:
    """The sites of one kernel by number, and the rewritten source of its UDFs."""

    found: list[Site] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    rewrites: bool = True  # if not, no function is: numba's own checks, without names and lines
    ticks: bool = False  # whether each iteration of a loop calls _tux_tick()

    def add(self, where: str, text: str) -> int:
        """The number of a new site."""
        self.found.append(Site(where, text))
        return len(self.found) - 1

    def rewritten(self, function: types.FunctionType) -> types.CodeType | None:
        """The code of `function` with checks; None where its source is not to be had, or is not
        what is running.
        """
        if not self.rewrites:
            return None
        code = function.__code__
        found = definition(code)
        if found is None:
            return None
        Rewriter(self.add, code.co_filename, found, ticks=self.ticks).visit(found)
        ast.fix_missing_locations(found)
        if not self.ticks:
            self.sources.append(ast.unparse(found))
        return compiled(found, code)
