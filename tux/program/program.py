"""What a user writes: a `Program` declares parameters, vertex and edge types, a context, and its
sequence of stages.

The engine reads the class once; an instance is the program with its parameters chosen, and is not
changed by a run.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tux.base.errors import ProgramError, UsageError
from tux.program.fields import Field
from tux.program.params import Param
from tux.program.stage import Stage

if TYPE_CHECKING:
    from tux.arrays.edges import EdgeData
    from tux.graph.topology import Topology

_DERIVED = ("edge", "context")  # set on each class by Program itself
RESERVED = ("tau", "p", "rng", "v", "src", "dst", "edges", "out")


REPEATS = 10
"""Random splits of the labelled vertices that a score is the mean of, where the user names no
number.
"""


class Asked(NamedTuple):
    """What a finished model is judged by: edges held out, a file of labels, and the run's seed.

    `repeats`: how many random choices of training vertices a score by labels is the mean of.
    `progress` may be told which share of the work is done, from 0 to 1.
    """

    held_out: EdgeData | None
    labels: Any
    seed: int
    repeats: int = REPEATS
    progress: Callable[[float], None] = lambda share: None


class Fields:
    """A named group of fields: the base of Vertex, Edge and Context."""

    allowed: tuple[str, ...] = ("value", "shared", "delta", "master", "mirror", "data")

    def __init__(self, **fields: Field) -> None:
        for name, field in fields.items():
            if not isinstance(field, Field):
                raise ProgramError(
                    f"field {name} is declared as {field!r}",
                    do="declare it as value(...), shared(...), delta(...), ...",
                )
            if field.kind not in self.allowed:
                raise ProgramError(
                    f"{type(self).__name__} field {name} is a {field.kind}",
                    do=f"it can be: {', '.join(self.allowed)}",
                )
        self.fields = fields


class Vertex(Fields):
    """A vertex type; its name in the class body is its name in UDFs:
    ``user = Vertex(p=shared("rank"))``.

    ``whole=True``: the program is right only where all edges of such a vertex lie on one worker, as
    when state that never travels (`mirror`) must be one. Partitioners that can keep a side whole
    choose this one, and a graph in which the type is cut is refused.

    ``pulled=True``: workers keep no rows of the type; they come, and their changes go, as generated
    edges touch them (`Generate`).
    """

    def __init__(self, *, whole: bool = False, pulled: bool = False, **fields: Field) -> None:
        super().__init__(**fields)
        self.whole, self.pulled = whole, pulled
        if (kept := [name for name, field in fields.items() if field.kept]) and not whole:
            raise ProgramError(
                f"field {kept[0]} is kept, but it is different in each replica",
                do="declare the type whole=True",
            )
        for name, field in fields.items():
            by = fields.get(field.length)
            if field.length and not (
                by and by.kind == "mirror" and not by.shape and by.dtype.kind in "iu"
            ):
                raise ProgramError(
                    f"field {name} has the length {field.length!r}",
                    do='name a mirror field of the type, such as mirror("i4")',
                )


class Edge(Fields):
    """An edge type between two vertex types: ``rating = Edge("user", "item", value=data("f4"))``.

    Edge fields stay where the edge lies: `data` is read from the file, `mirror` is written by
    Exchange. With ``repeats="count"`` a row of the file stands for as many edges as its column
    `count` says, each with mirror fields of its own.
    """

    allowed = ("mirror", "data")

    def __init__(self, src: str, dst: str, *, repeats: str = "", **fields: Field) -> None:
        super().__init__(**fields)
        self.ends, self.repeats = (src, dst), repeats
        if repeats in fields:
            raise ProgramError(
                f"edge field {repeats} is the number of repetitions too",
                do="drop the field: each repetition is an edge",
            )
        if ragged := [name for name, field in fields.items() if field.ragged]:
            raise ProgramError(
                f"edge field {ragged[0]} has an entry for each edge",
                do="only a vertex can have that",
            )
        if kept := [name for name, field in fields.items() if field.kept]:
            raise ProgramError(
                f"edge field {kept[0]} is kept, but a model has no edges",
                do="keep what matters in a vertex",
            )

    @property
    def roles(self) -> tuple[str, str]:
        """The names of the two ends in UDFs: the vertex types', or `src` and `dst` where both
        have one type.
        """
        return ("src", "dst") if self.ends[0] == self.ends[1] else self.ends


class Context(Fields):
    """The worker's context tau: `total` fields are combined by GlobalSync, `value` fields hold
    its result and are the run's metrics.
    """

    allowed = ("value", "shared", "delta")

    def __init__(self, **fields: Field) -> None:
        super().__init__(**fields)
        for name, field in fields.items():
            if field.combine == "mean":
                raise ProgramError(
                    f"context field {name} cannot be combined by 'mean': workers have no edges to "
                    "it",
                    do="use a sum",
                )


class Program:
    """Base class of all programs. Subclasses declare; see the module's text and docs/program.md."""

    epochs: int = 20
    """Passes over `stages()` when the command line says nothing."""

    monitor: str = ""
    """Name of the metric (smaller is better) that decides the best epoch and early stopping;
    empty: none.
    """

    workers: int = 1
    """How many workers the run has, and"""

    slack: int = 0
    """how many clocks they may be apart: set before `setup`, `stages` and `evaluate` are asked
    for.
    """

    labels: bool = False
    """Whether `--labels FILE` may name labels of vertices, by which `judge` judges the model."""

    params: dict[str, Param] = {}
    vertices: dict[str, Vertex] = {}
    edge_name: str = ""
    edge: Edge = Edge("", "")
    context: Context = Context()

    def __init_subclass__(cls) -> None:
        members = {
            name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()
        }
        try:
            hints = typing.get_type_hints(cls)
        except NameError as error:
            raise ProgramError(
                f"{cls.__name__}: an annotation cannot be read: {error}", where=_place(cls)
            ) from None
        inherited = {
            n: p
            for base in reversed(cls.__mro__[1:])
            for n, p in getattr(base, "params", {}).items()
        }
        for name, member in members.items():
            # `rank = 64` in a subclass: another default
            if name in inherited and isinstance(member, (bool, int, float, str)):
                members[name] = replace(inherited[name], default=member)
        cls.params = {
            n: _typed(cls, n, hints.get(n), v) for n, v in members.items() if isinstance(v, Param)
        }
        cls.vertices = {n: v for n, v in members.items() if isinstance(v, Vertex)}
        own = {
            n: v
            for n, v in members.items()
            if v is not vars(Program).get(n) and n not in _DERIVED or n in vars(cls)
        }
        edges = {n: v for n, v in own.items() if isinstance(v, Edge)}
        contexts = {n: v for n, v in own.items() if isinstance(v, Context)}
        _check_names(cls, edges, contexts)
        _check_members(cls)
        if edges:
            cls.edge_name, cls.edge = next(iter(edges.items()))
        if contexts:
            cls.context = next(iter(contexts.values()))

    def __init__(self, **parameters: Any) -> None:
        unknown = [name for name in parameters if name not in self.params]
        if unknown:
            raise UsageError(
                f"{type(self).__name__} has no parameter {unknown[0]}",
                do=f"parameters: {', '.join(self.params) or 'none'}",
            )
        if not self.edge_name:
            raise ProgramError(
                f"{type(self).__name__} declares no edge type",
                where=_place(type(self)),
                do='e.g. link = Edge("page", "page")',
            )
        self.parameters = {
            name: p.check(name, parameters.get(name, p.default)) for name, p in self.params.items()
        }
        for name, chosen in self.parameters.items():
            setattr(self, name, chosen)

    def topology(self) -> str:
        """Whether every worker may look at the whole graph: "directed", "undirected" (each edge
        both ways), or not ("").

        Both ends are of one type; where the program has the data field `weight`, neighbours come
        with their weights.
        """
        return ""

    def tabulate(self, topology: Topology) -> dict[str, np.ndarray]:
        """Arrays of the program's own for UDFs to read beside `topology`'s, by name: computed
        once a machine.
        """
        return {}

    def suited(self, edges: EdgeData) -> Program:
        """The program to run in place of this one on these edges, which a partitioned folder does
        not show: itself, unless overridden.

        Another program of the same edge type, or other parameters: what the run's record names,
        workers run and `tux predict` opens.
        """
        return self

    def setup(self) -> list[Stage]:
        """Stages that run once before the first epoch, timed: initial values, degrees."""
        return []

    def stages(self) -> list[Stage]:
        """The stages of one epoch, in order."""
        raise ProgramError(
            f"{type(self).__name__} has no stages()",
            where=_place(type(self)),
            do="return a list of stages",
        )

    def evaluate(self) -> list[Stage]:
        """Stages that measure the model after an epoch, outside training time;
        `Exchange(..., held_out=True)` walks the test edges.
        """
        return []

    def converged(self, metrics: dict[str, float]) -> bool:
        """Whether the run may end after an evaluated epoch with these metrics."""
        return False

    def tables(
        self,
        fields: Mapping[str, Mapping[str, Any]],
        ids: Mapping[str, Any],
        edges: Iterable[tuple[Any, Any]] = (),
    ) -> dict[str, dict[str, Sequence[Any]]]:
        """Tables for the user at the end of a run, by name: columns of equal length, the first of
        text.

        Their first rows are shown, all are kept as model/NAME.tsv. `fields`: of each vertex type
        the model's fields, (n, width) by vertex, or `tux.arrays.ragged.Lists`, and the context's,
        of one row, as "tau"; `ids`: each type's ids, (n,). `edges`: the training edges in pieces,
        both ends by vertex, (m,) each, read when they are asked for; none where this machine does
        not have them all. It may be left out of the parameters.
        """
        return {}

    def history(self, records: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Sequence[Any]]]:
        """Tables made of the epochs' records, shown and kept as those of `tables`."""
        return {}

    def held_out(self, edges: EdgeData) -> tuple[EdgeData, EdgeData | None]:
        """Edges to train on and edges to judge by, where no file of the latter is named."""
        return edges, None

    def judge(
        self,
        fields: Mapping[str, Mapping[str, Any]],
        ids: Mapping[str, Any],
        edges: Iterable[tuple[Any, Any]],
        asked: Asked,
    ) -> dict[str, float]:
        """How good the finished model is by held-out edges or labels, outside training time:
        numbers for the run's results.

        The first three as for `tables`.
        """
        return {}

    def summary(
        self,
        tables: Mapping[str, Mapping[str, Sequence[Any]]],
        records: Sequence[Mapping[str, Any]],
    ) -> dict[str, float]:
        """Numbers about the finished run, from its tables and the epochs' records: they stand in
        its results, and are told at its end.
        """
        return {}

    def remarks(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Sentences that warn the user at the end of a run, by the epochs' records: e.g. that it
        has ended too early.
        """
        return []

    def write(
        self, folder: Path, lists: Iterable[Mapping[str, np.ndarray]], ids: np.ndarray
    ) -> None:
        """Files of the program's own in a run's folder, of the lists that a `Generate` without
        `use` has made.

        `lists`: pieces, read when they are asked for, of each list by name an array (m, width)
        int32, a row for each vertex, full of -1 behind the list's end. Epoch after epoch and round
        after round, all vertices in their seeded order, whatever the number of workers. `ids` (n,):
        the id of each number in them. Called at a run's end, if it has a folder.
        """

    def exports(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """What `tux export` can make of a model, by format: ``f(fields, ids, parameters)`` returns
        arrays by name.

        `fields` and `ids` as those of `tables`, with the context's fields, of one row, as "tau";
        `parameters` by name.
        """
        return {}

    def predict(self) -> Stage | None:
        """The stage behind `tux predict`, e.g. ``Score(rate)``; None: the program predicts
        nothing.
        """
        return None


def _typed(cls: type, name: str, annotation: Any, declared: Param) -> Param:
    """`declared` with its type: the annotation, or the default's type where there is none."""
    kind = annotation if annotation in (int, float, bool, str) else type(declared.default)
    if kind not in (int, float, bool, str):
        raise ProgramError(
            f"parameter {name} is a {kind.__name__}",
            where=_place(cls),
            do="annotate it as int, float, bool or str",
        )
    return replace(declared, type=kind)


def _check_names(cls: type[Program], edges: dict[str, Edge], contexts: dict[str, Context]) -> None:
    place = _place(cls)
    if len(edges) > 1:
        raise ProgramError(
            f"{cls.__name__} declares {len(edges)} edge types: {', '.join(edges)}",
            where=place,
            do="declare one",
        )
    if len(contexts) > 1 or (contexts and "tau" not in contexts):
        raise ProgramError(
            f"{cls.__name__}: the context is one declaration named tau",
            where=place,
            do="tau = Context(...)",
        )
    for name in [*cls.vertices, *edges]:
        if name in RESERVED or hasattr(Program, name):
            raise ProgramError(
                f"{cls.__name__}: {name} cannot name a type: it means something else in UDFs",
                where=place,
                do="rename it",
            )
    for edge, declared in edges.items():
        for end in declared.ends:
            if end not in cls.vertices:
                known = ", ".join(cls.vertices) or "none"
                raise ProgramError(
                    f"edge {edge} ends at '{end}', which is no vertex type",
                    where=place,
                    do=f"vertex types: {known}",
                )
    loose = set(cls.vertices) - {end for declared in edges.values() for end in declared.ends}
    if edges and loose:
        raise ProgramError(
            f"{cls.__name__}: no edge ends at vertex type {min(loose)}",
            where=place,
            do="declare its edge, or drop it",
        )


def _check_members(cls: type[Program]) -> None:
    """ProgramError where something else stands in the place of a method, or of a number or text."""
    for name, member in vars(cls).items():
        usual = vars(Program).get(name)
        if (
            inspect.isfunction(usual)
            and not callable(member)
            and not isinstance(member, classmethod | staticmethod)
        ):
            what = f"{cls.__name__}.{name} is a {type(member).__name__}, not a method"
            raise ProgramError(what, where=_place(cls), do=f"write it as: def {name}(self, ...)")
        if name in ("epochs", "monitor") and type(member) is not type(usual):
            what = f"{cls.__name__}.{name} is {member!r}"
            raise ProgramError(
                what, where=_place(cls), do=f"give it a value of type {type(usual).__name__}"
            )


def stages_of(program: Program, method: str) -> list[Stage]:
    """What `program`'s method ("setup", "stages" or "evaluate") returns. ProgramError if it is
    no list of stages.
    """
    returned, function = getattr(program, method)(), getattr(type(program), method)
    what = f"{type(program).__name__}.{method}() must return a list of stages, not "
    do = "e.g. return [Exchange(f), Apply('page', g)]"
    if not isinstance(returned, list | tuple):
        raise ProgramError(what + _described(returned), where=_place(function), do=do)
    for stage in returned:
        if not isinstance(stage, Stage):
            raise ProgramError(
                f"{what}one with {_described(stage)} in it", where=_place(function), do=do
            )
    return [*returned]


def _described(thing: Any) -> str:
    """A value as messages name it."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    return "None" if thing is None else f"an object of type {type(thing).__name__}"


def _place(thing: Callable[..., Any] | type) -> str:
    """``file:line`` of a class or function, as far as Python knows it."""
    try:
        return f"{inspect.getsourcefile(thing)}:{inspect.getsourcelines(thing)[1]}"
    except (OSError, TypeError):
        return getattr(thing, "__qualname__", str(thing))


def scalars(program: Program) -> dict[str, Any]:
    """The parameters that UDFs see, as numpy scalars or numbers: floats are float32 unless
    declared otherwise.
    """
    out: dict[str, Any] = {}
    for name, declared in program.params.items():
        chosen = program.parameters[name]
        if declared.type is float:
            out[name] = np.dtype(declared.dtype or "f4").type(chosen)
        elif declared.type is not str:
            out[name] = chosen
    return out
