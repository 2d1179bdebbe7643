"""The report's tables as text: columns come back in their types."""

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import DataError
from tux.run_folder.model_files import read_tables, write_tables


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([3, -1], "i"),
        ([2**64 - 1, 5], "u"),
        ([0.5, np.nan], "f"),
        (["ab", "1 2"], "T"),
        (["1_000", "2"], "T"),  # which Python takes for a number
        (["\u0663", "\u0664"], "T"),  # as it does those of other scripts
    ],
)
def test_columns_come_back(tmp_path, given, kind):
    write_tables(tmp_path, {"found": {"a": given, "b": [1, 2]}})
    column = read_tables(tmp_path)["found"]["a"]
    assert column.dtype.kind == kind
    assert np.array_equal(column, np.array(given, column.dtype), equal_nan=kind == "f")


def test_what_is_no_table(tmp_path):
    (tmp_path / "found.tsv").write_text("a\tb\n1\n")
    with pytest.raises(DataError, match=message("this-is-no-table-of")):
        read_tables(tmp_path)
