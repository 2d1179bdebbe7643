"""What one loader does: its share of the input in, the parts that it hosts out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tux.graph.parts import Part
from tux.graph.store import part_arrays
from tux.loading.assembling import assembled
from tux.loading.numbering import numbered
from tux.loading.placing import placed
from tux.loading.plan import Keep, Plan, Share
from tux.loading.rounds import Rounds
from tux.loading.turns import turns_of


@dataclass
class TypeLoaded:
    """What a loader knows of one type in the end: `ids` of all loaders, whether vertices are `cut`,
    and the rows of each part that it hosts.
    """

    ids: int
    cut: bool
    rows: list[int]


@dataclass
class Loaded:
    """What a loader tells in the end. Of each part that it hosts: edges, and those of them that
    repeat an earlier one's ends; None where such edges may be in several parts.
    """

    edges: list[int] = field(default_factory=list)
    repeated: list[int] | None = field(default_factory=list)
    types: dict[str, TypeLoaded] = field(default_factory=dict)


def rounds_of(plan: Plan) -> int:
    """The rounds that the loaders of a plan take."""
    return plan.loaders + 14 + turns_of(plan)


def loader(plan: Plan, me: int, share: Share, keep: Keep) -> Rounds[Loaded]:
    """Number `me` of the loaders. `keep` gets what becomes of the files: arrays of the parts that
    this loader hosts as ``part-P/NAME``; its ranges of what all parts share, ``ids.TYPE``,
    ``order.TYPE``, ``home.TYPE``, ``number.TYPE`` and ``degrees.SIDE``; and its rows, ``src`` and
    ``dst`` by index and ``fields.NAME``.

    `share` is emptied. All loaders have the same plan, and fields of the same names and types.
    """
    plan.check()
    vertices = yield from numbered(plan, me, share, keep)
    for name, column in share.fields.items():
        keep(f"fields.{name}", column)
    fields, share.fields = dict(share.fields), {}
    hosted = yield from placed(plan, me, vertices, fields, keep)
    sizes = vertices.sizes
    del vertices
    parts = yield from assembled(plan, me, hosted, sizes, keep)
    loaded = Loaded(repeated=None if plan.partitioner == "pds" else [])
    for name in plan.types:
        rows = [part.types[name].n_train for part in parts]
        # without a part here, the flag is told by the loaders that host one
        cut = any(part.types[name].cut for part in parts)
        loaded.types[name] = TypeLoaded(sizes[name].count, cut, rows)
    for p in plan.hosted(me):
        part = parts.pop(0)
        loaded.edges.append(len(part.src))
        if loaded.repeated is not None:
            loaded.repeated.append(_repeated(plan, part))
        for name, array in part_arrays(part).items():
            keep(f"part-{p}/{name}", array)
    return loaded


def _repeated(plan: Plan, part: Part) -> int:
    """Edges of a part that repeat an earlier one's ends."""
    keys = part.src.astype(np.int64)
    keys *= max(len(part.types[plan.ends[1]].rows), 1)
    keys += part.dst
    keys.sort()
    return int(np.count_nonzero(keys[1:] == keys[:-1]))
