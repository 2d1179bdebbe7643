"""The types that a program declares: of vertices, of edges, and of the context."""

from __future__ import annotations

import numpy as np

from tux.base.errors import ProgramError
from tux.program.combining import MEANS, PAIRED
from tux.program.computed import Computed
from tux.program.fields import ID, Field
from tux.program.naming import describe_value


def _describe(thing: object) -> str:
    """Return a number or a text as it is written, and the kind of anything else."""
    plain = isinstance(thing, bool | int | float | str)
    return repr(thing) if plain else describe_value(thing)


class Fields:
    """A named group of fields: the base of Vertex, Edge and Context."""

    allowed: tuple[str, ...] = ("value", "shared", "delta", "master", "mirror", "data")

    def __init__(self, **fields: Field) -> None:
        for name, field in fields.items():
            if not isinstance(field, Field):
                raise ProgramError(
                    f"field {name} is declared as {_describe(field)}",
                    do="declare it as value(...), shared(...), delta(...), ..., with parentheses",
                )
            if field.kind not in self.allowed:
                raise ProgramError(
                    f"{type(self).__name__} field {name} is a {field.kind}",
                    do=f"it can be: {', '.join(self.allowed)}",
                )
            if isinstance(field, Computed) and not isinstance(self, Context):
                raise ProgramError(
                    f"{type(self).__name__} field {name} is computed from totals, which only the "
                    "context has",
                    do=f"declare it in tau = Context({name}=...)",
                )
        self.fields = fields


class Vertex(Fields):
    """A vertex type; its name in the class body is its name in UDFs:
    ``user = Vertex(p=shared("rank"))``.

    ``whole=True``: the program is right only where all edges of such a vertex lie on one worker, as
    when state that never travels (`mirror`) must be one. Partitioners that can keep a side whole
    choose this one, and a graph in which the type is cut is refused.

    ``remote=True``: workers keep no rows of the type; they come, and their changes go, as generated
    edges touch them (`Generate`).
    """

    def __init__(self, *, whole: bool = False, remote: bool = False, **fields: Field) -> None:
        super().__init__(**fields)
        self.whole, self.remote = whole, remote
        if ID in fields:
            raise ProgramError(
                "a vertex field is called id: this is the vertex's number, which every vertex has",
                do="rename the field",
            )
        wrong = MEANS if remote else ("sqrt_mean",)
        for name, field in fields.items():
            if field.reported:
                raise ProgramError(
                    f"field {name} of a vertex is a metric, which only the context has",
                    do=f"declare a value, or tau = Context({name}=metric())",
                )
            if field.combine in PAIRED:
                raise ProgramError(
                    f"field {name} is an {field.combine}, which is a total of the context",
                    do=f"declare it in tau = Context({name}={field.combine}())",
                )
            if field.combine in wrong or remote and not isinstance(field.combine, str):
                combine = getattr(field.combine, "__name__", field.combine)
                raise ProgramError(
                    f"field {name} cannot be combined by '{combine}'",
                    do="in a remote type, choose sum or sqrt_mean; in others, sum, mean or "
                    "replica_mean",
                )
            if not remote:
                _refuse_wire(name, field)
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
    Exchange; ``mirror("u2", kept=True)`` is part of the model. With ``repeats="count"`` a row of
    the file stands for as many edges as its column `count` says, each with mirror fields of its
    own.

    ``whole="src"``, for edges of one vertex type: all edges that leave a vertex lie on one worker,
    so that a UDF with `edges` over `src` sees all of them. The vertex may have mirrors elsewhere,
    for edges that end at it. ``whole="dst"``: all edges that end at a vertex.

    ``held_out="sample"``, for edges of two types: all held-out edges of a sample lie on one worker,
    so that a UDF with `edges` over `sample` sees all of them, though in training samples are cut.
    Without it they lie where an end of them is whole.

    ``optional=True``, for a type beside the first: there are no such edges in a run that is given
    no data for them.
    """

    allowed = ("mirror", "data")

    def __init__(
        self,
        src: str,
        dst: str,
        *,
        repeats: str = "",
        whole: str = "",
        held_out: str = "",
        optional: bool = False,
        **fields: Field,
    ) -> None:
        super().__init__(**fields)
        self.optional = optional
        if not all(isinstance(name, str) for name in (src, dst, repeats)):
            raise ProgramError(
                "an edge type is declared with something that is no text",
                do="write the names of both vertex types as texts, and as repeats= the name of a "
                'column: Edge("page", "page", repeats="count")',
            )
        self.ends, self.repeats, self.whole, self.held_out = (src, dst), repeats, whole, held_out
        if held_out and (src == dst or held_out not in self.roles):
            raise ProgramError(
                f"an edge from {src} to {dst} is declared held_out={held_out!r}",
                do="name one of its two vertex types, whose held-out edges are to lie together",
            )
        if whole and (src != dst or whole not in self.roles):
            raise ProgramError(
                f"an edge from {src} to {dst} is declared whole={whole!r}",
                do='edges of one vertex type have whole="src" or "dst"; of two types, declare one '
                "of them Vertex(whole=True)",
            )
        if repeats in fields:
            raise ProgramError(
                f"edge field {repeats} is the number of repetitions too",
                do="drop the field: each repetition is an edge",
            )
        if ragged := [name for name, field in fields.items() if field.is_ragged]:
            raise ProgramError(
                f"edge field {ragged[0]} has an entry for each edge",
                do="only a vertex can have that",
            )
        if default := [name for name, field in fields.items() if field.default is not None]:
            raise ProgramError(
                f"edge field {default[0]} has a default",
                do="leave it out: a file has the fields of all its edges",
            )
        if kept := [name for name, field in fields.items() if field.kept and name in self.roles]:
            raise ProgramError(
                f"edge field {kept[0]} is kept, and is called as an end: a model has the ids of "
                "the ends under their names",
                do="rename the field",
            )

    @property
    def columns(self) -> dict[str, np.dtype]:
        """The columns that a file has of an edge besides its ends, by name: data fields, and the
        number of its repetitions.
        """
        repeats = {self.repeats: np.dtype("i4")} if self.repeats else {}
        return repeats | {
            name: field.dtype for name, field in self.fields.items() if field.kind == "data"
        }

    @property
    def roles(self) -> tuple[str, str]:
        """The names of the two ends in UDFs: the vertex types', or `src` and `dst` where both
        have one type.
        """
        return ("src", "dst") if self.ends[0] == self.ends[1] else self.ends


class Context(Fields):
    """The worker's context tau: `total` fields are combined by GlobalSync, `value` fields hold
    its result and are the run's metrics. A number that is computed, such as `metric(formula)`,
    `mean_of` or a `reduction`, declares its totals with it.
    """

    allowed = ("value", "shared", "delta")

    def __init__(self, **fields: Field) -> None:
        super().__init__(**fields)
        for name, field in fields.items():
            _refuse_wire(name, field)
            if field.combine in (*MEANS, "sqrt_mean"):
                raise ProgramError(
                    f"context field {name} cannot be combined by '{field.combine}': workers have "
                    "no edges to it",
                    do="leave combine out: changes are added up; in a MiniBatch, GlobalSync() adds "
                    "up those of each block",
                )
        self.fields = {**fields}
        for name, field in fields.items():
            if isinstance(field, Computed):
                self._add_totals(name, field)

    def _add_totals(self, name: str, computed: Computed) -> None:
        """Declare the totals of the number `name`. They may be there already: of another number,
        or if these are the fields of another context.
        """
        for gathering, declared in computed.named_totals(name).items():
            held = self.fields.setdefault(gathering, declared)
            own = gathering in computed.hidden_totals(name)
            if held is not declared if own else held != declared:
                raise ProgramError(
                    f"context field {name} gathers the total {gathering}, which is declared "
                    "otherwise too",
                    do="rename one of the two, or declare both alike",
                )


def _refuse_wire(name: str, field: Field) -> None:
    """Refuse a field that travels in a form of its own, where workers keep rows."""
    if field.wire:
        raise ProgramError(
            f"field {name} travels as {field.wire}, and workers keep it",
            do="declare it in a type with remote=True, or leave wire out",
        )
