"""Ids come back in the type that they had in memory; what can be no id is refused."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
from support.programs.held_data import (
    STRING,
    TIMES,
    LinkedPages,
    RatedPairs,
    arrow_pieces,
    arrow_table,
    duck,
    load_data,
    pandas_frame,
    plain,
    polars_frame,
    rows,
    wrong,
)

from tux import Edge, Program, Ratings, Vertex, data
from tux.arrays.arrow import read_parquet
from tux.arrays.given import to_given_type, to_id_type
from tux.options.options import RunOptions
from tux.predict.neighbours import nearest_of
from tux.predict.predict import predict
from tux.program.sources import find
from tux.run_folder.folder import read_run
from tux.run_folder.model_files import read_ids
from tux.runs.session import run

GIVEN = [
    *(np.array([3, 1], kind) for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")),
    np.array([2**64 - 1, 1], "u8"),
    np.array([3.0, 1.0]),
    np.array([3.0, 1.0], "f4"),
    TIMES,
    TIMES.astype("M8[D]"),
    TIMES.astype("M8[ns]"),
    np.array(["007", " b"], STRING),
    np.array(["3", "1"], object),
]


@pytest.mark.parametrize("given", GIVEN, ids=lambda given: str(given.dtype))
@pytest.mark.parametrize("make", [plain, arrow_pieces, pandas_frame, polars_frame])
def test_ids_come_back_in_the_type_that_they_had(make, given):
    if make is pandas_frame and given.dtype == "M8[D]" or given.dtype == STRING:
        make = plain  # pandas holds no dates of days, nor numpy's strings
    if make is polars_frame and given.dtype == TIMES.dtype:
        make = arrow_pieces  # polars has no seconds
    kind = "M8[D]" if given.dtype == "M8[D]" else given.dtype
    train = load_data(RatedPairs, make({"user": given, "item": [1, 2], "rating": [1.0, 2.0]}))[
        0
    ].train
    back = to_given_type(train.ids["user"].values, train.id_types.get("user", ""))
    assert back.dtype == (STRING if given.dtype.kind == "O" else kind)
    assert sorted(back.tolist()) == sorted(given.tolist())
    order = train.ids["user"].encode(to_id_type(given))  # as a user asks for vertices
    assert order.tolist() == train.src.tolist()


def test_categories_and_dictionaries_are_their_values():
    pd = pytest.importorskip("pandas")
    given = {"user": pd.Categorical(["b", None, "a", "b"], ["a", "b", "never"])}
    given |= {"item": pd.Categorical([3, 1, 3, 3]), "rating": [1.0, 2.0, 3.0, 4.0]}
    inputs, told = load_data(RatedPairs, pd.DataFrame(given), on_bad_row="skip")
    train = inputs.train
    assert rows(train) == [("a", 3, 3), ("b", 3, 1), ("b", 3, 4)]
    assert train.ids["user"].values.tolist() == ["a", "b"] and train.skipped == 1
    assert "row 1: user is missing" in told[0]
    pl = pytest.importorskip("polars")
    kinds = {"user": pl.Categorical, "item": pl.Enum(["q", "p", "o"]), "rating": pl.Float32}
    given = {"user": ["b", "a", "b"], "item": ["p", "q", "p"], "rating": [1.0, 2, 3]}
    train = load_data(RatedPairs, pl.DataFrame(given, kinds))[0].train
    assert rows(train) == [("a", "q", 2), ("b", "p", 1), ("b", "p", 3)]
    assert train.ids["item"].values.tolist() == ["p", "q"]
    coded = pa.array(["x", "y", "x"]).dictionary_encode()
    table = pa.table({"user": coded, "item": [1, 2, 3], "rating": [1.0, 2, 3]})
    assert load_data(RatedPairs, table)[0].train.ids["user"].values.tolist() == ["x", "y"]


def test_times_of_a_zone_come_back_in_utc():
    pd = pytest.importorskip("pandas")
    users = pd.to_datetime(["2024-05-01T10:00", "2024-01-01T00:00"]).tz_localize("Europe/Berlin")
    frame = pd.DataFrame({"user": users, "item": [1, 2], "rating": [1.0, 2.0]})
    train = load_data(RatedPairs, frame)[0].train
    back = to_given_type(train.ids["user"].values, train.id_types["user"])
    assert (back == np.array(["2023-12-31T23", "2024-05-01T08"], "M8[ns]")).all()


def test_both_ends_of_one_type_share_the_type_of_their_ids():
    def kind(source, target):
        given = {"source": np.array(source), "target": np.array(target)}
        return load_data(LinkedPages, given)[0].train.id_types

    assert kind(np.int32([1, 2]), np.int32([2, 3])) == {"page": "int32"}
    assert kind(np.int8([1, 2]), np.uint8([2, 3])) == {"page": "int16"}
    assert kind([1, 2], np.int8([2, 3])) == {} == kind(["a"], np.int8([2]))


@pytest.mark.parametrize(
    ("users", "words"),
    [
        ([True, False], "column 'user' holds bool, which is no type of ids"),
        ([0.5, 1.0], "column 'user' holds decimal numbers, such as 0.5"),
        ([b"a", b"b"], "column 'user' holds binary"),
        ([datetime.timedelta(1)] * 2, "column 'user' holds duration"),
        ([[1], [2]], "column 'user' holds list"),
        ([1, "a"], "column 'user' cannot be read"),
        (np.array(["0001-01-01", "2024-01-01"], "M8[D]"), "holds dates beyond the years"),
        ([2.0**60, 1.0], "column 'user' holds numbers beyond"),
    ],
)
def test_what_can_be_no_id_is_refused_by_name(users, words):
    assert words in wrong(RatedPairs, {"user": users, "item": [1, 2], "rating": [1.0, 2.0]})


@pytest.mark.parametrize("make", [pandas_frame, polars_frame, arrow_table, duck, plain])
def test_vertices_are_found_by_ids_of_any_type(make):
    class UsersWithAge(Program):
        user = Vertex(age=data("f4"))
        item = Vertex()
        bought = Edge("user", "item")
        input = Ratings()

    times = TIMES.astype("M8[ns]")
    given = make({"user": times, "item": np.array([1, 2])})
    table = make({"user": TIMES.astype("M8[us]"), "age": np.array([10.0, 20.0])})
    train = load_data(UsersWithAge, given, vertices={"user": table})[0].train
    assert train.vertex_fields["user"]["age"].tolist() == [20, 10]


def test_a_run_gives_ids_back_as_they_were(tmp_path):
    given = {
        "user": np.int16([5, 3, 5, 4]),
        "item": TIMES[[0, 1, 1, 0]],
        "rating": np.float64([1, 2, 3, 4]),
    }
    options = RunOptions(epochs=1, jit=False, out=tmp_path / "out")
    result = run(find("mf").program(rank=2), given, options=options)
    assert result.id_types == {"user": "int16", "item": "datetime64[s]"}
    users, items = (
        read_parquet(tmp_path / "out" / "model" / f"{name}.parquet")["id"]
        for name in ("user", "item")
    )
    assert users.dtype == np.int16 and users.tolist() == [3, 4, 5]
    assert items.dtype == "M8[ms]"  # Parquet has no seconds
    assert items.tolist() == sorted(TIMES.tolist())
    assert read_run(tmp_path / "out").data.path == "memory"
    ids = read_ids(tmp_path / "out", find("mf").program())
    assert ids["item"] == result.worker.graph.vertices["item"].ids
    near = nearest_of(tmp_path / "out", "4", 1)
    assert near["user"].dtype == np.int16
    pairs = {"item": TIMES, "user": np.int16([4, 9])}
    scored = predict(tmp_path / "out", pairs)
    assert scored["user"].dtype == np.int16 and scored["user"].tolist() == [4, 9]
    assert scored["item"].tolist() == TIMES.tolist() and len(scored["score"]) == 2
