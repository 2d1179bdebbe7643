"""The files of which a program consists: its own, and those beside it that it imports. Found in the
text; nothing is imported.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from tux.base.syntax import parse_source


def with_imports(path: Path) -> dict[str, bytes]:
    """Read a source file, as "", and the modules in its folder or below that it imports, directly
    or through each other, by their path in the folder.
    """
    folder, package = path.parent, _package(path.parent)
    contents, left = {"": path.read_bytes()}, [""]
    while left:
        name = left.pop()
        for module in _import_names(contents[name], (*package, *Path(name).parent.parts)):
            inside = module[len(package) :] if module[: len(package)] == package else ()
            for file in _files_of(folder, inside):
                key = file.relative_to(folder).as_posix()
                if key not in contents and file != path:
                    contents[key] = file.read_bytes()
                    left.append(key)
    return contents


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return 32 hexadecimal digits of the content and names of files; not of where they are."""
    total = hashlib.blake2b(digest_size=16)
    for name, content in sorted(files.items()):
        total.update(f"{name} {len(content)} ".encode() + content)
    return total.hexdigest()


def _package(folder: Path) -> tuple[str, ...]:
    """Return the parts of the package that a folder of apps is; nothing for the folder of a user's
    file.
    """
    root = Path(next(iter(importlib.import_module("tux.apps").__path__))).resolve()
    folder = folder.resolve()
    return ("tux", "apps", *folder.relative_to(root).parts) if root in folder.parents else ()


def _import_names(content: bytes, package: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the names that a module of a package imports, each as its parts. A name that is
    imported from a module may be a module too.
    """
    try:
        nodes = list(_running_nodes(parse_source(content)))
    except (SyntaxError, ValueError):  # it can be imported conditionally, or not be Python
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (tuple(each.name.split(".")) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = (*above, *(node.module.split(".") if node.module else ()))
            yield from ((*module, each.name) for each in node.names)


def names_for_checkers(content: bytes) -> set[str]:
    """Return the names that a module imports under ``if TYPE_CHECKING:`` alone."""
    checked = [node.body for node in ast.walk(parse_source(content)) if _is_for_checkers(node)]
    return {
        alias.asname or alias.name
        for body in checked
        for each in body
        if isinstance(each, ast.Import | ast.ImportFrom)
        for alias in each.names
    }


def _running_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a tree without those that type checkers alone read."""
    pending = [tree]
    while pending:
        yield (node := pending.pop())
        pending += node.orelse if _is_for_checkers(node) else ast.iter_child_nodes(node)


def _is_for_checkers(node: ast.AST) -> TypeGuard[ast.If]:
    """Return whether a node is ``if TYPE_CHECKING:``."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in (
        getattr(node.test, "id", ""),
        getattr(node.test, "attr", ""),
    )


def _files_of(folder: Path, module: Sequence[str]) -> Iterator[Path]:
    """Yield the files in a folder that are loaded when `module` is imported."""
    for end in range(1, len(module) + 1):
        place = folder.joinpath(*module[:end])
        yield from (f for f in (place.with_suffix(".py"), place / "__init__.py") if f.is_file())
