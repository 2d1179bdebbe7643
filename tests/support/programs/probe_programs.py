"""The programs of the probe: every function bears a mark of its worker and clock (see probe.py)."""

from __future__ import annotations

from typing import NamedTuple

from tux import Context, Edge, Program, Vertex, delta, metric, mirror, param, shared, total, value


class ProbeSlots(NamedTuple):
    """A pair of fields with a slot for each worker. `own`: a worker's changes show at once, not
    only when they come back.
    """

    count: str
    sum: str
    own: bool


FIRST, TAKEN, SECOND = (
    ProbeSlots("count", "sum", True),
    ProbeSlots("got", "got_sum", False),
    ProbeSlots("again", "again_sum", True),
)
BEATS, HEARD = ProbeSlots("beats", "beats_sum", True), ProbeSlots("heard", "heard_sum", False)
OF_VERTICES, OF_TAU = (FIRST, TAKEN, SECOND), (BEATS, HEARD)


def slots(kind, *names):
    return {name: kind("i8", "slots") for name in names}


SHARED = slots(shared, *FIRST[:2], *SECOND[:2])
GIVEN = {**slots(delta, "given", "given_sum"), **slots(value, *TAKEN[:2])}
MARKS = {name: mirror("i8", init=-1) for name in ("me", "now", "last", "last_again")}
TAU = {**slots(shared, *BEATS[:2]), **slots(total, "sent", "sent_sum"), **slots(value, *HEARD[:2])}
TAU |= {name: total("i8") for name in ("applied", "mixed")} | {
    name: value("i8") for name in ("runs", "mixtures")
}
TAU |= {"folds": value("i8"), "shown": metric(), "third": metric()}


def mark(v, me, now):
    """Add 1 and the clock's number once a clock, in place and as deltas."""
    if v.last != now:
        v.last = now
        v.count[me] += 1
        v.sum[me] += now
        v.given[me] += 1
        v.given_sum[me] += now


def mark_again(v, me, now):
    if v.last_again != now:
        v.last_again = now
        v.again[me] += 1
        v.again_sum[me] += now


def touch(leaf, hub):
    mark(leaf, leaf.me, leaf.now)
    mark(hub, leaf.me, leaf.now)


def touch_again(leaf, hub):
    mark_again(leaf, leaf.me, leaf.now)
    mark_again(hub, leaf.me, leaf.now)


def touch_one(src, dst):
    mark(src, src.me, src.now)
    mark(dst, src.me, src.now)


def touch_one_again(src, dst):
    mark_again(src, src.me, src.now)
    mark_again(dst, src.me, src.now)


def mixes_clocks(counts, sums):
    """Return 1 if the workers' counts and sums of clock numbers mix several clocks, else 0."""
    clock = -1
    for w in range(len(counts)):
        if counts[w] > 1 or (counts[w] == 1 and clock >= 0 and sums[w] != clock):
            return 1
        if counts[w] == 1:
            clock = sums[w]
    return 0


def take(v, tau):
    """Take on the master what has been given to it."""
    tau.mixed += mixes_clocks(v.given, v.given_sum)
    for w in range(len(v.got)):
        v.got[w] += v.given[w]
        v.got_sum[w] += v.given_sum[w]
    tau.applied += 1


def note(tau):
    """Note on the special worker what has been sent to it."""
    tau.mixtures += tau.mixed + mixes_clocks(tau.sent, tau.sent_sum)
    for w in range(len(tau.heard)):
        tau.heard[w] += tau.sent[w]
        tau.heard_sum[w] += tau.sent_sum[w]
    tau.runs += tau.applied
    tau.shown, tau.folds = tau.runs, tau.folds + 1
    if tau.folds % 3 == 0:
        tau.third = tau.folds


class TwoTypesProbe(Program):
    slots: int = param(1)
    leaf = hub = Vertex(**SHARED, **GIVEN, **MARKS)
    spoke = Edge("leaf", "hub")
    tau = Context(**TAU)
    udfs = (touch, touch_again)


class OneTypeProbe(Program):
    slots: int = param(1)
    node = Vertex(**SHARED, **GIVEN, **MARKS)
    link = Edge("node", "node")
    tau = Context(**TAU)
    udfs = (touch_one, touch_one_again)
