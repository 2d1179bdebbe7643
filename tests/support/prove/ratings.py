"""Programs on four ratings, which the tests of the interpreter run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from support.prove.interpreter import interpret
from support.prove.spec import (
    EdgePlacement,
    EdgeSpec,
    FieldSpec,
    GraphSpec,
    MasterState,
    MiniBatchSpec,
    ProgramSpec,
    VertexSpec,
)

GIVE = "def give(user, item): item.s += 1"
ADD = "def add(user, item): item.d += 1"
KEEP = "def keep(item): item.x = 10 * item.x + item.d"
FINISH = "def finish(tau): tau.kept = 100 * tau.kept + tau.n"


def name_functions(*sources: str) -> dict[str, str]:
    """Functions by the names that their source texts give them."""
    return {source.split("def ")[1].split("(")[0]: source for source in sources}


def cut_singly(batch: MiniBatchSpec, epoch: int, repetition: int) -> list[list[int]]:
    """Blocks of one vertex each, of three."""
    return [[0], [1], [2]]


def run_ratings(
    stages: list,
    *sources: str,
    workers: int = 2,
    epochs: int = 1,
    item: tuple[FieldSpec, ...] = (),
    tau: tuple[FieldSpec, ...] = (),
    user: tuple[FieldSpec, ...] = (),
    rating: tuple[FieldSpec, ...] = (),
    whole: bool = False,
    setup: tuple = (),
    blocks: Callable = cut_singly,
    seed: int | None = None,
    then: int = 0,
) -> MasterState:
    """Run stages on these ratings, and on item 2, which has none. Masters are on worker 0, but that
    of item 1. After the first epoch the run goes on on `then` workers, if it is not 0.

    user 0 --1-- item 0    worker 0
    user 1 --2-- item 0    worker 0
    user 1 --4-- item 1    worker 1
    user 2 --8-- item 0    worker 1
    """
    stars = (FieldSpec("stars", "data"),)
    program = ProgramSpec(
        (VertexSpec("user", user), VertexSpec("item", item, whole)),
        (EdgeSpec("rating", ("user", "item"), stars + rating),),
        tau,
        name_functions(*sources),
        setup,
        tuple(stages),
        {"step": 3},
    )
    graph = GraphSpec(
        {"user": 3, "item": 3},
        {"rating": np.array([[0, 1, 1, 2], [0, 0, 1, 0]])},
        {"rating": {"stars": np.array([1, 2, 4, 8])}},
        {},
    )
    moves = {1: place_ratings(then, whole=whole)} if then else {}
    placement = place_ratings(workers, whole=whole)
    return interpret(program, graph, placement, blocks, epochs, seed, moves)


def place_ratings(workers: int, *, whole: bool) -> EdgePlacement:
    """Place the ratings on one worker or two; on one of two, where items are whole."""
    apart = workers == 2 and not whole
    parts = np.array([0, 0, 1, 1]) if apart else np.zeros(4, int)
    homes = np.array([0, 1, 0]) if apart else np.zeros(3, int)
    return EdgePlacement(workers, {"rating": parts}, {"user": np.zeros(3, int), "item": homes})


def value(name: str, length: int = 0, dtype: str = "i8", init: int = 0) -> FieldSpec:
    return FieldSpec(name, "value", dtype, length, init=init)


def items(outcome: MasterState, field: str) -> list:
    return outcome.vertices["item"][field].tolist()
