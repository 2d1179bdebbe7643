"""Random programs whose lists of items are watched: what threads change, they change in turns."""

import pytest
from prove import MUTANTS
from support.prove.case import draw_case
from support.prove.engine import run_case
from support.prove.watched import watched_turns

SEEDS = 73, 89
"""Their programs have items that change the same numbers."""


def run_watched(seed):
    with watched_turns() as watched:
        run_case(draw_case(seed)._replace(kept=0, moved=0, watched=False))
    return watched


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("seed", SEEDS)
def test_items_that_change_the_same_numbers_take_turns(seed):
    assert draw_case(seed).watched and run_watched(seed).ordered > 0


@pytest.mark.parametrize(
    ("name", "seed", "words"),
    [
        ("all_items_have_the_first_turn", 73, "waits in vain"),
        ("tiles_take_no_turns_of_columns", 73, "at once"),
    ],
)
def test_items_without_turns_are_seen(name, seed, words):
    with pytest.raises(AssertionError, match=words), MUTANTS[name]():
        run_watched(seed)
