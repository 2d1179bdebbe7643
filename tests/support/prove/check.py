"""The comparison of what the engine computes of a case with what the interpreter does."""

from __future__ import annotations

import numpy as np
from support.prove.case import DrawnCase
from support.prove.engine import BlockOrders, run_case
from support.prove.interpreter import interpret
from support.prove.spec import MasterState

ROUNDING = 1e-5
"""The share by which fields that take means may differ: masters divide, and plain Python rounds
what is added to a fraction to single precision where it is made of entries of such arrays.
"""


def check_case(case: DrawnCase) -> None:
    """Assert that the engine's results of a case, and those of the run from its checkpoint, are the
    interpreter's. Raise TuxError where tux refuses the program.
    """
    outcome, again, placement = run_case(case)
    wanted = interpret(
        case.program, case.graph, placement, BlockOrders(case), case.epochs, seed=case.seed
    )
    for what, found in (("", outcome), *(("resumed: ", each) for each in again)):
        differences = [*compare(case, found, wanted)]
        assert not differences, f"{what}{differences[0]}"


def compare(case: DrawnCase, found: MasterState, wanted: MasterState):
    """Yield a line for each field that differs."""
    for vertex in case.program.vertices:
        for each in vertex.fields:
            if each.name in found.vertices[vertex.name]:
                means = each.combine in ("mean", "replica_mean")
                if means and case.steady:
                    continue  # a matter of the clocks that are folded at once
                pair = [of.vertices[vertex.name][each.name] for of in (found, wanted)]
                yield from differ(f"{vertex.name}.{each.name}", *pair, ROUNDING if means else 0)
    for name in found.context:
        yield from differ(f"tau.{name}", found.context[name], wanted.context[name], 0)


def differ(name: str, found: np.ndarray, wanted: np.ndarray, rounding: float):
    """Yield what differs between two arrays, if anything."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if not np.allclose(found, wanted, rtol=rounding, atol=rounding, equal_nan=True):
        at = tuple(
            np.argwhere(~np.isclose(found, wanted, rtol=rounding, atol=rounding))[0].tolist()
        )
        yield f"{name}{[*at]} is {found[at]}, and by the documents {wanted[at]}"
