"""Changes that the blocks of a mini-batch leave open at the end of an epoch: at slack 1 and more,
how many of them later blocks have taken is a matter of the slack (docs/many-workers.md, "Clocks and
slack"), and with it what masters hold.
"""

from __future__ import annotations

from collections.abc import Iterable

from support.prove.spec import ApplySpec, ExchangeSpec, MiniBatchSpec, ProgramSpec, RepeatSpec


def leaves_changes(program: ProgramSpec) -> bool:
    """Return whether an epoch may end with changes that blocks have made behind their last Apply of
    a type, and that no Apply behind the mini-batch has taken.
    """
    return bool(find_open(program, program.stages, set()))


def find_open(program: ProgramSpec, stages: Iterable, before: set[str]) -> set[str]:
    """Return the vertex types that have such changes after these stages, where those of `before`
    have them already.
    """
    opened = set(before)
    for stage in stages:
        if isinstance(stage, RepeatSpec):
            opened = find_open(program, stage.stages, opened)
        elif isinstance(stage, MiniBatchSpec):
            opened |= find_open_in_block(program, stage)
        elif isinstance(stage, ApplySpec) and stage.gather:
            opened.discard(stage.vertex)
    return opened


def find_open_in_block(program: ProgramSpec, batch: MiniBatchSpec) -> set[str]:
    """Return the types at the ends of a block's Exchanges that have no Apply behind the last. Where
    edges join vertices of one type, an Apply without `all` takes those of the block's range alone.
    """
    opened = set[str]()
    ends = {edge.name: edge.ends for edge in program.edges}
    joined = set[str]()  # the types of edges that join one
    for stage in batch.stages if batch.size else ():  # one block leaves nothing to later ones
        if isinstance(stage, ExchangeSpec):
            of = ends[stage.edge] if stage.edge else program.edges[0].ends
            opened.update(of)
            joined.update(of if of[0] == of[1] else ())
        elif isinstance(stage, ApplySpec) and stage.gather:
            if stage.all or stage.vertex not in joined:
                opened.discard(stage.vertex)
    return opened
