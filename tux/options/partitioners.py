"""The partitioner that a user names: one method for all edges, or for those of one edge type."""

from __future__ import annotations

from tux.base.errors import UsageError
from tux.base.text import did_you_mean
from tux.partition import PARTITIONERS
from tux.partition.method_of_type import MethodOfType
from tux.program.base_program import first_edge
from tux.program.program import Program


def check_partitioner(partitioner: str) -> None:
    """Raise UsageError for a method that there is not."""
    method, _ = MethodOfType.parse(partitioner)
    if method not in ("auto", *PARTITIONERS):
        known = ", ".join(PARTITIONERS)
        raise UsageError(
            f"no partitioner {method!r}",
            do=f"{did_you_mean(method, PARTITIONERS)}there are auto, {known}",
        )


def check_named_type(program: Program, partitioner: str) -> None:
    """Raise UsageError for a partitioner that is to place edges of a type alone, which is none of
    the program's, or cannot be as the edges of the first are declared whole.
    """
    _, named = MethodOfType.parse(partitioner)
    if not named:
        return
    types = program.edge_types
    if named not in types:
        raise UsageError(
            f"{partitioner}: {named} is no edge type of {type(program).__name__}",
            do=f"{did_you_mean(named, types)}edge types: {', '.join(types)}",
        )
    if program.edge.whole and named != first_edge(program):
        raise UsageError(
            f'{partitioner}: {first_edge(program)} is declared whole="{program.edge.whole}", so '
            "its edges are placed first",
            do=f"name {first_edge(program)}, or leave :{named} out",
        )
