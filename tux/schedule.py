"""Turns: the stages of an epoch as a sequence of clocks, each cut into segments by the synchronisations that must be answered in between.

    MiniBatch                each of its blocks is a turn, unless one kernel runs all of them; one more if it must hear of its last changes
    a run of other stages    one turn
    a segment                stages that run here, then the Applies or the GlobalSync that end it

An Apply or GlobalSync of which nothing travels (a whole type; a single worker) runs here like any stage. Applies in a row end one segment
together, those that run here first: they concern different types, so their order does not matter. A GlobalSync waits for the Applies
before it if they have functions, which may add to the context, or if it aggregates what they have folded; else it goes with them.

A GlobalSync after a mini-batch takes the totals of all blocks. Where some of them come late (from second segments, or from Applies at the
masters), or where it aggregates masters that the blocks change, its clock waits until all blocks are finished.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tux.program import Stage


@dataclass
class Segment:
    """Stages that run here, then synchronisations."""

    here: list[Any]
    syncs: list[Any]


@dataclass
class Work:
    """A turn's block (None outside a mini-batch) and segments."""

    block: Any
    segments: list[Segment]
    waits: bool = False  # starts when nothing is under way
    alone: bool = False  # it waits, and nothing starts beside it


def segments(stages: Sequence[Any]) -> list[Segment]:
    """The segments of a turn; none if there is nothing to do."""
    out: list[Segment] = []
    current = Segment([], [])
    for stage in stages:
        travels = getattr(stage, "travels", False)
        gathers = getattr(stage, "folds", False)
        if current.syncs and not all(sync.folds and (gathers or _apart(sync, stage)) for sync in current.syncs):
            out.append(current)
            current = Segment([], [])
        (current.syncs if travels else current.here).append(stage)
    return [*out, current] if current.here or current.syncs else out


def _apart(apply: Any, sync: Any) -> bool:
    """Whether a GlobalSync needs nothing that an Apply before it does."""
    return getattr(sync, "travels", False) and apply.f is None and sync.aggregate is None


def turns(worker: Any, stages: Sequence[Stage]) -> Iterator[Work]:
    """The turns of one pass over `stages`, prepared for `worker`."""
    plain: list[Stage] = []
    inside: list[list[Segment]] = []  # of each mini-batch before
    for stage in stages:
        blocks = getattr(stage, "blocks", None)
        if blocks is None:
            plain.append(stage)
            continue
        if plain:
            yield _together(plain, inside)
            plain = []
        if getattr(stage, "fused", None) is not None:
            yield Work(None, segments([stage]))
            continue
        cut = segments(stage.stages)  # type: ignore[attr-defined]
        inside.append(cut)
        for block in blocks(worker):
            yield Work(block, cut)
        if last := segments(getattr(stage, "last", ())):
            yield Work(None, last)
    if plain:
        yield _together(plain, inside)


def _together(stages: Sequence[Stage], inside: Sequence[list[Segment]]) -> Work:
    """The turn of a run of stages outside mini-batches; `inside`: the segments of each mini-batch before."""
    alone = any(getattr(stage, "alone", False) for stage in stages)
    return Work(None, segments(stages), alone or _wants_finished(stages, inside), alone)


def _wants_finished(stages: Sequence[Any], inside: Sequence[list[Segment]]) -> bool:
    """Whether a GlobalSync of `stages` takes what the blocks' segments `inside` gather after the first answers, or at the masters."""
    syncs = [stage for stage in stages if getattr(stage, "travels", False) and not stage.folds]
    applies = [sync for cut in inside for segment in cut for sync in segment.syncs if sync.folds]
    late = any(len(cut) > 1 for cut in inside) or any(apply.adds_to_context for apply in applies)
    aggregated = {sync.aggregated for sync in syncs}
    return late and any(sync.f for sync in syncs) or any(apply.over in aggregated for apply in applies)
