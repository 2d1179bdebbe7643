"""The source of a function that is loaded, as a syntax tree with the line numbers of its file."""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import types
from collections.abc import Iterator
from functools import lru_cache

from tux.base.syntax import parse_source

_FUTURE = 0x1FF0000  # flags of a code object that say from which future its source is


def definition(code: types.CodeType) -> ast.FunctionDef | None:
    """Return the function whose code is `code`, as `read_definition` does, in a copy of its own:
    to parse it again takes a fraction of the time of a copy.
    """
    return None if read_definition(code) is None else _parse_tree(code, _text_from(code))


def read_definition(code: types.CodeType) -> ast.FunctionDef | None:
    """Return the function whose code is `code`, without decorators, annotations and defaults. It is
    parsed once, and must not be changed. Return None where its source is not to be had, or is not
    what is running.
    """
    return _parse(code, _text_from(code))


def _text_from(code: types.CodeType) -> str:
    """Return the text of a code's file from its first line on."""
    return "".join(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :])


@lru_cache(maxsize=256)
def _parse(code: types.CodeType, text: str) -> ast.FunctionDef | None:
    """Return the function whose code is `code`, which stands first in a text."""
    found = _parse_tree(code, text)
    again = compile_like(found, code) if found else None
    if found is None or again is None:
        return None
    # code begins in the line of the first decorator
    heads = {code.co_firstlineno, found.lineno}
    if _outline(again, heads) != _outline(code, heads):
        return None  # the file has changed since it was imported
    return found


@lru_cache(maxsize=256)
def _first_block(text: str) -> str:
    """Return the lines of the function that stands first in a text; "" where there is none."""
    try:
        return "".join(inspect.getblock(io.StringIO(text).readlines()))  # a form feed ends no line
    except (OSError, SyntaxError, IndexError):
        return ""


def _parse_tree(code: types.CodeType, text: str) -> ast.FunctionDef | None:
    """Return the function that stands first in a text, with the lines of `code`; None if the text
    is no such function.
    """
    block = _first_block(text)
    before, inside = code.co_firstlineno - 1, block[:1].isspace()
    try:  # not dedented, as this would change strings of several lines
        tree = parse_source("\n" * (before - inside) + "if True:\n" * inside + block)
    except SyntaxError:
        return None
    body = tree.body[0].body if inside and isinstance(tree.body[0], ast.If) else tree.body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return None
    return _strip_declaration(body[0])


def compile_like(definition: ast.FunctionDef, like: types.CodeType) -> types.CodeType | None:
    """Compile a function that closes over the same variables as `like`."""
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
    code = compile(module, like.co_filename, "exec", like.co_flags & _FUTURE, dont_inherit=True)
    return next((each for each in _nested_codes(code) if each.co_name == definition.name), None)


def _strip_declaration(definition: ast.FunctionDef) -> ast.FunctionDef:
    """Strip from a function the parts that its code does not depend on."""
    definition.decorator_list, definition.returns = [], None
    arguments = definition.args
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        each.annotation = None
    return definition


def _outline(code: types.CodeType, heads: set[int]) -> tuple[object, ...]:
    """Return the parts of a code that two codes of one source have in common, apart from the lines
    of their heads. Instructions differ, as they depend on what the module imports.
    """
    consts = [const for const in code.co_consts if not isinstance(const, types.CodeType)]
    return (
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        repr(consts),
        {line for *_, line in code.co_lines()} - heads,
    )


def _nested_codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _nested_codes(const)
