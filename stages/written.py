"""UDFs that tux writes: plain functions made from source text, which all that reads the source of a
user's function can read too.
"""

from __future__ import annotations

import builtins
import linecache
import types
import zlib
from collections.abc import Sequence


def written(
    name: str, title: str, parameters: Sequence[str], lines: Sequence[str]
) -> types.FunctionType:
    """``def name(*parameters)`` with the body `lines`. `title` stands for the file in messages.

    The source is kept where `linecache` finds it, so the function is analysed, checked and compiled
    as one that stands in a file. The same text has the same name there, and other text another.
    """
    body = "".join(f"    {line}\n" for line in lines)
    source = f"def {name}({', '.join(parameters)}):\n{body}"
    file = f"<{title}, {zlib.crc32(source.encode()):08x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = compile(source, file, "exec", dont_inherit=True)
    code = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    return types.FunctionType(code, {"__builtins__": builtins}, name)
