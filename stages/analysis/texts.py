"""Texts that UDFs compare with: fields and ids are numbers, so numba makes all such comparisons
False without a word.
"""

from __future__ import annotations

import ast
import types

from tux.base.errors import ProgramError
from tux.stages.analysis.udf_source import definition
from tux.stages.kernel.bind import Udf


def refuse_texts(udf: Udf, *, plain: bool = False) -> None:
    """Raise ProgramError where `udf` compares something with a text that is written out; `plain`:
    it is ordinary Python, where only `p.NAME` is never a text.
    """
    tree = definition(udf.__code__) if isinstance(udf, types.FunctionType) else None
    for node in ast.walk(tree) if tree is not None else ():
        texts = [
            each.value
            for each in ([node.left, *node.comparators] if isinstance(node, ast.Compare) else ())
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if not texts:
            continue
        assert isinstance(node, ast.Compare)
        _refuse_name_of_choice(udf, node, texts[0])
        if not plain:
            raise ProgramError(
                f"`{udf.__name__}` compares with the text {texts[0]!r}: fields and ids of vertices "
                "are numbers",
                where=f"{udf.__code__.co_filename}:{node.lineno}",
                do="for the vertex with a known id, declare source: str = vertex_param(...), and "
                "compare with p.source",
            )


def _refuse_name_of_choice(udf: Udf, node: ast.Compare, text: str) -> None:
    """Raise ProgramError where `p.NAME`, which is no text, is compared with `text`."""
    for each in (node.left, *node.comparators):
        if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "p":
            raise ProgramError(
                f"`{udf.__name__}` compares p.{each.attr} with the text {text!r}: `p` holds "
                "numbers, and of a parameter with choices={...} the function that was chosen, not "
                "its name",
                where=f"{udf.__code__.co_filename}:{node.lineno}",
                do=f"call p.{each.attr}(...), or choose by self.{each.attr} in stages(); of a "
                "vertex_param, leave the text out",
            )
