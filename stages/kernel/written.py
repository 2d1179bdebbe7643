"""UDFs that tux writes: plain functions made from source text, which all that reads the source of a
user's function can read too.
"""

from __future__ import annotations

import builtins
import linecache
import types
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """The stage that a function was written for, and ``file:line`` of its declaration."""

    stage: str
    where: str


_ORIGINS: dict[str, Origin] = {}
"""Origins by the name that stands for the file of a written function."""


def place_in(file: str, line: int) -> str:
    """Return ``file:line`` of a function's line, or of the stage for which the function was
    written.
    """
    made_for = origin(file)
    return made_for.where if made_for else f"{file}:{line}"


def origin(file: str) -> Origin | None:
    """Return the stage for which the function in such a file was written; None for a real file."""
    return _ORIGINS.get(file)


def write_udf(
    name: str,
    made_for: Origin,
    parameters: Sequence[str],
    lines: Sequence[str],
    scope: Mapping[str, Any] | None = None,
) -> types.FunctionType:
    """Write the function ``def name(*parameters)`` with the body `lines`, in which the names in
    `scope` stand for what they are mapped to. In messages, the stage and its place stand for the
    function.

    The source is kept where `linecache` finds it, so the function is analysed, checked and compiled
    as one that stands in a file. The same text of the same stage has the same name there, and other
    text another.
    """
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def {name}({', '.join(parameters)}):\n{body}"
    file = f"<{made_for.stage}, {zlib.crc32((made_for.where + source).encode()):08x}>"
    _ORIGINS[file] = made_for
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = compile(source, file, "exec", dont_inherit=True)
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    return types.FunctionType(code, {"__builtins__": builtins, **(scope or {})}, name)
