"""A case that goes on on another number of workers: the state of the old ones is dealt to the new
ones, as `tux run --resume --workers` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from support.machines.team import Team
from support.programs.redistributing import whole_state
from support.prove.case import DrawnCase

from tux.base.errors import Refused
from tux.checkpoint import old_states
from tux.checkpoint.redistribute import Redistribution
from tux.checkpoint.snapshot import State
from tux.engine.shares import Shares, shares_of
from tux.inputs.load import Inputs
from tux.partition import PARTITIONERS

RANGE = 16  # bytes of a field that are moved at once, of rows that are few


class DealtStates(NamedTuple):
    """The states of the new workers, by rank; or why there are none."""

    states: list[State]
    refused: str = ""


def on_other_workers(case: DrawnCase) -> DrawnCase:
    """Return the case as it goes on on its other workers."""
    return case._replace(workers=case.moved, parts=case.moved_parts)


def move_states(case: DrawnCase, before: Team, states: Sequence[State]) -> DealtStates:
    """Deal the states of a case's workers to its other workers."""
    moved = on_other_workers(case)
    old, new = (find_shares_again(each, before) for each in (case, moved))
    with patch.object(old_states, "RANGE_BYTES", RANGE):
        try:
            made = Redistribution(before.program, case.seed, old.shares, states, new.shares)
        except Refused as refused:
            return DealtStates([], str(refused))
        return DealtStates([whole_state(made, rank) for rank in range(moved.workers)])


def find_shares_again(case: DrawnCase, team: Team) -> Shares:
    """Find the shares of a case's workers from its edges, as a run does that goes on."""
    with placed_as(case):
        data = Inputs(team.edges), "drawn", case.workers, case.seed
        return shares_of(team.program, *data, common=team.common)


@contextmanager
def placed_as(case: DrawnCase):
    """Have a partitioner "drawn" that places edges as the case says."""
    parts = np.concatenate([case.parts[each.name] for each in case.program.edges])
    with patch.dict(PARTITIONERS, drawn=lambda *graph, **options: parts.astype(np.int16)):
        yield
