"""Source code as a tree of syntax."""

from __future__ import annotations

import ast

TIMES = 10


def parse_source(source: str | bytes) -> ast.Module:
    """Parse source code with `ast.parse`, and try again after a SystemError: until CPython 3.11.7
    and 3.12.1, one about depths of recursion may come while another thread of the process parses,
    and says nothing of the source (its issue 106905). Raises SyntaxError and ValueError.
    """
    for _ in range(TIMES - 1):
        try:
            return ast.parse(source)
        except SystemError:
            pass
    return ast.parse(source)
