"""Bugs to inject into the turns by which threads share the items of a list. Each is a context
manager that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import program_mutant

from tux.stages.blocks import exchange_step
from tux.stages.kernel import tickets


@program_mutant(tickets, "count_earlier")
def all_items_have_the_first_turn(original):
    return lambda numbers: np.zeros_like(original(numbers))


@program_mutant(exchange_step, "with_tickets")
def tiles_take_no_turns_of_columns(original):
    return lambda items, rows, columns: original(items, rows, None)


@program_mutant(exchange_step, "with_tickets")
def tiles_take_no_turns_of_rows(original):
    return lambda items, rows, columns: original(items, None, columns)
