"""A program and a graph as plain data: what `draw` draws, `source` writes as a file of tux,
`interpreter` runs by itself, and `shrink` makes smaller.

All numbers are whole and small, so that sums are exact in any order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class FieldSpec(NamedTuple):
    """A field of a vertex type, an edge type or the context. `length`: entries along the first
    dimension, 0 for a number. `combine` of a delta or total: "sum", "min", "max", or the name of a
    function of two numbers; of shared: "sum", "mean" or "replica_mean". `init`: the value of every
    entry at the start; of a `data` field, the values lie in the graph.
    """

    name: str
    kind: str  # value, shared, delta, master, mirror, data; of the context also total, metric
    dtype: str = "i8"
    length: int = 0
    combine: str = "sum"
    init: int = 0


class VertexSpec(NamedTuple):
    """A vertex type. `remote`: rows come as they are touched by the edges of a Generate."""

    name: str
    fields: tuple[FieldSpec, ...]
    whole: bool = False
    remote: bool = False


class EdgeSpec(NamedTuple):
    """An edge type, between the vertex types `ends`. Its fields are data or mirror. `whole`: "src"
    or "dst" where all edges of that end of a vertex lie on one worker; "" otherwise.
    """

    name: str
    ends: tuple[str, str]
    fields: tuple[FieldSpec, ...] = ()
    whole: str = ""


class ExchangeSpec(NamedTuple):
    """Exchange(f, over=, edge=, enter=, leave=, additive=, active=): "" is left out."""

    function: str
    over: str = ""
    edge: str = ""
    enter: str = ""
    leave: str = ""
    additive: bool = False
    active: str = ""


class ForEachSpec(NamedTuple):
    """ForEach(type, f, once=)."""

    vertex: str
    function: str
    once: bool = False


class ApplySpec(NamedTuple):
    """Apply(type, f, gather=, all=, each=)."""

    vertex: str
    function: str = ""
    gather: bool = True
    all: bool = False
    each: str = ""


class GlobalSyncSpec(NamedTuple):
    """GlobalSync(f, aggregate=g, over=type)."""

    function: str = ""
    aggregate: str = ""
    over: str = ""


class BarrierSpec(NamedTuple):
    """Barrier()."""


class VectorSpec(NamedTuple):
    """An operator on fields of one vertex type, or of vectors and a number of the context, as its
    arguments are written in a program: `operator("Axpy")`, `arguments` as source text.
    """

    operator: str
    arguments: str


class GenerateSpec(NamedTuple):
    """Generate(make, use, over, rounds=, **lists). `lists`: the name and the length of each. `use`
    must not read what it changes. It stands alone in a MiniBatch.
    """

    make: str
    use: str
    over: str
    rounds: int
    lists: tuple[tuple[str, int], ...]


class MiniBatchSpec(NamedTuple):
    """MiniBatch(stages..., vertices= | edges= | blocks=, over=, order=). `size`: (name, number), or
    () for one block.
    """

    stages: tuple
    size: tuple = ()
    over: str = ""
    order: str = "shuffled"


class RepeatSpec(NamedTuple):
    """Repeat(stages..., times=) or, where times is 0, Repeat(stages..., until=)."""

    stages: tuple
    times: int = 0
    until: str = ""


class ProgramSpec(NamedTuple):
    """A program. `functions`: the source text of each function, by name; they use the builtins and
    each other alone. `parameters`: whole numbers, which functions read as `p.NAME`. `topology`:
    "directed" or "undirected", if its input asks for neighbour lists.
    """

    vertices: tuple[VertexSpec, ...]
    edges: tuple[EdgeSpec, ...]
    context: tuple[FieldSpec, ...]
    functions: dict[str, str]
    setup: tuple
    stages: tuple
    parameters: dict[str, int] = {}
    topology: str = ""


class GraphSpec(NamedTuple):
    """A graph. `sizes`: vertices of each type, whose numbers are 0, 1, ...; `ends`: by edge type,
    the numbers of both ends of each edge (2, m); `edge_data` and `vertex_data`: values of data
    fields, by type and field.
    """

    sizes: dict[str, int]
    ends: dict[str, np.ndarray]
    edge_data: dict[str, dict[str, np.ndarray]]
    vertex_data: dict[str, dict[str, np.ndarray]]


class EdgePlacement(NamedTuple):
    """The workers of a run. `parts`: by edge type, the worker of each edge; `masters`: by vertex
    type, the worker of each vertex's master. `orders`: by vertex type that is remote, the vertex at
    each position of the order by which lists number them.
    """

    workers: int
    parts: dict[str, np.ndarray]
    masters: dict[str, np.ndarray]
    orders: dict[str, np.ndarray] = {}


class MasterState(NamedTuple):
    """The end of a run. `vertices`: what masters hold, by vertex type and field: value, shared and
    master fields, (n,) or (n, length). `context`: value and shared fields of tau. `metrics`: by
    epoch, those that its record has, by name.
    """

    vertices: dict[str, dict[str, np.ndarray]]
    context: dict[str, np.ndarray]
    metrics: dict[int, dict[str, float]]
