"""The removal of held-out links from the shares, when their ids have indices and before positions
and degrees are known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tux.graph.sorting import count_keys
from tux.parallel_load.algorithm.columns import columns_by_sender
from tux.parallel_load.algorithm.distinct import Codes, ShareVertices
from tux.parallel_load.algorithm.held_links import LINK_ROUNDS, RemovedLinks, choose_links
from tux.parallel_load.algorithm.id_ranges import DEGREES, IdRange, Sizes
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan
from tux.parallel_load.algorithm.rounds import Messages, Rounds


def removal_rounds(plan: LoadingPlan) -> int:
    """Return the number of rounds that held-out links take: besides those that choose them, one
    tells indices, and two tell degrees and sizes again.
    """
    return LINK_ROUNDS + 3 if plan.held_share else 0


def remove_links(
    plan: LoadingPlan,
    me: int,
    slices: Mapping[str, list[slice]],
    owned: Mapping[str, IdRange],
    sizes: Mapping[str, Sizes],
    codes: Codes,
    keep: ArrayKeeper,
) -> Rounds[RemovedLinks]:
    """Remove the links that are held out from the `codes` of the first type. Keep on which side
    each vertex was before.
    """
    kind = plan.ends[0]
    own, n = owned[kind], sizes[kind].count
    first = own.group == 0
    sides = (own.degrees[0][first] > 0) + 2 * (own.degrees[1][first] > 0)
    keep("held.sides", sides.astype(np.uint8))
    inbox = yield [[own.index[places]] for places in own.places]
    told = zip(columns_by_sender(inbox), slices[kind], strict=True)
    index = np.concatenate([feed.numbers(ids.stop - ids.start, below=n) for feed, ids in told])
    src, dst = (index[column] for column in codes[""])
    removed = yield from choose_links(plan, me, src, dst, n, keep)
    codes[""] = [column[removed.kept] for column in codes[""]]
    return removed


def count_again(
    plan: LoadingPlan,
    types: Mapping[str, ShareVertices],
    slices: Mapping[str, list[slice]],
    owned: Mapping[str, IdRange],
    codes: Codes,
) -> Rounds[None]:
    """Tell the owners the degrees of ids in this share once more, where edges have been removed."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name, local in types.items():
        columns = (codes[end.edges][end.side] for end in plan.ends_of(name))
        counts = [count_keys(column, len(local.degrees[0])).astype(np.int32) for column in columns]
        for message, own in zip(outbox, slices[name], strict=True):
            message += [degrees[own] for degrees in counts]
    feeds = columns_by_sender((yield outbox))
    for mine in owned.values():
        for total in mine.degrees:
            total[:] = 0
        for feed, at in zip(feeds, mine.places, strict=True):
            for total in mine.degrees:
                total[at] += feed.numbers(len(at), below=DEGREES)
