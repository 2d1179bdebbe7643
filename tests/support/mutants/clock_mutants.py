"""Bugs to inject into clocks, deliveries, and what is kept apart between clocks; each is a context
manager that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import math
from collections import defaultdict

from support.mutants.mutation import mutant

from tux.clock.clock import Clock, PendingContributions
from tux.cluster.simulated import SimulatedCluster
from tux.engine.clock_loop import ClockLoop
from tux.engine.worker import Worker
from tux.messages.message import Kind
from tux.sync.gathered import UnsentByClock


@mutant(Clock, "may_start")
def starts_one_clock_early(original):
    return lambda clock, order: by_slack(clock, order, original, clock.slack + 1)


def by_slack(clock, order, may_start, slack):
    """Return whether a clock with another slack may start."""
    own, clock.slack = clock.slack, slack
    try:
        return may_start(clock, order)
    finally:
        clock.slack = own


@mutant(Clock, "__init__")
def compares_with_the_slowest_worker(original):
    """Let a worker go on if it is no more than the slack ahead of the slowest worker's clock,
    whatever has been installed in its own rows.
    """
    clocks = []

    class Racing(Clock):
        def may_start(self, order):
            ahead = self.started - min(clock.started for clock in clocks)
            return ahead <= self.slack and by_slack(self, order, Clock.may_start, math.inf)

    def begin(clock, slack):
        original(clock, slack)
        clock.__class__ = Racing
        clocks.append(clock)

    return begin


@mutant(ClockLoop, "_look_ahead")
def asks_until_before_the_answers(original):
    """Ask the schedule on while answers to earlier clocks are still to come."""

    def look_ahead(loop):
        original(loop)
        if loop._next is None and not loop._over:
            original(loop)

    return look_ahead


@mutant(Clock, "may_start")
def starts_before_the_last_home_answers(original):
    def may_start(clock, order):
        late = [
            n for n, each in clock._open.items() if each.ran < each.segments or each.waiting > 1
        ]
        ahead = clock.started - min(late, default=clock.started)
        return ahead <= clock.slack and by_slack(clock, order, original, math.inf)

    return may_start


@mutant(Clock, "end_segment")
def second_segment_before_the_answer(original):
    """Wait for the answers to all segments of a clock only at its end."""

    def ran(clock, number, answers):
        one = clock._open[number]
        one.owed = getattr(one, "owed", 0) + answers
        original(clock, number, one.owed if one.ran + 1 == one.segments else 0)

    return ran


@mutant(Clock, "idle", Clock, "may_start")
def ends_without_draining(idle, may_start):
    """Let the loop take all clocks for finished, but not the rules by which one may start."""

    def start_as_before(clock, order):
        now, Clock.idle = Clock.idle, idle
        try:
            return may_start(clock, order)
        finally:
            Clock.idle = now

    return property(lambda clock: True), start_as_before


@mutant(Worker, "take", ClockLoop, "_install")
def rows_change_while_a_mini_batch_runs(take, install):
    """Install an answer in the rows when it arrives; count it when the segment is over."""

    def at_once(worker, message):
        worker.syncs[message.sync_id].install(message)
        take(worker, message)

    def count(loop):
        while loop.worker.inbox:
            loop.clock.count_answer(loop.worker.inbox.popleft().clock - loop.first)

    return at_once, count


@mutant(ClockLoop, "_install")
def answer_counts_before_it_is_installed(original):
    """Count an answer at once, and install it a round later."""
    late = defaultdict(list)

    def install(loop):
        worker = loop.worker
        for message in late.pop(worker, ()):
            worker.syncs[message.sync_id].install(message)
        for message in worker.inbox:
            loop.clock.count_answer(message.clock - loop.first)
            late[worker].append(message)
        worker.inbox.clear()

    return install


@mutant(SimulatedCluster, "deliver")
def messages_of_a_channel_reordered(original):
    def deliver(cluster, channel):
        cluster.channels[channel].rotate(1)
        original(cluster, channel)

    return deliver


@mutant(SimulatedCluster, "send")
def deltas_reordered(original):
    """Let contributions of later clocks come in earlier: of two on the way in a channel, contents
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
                queue[i]._replace(arrays=queue[j].arrays, payload=queue[j].payload),
                queue[j]._replace(arrays=queue[i].arrays, payload=queue[i].payload),
            )

    return send


@mutant(SimulatedCluster, "send")
def message_lost(original):
    """Lose the twentieth message of each channel."""
    counts = defaultdict(int)

    def send(cluster, message):
        counts[message.source, message.dest] += 1
        if counts[message.source, message.dest] != 20:
            original(cluster, message)

    return send


@mutant(SimulatedCluster, "send")
def message_doubled(original):
    """Bring the twentieth message of each channel twice."""
    counts = defaultdict(int)

    def send(cluster, message):
        counts[message.source, message.dest] += 1
        for _ in range(1 + (counts[message.source, message.dest] == 20)):
            original(cluster, message)

    return send


@mutant(PendingContributions, "add")
def late_joiner(original):
    """Let a master wait only for workers that it has heard from before."""
    members = defaultdict(set)

    def add(gather, key, worker, payload):
        members[gather].add(worker)
        sent = gather._contributions.setdefault(key, {})
        sent[worker] = payload
        if not members[gather] <= set(sent):
            return None
        return [payload for _, payload in sorted(gather._contributions.pop(key).items())]

    return add


@mutant(UnsentByClock, "switch_to")
def blocks_share_what_they_gather(original):
    """Let whichever block comes next send what a block has gathered and not sent."""
    return lambda gathered, clock, unsent: None


@mutant(UnsentByClock, "switch_to")
def deltas_of_another_clock_come_back(original):
    """Bring back first the oldest of the changes that were set aside."""

    def switch_to(gathered, clock, unsent):
        original(
            gathered,
            min(gathered._aside, default=clock) if clock in gathered._aside else clock,
            unsent,
        )

    return switch_to
