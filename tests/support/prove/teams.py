"""The workers of a case, and what they hold in the end."""

from __future__ import annotations

import linecache
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from support.machines.team import Team
from support.prove.case import DrawnCase, edges_of
from support.prove.source import write_program
from support.prove.spec import EdgePlacement, MasterState

from tux.graph.orders import order_of
from tux.program.program import Program
from tux.program.sources import find

STATE = ("value", "shared", "master")


class RunnableProgram(NamedTuple):
    """An instance of a case's program, and what all its workers have in common: its stages, plans
    and kernels are made once for all runs of the case.
    """

    program: Program
    common: dict[Any, Any]


@contextmanager
def load_program(case: DrawnCase):
    """Give the program of a case, from a file."""
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "drawn.py")
        file.write_text(write_program(case.program))
        try:
            yield RunnableProgram(find(str(file)).program(), {})
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if getattr(sys.modules[name], "__file__", None) == str(file):
                    del sys.modules[name]
            linecache.cache.pop(str(file), None)


def make_team(case: DrawnCase, runnable: RunnableProgram, parts=None) -> Team:
    """Return the workers of a case, before training; `parts` if they are made already."""
    return Team(
        runnable.program,
        edges_of(case.program, case.graph),
        parts=parts,
        k=case.workers,
        by=np.concatenate([case.parts[each.name] for each in case.program.edges]),
        seed=case.seed,
        slack=case.slack,
        delivery=case.seed,
        jit=case.jit,
        threads=case.threads,
        common=runnable.common,
    )


def read_outcome(case: DrawnCase, team: Team) -> MasterState:
    """Return what masters and the context hold, and what epochs have reported."""
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
    return MasterState(vertices, context, read_metrics(case, team))


def read_metrics(case: DrawnCase, team: Team) -> dict[int, dict[str, float]]:
    """Return the metrics that the record of each epoch has. AssertionError where workers differ."""
    names = [each.name for each in case.program.context if each.kind == "metric"]
    first, *others = (
        {record["epoch"]: {n: record[n] for n in names if n in record} for record in records}
        for records in team.records
    )
    for rank, each in enumerate(others, start=1):
        assert each == first, f"the records of worker {rank} have {each}, of worker 0 {first}"
    return first


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
