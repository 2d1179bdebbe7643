"""The steps of an epoch as a sequence of clocks, each cut into segments by the synchronisations
that must be answered in between.

    Blocks                   each block is a clock; one more if the blocks have closing steps
    a run of other steps     one clock
    RepeatedSteps            the clocks of each repetition, one repetition after the other
    a segment                steps that run here, then the Applies or the GlobalSync that end it

Within a mini-batch the first segments of blocks run while earlier blocks wait for answers. What
follows a mini-batch, a run of other steps or a repetition begins when all segments before it have
run, so that each worker runs its stages, and each master folds what they send, in the order of the
program.

Applies in a row end one segment together, those that run here first: they concern different types,
so their order does not matter. A GlobalSync goes with the Applies before it; each server adds its
share when it has folded those that see the context and those of the type that it aggregates, clock
by clock: a context that waits for none of them does not overtake one that does.

A GlobalSync after a mini-batch takes the totals of all blocks. Where some of them come late (from
second segments, or from Applies at the masters), where an Apply of the blocks may read what it
sets, or where it aggregates masters that the blocks change, its clock waits until all blocks are
finished. So does that of an Exchange outside mini-batches which adds to totals and reads what the
Applies of the blocks change; as behind a Barrier, no later clock starts beside it. The clock of
operators on vectors (`Step.in_order`) waits too, outside mini-batches, as each of them reads what
those before it have left on all masters.

Where a repetition depends on the answers to those before it, the schedule pauses (None) until all
clocks so far are finished, before the first repetition too.

Epochs of a stretch (`tux.engine.stretch`) follow each other as repetitions do. Where workers rotate
through blocks, so that no two change one vertex, the first block of each later visit waits until
all clocks before it are finished, as its order of blocks is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from tux.clock.block import Block
from tux.clock.clock import ClockOrder
from tux.clock.steps import BarrierStep, Blocks, Fold, Pull, RepeatedSteps, Step, Sync


@dataclass
class Segment:
    """Steps that run here, then synchronisations."""

    here: list[Step] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)

    def ends_before(self, step: Step) -> bool:
        """Return whether `step` must see the answers to this segment's synchronisations."""
        if not self.syncs:
            return False
        if not all(sync.is_apply for sync in self.syncs):
            return True
        return not (step.is_apply or isinstance(step, Fold))

    def first_folded(self) -> set[int]:
        """Return the Applies that masters fold before the context goes on from there, that of this
        clock or of a later one: those whose functions may add to it. If it is sent here, also those
        that read what its GlobalSync will set, and those of the type that it aggregates.
        """
        folds = [sync for sync in self.syncs if isinstance(sync, Fold)]
        if all(sync.is_apply for sync in self.syncs):
            return {fold.sync_id for fold in folds if fold.adds_to_context}
        aggregated = {fold.aggregated for fold in folds}
        return {
            f.sync_id for f in folds if f.is_apply and (f.sees_context or f.table in aggregated)
        }


@dataclass
class ClockTask:
    """The work of one clock: a block (None outside a mini-batch), segments, and when it may run
    beside others.
    """

    block: Block | None
    segments: list[Segment]
    order: ClockOrder
    closing: Sequence[Step] = ()  # after which masters hold all that blocks so far have changed
    # of the pass: that of the epoch, or the repetition of the innermost `RepeatedSteps` around it
    number: int | None = None
    epoch: int | None = None  # the epoch of training that it belongs to


def segments(steps: Iterable[Step]) -> list[Segment]:
    """Cut the steps of a clock into segments; none if there is nothing to do."""
    out: list[Segment] = []
    for step in steps:
        if not out or out[-1].ends_before(step):
            out.append(Segment())
        if isinstance(step, Sync):
            out[-1].syncs.append(step)
        else:
            out[-1].here.append(step)
    return out


def repeated_steps(steps: Iterable[Step]) -> Iterator[RepeatedSteps]:
    """Yield all steps that repeat others, in the order of the program."""
    for step in steps:
        if isinstance(step, RepeatedSteps):
            yield step
        if isinstance(step, RepeatedSteps | Blocks):
            yield from repeated_steps(step.steps)


class Outline(NamedTuple):
    """The outline of the clocks of one pass, by which two schedules are compared: the boundaries of
    the blocks of each mini-batch, and of each clock its block as (number, round, rounds), or None.
    """

    cuts: list[list[int]]
    clocks: list[tuple[int, int, int] | None]


def outline(steps: Sequence[Step], number: int | None = None) -> Outline:
    """Return the outline of pass `number` over steps that do not depend on answers."""
    blocks = [task.block for task in Schedule(steps).clocks(number) if task is not None]
    return Outline(
        [step.cuts.tolist() for step in steps if isinstance(step, Blocks)],
        [(each.number, each.round, each.rounds) if each else None for each in blocks],
    )


class Schedule:
    """The clocks of passes over `steps`, which may go one into the next, as repetitions do."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        self._batches: dict[Blocks, list[Segment]] = {}
        self._visits = count()

    def clocks(self, number: int | None = None) -> Iterator[ClockTask | None]:
        """Yield the clocks of the next pass, whose `number` decides the order of blocks; None: the
        worker's count of epochs does. A clock that is None: the next one is known when all clocks
        so far are finished, and must not be asked for earlier.
        """
        return _clocks(self._steps, self._batches, number, self._visits)


def _clocks(
    steps: Sequence[Step],
    batches: dict[Blocks, list[Segment]],
    number: int | None,
    visits: Iterator[int],
) -> Iterator[ClockTask | None]:
    """Yield the clocks of pass or repetition `number`. `batches`: the segments of each mini-batch
    before, to which those of `steps` are added. `visits` gives numbers for `ClockOrder.visit`.
    """
    run: list[Step] = []
    for step in steps:
        if not (isinstance(step, Blocks | RepeatedSteps) or step.own_clock):
            run.append(step)
            continue
        if run:
            yield _outside(run, batches, number, next(visits))
            run = []
        if isinstance(step, RepeatedSteps):
            if step.depends_on_answers:
                yield None
            for repetition in step.repetitions():
                yield from _clocks(step.steps, batches, repetition, visits)
                if step.depends_on_answers:
                    yield None
        elif isinstance(step, Blocks):
            order = ClockOrder(next(visits))
            first = order._replace(waits=step in batches and step.rotates)
            cut = batches.setdefault(step, segments(step.steps))
            for i, block in enumerate(step.blocks(number)):
                yield ClockTask(block, cut, order if i else first, step.closing, number)
            if step.closing:
                last = order._replace(waits=True)
                yield ClockTask(None, segments(step.closing), last, step.closing, number)
        else:
            yield ClockTask(None, segments([step]), ClockOrder(next(visits)), number=number)
    if run:
        yield _outside(run, batches, number, next(visits))


def _outside(
    steps: Sequence[Step],
    batches: dict[Blocks, list[Segment]],
    number: int | None,
    visit: int,
) -> ClockTask:
    """Make the clock of a run of steps outside mini-batches, which come after `batches`."""
    cuts = [*batches.values()]
    changed = _changed_types(cuts)
    alone = any(isinstance(step, BarrierStep) or step.measures & changed for step in steps)
    in_order = any(step.in_order for step in steps)
    order = ClockOrder(visit, alone or in_order or _ends_blocks(steps, cuts), alone)
    return ClockTask(None, segments(steps), order, number=number)


def _changed_types(batches: Sequence[list[Segment]]) -> set[str]:
    """Collect the vertex types that blocks change at masters, or here after their first answers."""
    syncs = [sync for cut in batches for segment in cut for sync in segment.syncs]
    late = [step for cut in batches for segment in cut[1:] for step in segment.here]
    at_masters = {sync.table for sync in syncs if sync.is_apply or isinstance(sync, Pull)}
    return at_masters | {step.applies for step in late if step.applies}


def _ends_blocks(steps: Sequence[Step], batches: Sequence[list[Segment]]) -> bool:
    """Return whether a GlobalSync of `steps` must wait for all blocks: it takes totals that the
    blocks gather after their first answers, or at the masters, or may set a field that an Apply of
    the blocks reads there.
    """
    folds = [
        sync
        for cut in batches
        for segment in cut
        for sync in segment.syncs
        if isinstance(sync, Fold)
    ]
    late = any(len(cut) > 1 for cut in batches) or any(fold.sees_context for fold in folds)
    changed = _changed_types(batches)
    syncs = [step for step in steps if isinstance(step, Fold) and not step.is_apply]
    return any(late and sync.has_function or sync.aggregated in changed for sync in syncs)
