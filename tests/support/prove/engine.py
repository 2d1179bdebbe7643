"""A case run by the engine: workers in one process; a seed decides the order of messages."""

from __future__ import annotations

import linecache
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from support.machines.keeping import InMemory, LedWorkers
from support.machines.team import Team
from support.prove.case import DrawnCase, edges_of
from support.prove.restart import move_states, on_other_workers
from support.prove.source import write_program
from support.prove.spec import EdgePlacement, MasterState, MiniBatchSpec

from tux.base.random import key, permutation
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.snapshot import State
from tux.engine.training import Training
from tux.graph.orders import order_of
from tux.program.sources import find
from tux.stages.blocks.block_cuts import Size

STATE = ("value", "shared", "master")


class MovedRun(NamedTuple):
    """A run that goes on on other workers after an `epoch`: where edges and masters are then, and
    what it ends with; or why it cannot go on, and None.
    """

    epoch: int
    placement: EdgePlacement
    outcome: MasterState | None
    refused: str


class EngineRuns(NamedTuple):
    """The runs of a case: where edges and masters are, and what the first one ends with; and the
    run that goes on from a checkpoint on the same workers, and the one on others, if any.
    """

    placement: EdgePlacement
    outcome: MasterState
    resumed: MasterState | None = None
    moved: MovedRun | None = None


@contextmanager
def load_program(case: DrawnCase):
    """Give an instance of the program's class, from a file."""
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "drawn.py")
        file.write_text(write_program(case.program))
        try:
            yield find(str(file)).program()
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if getattr(sys.modules[name], "__file__", None) == str(file):
                    del sys.modules[name]
            linecache.cache.pop(str(file), None)


def make_team(case: DrawnCase, program, *, parts=None, kernels=None) -> Team:
    """Return the workers of a case, before training; `parts` if they are made already. `kernels`:
    those of another such team.
    """
    return Team(
        program,
        edges_of(case.program, case.graph),
        parts=parts,
        k=case.workers,
        by=np.concatenate([case.parts[each.name] for each in case.program.edges]),
        seed=case.seed,
        slack=case.slack,
        delivery=case.seed,
        jit=case.jit,
        threads=case.threads,
        kernels=kernels,
    )


def run_case(case: DrawnCase) -> EngineRuns:
    """Run a case, and once more from its checkpoint, if it has one."""
    with load_program(case) as program:
        team = make_team(case, program)
        if not case.kept:
            outcome = read_outcome(case, team.train(case.epochs))
            return EngineRuns(read_placement(case, team), outcome)
        keeper = InMemory()
        train_from(team, case, keeper)
        again = make_team(case, program, kernels=team.kernels)
        # the first that is kept is that of an earlier epoch where its keeper was still at work
        head, states = [each for each in keeper.kept if each[0].epoch <= case.kept][-1]
        train_from(again, case, None, states)
        moved = run_elsewhere(case, team, head.epoch, states) if case.moved else None
        outcome, resumed = (read_outcome(case, each) for each in (team, again))
        return EngineRuns(read_placement(case, team), outcome, resumed, moved)


def run_elsewhere(case: DrawnCase, before: Team, epoch: int, states: list[State]) -> MovedRun:
    """Run a case on its other workers, from the states that its workers had after an epoch."""
    moved = on_other_workers(case)
    team = make_team(moved, before.program, kernels=before.kernels)
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


def read_outcome(case: DrawnCase, team: Team) -> MasterState:
    """Return what masters and the context hold."""
    vertices = {
        vertex.name: {
            each.name: number_by_id(team, vertex.name, team.gather(vertex.name, each.name))
            for each in vertex.fields
            if each.kind in STATE
        }
        for vertex in case.program.vertices
    }
    context = {
        each.name: np.array(getattr(team.tau, each.name))
        for each in case.program.context
        if each.kind in ("value", "shared")
    }
    return MasterState(vertices, context, [])


def number_by_id(team: Team, name: str, array: np.ndarray) -> np.ndarray:
    """Return the rows of an array by the numbers of the case, which are tux's ids."""
    out = np.empty_like(array)
    out[team.edges.ids[name].values] = array
    return out


def read_placement(case: DrawnCase, team: Team) -> EdgePlacement:
    """Return where edges and masters are."""
    masters = {}
    for vertex in case.program.vertices:
        home = np.empty(case.graph.sizes[vertex.name], int)
        for worker in team.workers:
            held = worker.graph.vertices[vertex.name]
            mine = worker.master_ids(vertex.name) if held.is_cut else held.order[: held.n_train]
            home[team.edges.ids[vertex.name].values[mine]] = worker.rank
        masters[vertex.name] = home
    orders = {
        vertex.name: team.edges.ids[vertex.name].values[
            order_of(team.edges, vertex.name, case.seed)
        ]
        for vertex in case.program.vertices
        if vertex.remote
    }
    return EdgePlacement(case.workers, case.parts, masters, orders)


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
