"""The declarations of a program, as its stages, its input and its report read them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from tux.program.input import Graph, Input
from tux.program.params import Param
from tux.program.report import Report
from tux.program.types import Context, Edge, Vertex


class BaseProgram:
    """The base of `tux.program.program.Program`: parameters, types of vertices and edges, and the
    context, which `Program` finds in its subclasses; and how they are trained.
    """

    epochs: int = 20
    """Passes over `stages()` when the command line says nothing."""

    epochs_from: int = 0
    """The same of a run that begins with the model of another (`--from`); 0: as many."""

    monitor: str = ""
    """Name of the metric that decides the best epoch and early stopping; empty: none. Smaller is
    better, unless it is declared as one that rises.
    """

    keeps_best: bool = True
    """True if a run with held-out data keeps the model of the best epoch without early stopping,
    too. Early stopping always keeps it.
    """

    agree: str = "path"
    """The agreement of runs on several workers with a run on one worker, but for rounding:
    "path", the values of each epoch, or "optimum", only where they lead.
    """

    precision: str = ""
    """"f4": literals, whole numbers and parameters meet float32 in UDFs, as in
    `tux.stages.kernel.arithmetic`; "": as numpy's scalars do, so a literal is float64.
    """

    step_parameters: tuple[str, ...] = ("learning_rate", "step")
    """Names of parameters that say how large steps are, of which advice on numbers that overflow
    names the first one that the program has.
    """

    input: Input = Graph()
    """The input that it reads: edges, unless it names another of `tux.program.input`."""

    report: Report = Report()
    """The report about a finished run: nothing, unless it names another."""

    params: dict[str, Param] = {}
    vertices: dict[str, Vertex] = {}
    edge_name: str = ""
    edge: Edge = Edge("", "")
    """The edge type that stages see: the first one, unless `along` has chosen another."""
    edge_types: dict[str, Edge] = {}
    """All edge types by name, in the order in which they are declared."""
    context: Context = Context()

    parameters: dict[str, Any]
    """The values chosen for `params`."""


AnyProgram = TypeVar("AnyProgram", bound=BaseProgram)


def step_parameter(program: BaseProgram) -> str:
    """Return the parameter of a program that says how large its steps are; "" if there is none."""
    return next((name for name in program.step_parameters if name in program.params), "")


def along(program: AnyProgram, name: str) -> AnyProgram:
    """Return the program as stages along the edge type `name` see it: its `edge` is this one. ""
    is the type that it has.
    """
    if name in ("", program.edge_name):
        return program
    seen = copy.copy(program)
    seen.edge_name, seen.edge = name, program.edge_types[name]
    return seen


def default_epochs(program: BaseProgram, *, from_model: bool) -> int:
    """Return the epochs of a run, which may begin with a model, if its user does not say them."""
    return (program.epochs_from if from_model else 0) or program.epochs


def first_edge(program: BaseProgram) -> str:
    """Return the name of the edge type that is declared first; "" without any. The files of a run,
    held-out edges and predictions are of this type.
    """
    return next(iter(program.edge_types), "")


def other_types(program: BaseProgram) -> dict[str, Edge]:
    """Return the edge types of a program beside the one that it sees, by name."""
    types = program.edge_types.items()
    return {name: edge for name, edge in types if name != program.edge_name}


def with_one_type(program: AnyProgram, name: str) -> AnyProgram:
    """Return the program as if `name` were its only edge type."""
    seen = copy.copy(along(program, name))
    seen.edge_types = {seen.edge_name: seen.edge}
    return seen


def badness(program: BaseProgram, metrics: Mapping[str, Any]) -> float | None:
    """Return a number that is smaller the better the metric is that a program monitors: this
    itself, or its negative if it rises; None if it is not among the `metrics`.
    """
    monitored = metrics.get(program.monitor)
    if monitored is None:
        return None
    declared = program.context.fields.get(program.monitor)
    return float(-monitored if declared and declared.rises else monitored)


def along_end(program: AnyProgram, end: str) -> AnyProgram:
    """Return the program along an edge type that has this `end`, a vertex type or a name in UDFs:
    the one that it has, or else the first one. Without any it is returned as it is.
    """
    for name in dict.fromkeys((program.edge_name, *program.edge_types)):
        seen = along(program, name)
        if end in (*seen.edge.roles, *seen.edge.ends):
            return seen
    return program


def scalars(program: BaseProgram) -> dict[str, Any]:
    """Return the parameters that UDFs see, as numpy scalars, numbers, or what the choice means:
    floats are of the program's precision unless declared otherwise.
    """
    out: dict[str, Any] = {}
    for name, declared in program.params.items():
        chosen = program.parameters[name]
        if declared.type is float:
            out[name] = np.dtype(declared.dtype or program.precision or "f8").type(chosen)
        elif declared.meanings:
            out[name] = declared.meanings[chosen]
        elif declared.type is not str:
            out[name] = chosen
    return out
