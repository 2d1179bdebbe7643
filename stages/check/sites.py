"""The places at which a kernel's checks stand, and the code of UDFs with these checks."""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, field
from functools import partial

from tux.stages.analysis.udf_source import compile_like, definition
from tux.stages.check.rewrite import Rewriter
from tux.stages.check.signed import Differences
from tux.stages.kernel import arithmetic
from tux.stages.kernel.written import Origin, origin


@dataclass(frozen=True)
class Site:
    """A place in a UDF's source: ``file:line``, and the text of what is indexed or stored to
    there. Of a function that was written for a `stage`, the place is that of the stage.
    """

    where: str
    text: str
    stage: str = ""

    def message(self, what: str) -> str:
        """Return the message `what`, after the name of the stage if the function is not the
        user's.
        """
        return f"{self.stage}: {what}" if self.stage else what


@dataclass
class Sites:
    """The sites of one kernel by number, and the rewritten source of its UDFs."""

    found: list[Site] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    rewrites: bool = True  # if not, no function is: numba's own checks, without names and lines
    ticks: bool = False  # True: each iteration of a loop calls _tux_tick()
    signed: bool = False  # True: differences of unsigned numbers are rewritten, too
    single: bool = False  # True: literals and whole numbers meet float32

    def add(self, where: str, text: str, made_for: Origin | None = None) -> int:
        """Add a site and return its number."""
        site = Site(where, text)
        if made_for:
            site = Site(made_for.where, text.removeprefix("v."), made_for.stage)
        self.found.append(site)
        return len(self.found) - 1

    def rewrite(self, function: types.FunctionType) -> types.CodeType | None:
        """Return the code of `function` with checks; None where its source is not to be had, or is
        not what is running.
        """
        if not self.rewrites:
            return None
        code = function.__code__
        found = definition(code)
        if found is None:
            return None
        add = partial(self.add, made_for=origin(code.co_filename))
        Rewriter(add, code.co_filename, found, ticks=self.ticks).visit(found)
        if self.signed:
            Differences().visit(found)
        arithmetic.rewrite(found, function, single=self.single)
        if not self.ticks:
            self.sources.append(ast.unparse(found))
        return compile_like(found, code)
