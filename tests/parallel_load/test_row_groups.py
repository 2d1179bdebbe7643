"""Ids that the command writes: in the row groups of a file that is written at once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tux.parallel_load.algorithm import folder


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(1, 4))
def test_pieces_become_row_groups(lengths, rows):
    ids = np.arange(sum(lengths))
    pieces = np.split(ids, np.cumsum(lengths)[:-1])
    before, folder.ROWS = folder.ROWS, rows
    try:
        groups = [group.tolist() for group in folder._row_groups(iter(pieces))]
    finally:
        folder.ROWS = before
    wanted = range(0, max(len(ids), 1), rows)
    assert groups == [ids[lo : lo + rows].tolist() for lo in wanted]
