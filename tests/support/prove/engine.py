"""A case run by the engine: workers in one process; a seed decides the order of messages."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from support.machines.keeping import InMemory, LedWorkers
from support.machines.team import Team
from support.prove.case import DrawnCase, edges_of
from support.prove.loading import LoadedRun, run_loaded
from support.prove.restart import move_states, on_other_workers
from support.prove.spec import EdgePlacement, MasterState, MiniBatchSpec
from support.prove.teams import (
    RunnableProgram,
    load_program,
    make_team,
    read_outcome,
    read_placement,
)
from support.prove.watched import watched_turns

from tux.base.random import key, permutation
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.snapshot import State
from tux.engine.training import Training
from tux.graph.orders import order_of
from tux.stages.blocks.block_cuts import Size


class MovedRun(NamedTuple):
    """A run that goes on on other workers after an `epoch`: where edges and masters are then, and
    what it ends with; or why it cannot go on, and None.
    """

    epoch: int
    placement: EdgePlacement
    outcome: MasterState | None
    refused: str


class EngineRuns(NamedTuple):
    """The runs of a case: where edges and masters are, and what the first one ends with; what the
    one from a checkpoint on as many workers ends with, or that on others; and the one on parts that
    loaders have made. None stands for one that there is not.
    """

    placement: EdgePlacement
    outcome: MasterState
    resumed: MasterState | None = None
    moved: MovedRun | None = None
    loaded: LoadedRun | None = None


def run_case(case: DrawnCase) -> EngineRuns:
    """Run a case, and once more from its checkpoint and on loaded parts, if it has these."""
    with load_program(case) as runnable, watched_turns() if case.watched else nullcontext():
        runs = run_from_checkpoint(case, runnable) if case.kept else run_once(case, runnable)
        loaded = run_loaded(case, case.load, runnable) if case.load else None
        return runs._replace(loaded=loaded)


def run_once(case: DrawnCase, runnable: RunnableProgram) -> EngineRuns:
    """Run a case that has no checkpoint."""
    team = make_team(case, runnable).train(case.epochs)
    return EngineRuns(read_placement(case, team), read_outcome(case, team))


def run_from_checkpoint(case: DrawnCase, runnable: RunnableProgram) -> EngineRuns:
    """Run a case, and once more from its checkpoint: on as many workers or on others."""
    team, keeper = make_team(case, runnable), InMemory()
    train_from(team, case, keeper)
    # the first that is kept is that of an earlier epoch where its keeper was still at work
    head, states = [each for each in keeper.kept if each[0].epoch <= case.kept][-1]
    runs = EngineRuns(read_placement(case, team), read_outcome(case, team))
    if case.moved:
        return runs._replace(moved=run_elsewhere(case, runnable, team, head.epoch, states))
    again = make_team(case, runnable)
    train_from(again, case, None, states)
    return runs._replace(resumed=read_outcome(case, again))


def run_elsewhere(
    case: DrawnCase, runnable: RunnableProgram, before: Team, epoch: int, states: list[State]
) -> MovedRun:
    """Run a case on its other workers, from the states that its workers had after an epoch."""
    moved = on_other_workers(case)
    team = make_team(moved, runnable)
    made = move_states(case, before, states)
    placement = read_placement(moved, team)
    if made.refused:
        return MovedRun(epoch, placement, None, made.refused)
    train_from(team, moved, None, made.states)
    return MovedRun(epoch, placement, read_outcome(moved, team), "")


def train_from(team: Team, case: DrawnCase, keeper, states=None) -> None:
    """Train workers whose states a keeper keeps at each epoch, or from `states` on."""
    trainings, cluster = [Training(worker) for worker in team.workers], team.cluster
    if keeper:
        every = CheckpointInterval(epochs=1)
        cluster = LedWorkers(team.workers, case.seed, every, case.epochs, keeper)
    for rank, training in enumerate(trainings):
        training.marks = cluster.marks[rank] if keeper else None
        if states is not None:
            training.resume(states[rank])
    cluster.finish(
        {rank: team._steps(rank, each, case.epochs, {}) for rank, each in enumerate(trainings)}
    )
    cluster.deliver_rest()


class BlockOrders:
    """The blocks of mini-batches as the engine has them: a function of a batch, whose n-th call is
    about its n-th pass.
    """

    def __init__(self, case: DrawnCase) -> None:
        self.case, self.passes = case, {}
        self.edges = edges_of(case.program, case.graph)

    def __call__(self, batch: MiniBatchSpec, epoch: int, repetition: int) -> list[np.ndarray]:
        case = self.case
        number = self.passes[id(batch)] = self.passes.get(id(batch), -1) + 1
        edge = find_edge_type(case, batch)
        roles = edge.ends if edge.ends[0] != edge.ends[1] else ("src", "dst")
        name = edge.ends[roles.index(batch.over)]
        order = order_of(self.edges, name, case.seed)
        position = np.argsort(order)
        end = case.graph.ends[edge.name][roles.index(batch.over)]
        dense = np.argsort(self.edges.ids[name].values)[end]
        degrees = np.bincount(position[dense], minlength=len(order))
        cuts = Size(**dict([batch.size] if batch.size else [])).cuts(degrees)
        count = len(cuts) - 1
        blocks = range(count)
        if batch.order == "shuffled":
            blocks = permutation(key(case.seed, "blocks", number), count)
        ids = self.edges.ids[name].values
        return [ids[order[cuts[b] : cuts[b + 1]]] for b in blocks]


def find_edge_type(case: DrawnCase, batch: MiniBatchSpec):
    """Return the edge type of a mini-batch: that of its Exchanges, of which it has one."""
    named = next(stage.edge for stage in batch.stages if hasattr(stage, "edge"))
    return next(
        edge
        for number, edge in enumerate(case.program.edges)
        if edge.name == named or (not named and not number)
    )
