"""The work of one loader: its share of the input in, the parts that it hosts out."""

from __future__ import annotations

from dataclasses import dataclass, field

from tux.graph.store import part_arrays
from tux.parallel_load.algorithm.assembling import assemble_parts
from tux.parallel_load.algorithm.numbering import number_vertices
from tux.parallel_load.algorithm.placing import place_edges
from tux.parallel_load.algorithm.plan import ArrayKeeper, InputShare, LoadingPlan
from tux.parallel_load.algorithm.repeated import count_repeated
from tux.parallel_load.algorithm.rounds import Rounds
from tux.parallel_load.algorithm.turns import turns_of


@dataclass
class LoadedType:
    """The result of a loader about one type: `ids` of all loaders, whether vertices are `cut`, and
    the rows of each part that it hosts.
    """

    ids: int
    cut: bool
    rows: list[int]


@dataclass
class LoadSummary:
    """The result of a loader. Of each part that it hosts: edges, and those of them that repeat an
    earlier one's ends; None where such edges may be in several parts.
    """

    edges: list[int] = field(default_factory=list)
    repeated: list[int] | None = field(default_factory=list)
    types: dict[str, LoadedType] = field(default_factory=dict)


def rounds_of(plan: LoadingPlan, fields: int) -> int:
    """Return the number of rounds that the loaders of a plan take, where edges have so many
    `fields`.
    """
    return plan.loaders + 15 + fields + turns_of(plan)


def loader(plan: LoadingPlan, me: int, share: InputShare, keep: ArrayKeeper) -> Rounds[LoadSummary]:
    """Run loader number `me`: read its share, and make the parts that it hosts. `keep` gets all
    that becomes files: arrays of these parts as ``part-P/NAME``; its ranges of the arrays that all
    parts share, ``ids.TYPE``, ``order.TYPE``, ``home.TYPE``, ``number.TYPE`` and ``degrees.SIDE``;
    and its rows, ``src`` and ``dst`` by index and ``fields.NAME``.

    `share` is emptied. All loaders have the same plan, and fields of the same names and types.
    """
    plan.check()
    names = list(share.fields)
    for name in names:  # first, as ids take more memory while they are numbered
        keep(f"fields.{name}", share.fields[name])
    share.fields = {}
    vertices = yield from number_vertices(plan, me, share, keep)
    hosted = yield from place_edges(plan, me, vertices, names, keep)
    sizes = vertices.sizes
    del vertices
    parts = yield from assemble_parts(plan, me, hosted, sizes, keep)
    loaded = LoadSummary(repeated=None if plan.partitioner == "pds" else [])
    for name in plan.types:
        rows = [part.types[name].n_train for part in parts]
        # without a part here, the flag is told by the loaders that host one
        cut = any(part.types[name].cut for part in parts)
        loaded.types[name] = LoadedType(sizes[name].count, cut, rows)
    for p in plan.hosted_parts(me):
        part = parts.pop(0)
        loaded.edges.append(len(part.src))
        if loaded.repeated is not None:
            sources, targets = (len(part.types[end].rows) for end in plan.ends)
            loaded.repeated.append(count_repeated(part.src, part.dst, sources, targets))
        for name, array in part_arrays(part).items():
            keep(f"part-{p}/{name}", array)
    return loaded
