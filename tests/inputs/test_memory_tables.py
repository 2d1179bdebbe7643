"""Tables in memory: each library's table is what the same file would be, for each kind of input;
and which columns and rows are wrong is told.
"""

import numpy as np
import pyarrow as pa
import pytest
from support.programs.held_data import (
    ITEMS,
    ROWS,
    TABLES,
    VALUES,
    DocumentWords,
    LabelledSamples,
    LinkedPages,
    PointsInPlane,
    RatedPairs,
    WholeRatings,
    arrow_pieces,
    arrow_table,
    columns,
    load_data,
    pandas_frame,
    pandas_index,
    plain,
    rows,
    wrong,
)


@pytest.mark.parametrize("make", TABLES)
def test_tables_of_ratings(make):
    inputs, told = load_data(RatedPairs, make(columns()))
    assert rows(inputs.train) == ROWS and not told
    assert inputs.train.fields["value"].dtype == np.float32
    assert inputs.train.columns == {"user": "user", "item": "item", "value": "rating"}
    assert inputs.origin == "memory"


@pytest.mark.parametrize("make", TABLES)
def test_tables_of_documents(make):
    given = {"document": np.array([3, 3, 1]), "word": ITEMS[:3], "count": np.array([2, 1, 4])}
    given["word"] = np.array(given["word"], object)
    inputs, _ = load_data(DocumentWords, make(given))
    assert rows(inputs.train) == [(1, "c", 4), (3, "a", 1), (3, "b", 2)]


@pytest.mark.parametrize("make", TABLES)
def test_tables_of_links(make):
    given = {"source": np.array([1, 2, 2]), "target": np.array([2, 3, 1])}
    inputs, _ = load_data(LinkedPages, make(given))
    assert rows(inputs.train) == [(1, 2), (2, 1), (2, 3)]
    assert inputs.train.ids["page"].values.tolist() == [1, 2, 3]


@pytest.mark.parametrize("make", [each for each in TABLES if each is not pandas_index])
def test_tables_of_samples(make):
    given = {
        "y": np.array([1, 0, 1]),
        "size": np.array([0.5, 0.0, 2.0]),
        "kind": np.array(["a", "b", "a"], object),
        "much": np.array([2.0, 1.0, 3.0]),
    }
    inputs, _ = load_data(LabelledSamples, make(given), weight="much")
    train = inputs.train
    assert rows(train) == [
        (0, "kind=a", 1), (0, "size", 0.5), (1, "kind=b", 1), (2, "kind=a", 1), (2, "size", 2),
    ]  # fmt: skip
    assert train.ids["sample"].values.tolist() == [0, 1, 2]
    assert train.vertex_fields["sample"]["label"].tolist() == [1, -1, 1]
    assert train.vertex_fields["sample"]["weight"].tolist() == [2, 1, 3]
    assert train.classes == ("0", "1")


@pytest.mark.parametrize("make", TABLES)
def test_tables_of_points(make):
    given = {"id": np.array([5, 4]), "x_0": np.array([1.0, 2.0]), "x_1": np.array([3.0, 4.0])}
    inputs, _ = load_data(PointsInPlane, make(given))
    assert inputs.train.ids["point"].values.tolist() == [4, 5]
    assert inputs.train.vertex_fields["point"]["x"].tolist() == [[2, 4], [1, 3]]


@pytest.mark.parametrize("make", TABLES)
def test_a_table_of_test_ratings_has_the_ids_of_training_first(make):
    test = {"user": np.array([5, 9]), "item": np.array(["z", "a"], object), "rating": VALUES[:2]}
    test["rating"] = np.array(test["rating"])
    inputs, told = load_data(RatedPairs, make(columns()), make(test))
    assert rows(inputs.test) == [(5, "z", 4), (9, "a", 1.5)]
    assert inputs.test.ids["user"].values.tolist() == [3, 5, 7, 9]
    assert inputs.test.unseen == {"user": 1, "item": 1} and len(told) == 2


def test_columns_without_names_are_taken_in_their_order():
    array = np.array([[7, 1, 4.0, 99], [3, 2, 1.5, 98]])
    expected = [(3, 2, 1.5), (7, 1, 4)]
    assert rows(load_data(RatedPairs, tuple(array.T[:3]))[0].train) == expected
    inputs, _ = load_data(RatedPairs, array)
    assert rows(inputs.train) == expected
    assert inputs.train.columns["value"] == "column 3"
    assert rows(load_data(RatedPairs, array, columns="1,2,4")[0].train) == [(3, 2, 98), (7, 1, 99)]
    assert "2 columns, but 3 are needed" in wrong(RatedPairs, array[:, :2])
    assert "20 columns of numbers without names" in wrong(RatedPairs, np.ones((3, 20)))
    assert "name 'b'" in wrong(RatedPairs, array, columns="1,b,3")


def test_columns_are_found_as_in_files():
    given = columns() | {"when": np.array(["x"] * 4, object), "other": np.ones(4)}
    assert rows(load_data(RatedPairs, given)[0].train) == ROWS
    mixed = pandas_frame(columns() | {"odd": np.array([1, "x", None, [2]], object)})
    assert (
        rows(load_data(RatedPairs, mixed)[0].train) == ROWS
    )  # what is not taken may hold anything
    chosen, _ = load_data(RatedPairs, given, columns="user,item,other")
    assert set(chosen.train.fields["value"]) == {1}
    said = wrong(RatedPairs, given, columns="user,item,none")
    assert "no column 'none'" in said and "with columns=" in said and "--" not in said
    assert "item" in wrong(RatedPairs, {"user": [1], "a": ["x"], "b": ["y"], "rating": [1.0]})


def test_columns_of_numbers_that_hold_none_are_refused_by_name():
    def rating_error(values):
        return wrong(RatedPairs, {"user": [1, 2], "item": [1, 2], "rating": values})

    assert "column 'rating' holds string, not numbers" in rating_error(["a", "b"])
    assert "columns differ in length: user 2, item 2, rating 3" in rating_error([1.0, 2.0, 3.0])
    assert rows(load_data(RatedPairs, {"user": [1], "item": [2], "rating": [True]})[0].train) == [
        (1, 2, 1)
    ]


# ---- bad rows

BAD = [
    ({"user": [1, None, 3]}, "user is missing"),
    ({"user": np.array([1, np.nan, 3])}, "user is missing"),
    ({"item": ["a", "", "c"]}, "item is missing"),
    ({"item": ["a", None, "c"]}, "item is missing"),
    ({"rating": [1, None, 3]}, "value is missing"),
    ({"rating": np.array([1, np.nan, 3])}, "value is nan, not a finite number"),
    ({"rating": np.array([1, np.inf, 3])}, "value is inf, not a finite number"),
    ({"rating": np.array([1, 1e300, 3])}, "value is 1e+300, beyond float32"),
]


@pytest.mark.parametrize(("column", "why"), BAD)
@pytest.mark.parametrize("make", [plain, arrow_pieces, arrow_table])
def test_bad_rows_are_told_or_left_out(make, column, why):
    given = {"user": [1, 2, 3], "item": ["a", "b", "c"], "rating": [1.0, 2.0, 3.0], **column}
    if make is not plain:
        given = {name: pa.array(values) for name, values in given.items()}
    said = wrong(RatedPairs, make(given))
    assert why in said and ", row 1" in said and 'on_bad_row="skip"' in said
    inputs, told = load_data(RatedPairs, make(given), on_bad_row="skip")
    assert rows(inputs.train) == [(1, "a", 1), (3, "c", 3)]
    assert inputs.train.skipped == 1 and why in told[0] and inputs.sizes["rows"] == 3


def test_numbers_that_are_not_whole_or_too_large_are_bad_where_whole_ones_are_wanted():
    given = {"user": [1, 2, 3], "item": [1, 2, 3], "rating": np.array([1, 2.5, 3])}
    assert "value is 2.5, not whole" in wrong(WholeRatings, given)
    assert "value is 4294967296, beyond int32" in wrong(
        WholeRatings, given | {"rating": [1, 2**32, 3]}
    )
    assert rows(load_data(WholeRatings, given, on_bad_row="skip")[0].train) == [
        (1, 1, 1),
        (3, 3, 3),
    ]


def test_data_without_a_good_row():
    assert "holds no edge" in wrong(RatedPairs, pa.table(columns()).slice(0, 0))
    given = {"user": [None], "item": ["a"], "rating": [1.0]}
    assert "no row of the columns is usable" in wrong(RatedPairs, given, on_bad_row="skip")


def test_columns_of_two_types_are_not_joined_to_one():
    given = {"user": [1, 2, 3], "item": [1, 2, 4]}
    assert "are of two types" in wrong(LinkedPages, given)
    assert len(load_data(LinkedPages, given, columns="user,item")[0].train) == 3
