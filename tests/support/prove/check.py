"""The comparison of what the engine computes of a case with what the interpreter does."""

from __future__ import annotations

import numpy as np
from support.prove.case import DrawnCase
from support.prove.engine import BlockOrders, MovedRun, run_case
from support.prove.interpreter import interpret
from support.prove.loading import LoadedRun
from support.prove.moving import MoveRefused
from support.prove.spec import EdgePlacement, MasterState

ROUNDING = 1e-5
"""The share by which fields that take means may differ: masters divide, and plain Python rounds
what is added to a fraction to single precision where it is made of entries of such arrays.
"""


def check_case(case: DrawnCase) -> None:
    """Assert that the engine's results of a case, and those of the runs from its checkpoint, are
    the interpreter's. Raise TuxError where tux refuses the program.
    """
    runs = run_case(case)
    wanted = interpret_case(case, runs.placement)
    for what, found in (("", runs.outcome), ("resumed: ", runs.resumed)):
        if found:
            check_outcome(case, what, found, wanted)
    if runs.moved:
        check_moved(case, runs.placement, runs.moved)
    if runs.loaded:
        check_loaded(runs.loaded)


def interpret_case(case: DrawnCase, placement: EdgePlacement, **moves) -> MasterState:
    """Return what the documents say of a case whose workers have this `placement`."""
    orders = BlockOrders(case)
    program, graph = case.program, case.graph
    return interpret(program, graph, placement, orders, case.epochs, seed=case.seed, **moves)


def check_loaded(run: LoadedRun) -> None:
    """Assert that a run on parts that loaders have made ends as the documents say."""
    wanted = interpret_case(run.case, run.placement)
    check_outcome(run.case, "loaded: ", run.outcome, wanted)


def check_moved(case: DrawnCase, placement: EdgePlacement, moved: MovedRun) -> None:
    """Assert that a run goes on on other workers as the documents say, or is refused."""
    try:
        wanted = interpret_case(case, placement, moves={moved.epoch: moved.placement})
    except MoveRefused as refused:
        assert any(field in moved.refused for field in refused.fields), f"moved: {refused}"
        return
    assert moved.outcome, f"moved: {moved.refused}"
    check_outcome(case, "moved: ", moved.outcome, wanted)


def check_outcome(case: DrawnCase, what: str, found: MasterState, wanted: MasterState) -> None:
    """Assert that the engine's results are the interpreter's; `what` tells of which run."""
    differences = [*compare(case, found, wanted)]
    assert not differences, f"{what}{differences[0]}"


def compare(case: DrawnCase, found: MasterState, wanted: MasterState):
    """Yield a line for each field that differs, and for each epoch whose metrics do."""
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
    last = [*wanted.metrics][-len(found.metrics) :]
    if [*found.metrics] != last:
        yield f"there are records of the epochs {[*found.metrics]}, and {last} are the last"
    for epoch, metrics in found.metrics.items():
        if metrics != (told := wanted.metrics.get(epoch)):
            yield f"epoch {epoch} reports {metrics}, and by the documents {told}"


def differ(name: str, found: np.ndarray, wanted: np.ndarray, rounding: float):
    """Yield what differs between two arrays, if anything."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    if not np.allclose(found, wanted, rtol=rounding, atol=rounding, equal_nan=True):
        at = tuple(
            np.argwhere(~np.isclose(found, wanted, rtol=rounding, atol=rounding))[0].tolist()
        )
        yield f"{name}{[*at]} is {found[at]}, and by the documents {wanted[at]}"
