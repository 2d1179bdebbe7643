"""Ids and their rows: as `tux.arrays.ids.Ids` finds them, one at a time."""

import numpy as np
import pytest

from tux.arrays.ids import Ids
from tux.serve.known_ids import KnownIds

TEXTS = np.array(["b", "007", "7", "", "Łódź"], np.dtypes.StringDType())


@pytest.mark.parametrize(
    "values",
    [
        np.array([5, 3, -8, 2**40, 0]),
        np.arange(20),
        np.array([2**64 - 1, 0, 7], np.uint64),
        TEXTS,
        np.empty(0, np.int64),
    ],
)
def test_rows_of_ids(values):
    known, ids = KnownIds(values), Ids(values)
    for asked in ["5", "05", "-8", "+5", "5.0", " 5", "x", "7", "007", "", "-0", "Łódź", "９"]:
        assert known.row_of(asked) == ids.index_of(asked)
    for asked in (5, -8, 0, 2**40, 2**64 - 1, -1, 10**30, 7):
        assert known.row_of(asked) == ids.index_of(str(asked))
    assert known.at(np.arange(len(values))) == values.tolist()
    assert known.rows_of(values.tolist()).tolist() == [*range(len(values))]


def test_ids_are_told_as_they_were_given():
    days = np.array(["2024-02-29", "2025-01-01"], "M8[D]")
    nanoseconds = days.astype("M8[ns]").astype(np.int64)
    for known in (KnownIds(days), KnownIds(nanoseconds, "datetime64[D]")):
        assert known.at(np.array([1])) == ["2025-01-01"] and known.row_of("2024-02-29") == 0
    assert KnownIds(np.array([3, 4]), "float64").at(np.array([0])) == [3]
    assert KnownIds(np.array([3, 4]), "int32").row_of("4") == 1
