"""Texts that UDFs compare with: fields and ids are numbers, so numba makes all such comparisons
False without a word.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from itertools import chain

from tux.base.errors import ProgramError
from tux.stages.analysis.udf_source import read_definition
from tux.stages.kernel.bind import Udf


def refuse_texts(udf: Udf, *, plain: bool = False) -> None:
    """Raise ProgramError where `udf` compares something with a text that is written out; `plain`:
    it is ordinary Python, where only `p.NAME` is never a text.
    """
    tree = read_definition(udf.__code__) if isinstance(udf, types.FunctionType) else None
    for node in ast.walk(tree) if tree is not None else ():
        sides = _operands(node)
        texts = [
            each.value
            for each in sides
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if not texts:
            continue
        _refuse_name_of_choice(udf, sides, texts[0])
        if not plain:
            raise ProgramError(
                f"`{udf.__name__}` compares with the text {texts[0]!r}: fields and ids of vertices "
                "are numbers",
                where=f"{udf.__code__.co_filename}:{sides[0].lineno}",
                do="for the vertex with a known id, declare source: str = vertex_param(...), and "
                "compare with p.source",
            )


def _operands(node: ast.AST) -> list[ast.expr]:
    """Return what a comparison, or the cases of a match, compare; of ``x in (a, b)`` also a and
    b.
    """
    if not isinstance(node, (ast.Match, ast.Compare)):  # nearly all nodes
        return []
    if isinstance(node, ast.Match):
        patterns = [each for case in node.cases for each in ast.walk(case.pattern)]
        return [node.subject, *(p.value for p in patterns if isinstance(p, ast.MatchValue))]
    sides = [node.left, *node.comparators]
    inside = (each.elts for each in sides if isinstance(each, ast.Tuple | ast.List | ast.Set))
    return [*sides, *chain.from_iterable(inside)]


def _refuse_name_of_choice(udf: Udf, sides: Sequence[ast.expr], text: str) -> None:
    """Raise ProgramError where `p.NAME`, which is no text, is compared with `text`."""
    for each in sides:
        if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "p":
            raise ProgramError(
                f"`{udf.__name__}` compares p.{each.attr} with the text {text!r}: `p` holds "
                "numbers, and of a parameter with choices={...} the function that was chosen, not "
                "its name",
                where=f"{udf.__code__.co_filename}:{each.lineno}",
                do=f"call p.{each.attr}(...), or choose by self.{each.attr} in stages(); of a "
                "vertex_param, leave the text out",
            )
