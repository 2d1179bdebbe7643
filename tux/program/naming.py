"""The words by which messages name what a user has written: values, and places in a source file."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tux.base.syntax import parse_source


def describe_value(thing: Any) -> str:
    """Return the words by which messages name a value."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return "None" if thing is None else f"an object of type {type(thing).__name__}"


def place(thing: Callable[..., Any] | type) -> str:
    """Return ``file:line`` of a class or function, as far as Python knows it."""
    try:
        return f"{inspect.getsourcefile(thing)}:{inspect.getsourcelines(thing)[1]}"
    except (OSError, TypeError):
        return getattr(thing, "__qualname__", str(thing))


def place_of_member(cls: type, name: str) -> str:
    """Return ``file:line`` where the body of a class gives `name` a value; else that of the
    class.
    """
    line = _lines_of_members(cls).get(name)
    return place(cls) if line is None else f"{inspect.getsourcefile(cls)}:{line}"


@lru_cache(maxsize=16)  # Python parses the whole file to find a class in it
def _lines_of_members(cls: type) -> dict[str, int]:
    """Return the line at which the body of a class gives each name its first value."""
    try:
        lines, first = inspect.getsourcelines(cls)
        tree = parse_source(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):
        return {}
    found = dict[str, int]()
    for node in (
        node for each in tree.body if isinstance(each, ast.ClassDef) for node in each.body
    ):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        for target in targets:
            if isinstance(target, ast.Name):
                found.setdefault(target.id, first + node.lineno - 1)
    return found
