"""The work of one loader: its share of the input in, the parts that it hosts out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from tux.arrays.edge_facts import LeastNumber, NumberFacts
from tux.arrays.pieced import ArrayPieces
from tux.graph.parts import Part
from tux.graph.store import edges_prefix, part_arrays
from tux.graph.topology import WEIGHT
from tux.parallel_load.algorithm.assembling import assemble_parts
from tux.parallel_load.algorithm.groups import GROUP_ROUNDS, LEAD_ROUNDS, NamedCounts
from tux.parallel_load.algorithm.held_links import HeldCounts
from tux.parallel_load.algorithm.neighbours import share_topology, topology_rounds
from tux.parallel_load.algorithm.numbering import NumberedShare, number_vertices
from tux.parallel_load.algorithm.placed_alone import ALONE_ROUNDS
from tux.parallel_load.algorithm.placing import place_edges
from tux.parallel_load.algorithm.plan import ArrayKeeper, InputShare, LoadingPlan
from tux.parallel_load.algorithm.removing import removal_rounds
from tux.parallel_load.algorithm.repeated import ANYWHERE, count_repeated, count_repeated_of_all
from tux.parallel_load.algorithm.rounds import Rounds
from tux.parallel_load.algorithm.turns import turns_of
from tux.parallel_load.algorithm.vertex_tables import join_tables, table_rounds

GIVEN = "given."
"""The beginning of the names of fields of all edges, where links are held out."""


@dataclass
class LoadedType:
    """The result of a loader about one type: `ids` of all loaders, whether vertices are `cut`, and
    the rows of each part that it hosts. `alone`: how many of the ids are in a table alone.
    """

    ids: int
    cut: bool
    rows: list[int]
    alone: int = 0


@dataclass
class LoadedEdges:
    """The result of a loader about one edge type: of each part that it hosts, the edges, and those
    of them that repeat an earlier one's ends, or one number that gives their sum over all loaders.
    `rows`: of its share, and of the first type facts about the `numbers` of its fields, and totals
    of the fields as `given`, with links that are held out then.
    """

    counts: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    rows: int = 0
    numbers: dict[str, NumberFacts] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)


@dataclass
class LoadSummary:
    """The result of a loader: the `edges` of the parts that it hosts, by edge type, and their
    vertices by vertex type. `classes`, `numbered` and `categories`: see `InputShare`. `held`: of
    links. `grouped`: of vertices in a file of groups.
    """

    edges: dict[str, LoadedEdges] = field(default_factory=dict)
    types: dict[str, LoadedType] = field(default_factory=dict)
    classes: tuple[str, ...] = ()
    numbered: str = ""
    categories: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    held: HeldCounts = HeldCounts()
    grouped: NamedCounts = NamedCounts()


def count_edges(loaded: Sequence[LoadSummary]) -> dict[str, int]:
    """Count the edges of each type that all loaders have."""
    return {name: sum(sum(each.edges[name].counts) for each in loaded) for name in loaded[0].edges}


def rounds_of(plan: LoadingPlan, fields: int) -> int:
    """Return the number of rounds that the loaders of a plan take, where the edges of all types
    have so many `fields`.
    """
    more = plan.early + table_rounds(plan) + removal_rounds(plan) + topology_rounds(plan)
    more += GROUP_ROUNDS + LEAD_ROUNDS if plan.grouped else 0
    more += (ALONE_ROUNDS if plan.alone is not None else 0) + (plan.partitioner in ANYWHERE)
    return plan.loaders + 13 + 2 * len(plan.by_type) + fields + turns_of(plan) + more


def loader(plan: LoadingPlan, me: int, share: InputShare, keep: ArrayKeeper) -> Rounds[LoadSummary]:
    """Run loader number `me`: read its share, and make the parts that it hosts. `keep` gets all
    that becomes files: arrays of these parts as ``part-P/NAME``; its ranges of the arrays that all
    parts share, ``ids.TYPE.GROUP`` (see `LoadingPlan.groups_of`), ``order.TYPE``, ``home.TYPE``,
    ``number.TYPE``, ``data.TYPE.FIELD``, ``degrees.SIDE`` and ``topology.NAME``; and its rows,
    ``src`` and ``dst`` by index and ``fields.NAME``. Names of arrays of other edge types begin as
    `edges_prefix` says.

    `share` is emptied. All loaders have the same plan, and fields of the same names and types.
    """
    plan.check()
    fields = {name: list(rows.fields) for name, rows in share.by_type.items()}
    given = {own: LeastNumber() for own in fields[""]}
    for name, rows in share.by_type.items():
        begin = edges_prefix(name) if name or not plan.held_share else GIVEN
        for own, row in rows.fields.items():  # first, as ids take more memory while numbered
            keep(f"{begin}fields.{own}", row if name else given[own].watch(row))
        rows.fields = {}
    keep_data(share, keep)
    told = share.classes, share.numbered, share.categories
    loaded = LoadSummary({}, {}, *told)
    vertices = yield from number_vertices(plan, me, share, keep)
    if plan.grouped:
        loaded.grouped = vertices.sizes[plan.grouped].named
    for name in plan.by_type:
        loaded.edges[name] = LoadedEdges(rows=len(vertices.codes[name][0]))
    if plan.partitioner in ANYWHERE:
        for name, count in (yield from count_repeated_of_all(plan, vertices)).items():
            loaded.edges[name].repeated.append(count)
    kept, loaded.held = vertices.removed
    least = given if kept is None else _keep_fields(kept, fields[""], keep)
    loaded.edges[""].numbers = _number_facts(plan, vertices, least)
    loaded.edges[""].given = {own: each.total for own, each in given.items()}
    if plan.topology:
        yield from share_topology(plan, me, vertices, keep, weighted=WEIGHT in fields[""])
    yield from join_tables(plan, me, share.tables, vertices, keep)
    hosted = yield from place_edges(plan, me, vertices, fields, keep)
    sizes = vertices.sizes
    del vertices
    parts = yield from assemble_parts(plan, me, hosted, sizes, keep)
    for name in plan.types:
        here = [part.types[name] for part in parts]
        # without a part here, the flag is told by the loaders that host one
        cut = any(each.cut for each in here)
        ids = sizes[name].count
        alone = ids - int(sizes[name].starts[-1, 0]) if name in plan.tables else 0
        loaded.types[name] = LoadedType(ids, cut, [each.n_train for each in here], alone)
    for p in plan.hosted_parts(me):
        part = parts.pop(0)
        for name in plan.by_type:
            _count_edges(plan, part, name, loaded.edges[name])
        for name, array in part_arrays(part).items():
            keep(f"part-{p}/{name}", array)
    return loaded


def _keep_fields(
    kept: np.ndarray, names: Sequence[str], keep: ArrayKeeper
) -> dict[str, LeastNumber]:
    """Keep the fields of the edges that are `kept` when links are held out, of which those of all
    edges have been kept. Return their least numbers.
    """
    least = {}
    for name in names:
        row, least[name] = keep.again(f"{GIVEN}fields.{name}"), LeastNumber()
        left = ArrayPieces(row.dtype, int(np.count_nonzero(kept)), _select(row, kept))
        keep(f"fields.{name}", least[name].watch(left))
    return least


def _select(row: ArrayPieces, kept: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the numbers of a row that are `kept`, piece by piece."""
    done = 0
    for piece in row.pieces:
        yield piece[kept[done : done + len(piece)]]
        done += len(piece)


def _number_facts(
    plan: LoadingPlan, share: NumberedShare, least: Mapping[str, LeastNumber]
) -> dict[str, NumberFacts]:
    """Return the facts about the fields of a share's first edge type, whose `least` numbers are
    known.
    """
    ends = zip(plan.ends, share.codes[""], strict=True)
    src, dst = (partial(_index_of, share.types[kind].index, codes) for kind, codes in ends)
    found = {name: each.facts(src, dst) for name, each in least.items()}
    return {name: each for name, each in found.items() if each}


def _index_of(index: np.ndarray, codes: np.ndarray, row: int) -> int:
    """Return the index of the vertex at an end of the edge of a row."""
    return int(index[codes[row]])


def keep_data(share: InputShare, keep: ArrayKeeper) -> None:
    """Keep the data of the vertices of a share, and remove them from it."""
    for kind, fields in share.data.items():
        for name, values in fields.items():
            keep(f"data.{kind}.{name}", values)
    share.data = {}


def _count_edges(plan: LoadingPlan, part: Part, name: str, counted: LoadedEdges) -> None:
    """Add to the counts of an edge type those of one part."""
    edges = part.along(name) if name else part
    counted.counts.append(len(edges.src))
    if plan.partitioner not in ANYWHERE:
        sources, targets = (len(part.types[end].rows) for end in plan.by_type[name])
        counted.repeated.append(count_repeated(edges.src, edges.dst, sources, targets))
