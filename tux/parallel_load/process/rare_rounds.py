"""The rounds in which loaders leave out columns that occur rarely, before they number what is
left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tux.arrays.arrow import CodedColumn
from tux.arrays.ids import Ids
from tux.io.bags.rare import RareRule
from tux.parallel_load.algorithm.plan import InputShare
from tux.parallel_load.algorithm.rare import find_rare
from tux.parallel_load.algorithm.rounds import Rounds


def leave_out_rare(
    loaders: int, share: InputShare, rule: RareRule, data: str
) -> Rounds[tuple[InputShare, tuple[str, ...]]]:
    """Return a share without entries of rare columns, and sentences about what all shares leave
    out. Raises `DataError` if all columns of the input, called `data`, are rare.
    """
    ids, codes = Ids.of(share.dst)
    fields = {name: np.asarray(values) for name, values in share.fields.items()}
    amounts = rule.amounts(codes, len(ids), fields)
    kept, found = yield from find_rare(loaders, ids.values, amounts, rule.least)
    if not found.kept:
        raise rule.nothing_left(data)
    there = kept[codes]
    places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    left = replace(
        share,
        src=np.asarray(share.src)[there],
        dst=CodedColumn(places[codes[there]], ids.values[kept]),
        fields={name: values[there] for name, values in fields.items()},
    )
    return left, rule.notes(found)
