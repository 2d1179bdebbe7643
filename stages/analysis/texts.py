"""Texts that UDFs compare with: fields and ids are numbers, so numba makes all such comparisons
False without a word.
"""

from __future__ import annotations

import ast
import types

from tux.base.errors import ProgramError
from tux.stages.analysis.udf_source import definition
from tux.stages.kernel.bind import Udf


def refuse_texts(udf: Udf) -> None:
    """Raise ProgramError where `udf` compares something with a text that is written out."""
    tree = definition(udf.__code__) if isinstance(udf, types.FunctionType) else None
    for node in ast.walk(tree) if tree is not None else ():
        texts = [
            each.value
            for each in ([node.left, *node.comparators] if isinstance(node, ast.Compare) else ())
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if texts:
            assert isinstance(node, ast.Compare)
            raise ProgramError(
                f"`{udf.__name__}` compares with the text {texts[0]!r}: fields and ids of vertices "
                "are numbers",
                where=f"{udf.__code__.co_filename}:{node.lineno}",
                do="for the vertex with a known id, declare source: str = vertex_param(...), and "
                "compare with p.source",
            )
