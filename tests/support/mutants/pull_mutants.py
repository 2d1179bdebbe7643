"""Bugs to inject into rows that are pulled, kept for a window and pushed. Each is a context manager
that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import pull_mutant

from tux.stages.pull.pull_rows import PullClient
from tux.sync.pull import PullServer, UnackedChanges
from tux.sync.row_window import RowWindow


@pull_mutant(PullClient, "_ask")
def a_window_begins_without_the_step_before(original):
    def ask(client, clock, asked, least):
        return original(client, clock, asked, max(least - 1, 0))

    return ask


@pull_mutant(PullClient, "push_kept")
def kept_changes_are_not_pushed_at_the_end(original):
    def push_kept(client, clock):
        client._window = None
        return original(client, clock)

    return push_kept


@pull_mutant(RowWindow, "take_changes")
def what_is_sent_stays_a_change(original):
    def take(window, field, places):
        base = window._base[field].copy()
        changes = original(window, field, places)
        window._base[field] = base
        return changes

    return take


@pull_mutant(RowWindow, "note_changes")
def a_step_that_changes_a_kept_row_is_forgotten(original):
    def note(window, touched):
        asked = touched.asked
        original(
            window, touched._replace(places=touched.places[asked], levels=touched.levels[asked])
        )

    return note


@pull_mutant(RowWindow, "put_values")
def values_replace_what_is_not_sent(original):
    def put(window, field, places, values):
        window._base[field][places] = window.rows[field][places] = values

    return put


@pull_mutant(RowWindow, "touch")
def a_kept_row_has_all_fields(original):
    def touch(window, positions, levels, often, *, ends):
        count = len(window.positions)
        touched = original(window, positions, levels, often, ends=ends)
        return touched._replace(asked=often | (touched.places >= count))

    return touch


@pull_mutant(PullClient, "_push_changes")
def a_window_ends_without_its_changes(original):
    """Send the rows of the step alone."""

    def push(client, clock, step, window, chosen, of):
        if chosen is None and of[0] != "kept":
            chosen = np.flatnonzero(window._unsent < 1)
        return original(client, clock, step, window, chosen, of)

    return push


@pull_mutant(UnackedChanges, "add_to")
def pushed_changes_are_not_added_to_older_values(original):
    return lambda self, field, own, slots, *, step, folded: None


@pull_mutant(PullServer, "push")
def a_push_is_folded_at_once(original):
    def push(server, worker, push):
        rows = [push.rows.of_field(f) for f in range(len(server.fields))]
        server.wire.add_changes(server.fields, rows, push.changes)
        nothing = [array[:0] for array in server.wire.like]
        counts = np.zeros_like(push.rows.counts)
        return original(
            server, worker, push._replace(rows=push.rows._replace(counts=counts), changes=nothing)
        )

    return push
