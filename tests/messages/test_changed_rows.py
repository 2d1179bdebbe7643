"""Answers of masters about rows that a function has changed, however they are read."""

import numpy as np
import pytest
from support.machines.team import mirrors_of

from tux.messages.encoding import choose_rows, pack, unpack
from tux.program.fields import delta, shared, value
from tux.rows.table import RowTable
from tux.sync.masters import Masters

CHANNEL = (0, 0)
ALL, FEW = np.array([0, 1, 2], np.int32), np.array([0, 2], np.int32)


def table(fields):
    """Return a table of 3 rows of zeros."""
    new = RowTable.allocate("item", {name: field.resolve({}) for name, field in fields.items()}, 3)
    for array in new.arrays.values():
        array[...] = 0
    return new


@pytest.mark.parametrize("writes", [None, ("y",), ()], ids=str)
@pytest.mark.parametrize("changed", [(), (1,), (0, 2)], ids=str)
def test_what_a_function_has_changed_is_read_as_behind_it(changed, writes):
    fields = {"x": shared("i8", 2), "y": value("i8"), "z": value("f4"), "n": delta("i8")}
    at, answers = ALL, []
    for together in (True, False):
        masters, mirrors = Masters(table(fields)), mirrors_of(table(fields))
        mirrors.table.arrays["x"][list(changed), 1] = 5
        masters.fold([(at, unpack(mirrors.pack(at, CHANNEL), masters.up, at), None)])

        def change(own=masters.table.arrays):
            for name in ("x", "y") if writes is None else writes:
                own[name][1:] += 3

        if together:
            fields_now = masters.change_and_flag(change, at, writes)
        else:
            with masters.changing(at, writes):
                change()
            fields_now = masters.values_and_flags(at)
        answers.append([each.tolist() for each in pack(fields_now)])
        # of some of the rows
        few = pack(choose_rows(fields_now, FEW))
        assert [each.tolist() for each in few] == [
            each.tolist() for each in masters.pack_values(FEW)
        ] or together
        answers[-1].append([each.tolist() for each in few])
    assert answers[0] == answers[1]
