"""The places at which a kernel's checks stand, and the code of UDFs with these checks."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass, field

from tux.stages.rewrite import Rewriter

_FUTURE = 0x1FF0000  # flags of a code object that say from which future its source is


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
        try:
            lines = inspect.getblock(
                linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
            )
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except (OSError, SyntaxError, IndexError):
            return None
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
            return None
        ast.increment_lineno(tree, code.co_firstlineno - 1)
        definition = _bare(tree.body[0])
        if (again := _compiled(definition, code)) is None or _outline(again) != _outline(code):
            return None  # the file has changed since it was imported
        Rewriter(self.add, code.co_filename, definition, ticks=self.ticks).visit(definition)
        ast.fix_missing_locations(definition)
        if not self.ticks:
            self.sources.append(ast.unparse(definition))
        return _compiled(definition, code)


def _bare(definition: ast.FunctionDef) -> ast.FunctionDef:
    """The function without decorators, annotations and defaults, which its code does not depend
    on.
    """
    definition.decorator_list, definition.returns = [], None
    arguments = definition.args
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    return definition


def _compiled(definition: ast.FunctionDef, like: types.CodeType) -> types.CodeType | None:
    """The code of a function that closes over the same variables as `like`."""
    body: list[ast.stmt] = [definition]
    if like.co_freevars:
        cells = [
            ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))
            for name in like.co_freevars
        ]
        nothing = ast.arguments([], [], None, [], [], None, [])
        body = [
            ast.FunctionDef("_around", nothing, [*cells, definition], [], lineno=1, col_offset=0)
        ]
    module = ast.fix_missing_locations(ast.Module(body, []))
    compiled = compile(module, like.co_filename, "exec", like.co_flags & _FUTURE, dont_inherit=True)
    return next((code for code in _nested(compiled) if code.co_name == definition.name), None)


def _outline(code: types.CodeType) -> tuple[object, ...]:
    """What two codes of one source have in common; instructions differ, as they depend on what
    the module imports.
    """
    consts = [const for const in code.co_consts if not isinstance(const, types.CodeType)]
    return (
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        repr(consts),
        {line for *_, line in code.co_lines()},
    )


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _nested(const)
