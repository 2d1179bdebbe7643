"""Stores to rows that numba would take for dead.

Where it has put a list comprehension, an inner function or an overload such as ``rng.uniform()``
into a function, numba removes stores to arrays that are neither arguments nor read later. It knows
that ``v.f`` belongs to the argument v, but not that ``edge.f`` does if the edge comes out of a loop
over edges: the stores of ``edge.f[k] = x`` would be gone without a word. So none is removed.
"""

from __future__ import annotations

from typing import Any

from numba.core import ir
from numba.core.ir_utils import remove_dead_extensions


def _keep(statement: Any, lives: set[str], lives_and_aliases: set[str], *_: Any) -> Any:
    """Return `statement`; its target counts as read later if it stores to an array or may do so."""
    if isinstance(statement, ir.SetItem):
        lives_and_aliases.add(statement.target.name)
    elif isinstance(statement.value, ir.Expr) and statement.value.op == "inplace_binop":
        lives_and_aliases.add(statement.value.lhs.name)
    return statement


remove_dead_extensions[ir.SetItem] = remove_dead_extensions[ir.Assign] = _keep
