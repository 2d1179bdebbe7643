"""Bugs to inject into what mirrors, masters and the context hold and send; each is a context
manager that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import mutant

from tux.graph.routes import ALL
from tux.messages.encoding import NEVER, FieldElements, pack
from tux.rows.table import RowTable
from tux.stages.globalsync import ContextSync
from tux.sync.apply import ApplySync
from tux.sync.fields import DOWN, flatten_rows
from tux.sync.gathered import TotalsByClock
from tux.sync.masters import Masters
from tux.sync.mirrors import Mirrors
from tux.sync.server import Server


def _select(picked, keep):
    """Select the picked elements for which `keep` (r,) is true."""
    return (
        picked
        if picked is NEVER
        else FieldElements(picked.rows[keep], picked.values[keep], picked.width)
    )


@mutant(Mirrors, "take")
def base_does_not_move_with_a_push(original):
    """Send a second time what has been sent."""

    def take(mirrors, rows, channel, *, deltas=True):
        before = {name: base[rows] for name, base in mirrors.base.items()}
        up = original(mirrors, rows, channel, deltas=deltas)
        for name, base in mirrors.base.items():
            base[rows] = before[name]
        return up

    return take


@mutant(Mirrors, "take")
def deltas_stay_after_a_push(original):
    def take(mirrors, rows, channel, *, deltas=True):
        deltas_of = [array for name, array, _ in mirrors._up if name not in mirrors.base]
        before = [array[rows] for array in deltas_of]
        up = original(mirrors, rows, channel, deltas=deltas)
        for array, old in zip(deltas_of, before, strict=True):
            array[rows] = old
        return up

    return take


@mutant(Mirrors, "install")
def stale_copy_after_an_answer(original):
    """Keep what one row of each answer showed."""

    def install(mirrors, channel, down):
        original(mirrors, channel, [_select(each, np.arange(len(each.rows)) > 0) for each in down])

    return install


@mutant(Mirrors, "install")
def only_asked_rows_are_installed(original):
    """Leave rows as they are that others have touched, or of blocks that others are on."""

    def install(mirrors, channel, down):
        asked = [each.rows for each in mirrors._sent[channel][0]]
        asked = np.concatenate(asked) if asked else []
        rows = [
            each.rows * each.width // max(flatten_rows(field).shape[1], 1)
            for each, field in zip(down, mirrors.down, strict=True)
        ]
        original(
            mirrors,
            channel,
            [_select(each, np.isin(at, asked)) for each, at in zip(down, rows, strict=True)],
        )

    return install


@mutant(Mirrors, "install")
def pending_changes_lost_on_install(original):
    """Install the master's value without the own changes that are on the way to it."""

    def install(mirrors, channel, down):
        original(mirrors, channel, down)
        for name, shown, _ in mirrors._up:
            if name in mirrors.base:
                shown -= mirrors.pending[name]
                mirrors.base[name] -= mirrors.pending[name]

    return install


@mutant(Mirrors, "install")
def unsent_changes_lost_on_install(original):
    def install(mirrors, channel, down):
        original(mirrors, channel, down)
        for name, shown, _ in mirrors._up:
            if name in mirrors.base:
                shown[:] = mirrors.base[name]

    return install


@mutant(Mirrors, "install")
def answered_changes_stay_pending(original):
    """Count a second time the changes that the answer covers."""

    def install(mirrors, channel, down):
        before = {name: pending.copy() for name, pending in mirrors.pending.items()}
        sent = mirrors._sent[channel]
        sent[0] = [NEVER] * len(sent[0])
        original(mirrors, channel, down)
        assert all((pending == before[name]).all() for name, pending in mirrors.pending.items())

    return install


@mutant(Masters, "fold")
def delta_lost(original):
    """Forget the last worker's contribution."""
    return lambda masters, contributions: original(masters, list(contributions)[:-1])


@mutant(Masters, "fold")
def delta_doubled(original):
    """Fold the last worker's contribution twice."""

    def fold(masters, contributions):
        contributions = list(contributions)
        original(masters, [*contributions, *contributions[-1:]])

    return fold


@mutant(Masters, "fold")
def contributions_are_not_dirty(original):
    """Send back only what Apply writes."""

    def fold(masters, contributions):
        original(masters, contributions)
        masters.clear_dirty()

    return fold


@mutant(Masters, "values_and_flags")
def dirty_for_the_first_only(original):
    def flag_and_clear(masters, rows):
        answer = original(masters, rows)
        masters.clear_dirty()
        return answer

    return flag_and_clear


@mutant(RowTable, "clear_deltas")
def deltas_not_cleared_after_apply(original):
    return lambda table, rows=None, only=None: None


@mutant(ApplySync, "serve")
def answers_before_all_have_contributed(original):
    """Fold the changes of the last worker only after the answer, together with its next ones."""
    held = {}

    def serve(sync, server, clock, contributions):
        last, late = contributions[-1], held.get((sync, server))
        # other rows: only their own answer can wait for them
        if sync._rows.masked or (late and late.number != last.number):
            return original(sync, server, clock, contributions)
        held[sync, server] = last
        nothing = last._replace(fields=[NEVER] * len(last.fields))
        return original(sync, server, clock, [*contributions[:-1], late or nothing])

    return serve


@mutant(ApplySync, "install")
def answer_of_one_home_installed_for_another(original):
    def install(sync, message):
        rows = lambda home: len(sync._rows.routes.up(home, np.array([ALL])))  # noqa: E731
        other = (message.source + 1) % sync._partition.workers
        fits = (
            message.payload is None
            and not sync._rows.masked
            and len(message.arrays[0]) == 1
            and rows(other) == rows(message.source)
        )
        original(sync, message._replace(source=other) if fits else message)

    return install


@mutant(ContextSync, "install")
def tau_one_version_behind(original):
    before = {}

    def install(sync, message):
        worker = sync._partition
        columns = worker.tables["tau"].columns(DOWN)
        old = before.get(
            worker, pack((array, np.zeros((1, array.size), np.uint8)) for _, array, _ in columns)
        )
        before[worker] = list(message.arrays)
        original(sync, message._replace(arrays=old))

    return install


@mutant(TotalsByClock, "store")
def masters_add_to_whichever_clock_comes(original):
    return lambda totals, clock: None


@mutant(Mirrors, "set_aside")
def changes_of_a_clock_are_sent_by_another(original):
    """Keep deltas of clocks apart, but not changes in place."""
    return lambda mirrors, rows: {}


@mutant(Server, "_add_totals")
def what_masters_add_to_the_context_lost(original):
    def with_totals(server, sync, message):
        server.tau.clear_deltas()
        server.totals._by_clock.clear()
        return original(server, sync, message)

    return with_totals


@mutant(ApplySync, "_apply")
def only_the_first_of_several_blocks_is_applied(original):
    return lambda self, server, first, numbers: original(self, server, first, numbers[:1])
