"""Types of a program's rows, as a Python module that editors and type checkers read: `tux stubs`.

A row is declared as a Protocol. What no function may assign, such as vectors and data, is a
property there: it is read only, and has a docstring, which editors show.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import indent
from typing import Any

from tux.base.text import one_line
from tux.program.base_program import along, first_edge
from tux.program.combining import PAIRED
from tux.program.computed import Computed, Reduction
from tux.program.fields import ID, Field, by_entry
from tux.program.input import Input
from tux.program.params import OF_RUN
from tux.program.program import STAGED, Program, returned_stages
from tux.program.sources import LOADED
from tux.program.stage import Cluster, Stage
from tux.stages.apply import Apply
from tux.stages.generate import Generate

_HEAD = '''"""{about}

{names}

Import the classes where type checkers alone read, and annotate the functions of the program:

    from __future__ import annotations

    from typing import TYPE_CHECKING

    if TYPE_CHECKING:
        from {module} import {example}
"""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt
'''
_NUMBERS = {"f": "float", "i": "int", "u": "int", "b": "bool"}
_TOPOLOGY = (
    ("bounds", "npt.NDArray[np.int64]", "the neighbours of v are ends[bounds[v] : bounds[v + 1]]"),
    ("ends", "npt.NDArray[np.int32]", "neighbours, by the numbers that `make` has of vertices"),
    ("sums", "npt.NDArray[np.float64]", "running sums of weights, where edges have a weight"),
)
_SLICE = """def __len__(self) -> int: ...

def __getitem__(self, i: typing.SupportsIndex, /) -> {item}: ...

def __iter__(self) -> typing.Iterator[{item}]: ..."""

_RNG = '''class Rng(typing.Protocol):
    """Random numbers: uniform() in [0, 1), normal(), below(n) in 0..n-1."""

    def uniform(self) -> float: ...

    def normal(self) -> float: ...

    def below(self, n: int, /) -> int: ...
'''
_EXTREME = '''class Extreme(typing.Protocol):
    """A value with its key, of argmax() or argmin(); the key is -1 if nothing was added."""

    @property
    def value(self) -> float: ...

    @property
    def key(self) -> int: ...

    def add(self, value: float, key: int, /) -> None: ...
'''
_EXTREMES = '''class Extremes(typing.Protocol):
    """Several values with their keys; `values` and `keys` are for GlobalSync's function."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: typing.SupportsIndex, /) -> Extreme: ...

    @property
    def values(self) -> npt.NDArray[np.float64]: ...

    @property
    def keys(self) -> npt.NDArray[np.int64]: ...
'''
_HELPERS = {"Rng": _RNG, "Extreme": _EXTREME, "Extremes": _EXTREMES}


class _Module:
    """A module that is being written: its classes, and, by the names of functions' parameters, the
    classes that these have.
    """

    def __init__(self) -> None:
        self.classes: dict[str, str] = {}
        self.named: dict[str, list[str]] = {}
        self.imports: set[str] = set()

    def declare(
        self, words: str, about: str, members: Iterable[str], *, base: str = "", names: str = ""
    ) -> str:
        """Declare a class that is called by `words`, or nearly so where that name is taken, for
        parameters of these `names`. Return its name.
        """
        name = "".join(word[:1].upper() + word[1:] for word in words.split("_"))
        name = name if name.isidentifier() else f"Row{name}"
        while name in self.classes or name in _HELPERS:
            name += "_"
        bases = f"{base}, typing.Protocol" if base else "typing.Protocol"
        body = indent("\n\n".join([_quote(about), *members]), "    ")
        self.classes[name] = f"class {name}({bases}):\n{body}\n"
        for each in names.split():
            self.named.setdefault(each, []).append(name)
        return name

    def text(self, about: str, module: str) -> str:
        """Return the text of the module, which is imported as `module`."""
        names = "\n".join(f"    {name}: {' or '.join(of)}" for name, of in self.named.items())
        example = ", ".join([*self.classes][:2])
        head = _HEAD.format(about=about, names=names, module=module, example=example)
        if self.imports:
            head += "\nif typing.TYPE_CHECKING:\n"
            head += "".join(f"    import {m} as {_alias(m)}\n" for m in sorted(self.imports))
        return "\n\n".join([head, *self.classes.values()])


def declare_rows(program: Program, name: str, module: str) -> str:
    """Return the source of a module with the types of all that functions of `program` get. Users
    call the program `name`, and import the module as `module`.
    """
    made = _Module()
    rows = _declare_vertices(made, program)
    _declare_edges(made, program, rows)
    _declare_stages(made, program, rows)
    _declare_others(made, program)
    return made.text(f"Types for the functions of {name}, written by tux stubs.", module)


def _declare_vertices(made: _Module, program: Program) -> dict[str, str]:
    """Declare a class for each vertex type; return their names by those of the types."""
    rows = {}
    for vertex, declared in program.vertices.items():
        roles = [
            role
            for edge in program.edge_types.values()
            for role, end in zip(edge.roles, edge.ends, strict=True)
            if end == vertex
        ]
        names = " ".join(dict.fromkeys((vertex, *roles, "v")))
        members = [_VERTEX_NUMBER, *_fields(declared.fields, program)]
        rows[vertex] = made.declare(vertex, f"A vertex of type {vertex}.", members, names=names)
    return rows


def _declare_edges(made: _Module, program: Program, rows: Mapping[str, str]) -> None:
    """Declare a class for the edges of each type, and for each end one of the edges of a vertex,
    and one of an edge among them, which has the row at its other end. Those of types beside the
    first begin with the type's name.
    """
    for name in program.edge_types:
        edge, is_first = along(program, name).edge, name == first_edge(program)
        fields = _fields(edge.fields, program)
        row = made.declare(name, f"An edge of type {name}.", fields, names=name)
        first, about = "" if is_first else f"{name}_", "The edges"
        about += "" if is_first else f" of type {name}"
        for role, other, vertex in zip(edge.roles, edge.roles[::-1], edge.ends[::-1], strict=True):
            what = f"{about} of one `{role}`."
            _declare_slice(made, f"{first}{role}", what, other, rows[vertex], row)


def _declare_slice(
    made: _Module, of: str, about: str, other: str, row: str, edge: str = "", names: str = "edges"
) -> None:
    """Declare a class of several edges and one of each of them, by which the row at its other end
    is reached under the name `other`.
    """
    far = _property(other, row, "The row at the other end.")
    item = made.declare(f"{of}_edge", f"{about} One of them.", [far], base=edge)
    made.declare(f"{of}_edges", about, [_SLICE.format(item=item)], names=names)


def _declare_stages(made: _Module, program: Program, rows: Mapping[str, str]) -> None:
    """Declare a class for the entries of each field that an Apply visits one by one, and for the
    lists of vertices that Generate makes.
    """
    stages = [*_all_stages(program)]
    entries = {(s.over, s.each) for s in stages if isinstance(s, Apply) and s.each}
    for over, each in sorted(entries):
        fields = by_entry(program.vertices[over].fields, each, program.parameters)
        if fields:
            members = [_VERTEX_NUMBER, *_fields(fields, program)]
            about = f'An entry of {over}.{each}, in a function of a stage with each="{each}".'
            made.declare(f"{over}_{each}_entry", about, members, names=f"{over} v")
    lists = {s.over: s.lists for s in stages if isinstance(s, Generate) and s.use}
    for over, named in sorted(lists.items()):
        about = f"A list of {over} vertices that Generate has made, in `use`."
        _declare_slice(made, f"listed_{over}", about, over, rows[over], names=" ".join(named))


def _all_stages(program: Program) -> Iterator[Stage]:
    """Yield all stages of a program, those inside others too."""
    pending = [s for m in STAGED for s in returned_stages(program, m, Cluster(has_test=True))]
    while pending:
        yield (stage := pending.pop())
        pending += stage.inside


def _declare_others(made: _Module, program: Program) -> None:
    """Declare classes for the context, the parameters, and what programs share."""
    fields = program.context.fields
    computed = [(name, each) for name, each in fields.items() if isinstance(each, Computed)]
    hidden = {total for name, each in computed for total in each.hidden_totals(name)}
    shown = {name: each for name, each in fields.items() if name not in hidden}
    made.declare("tau", "The context.", _fields(shown, program, of_tau=True), names="tau")
    made.declare("parameters", "The parameters.", _parameters(made, program), names="p")
    if program.input.topology(program):
        more = type(program.input).extra_tables is not Input.extra_tables
        members = [_property(*each) for each in _TOPOLOGY]
        members += ["def __getattr__(self, name: str) -> npt.NDArray[typing.Any]: ..."] * more
        made.declare("topology", "The whole graph, in `make`.", members, names="topology")
    pairs = any(each.combine in PAIRED for each in fields.values())
    made.classes |= {name: text for name, text in _HELPERS.items() if pairs or name == "Rng"}
    made.named["rng"] = ["Rng"]


# ---- members of classes


def _quote(text: str) -> str:
    """Return a text as a docstring."""
    escaped = one_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""'


def _property(name: str, kind: str, about: str) -> str:
    """Return the declaration of a member that no function assigns."""
    return f"@property\ndef {name}(self) -> {kind}:\n    {_quote(about)}\n    ..."


_VERTEX_NUMBER = _property(ID, "int", "int32: the number of the vertex in the model")


def _fields(fields: Mapping[str, Field], program: Program, *, of_tau: bool = False) -> list[str]:
    """Return the declarations of the fields of a row, which may be that of the context."""
    out = []
    for name, field in fields.items():
        kind, about = _type(field, program), f"{_kind(field, of_tau)}: {_layout(field)}"
        plain = kind in (*_NUMBERS.values(), "typing.Any") and field.kind != "data"
        out.append(f"{name}: {kind}\n{_quote(about)}" if plain else _property(name, kind, about))
    return out


def _type(field: Field, program: Program) -> str:
    """Return the type of a field. One of which the parameters say whether it is a number or a
    vector may be anything.
    """
    shape = field.resolve(program.parameters).shape
    if field.combine in PAIRED:
        return "Extremes" if len(shape) > 1 else "Extreme"
    if not shape:
        return "typing.Any" if field.shape else _NUMBERS[field.dtype.kind]
    return f"npt.NDArray[np.{'bool_' if field.dtype.kind == 'b' else field.dtype.name}]"


def _kind(field: Field, of_tau: bool) -> str:
    """Return the word by which a field is declared, with its combination."""
    if field.combine in PAIRED:
        return str(field.combine)
    if isinstance(field, Reduction):
        return "reduction"
    word = (
        "metric" if field.reported else "total" if of_tau and field.kind == "delta" else field.kind
    )
    combine = getattr(field.combine, "__name__", field.combine)
    return word if combine == "sum" else f"{word}, combined by {combine}"


def _layout(field: Field) -> str:
    """Return the dtype of a field and the lengths of its dimensions, as they are declared."""
    if field.combine in PAIRED:
        return ", ".join(["float64 with an integer key", *map(str, field.shape[:-1])])
    shape = ", ".join("a function of p" if callable(each) else str(each) for each in field.shape)
    return f"{field.dtype.name} ({shape})" if field.shape else field.dtype.name


def _parameters(made: _Module, program: Program) -> list[str]:
    """Return the declarations of the parameters that functions see."""
    out = []
    for name, declared in program.params.items():
        kind, about = declared.type.__name__, declared.help or "parameter"
        if declared.vertex:
            kind, about = "int", f"{about}: the number of a {declared.vertex}"
        elif declared.meanings:
            kind = " | ".join(sorted({_meaning(made, each) for each in declared.meanings.values()}))
        elif declared.type is str:
            continue
        out.append(_property(name, kind, about))
    return [*out, *(_property(name, "int", about) for name, about in OF_RUN.items())]


def _meaning(made: _Module, meaning: Any) -> str:
    """Return the type of what a choice means; the module imports it, if it is a NamedTuple."""
    if not isinstance(meaning, tuple):
        return "typing.Callable[..., typing.Any]"
    kind = type(meaning)
    module = kind.__module__
    if module.startswith(LOADED):  # the file of the program
        module = Path(str(sys.modules[module].__file__)).stem
    if not all(part.isidentifier() for part in f"{module}.{kind.__qualname__}".split(".")):
        return "typing.Any"
    made.imports.add(module)
    return f"{_alias(module)}.{kind.__qualname__}"


def _alias(module: str) -> str:
    """Return the name of an imported module, which no member of a class has."""
    return f"_{module.replace('.', '_')}"
