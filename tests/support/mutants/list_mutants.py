"""Bugs to inject into lists that are made in a stage, and the rows that come for them. Each is a
context manager that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import program_mutant

from tux.graph.topology import Topology
from tux.stages.generate import Generate
from tux.stages.pull import generated
from tux.stages.pull.generated import GeneratedLists


@program_mutant(GeneratedLists, "starts")
def the_last_vertex_of_a_block_makes_no_list(original):
    return lambda self, block: original(self, block)[:-1]


@program_mutant(generated, "list_lengths")
def the_last_of_a_full_list_is_not_visited(original):
    return lambda array: np.minimum(original(array), max(array.shape[1] - 1, 1))


@program_mutant(GeneratedLists, "make")
def each_round_is_the_first(original):
    def make(self, block):
        original(self, block._replace(round=0))
        self._made[block.number, block.round] = self._made[block.number, 0]

    return make


@program_mutant(Topology, "of")
def links_lead_both_ways(original):
    of = original.__func__
    return staticmethod(lambda *edges, directed, **more: of(*edges, directed=False, **more))


@program_mutant(Generate, "_fields_of_lists")
def rows_of_the_second_list_come_without_fields(original):
    def fields(self, program):
        found = original(self, program)
        return found | {name: [] for name in [*found][1:]}

    return fields
