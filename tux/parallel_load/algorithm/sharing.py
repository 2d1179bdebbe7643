"""The end of a loader's work where loaders are on several machines and each machine gets the arrays
that all parts share: it sends its ranges to one loader of each machine, which joins them
(`tux.parallel_load.algorithm.folder`), and its rows to the first of all, which makes the digest of
them.

The rows come to the first loader one column of one share at a time, and are read only once. The
ranges have an entry for each vertex; like all messages they may lie on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.digest import EdgesDigest, columns_of
from tux.parallel_load.algorithm.kept import RANGES, Kept
from tux.parallel_load.algorithm.loader import LoadSummary, count_edges
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import Messages, Rounds, tell_all


def share_ranges(
    plan: LoadingPlan, me: int, joiners: Sequence[int], own: Kept
) -> Rounds[list[dict[str, np.ndarray]]]:
    """Send this loader's `own` ranges of the arrays that all parts share to the `joiners`, one
    loader of each machine. Return to these the ranges of all loaders, to the others nothing. Raise
    BadColumns if a message does not fit.
    """
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for to in joiners:  # a message begins with the names of its arrays
        head = np.frombuffer(msgspec.json.encode(list(own)), np.uint8)
        outbox[to] += [head, *own.values()]
    inbox = yield outbox
    ranges = []
    for feed in columns_by_sender(inbox) if me in joiners else []:
        names = feed.decode_json(list[str])
        if missing := {name for name in own if RANGES.fullmatch(name)} - {*names}:
            raise feed.bad(f"there is no {min(missing)}")
        ranges.append(dict(zip(names, feed.rest(len(names)), strict=True)))
    return ranges


def digest_in_rounds(
    plan: LoadingPlan,
    me: int,
    kept: Kept,
    ranges: Sequence[Kept],
    loaded: Sequence[LoadSummary],
    fields: Mapping[str, Sequence[str]],
) -> Rounds[str]:
    """Compute the digest of all edges together, as `EdgeData.digest` does: column by column, the
    shares come to the first loader in their order. `ranges`: of all loaders, with the first one.
    `loaded`: the results of all loaders, and names of the `fields` of each edge type.
    """
    digest = None
    if me == 0:
        sizes = {name: loaded[0].types[name].ids for name in plan.types}
        digest = EdgesDigest(plan, sizes, count_edges(loaded), ranges)
    for column in columns_of(fields):
        for turn in range(plan.loaders):
            outbox: Messages = [[] for _ in range(plan.loaders)]
            if turn == me:
                outbox[0].append(kept[column.key])
            inbox = yield outbox
            if digest:
                digest.add(
                    column, MessageColumns(inbox[turn], turn).column("biuf"), first=turn == 0
                )
    if digest:
        digest.add_data(ranges)
        digest.add_categories(loaded[0].categories)
    own = digest.text.encode() if digest else b""
    inbox = yield from tell_all(plan.loaders, [np.frombuffer(own, np.uint8)])
    return MessageColumns(inbox[0], 0).text()
