"""Bugs to inject into the protocol, each a context manager that replaces one function for as long
as it lasts.

A proof by simulation is worth what it can find: every one of these must be caught within 100 seeds.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from mutation import mutant
from team import opened

from tux.cluster.simulated import SimulatedCluster
from tux.engine.clock_loop import ClockLoop
from tux.engine.worker import Worker
from tux.graph.routes import ALL
from tux.protocol.clock import Clock, Gather
from tux.protocol.encoding import NOTHING, Picked, pack
from tux.protocol.gathered import Gathered, TotalsByClock
from tux.protocol.message import Kind
from tux.protocol.replicas import DOWN, Masters, Mirrors
from tux.protocol.server import Server
from tux.rows.table import Table
from tux.stages.apply_sync import ApplySync
from tux.stages.globalsync import ContextSync


@mutant(Clock, "may_start")
def starts_one_clock_early(original):
    return lambda clock: clock.started - clock.finished <= clock.slack + 1


@mutant(Clock, "__init__")
def compares_with_the_slowest_worker(original):
    """Whoever is no more than the slack ahead of the slowest worker's clock goes on, whatever
    has been installed in its own rows.
    """
    clocks = []

    class Racing(Clock):
        def may_start(self):
            return self.started - min(clock.started for clock in clocks) <= self.slack

    def begin(clock, slack):
        original(clock, slack)
        clock.__class__ = Racing
        clocks.append(clock)

    return begin


@mutant(Clock, "may_start")
def starts_before_the_last_home_answers(original):
    def may_start(clock):
        late = [
            n for n, each in clock._open.items() if each.ran < each.segments or each.waiting > 1
        ]
        return clock.started - min(late, default=clock.started) <= clock.slack

    return may_start


@mutant(Clock, "ran")
def second_segment_before_the_answer(original):
    """Only at its end a clock waits, for the answers to all of its segments."""

    def ran(clock, number, answers):
        one = clock._open[number]
        one.owed = getattr(one, "owed", 0) + answers
        original(clock, number, one.owed if one.ran + 1 == one.segments else 0)

    return ran


@mutant(Clock, "idle")
def ends_without_draining(original):
    return property(lambda clock: True)


@mutant(Worker, "take", ClockLoop, "_install")
def rows_change_while_a_mini_batch_runs(take, install):
    """An answer goes into the rows when it arrives, and counts when the segment is over."""

    def at_once(worker, message):
        worker.syncs[message.sync_id].install(message)
        take(worker, message)

    def count(loop):
        while loop.worker.inbox:
            loop.clock.answered(loop.worker.inbox.popleft().clock - loop.first)

    return at_once, count


@mutant(ClockLoop, "_install")
def answer_counts_before_it_is_installed(original):
    """An answer counts at once and is installed a round later."""
    late = defaultdict(list)

    def install(loop):
        worker = loop.worker
        for message in late.pop(worker, ()):
            worker.syncs[message.sync_id].install(message)
        for message in worker.inbox:
            loop.clock.answered(message.clock - loop.first)
            late[worker].append(message)
        worker.inbox.clear()

    return install


def _down(mirrors):
    return [array for _, array, _ in mirrors._down]


@mutant(Mirrors, "pack")
def base_does_not_move_with_a_push(original):
    """What has been sent is sent again."""

    def pack(mirrors, rows, channel, *, deltas=True):
        before = {name: base[rows] for name, base in mirrors.base.items()}
        up = original(mirrors, rows, channel, deltas=deltas)
        for name, base in mirrors.base.items():
            base[rows] = before[name]
        return up

    return pack


@mutant(Mirrors, "pack")
def deltas_stay_after_a_push(original):
    def pack(mirrors, rows, channel, *, deltas=True):
        deltas_of = [array for name, array, _ in mirrors._up if name not in mirrors.base]
        before = [array[rows] for array in deltas_of]
        up = original(mirrors, rows, channel, deltas=deltas)
        for array, old in zip(deltas_of, before, strict=True):
            array[rows] = old
        return up

    return pack


@mutant(Mirrors, "install")
def stale_copy_after_an_answer(original):
    """Of each answer, one row keeps what it showed."""

    def install(mirrors, rows, channel, down):
        original(
            mirrors,
            rows[1:],
            channel,
            pack((values[1:], dirty[1:]) for values, dirty in opened(down, _down(mirrors), rows)),
        )

    return install


@mutant(Mirrors, "install")
def only_asked_rows_are_installed(original):
    """Rows that others have touched, or of blocks that others are on, stay as they are."""

    def install(mirrors, rows, channel, down):
        asked = np.isin(
            rows, np.concatenate([*(each.rows for each in mirrors._sent[channel][0]), rows[:0]])
        )
        original(
            mirrors,
            rows[asked],
            channel,
            pack((v[asked], d[asked]) for v, d in opened(down, _down(mirrors), rows)),
        )

    return install


@mutant(Mirrors, "install")
def pending_changes_lost_on_install(original):
    """Below what has not been sent the master's value alone comes in, without what is on the way
    to it.
    """

    def install(mirrors, rows, channel, down):
        original(mirrors, rows, channel, down)
        for name, shown, _ in mirrors._up:
            if name in mirrors.base:
                shown[rows] -= mirrors.pending[name][rows]
                mirrors.base[name][rows] -= mirrors.pending[name][rows]

    return install


@mutant(Mirrors, "install")
def unsent_changes_lost_on_install(original):
    def install(mirrors, rows, channel, down):
        original(mirrors, rows, channel, down)
        for name, shown, _ in mirrors._up:
            if name in mirrors.base:
                shown[rows] = mirrors.base[name][rows]

    return install


@mutant(Mirrors, "install")
def answered_changes_stay_pending(original):
    """What the answer covers is counted a second time."""

    def install(mirrors, rows, channel, down):
        before = {name: pending.copy() for name, pending in mirrors.pending.items()}
        sent = mirrors._sent[channel]
        sent[0] = [Picked(each.rows[:0], each.values[:0], each.width) for each in sent[0]]
        original(mirrors, rows, channel, down)
        assert all((pending == before[name]).all() for name, pending in mirrors.pending.items())

    return install


@mutant(Masters, "fold")
def delta_lost(original):
    """The last worker's contribution is forgotten."""
    return lambda masters, contributions: original(masters, list(contributions)[:-1])


@mutant(Masters, "fold")
def delta_doubled(original):
    """The last worker's contribution is folded twice."""

    def fold(masters, contributions):
        contributions = list(contributions)
        original(masters, [*contributions, *contributions[-1:]])

    return fold


@mutant(Masters, "fold")
def contributions_are_not_dirty(original):
    """Only what Apply writes is sent back."""

    def fold(masters, contributions):
        original(masters, contributions)
        masters.clear_dirty()

    return fold


@mutant(Masters, "read")
def dirty_for_the_first_only(original):
    def read(masters, rows):
        answer = original(masters, rows)
        masters.clear_dirty()
        return answer

    return read


@mutant(Table, "clear_deltas")
def deltas_not_cleared_after_apply(original):
    return lambda table, rows=None: None


@mutant(SimulatedCluster, "deliver")
def messages_of_a_channel_reordered(original):
    def deliver(cluster, channel):
        cluster.channels[channel].rotate(1)
        original(cluster, channel)

    return deliver


@mutant(SimulatedCluster, "send")
def deltas_reordered(original):
    """Contributions of later clocks come in earlier: of two on the way in a channel, contents
    change places.
    """

    def send(cluster, message):
        original(cluster, message)
        queue = cluster.channels[message.source, message.dest]
        same = [
            i
            for i, m in enumerate(queue)
            if (m.kind, m.sync_id) == (Kind.CONTRIBUTION, message.sync_id)
        ]
        if message.kind is Kind.CONTRIBUTION and len(same) > 1:
            i, j = same[-2:]
            queue[i], queue[j] = (
                replace(queue[i], arrays=queue[j].arrays),
                replace(queue[j], arrays=queue[i].arrays),
            )

    return send


@mutant(SimulatedCluster, "send")
def message_lost(original):
    """Each channel loses its twentieth message."""
    counts = defaultdict(int)

    def send(cluster, message):
        counts[message.source, message.dest] += 1
        if counts[message.source, message.dest] != 20:
            original(cluster, message)

    return send


@mutant(SimulatedCluster, "send")
def message_doubled(original):
    """Each channel brings its twentieth message twice."""
    counts = defaultdict(int)

    def send(cluster, message):
        counts[message.source, message.dest] += 1
        for _ in range(1 + (counts[message.source, message.dest] == 20)):
            original(cluster, message)

    return send


@mutant(Gather, "add")
def late_joiner(original):
    """A master waits only for workers that it has heard from before."""
    members = defaultdict(set)

    def add(gather, key, worker, payload):
        members[gather].add(worker)
        sent = gather._contributions.setdefault(key, {})
        sent[worker] = payload
        if not members[gather] <= set(sent):
            return None
        return [payload for _, payload in sorted(gather._contributions.pop(key).items())]

    return add


@mutant(ApplySync, "serve")
def answers_before_all_have_contributed(original):
    """What the last worker sends is folded only after the answer, together with what it sends
    next.
    """
    held = {}

    def serve(sync, server, clock, contributions):
        head, *rest = last = contributions[-1]
        late = held.get((sync, server))
        # other rows: only their own answer can wait for them
        if sync._rows.masked or (late and late[0][0] != head[0]):
            return original(sync, server, clock, contributions)
        held[sync, server] = last
        return original(
            sync,
            server,
            clock,
            [*contributions[:-1], late or [head, np.full_like(rest[0], NOTHING)]],
        )

    return serve


@mutant(ApplySync, "install")
def answer_of_one_home_installed_for_another(original):
    def install(sync, message):
        rows = lambda home: len(sync._rows.routes.up(home, np.array([ALL])))  # noqa: E731
        other = (message.source + 1) % sync._worker.workers
        fits = (
            not sync._rows.masked
            and len(message.arrays[0]) == 1
            and rows(other) == rows(message.source)
        )
        original(sync, replace(message, source=other) if fits else message)

    return install


@mutant(ContextSync, "install")
def tau_one_version_behind(original):
    before = {}

    def install(sync, message):
        worker = sync._worker
        columns = worker.tables["tau"].columns(DOWN)
        old = before.get(
            worker, pack((array, np.zeros((1, array.size), np.uint8)) for _, array, _ in columns)
        )
        before[worker] = list(message.arrays)
        original(sync, replace(message, arrays=old))

    return install


@mutant(Gathered, "switch_to")
def blocks_share_what_they_gather(original):
    """What a block has gathered and not sent is sent by whichever block comes next."""
    return lambda gathered, clock, unsent: None


@mutant(Gathered, "switch_to")
def deltas_of_another_clock_come_back(original):
    """Of what was set aside, the oldest comes back first."""

    def switch_to(gathered, clock, unsent):
        original(
            gathered,
            min(gathered._aside, default=clock) if clock in gathered._aside else clock,
            unsent,
        )

    return switch_to


@mutant(TotalsByClock, "keep")
def masters_add_to_whichever_clock_comes(original):
    return lambda totals, clock: None


@mutant(Mirrors, "set_aside")
def changes_of_a_clock_are_sent_by_another(original):
    """Deltas are kept apart, changes in place are not."""
    return lambda mirrors, rows: {}


@mutant(Server, "_with_totals")
def what_masters_add_to_the_context_lost(original):
    def with_totals(server, sync, clock, arrays):
        server.tau.clear_deltas()
        server._totals._by_clock.clear()
        return original(server, sync, clock, arrays)

    return with_totals
