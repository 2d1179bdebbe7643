"""Rules about the edges that an Exchange visits."""

from __future__ import annotations

from tux.base.errors import ProgramError
from tux.program.base_program import BaseProgram
from tux.stages.kernel.bind import Udf, parameters


def refuse_remote_edges(program: BaseProgram, label: str) -> None:
    """Raise ProgramError for edges of which several workers hold none; `label` is the stage's."""
    if remote := [end for end in program.edge.ends if program.vertices[end].remote]:
        raise ProgramError(
            f"{label} visits edges of {remote[0]}, a remote type: on several workers they lie "
            "nowhere",
            do="gather it in `use` of a Generate, or declare the type without remote=True",
        )


def refuse_equal_draws(program: BaseProgram, f: Udf, label: str) -> None:
    """Raise ProgramError for a UDF per edge that draws random numbers where a row of the file
    stands for several edges: the numbers depend on the ends, so all of them would draw alike.
    """
    if program.edge.repeats and "rng" in parameters(f, label):
        raise ProgramError(
            f"{label} draws numbers for each edge, and edges that a row repeats would draw alike",
            do="give its function a parameter `edges`: it is called for each vertex, and draws "
            "anew for each of its edges",
        )
