"""Bugs to inject into what messages carry, into routes, cuts and orders of edges, and into stages.
Each is a context manager that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import program_mutant

from tux.engine import initial
from tux.engine.partition import Partition
from tux.graph import cut as graph_cut
from tux.graph import routes
from tux.graph.layout import Layout
from tux.graph.local import LocalVertices
from tux.messages import encoding
from tux.messages.encoding import DENSE, ELEMENTS, NEVER, NOTHING, ROWS
from tux.rows.table import RowTable
from tux.stages.blocks.fused import FusedBlocks
from tux.stages.exchange import Exchange
from tux.stages.globalsync import ContextSync, LocalGlobalSync
from tux.stages.minibatch import BatchBlocks
from tux.stages.repeat import Repetitions
from tux.sync import apply, masters
from tux.sync.apply import ApplySync
from tux.sync.masters import Masters
from tux.sync.mirrors import Mirrors
from tux.sync.row_sets import AllRows, BlockRows, TouchedRows

# encodings


@program_mutant(encoding, "_smallest")
def the_last_of_some_elements_is_left_out(original):
    def smallest(values, dirty):
        form, arrays = original(values, dirty)
        if form == ELEMENTS and len(arrays[0]) > 1:
            arrays = [each[:-1] for each in arrays]
        return form, arrays

    return smallest


@program_mutant(encoding, "_smallest")
def the_last_of_some_rows_is_left_out(original):
    def smallest(values, dirty):
        form, arrays = original(values, dirty)
        if form == ROWS and len(arrays[1]):
            last = int(np.flatnonzero(dirty.any(axis=1))[-1])
            arrays[0][last >> 3] &= 255 - (128 >> (last & 7))
            arrays[1] = arrays[1][:-1]
        return form, arrays

    return smallest


@program_mutant(encoding, "_smallest")
def all_rows_are_sent_the_other_way_round(original):
    def smallest(values, dirty):
        form, arrays = original(values, dirty)
        return form, [arrays[0][::-1].copy()] if form == DENSE else arrays

    return smallest


@program_mutant(encoding, "_smallest")
def a_single_change_is_not_sent(original):
    return lambda values, dirty: (NOTHING, []) if dirty.sum() == 1 else original(values, dirty)


@program_mutant(encoding, "_smallest")
def what_becomes_zero_is_not_sent(original):
    return lambda values, dirty: original(
        values, (dirty.astype(bool) & (values != 0)).astype(np.uint8)
    )


@program_mutant(apply, "pick_changed_fields")
def a_worker_keeps_its_changes_from_its_own_masters(original):
    def pick(fields, rows):
        out = original(fields, rows)
        return [NEVER if len(each.rows) == 1 else each for each in out]

    return pick


# routes and sets of rows


@program_mutant(routes, "_rows_in_blocks")
def a_route_forgets_its_last_row(original):
    return lambda rows, bounds, blocks: original(rows, bounds, blocks)[:-1]


@program_mutant(routes.Routes, "down")
def a_home_has_its_rows_in_another_order(original):
    return lambda self, worker, blocks: original(self, worker, blocks)[::-1].copy()


@program_mutant(routes.Routes, "masters")
def the_last_master_of_a_block_is_not_applied(original):
    def masters_of(self, block):
        lo, hi = original(self, block)
        return lo, max(lo, hi - 1)

    return masters_of


@program_mutant(TouchedRows, "rows_to_send")
def a_touched_row_is_not_sent(original):
    def rows_to_send(self, home, number):
        rows, edges = original(self, home, number)
        return rows[1:], edges[1:] if edges is not None else None

    return rows_to_send


@program_mutant(ApplySync, "_encode_rows")
def touched_rows_are_those_of_the_first_block(original):
    """Say "as before" of every block but the first."""
    first = {}

    def encode(self, rows, home, number):
        seen = first.setdefault((self, home), number)
        if seen != number:
            self._sent_before.add((home, number))
        return original(self, rows, home, number)

    return encode


@program_mutant(ApplySync, "_masters_of")
def own_masters_are_those_of_the_first_block(original):
    first = {}

    def masters_of(self, rows, number):
        return original(self, rows, first.setdefault(self, number))

    return masters_of


@program_mutant(BlockRows, "count_edges")
def means_weigh_by_edges_of_all_types(original):
    return AllRows.count_edges


# cuts, layouts and blocks


@program_mutant(LocalVertices, "local_cuts")
def blocks_of_a_worker_begin_a_row_late(original):
    def local_cuts(self, cuts):
        out = np.array(original(self, cuts))
        out[1:-1] = np.minimum(out[1:-1] + 1, out[-1])
        return out

    return local_cuts


@program_mutant(BatchBlocks, "_visits")
def workers_take_blocks_in_orders_of_their_own(original):
    def visits(self, number):
        out = original(self, number)
        return out[::-1] if self._partition.rank == 1 else out

    return visits


@program_mutant(BatchBlocks, "_visits")
def blocks_come_in_the_same_order_each_time(original):
    return lambda self, number: original(self, 0)


@program_mutant(FusedBlocks, "run")
def blocks_of_one_loop_are_run_twice(original):
    def run(self, block=None):
        original(self, block)
        original(self, block)

    return run


@program_mutant(Layout, "reorder")
def fields_of_edges_stay_in_the_order_of_the_file(original):
    return lambda self, fields: {
        name: each[::-1].copy() for name, each in original(self, fields).items()
    }


@program_mutant(graph_cut._TypedEdges, "of_part")
def an_edge_is_lost_in_the_cut(original):
    def of_part(self, part, types):
        if len(self.members[part]) > 1:
            self.members[part] = self.members[part][:-1]
        return original(self, part, types)

    return of_part


@program_mutant(graph_cut._TypedEdges, "of_part")
def edges_of_a_part_swap_their_fields(original):
    def of_part(self, part, types):
        made = original(self, part, types)
        return made._replace(fields={name: each[::-1] for name, each in made.fields.items()})

    return of_part


@program_mutant(graph_cut, "master_numbers")
def two_masters_change_places(original):
    def numbers(mastered, n):
        out = original(mastered, n)
        for each in mastered:
            if len(each) > 1:
                out[each[:2]] = out[each[1::-1]]
        return out

    return numbers


# masters and mirrors


@program_mutant(masters, "combine_values")
def least_and_greatest_of_others_are_last_ones(original):
    return lambda field, one, other: other


@program_mutant(Masters, "_combine")
def deltas_of_a_function_are_added_up(original):
    def combine(self, name, own, field, sent):
        if callable(field.combine) or field.combine not in ("sum", "min", "max"):
            masters.add_deltas(sent.of(own), sent.rows, sent.values)
        else:
            original(self, name, own, field, sent)

    return combine


@program_mutant(Masters, "_mean")
def means_do_not_weigh(original):
    return lambda self, name, field, number, sent: original(
        self,
        name,
        field,
        number,
        [(rows, up, None if w is None else np.ones_like(w)) for rows, up, w in sent],
    )


@program_mutant(Masters, "_mean")
def means_count_only_workers_with_changes(original):
    return lambda self, name, field, number, sent: original(
        self, name, field, number, [each for each in sent if each[1][number] is not NEVER]
    )


@program_mutant(RowTable, "clear_deltas")
def deltas_are_cleared_to_zero(original):
    """Clear all fields of deltas, least ones too, to 0."""

    def clear(self, rows=None, only=None):
        original(self, rows, only)
        for name, array, field in self.columns(("delta",)):
            if field.combine == "min" and (only is None or name in only):
                array[slice(None) if rows is None else rows] = 0

    return clear


@program_mutant(Mirrors, "reset")
def mirrors_begin_with_changes(original):
    """Take the initial values of shared fields for changes."""

    def reset(self):
        original(self)
        for base in self.base.values():
            base[1:] = 0

    return reset


# stages


@program_mutant(Repetitions, "repetitions")
def repeats_once_too_often(original):
    def repetitions(self):
        self.most += 1
        yield from original(self)
        self.most -= 1

    return repetitions


@program_mutant(Exchange, "_visited_mask")
def each_replica_is_visited(original):
    """Visit all replicas where only masters are to be visited."""
    return lambda self, partition, walk: None if self.once else original(self, partition, walk)


@program_mutant(LocalGlobalSync, "run")
def totals_of_one_worker_stay(original):
    def run(self, block=None):
        held = {
            name: array.copy()
            for name, array, _ in self._partition.tables["tau"].columns(("delta",))
        }
        original(self, block)
        for name, array in held.items():
            self._partition.tables["tau"].arrays[name][...] = array

    return run


@program_mutant(ContextSync, "serve")
def the_last_worker_is_left_out_of_totals(original):
    def serve(self, server, clock, contributions):
        answers = original(self, server, clock, contributions[:-1] or contributions)
        return [*answers, *answers[: len(contributions) - len(answers)]]

    return serve


@program_mutant(ContextSync, "aggregate_masters")
def masters_are_aggregated_twice(original):
    def aggregate(self, clock):
        if self._aggregate and self._at_home and clock in self._passes:
            self._aggregate(self._passes[clock])
        original(self, clock)

    return aggregate


@program_mutant(initial, "_fill")
def initial_values_are_forgotten(original):
    def fill(partition, table, ids, first, stored):
        original(partition, table, ids, first, stored)
        for name, declared in table.declared.items():
            if declared.kind == "mirror" or (declared.kind == "master" and len(ids)):
                table.arrays[name][...] = 0

    return fill


# metrics


@program_mutant(Partition, "forget_metrics")
def metrics_of_the_epoch_before_are_reported_again(original):
    return lambda self: None


@program_mutant(Partition, "metrics")
def a_metric_that_is_zero_is_not_reported(original):
    return lambda self: {name: x for name, x in original(self).items() if x}
