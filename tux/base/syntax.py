"""Source code as a tree of syntax."""

from __future__ import annotations

import ast

TIMES = 10


def parsed(source: str | bytes) -> ast.Module:
    """`ast.parse`, tried again where another thread of the process parses at the same time: until
    CPython 3.11.7 and 3.12.1 that may be a SystemError about depths of recursion, which says
    nothing of the source (its issue 106905). Raises SyntaxError and ValueError.
    """
    for _ in range(TIMES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            pass
    return ast.parse(source)
