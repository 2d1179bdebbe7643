"""The rounds in which loaders leave out columns that occur rarely, before they number what is
left.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn
from tux.arrays.ids import Ids
from tux.arrays.pieced import ArrayPieces
from tux.io.bags.rare import RareRule
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan
from tux.parallel_load.algorithm.rare import find_rare
from tux.parallel_load.algorithm.rounds import Rounds


def leave_out_rare(
    plan: LoadingPlan, share: InputShare, rule: RareRule, data: str
) -> Rounds[tuple[InputShare, tuple[str, ...], int]]:
    """Return a share without entries of rare columns, sentences about what all shares leave out,
    and how many entries there were here; rows of which nothing is left are vertices all the same.
    Raises `DataError` if all columns of the input, called `data`, are rare.
    """
    (rows, row), (ids, codes) = Ids.of(share.src), Ids.of(share.dst)
    fields = {name: _whole(values) for name, values in share.fields.items()}
    kept, found, kind = yield from find_rare(
        plan.loaders, ids.values, rule.amounts(codes, len(ids), fields), rule.least
    )
    if found.columns and not found.kept:
        raise rule.nothing_left(data)
    there, left = kept[codes], ids.values[kept]
    places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    share = replace(
        share,
        src=CodedColumn(row[there], rows.values),
        dst=CodedColumn(places[codes[there]], left.astype(STRING) if kind == STRING else left),
        fields={name: values[there] for name, values in fields.items()},
    )
    return share, rule.notes(found), len(codes)


def _whole(values: np.ndarray | ArrayPieces) -> np.ndarray:
    return values.whole() if isinstance(values, ArrayPieces) else values
