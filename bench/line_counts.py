"""The lines of code of the apps and of the programs in docs/, beside what TUX2 says of its own."""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.tux2_data import write

ROOT = Path(__file__).parents[1]
OF_TUX2 = {"tux2_mf.py": "MF", "tux2_lda.py": "LDA", "tux2_blockpg.py": "BlockPG"}
"""The programs that the paper shows."""

NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def code_lines(text: str) -> int:
    """Count the lines of a source that hold code: no blank lines, comments and docstrings; an
    import is one line.
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            lines -= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines -= {*range(node.lineno + 1, (node.end_lineno or 0) + 1)}
    return len(lines)


def count_all() -> Iterator[tuple[str, int]]:
    """Yield each app with the lines of all its files, and each program of docs/ with its own."""
    for app in sorted(path.parent for path in ROOT.glob("apps/*/__init__.py")):
        yield f"apps/{app.name}", sum(code_lines(path.read_text()) for path in app.glob("*.py"))
    for path in [ROOT / "docs" / "pagerank.py", *sorted(ROOT.glob("docs/examples/*.py"))]:
        yield path.relative_to(ROOT).as_posix(), code_lines(path.read_text(encoding="utf-8"))


def line_counts(given: argparse.Namespace) -> list[Any]:
    """Print the table."""
    write(f"{'program':<42} {'lines':>6}  TUX2\n")
    for name, count in count_all():
        shown = OF_TUX2.get(Path(name).name)
        told = f"{shown}: a figure of the paper; its lines are not known here" if shown else "-"
        write(f"{name:<42} {count:>6}  {told}\n")
    return []
