"""The index of a DataFrame: it is no column, unless the columns do not suffice without it."""

import numpy as np
import pytest
from support.programs.held_data import (
    ROWS,
    LabelledSamples,
    LinkedPages,
    PointsInPlane,
    RatedPairs,
    columns,
    load_data,
    rows,
    wrong,
)

import tux

pd = pytest.importorskip("pandas")
INDEX = [90, 91, 92, 93]


def frame(names="user item rating", index="row", **more):
    """Return the table of ratings with columns of such names, and an index called `index`."""
    named = dict(zip(names.split(), columns().values(), strict=False))
    return pd.DataFrame(named | more, index=pd.Index(INDEX, name=index))


@pytest.mark.parametrize("index", [None, "row", "id", "weight", "when", "user", 7])
@pytest.mark.parametrize("names", ["user item rating", "a b c", "person film stars", "who what n"])
def test_an_index_is_no_column_where_columns_suffice(names, index):
    if index != "weight" and (index != "user" or names == "user item rating"):
        assert rows(load_data(RatedPairs, frame(names, index))[0].train) == ROWS
    chosen = load_data(RatedPairs, frame(names, index), columns=names.replace(" ", ","))[0]
    assert rows(chosen.train) == ROWS
    assert rows(load_data(RatedPairs, frame(names, index), columns="1,2,3")[0].train) == ROWS


@pytest.mark.parametrize("index", ["user", "user_id", "UID", "customer"])
def test_a_level_called_as_a_missing_column_is_that_column(index):
    given = frame(more=np.ones(4)).set_index("user").rename_axis(index)
    assert rows(load_data(RatedPairs, given)[0].train) == ROWS
    by_rating = frame().set_index("rating")
    assert rows(load_data(RatedPairs, by_rating)[0].train) == ROWS


def test_a_level_of_another_name_is_an_end_only_where_the_columns_are_too_few_or_in_another_order():
    people = frame("person film stars").set_index("person")
    for given in (people, people.assign(note=1.0)):
        inputs, told = load_data(RatedPairs, given)
        assert rows(inputs.train) == ROWS and inputs.train.columns["user"] == "person"
    assert "no column for value" in wrong(RatedPairs, frame("user item"))
    chosen = load_data(RatedPairs, frame("user item"), columns="user,item,row")[0].train
    assert sorted(chosen.fields["value"].tolist()) == INDEX
    said = wrong(RatedPairs, frame("item stars who")[["item", "who", "stars"]])
    assert "user may be any of the columns row, who" in said and "columns=" in said


@pytest.mark.parametrize("levels", [["user", "item"], ["customer", "film"], ["a", "b"]])
def test_the_levels_of_groups_are_the_ends(levels):
    grouped = frame(" ".join([*levels, "rating"])).groupby(levels, sort=False)
    assert rows(load_data(RatedPairs, grouped.mean())[0].train) == ROWS
    assert rows(load_data(RatedPairs, grouped["rating"].mean())[0].train) == ROWS  # a Series
    many = grouped["rating"].agg(["mean", "min", "max", "count"])
    assert rows(load_data(RatedPairs, many)[0].train) == ROWS


def test_levels_beside_columns_of_both_ends_are_no_columns():
    given = frame("user item stars", shop=1, day=2).set_index(["shop", "day"])
    assert rows(load_data(RatedPairs, given)[0].train) == ROWS
    links = frame("source target").set_index(["source", "target"]).assign(weight=1.0)
    assert (
        len(load_data(LinkedPages, links.astype(str).reset_index().set_index("source"))[0].train)
        == 4
    )


def test_an_index_without_a_name_is_told_where_a_column_is_missing():
    given = frame().set_index("user").rename_axis(None)
    said = wrong(RatedPairs, given)
    assert "no column for user" in said and "df.rename_axis(NAME)" in said
    assert "rename_axis" not in wrong(RatedPairs, frame("user item").reset_index(drop=True))


@pytest.mark.slow
def test_pairs_to_be_scored_leave_an_index_out():
    run = tux.run(tux.MF(rank=2), frame(), epochs=1, progress=False)
    plain = run.predict(frame().reset_index(drop=True))
    for given in (frame(), frame().set_index(["user", "item"])):
        assert run.predict(given).tolist() == plain.tolist()


def test_row_numbers_that_pandas_has_written_are_not_taken_for_an_end():
    for name in ("Unnamed: 0", "__index_level_0__"):
        numbered = {name: np.array(INDEX), **dict(zip("abc", columns().values(), strict=True))}
        assert rows(load_data(RatedPairs, numbered)[0].train) == ROWS


# ---- points, vertices and samples


@pytest.mark.parametrize("index", [None, "row", "x_size", "__index_level_0__"])
def test_an_index_is_no_number_of_a_point(index):
    points = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, pd.Index([8, 9], name=index))
    train = load_data(PointsInPlane, points)[0].train
    assert train.vertex_fields["point"]["x"].tolist() == [[1, 3], [2, 4]]
    assert train.ids["point"].values.tolist() == [0, 1]
    if index == "__index_level_0__":
        assert load_data(PointsInPlane, points.reset_index())[0].train.digest() == train.digest()
    named = load_data(PointsInPlane, points.rename_axis("point"))[0].train
    assert named.ids["point"].values.tolist() == [8, 9]


def test_a_column_goes_before_a_level_of_its_name():
    twice = pd.DataFrame({"id": [1, 2], "x_0": [1.0, 2.0], "x_1": [3.0, 4.0]})
    train = load_data(PointsInPlane, twice.set_index("id", drop=False))[0].train
    assert train.ids["point"].values.tolist() == [1, 2]
    both = frame().set_index("user", drop=False)
    assert rows(load_data(RatedPairs, both)[0].train) == ROWS


def test_an_index_of_samples_is_no_feature():
    given = pd.DataFrame({"y": [1, 0], "a": [0.5, 2.0]}, pd.Index([8, 9], name="row"))
    train = load_data(LabelledSamples, given)[0].train
    assert train.ids["feature"].values.tolist() == ["a"]
