"""Masters fold the rows of deltas that a function of the user combines."""

import numpy as np
from support.machines.team import mirrors_of

from tux.messages.encoding import ELEMENTS, ROWS, unpack
from tux.program.fields import delta
from tux.rows.table import RowTable
from tux.sync.masters import Masters


def table():
    """Return a table of four rows whose deltas are cleared."""
    fields = {"near": delta("i4", 6, combine=append, init=0), "n": delta("i4")}
    new = RowTable.allocate("v", {name: field.resolve({}) for name, field in fields.items()}, 4)
    new.clear_deltas()
    return new


def append(mine, others):
    """Write the numbers of others, which are not 0, behind those of mine."""
    for x in others:
        for k in range(len(mine)):
            if x and not mine[k]:
                mine[k], x = x, 0


def test_rows_that_a_function_combines_are_folded_whole_and_in_the_order_of_contributions():
    masters, contributions, forms = Masters(table()), [], set()
    at = np.array([3, 0, 2, 1], np.int32)
    for gathered in ({3: [1]}, {0: [2, 3], 3: [4]}, {1: [5, 6, 7, 8, 9, 10]}):
        mirrors = mirrors_of(table())
        for row, numbers in gathered.items():
            mirrors.table.arrays["near"][row, : len(numbers)] = numbers
        packed = mirrors.pack(at, (0, 0))
        forms.add(int(packed[0][0]))
        contributions.append((at, unpack(packed, masters.up, at), None))
    masters.fold(contributions)
    found = [[x for x in row if x] for row in masters.table.arrays["near"].tolist()]
    assert found == [[2, 3], [5, 6, 7, 8, 9, 10], [], [1, 4]] and forms == {ROWS, ELEMENTS}
