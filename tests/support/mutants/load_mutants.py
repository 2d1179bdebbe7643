"""Bugs to inject into the loading of graphs in shares. Each is a context manager that replaces
functions for as long as it lasts.
"""

from __future__ import annotations

from support.mutants.mutation import program_mutant

from tux.parallel_load.algorithm import assembling, homes, placing, turns, vertex_tables


@program_mutant(placing, "_pieces")
def ends_of_a_share_are_told_the_other_way_round(original):
    return lambda table, index: original(table, index[::-1])


@program_mutant(turns, "_pass_loads")
def each_loader_begins_with_loads_of_its_own(original):
    def pass_loads(plan, me, turn, load):
        before = load.copy()
        yield from original(plan, me, turn, load)
        return before

    return pass_loads


@program_mutant(homes, "_homes_without_edges")
def vertices_without_edges_are_dealt_out_by_each_loader(original):
    """Forget the vertices of the loaders before."""
    return lambda totals, me: original(totals, me)[:1].repeat(int(totals.counts[me, 0]))


@program_mutant(vertex_tables, "_exchange_field")
def rows_of_tables_are_joined_from_last_to_first(original):
    def exchange(values, to, places, whole):
        whole = yield from original(values, to, [each[::-1] for each in places], whole)
        return whole

    return exchange


@program_mutant(assembling, "_check_rows")
def rows_of_a_part_end_early(original):
    def check(rows, positions, bounds):
        original(rows, positions, bounds)
        rows[-1:] = rows[:1]

    return check
