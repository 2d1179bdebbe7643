"""Tables in memory: columns, rows, ids, what other libraries read, and how they look."""

import copy
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest

from tux import DataError, History, Lists, Table, UsageError, Vertices

STRING = np.dtypes.StringDType()


@pytest.fixture
def users():
    return Vertices(
        {
            "id": np.array(["ann", "bob", "cy"], STRING),
            "f": np.arange(6, dtype="f4").reshape(3, 2),
            "n": np.array([3, 1, 2]),
            "topics": Lists(np.array([0, 2, 2, 3]), np.array([7, 8, 9], "i4")),
        }
    )


def test_columns(users):
    assert len(users) == 3 and users.columns == ["id", "f", "n", "topics"]
    assert users.fields == ["f", "n", "topics"] and "f" in users and "g" not in users
    assert users.ids.tolist() == ["ann", "bob", "cy"]
    assert users["f"].tolist() == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(UsageError, match="no column 'topic'\n.*did you mean topics"):
        users["topic"]


def test_rows_are_dicts(users):
    rows = [*users]
    assert rows[1]["id"] == "bob" and rows[1]["f"].tolist() == [2, 3] and rows[1]["n"] == 1
    assert [row["topics"].tolist() for row in rows] == [[7, 8], [], [9]]


def test_vertices_by_id(users):
    assert users.positions(["cy", "dan", "ann"]).tolist() == [2, -1, 0]
    two = users.at(["cy", "ann"])
    assert two.ids.tolist() == ["cy", "ann"] and two["f"].tolist() == [[4, 5], [0, 1]]
    assert [each.tolist() for each in two["topics"]] == [[9], [7, 8]]
    assert users.at("bob")["n"] == 1
    with pytest.raises(DataError, match="no vertex has the id dan"):
        users.at("dan")
    with pytest.raises(DataError, match="2 of these ids are of no vertex; the first is dan"):
        users.at(["ann", "dan", "eve"])


@pytest.mark.parametrize(
    "ids", [np.array([5, 2, 9], "i4"), np.array([5, 2, 2**64 - 1], "u8"), np.array([5, 2, 9], "i1")]
)
def test_ids_of_any_integers(ids):
    of = Vertices({"id": ids})
    assert of.positions([2, 5, 7]).tolist() == [1, 0, -1]
    assert of.positions(["2", "x"]).tolist() == [1, -1]  # as in files
    assert of.positions([2.0, 2.5]).tolist() == [1, -1] and of.positions([]).tolist() == []


def test_ids_of_dates():
    days = np.array(["2026-02-01", "2026-01-01"], "M8[D]")
    of = Vertices({"id": days})
    assert of.positions(["2026-01-01", "2026-01-02"]).tolist() == [1, -1]
    assert of.positions(days[::-1]).tolist() == [1, 0]
    assert of.positions(days.astype("M8[s]") + np.timedelta64(1, "h")).tolist() == [-1, -1]
    assert of.positions([20485, 20454]).tolist() == [-1, -1]
    assert of.positions([datetime(2026, 1, 1), datetime(2026, 1, 1, 12)]).tolist() == [1, -1]


def test_other_libraries(users):
    table = pa.table(users)
    assert table.column_names == users.columns
    assert table["f"].to_pylist() == [[0, 1], [2, 3], [4, 5]]
    assert table["topics"].to_pylist() == [[7, 8], [], [9]]
    assert table["id"].to_pylist() == ["ann", "bob", "cy"]


def test_texts_of_two_dimensions_are_arrow_lists():
    table = Table({"words": [["a", "b"], ["c", ""]]})
    assert pa.table(table)["words"].to_pylist() == [["a", "b"], ["c", ""]]


def test_pandas(users):
    pandas = pytest.importorskip("pandas")
    frame = users.to_pandas()
    assert frame["id"].tolist() == ["ann", "bob", "cy"] and frame["f"][1].tolist() == [2, 3]
    assert pandas.DataFrame(users)["n"].tolist() == [3, 1, 2]


def test_history():
    history = History.of([{"epoch": 1, "loss": 2.5}, {"epoch": 2}, {"epoch": 3, "loss": 1.5}])
    assert history["epoch"].tolist() == [1, 2, 3] and history["epoch"].dtype.kind == "i"
    assert np.isnan(history["loss"][1])
    assert history.records[1] == {"epoch": 2} and len(history.records) == 3


def test_a_copy_is_whole(users):
    other = copy.deepcopy(users)
    assert type(other) is Vertices and other.ids.tolist() == users.ids.tolist()
    assert other["topics"][0].tolist() == [7, 8]


def test_columns_of_several_lengths_are_no_table():
    with pytest.raises(UsageError, match="several lengths: a 1, b 2"):
        Table({"a": [1], "b": [1, 2]})


def test_how_a_table_looks(users):
    text = repr(users)
    assert text.startswith("Vertices: 3 rows\n") and "[2, 3]" in text and "bob" in text
    long = repr(Table({"x": np.arange(1000) / 7}))
    assert "1,000 rows" in long and "..." in long and len(long.splitlines()) == 13
    wide = repr(Table({f"column{k}": [k] for k in range(40)}))
    assert max(map(len, wide.splitlines()[:-1])) <= 100 and "column39" in wide


def test_html_is_escaped():
    shown = Table({"<b>": np.array(["<script>"], STRING)})._repr_html_()
    assert "<script>" not in shown and "&lt;script&gt;" in shown and "&lt;b&gt;" in shown
