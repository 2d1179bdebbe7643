"""Edges that are there or not, such as features: matrices and tables whose numbers say more, or
that some are not there.
"""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import io, sparse
from support.messages import message

from tux import DataError, Edge, Program, UsageError, Vertex, data
from tux.inputs.load import load
from tux.inputs.pairs import read_pairs
from tux.inputs.wrapping import wrap_data, wrap_first
from tux.io.edges.bare_pairs import NumbersBeside, held_entries
from tux.io.edges.columns import WantedColumns
from tux.run_folder.folder import App, DataOrigin, RunRecord

HAS = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
BOUGHT = pd.DataFrame({"user": [0, 1, 2, 0], "item": [0, 1, 2, 3]})
LONG = pd.DataFrame(HAS).rename_axis("item").reset_index().melt("item", var_name="tag")
"""A row for each entry of `HAS`, the number in the column `value`."""


class Liked(Program):
    user, item = Vertex(), Vertex()
    liked = Edge("user", "item")

    def stages(self):
        return []


class Tagged(Liked):
    tag = Vertex()
    liked = Edge("user", "item")
    tags = Edge("item", "tag", optional=True)


class Rated(Program):
    user, item, tag = Vertex(), Vertex(), Vertex()
    rating = Edge("user", "item", value=data("f4"))
    tags = Edge("item", "tag", optional=True)

    def stages(self):
        return []


def told_of(tags, liked=BOUGHT):
    """Return the edges (n, 2) of tags, by id, and the warnings of reading them."""
    told = []
    train = load(Tagged(), {"liked": liked, "tags": tags}, warn=told.append).train
    own = train.others["tags"]
    ends = (train.ids["item"].values[own.src], train.ids["tag"].values[own.dst])
    return np.column_stack([each.astype(str).astype(int) for each in ends]), told


def store(folder, form, matrix):
    """Return a matrix in memory or the name of its file."""
    if form == "memory":
        return matrix
    path = str(folder / f"tags.{form}")
    (sparse.save_npz if form == "npz" else io.mmwrite)(path, matrix)
    return path


FORMS = pytest.mark.parametrize("form", ["memory", "npz", "mtx"])


@FORMS
def test_entries_of_0_are_no_edges(form, tmp_path):
    every = np.indices(HAS.shape).reshape(2, -1)
    matrix = sparse.coo_array((HAS.ravel().astype(float), every), shape=HAS.shape)
    first = form == "mtx"  # there ids begin with 1
    liked = BOUGHT + first
    found, _ = told_of(store(tmp_path, form, matrix), liked)
    assert sorted(map(tuple, found - first)) == sorted(map(tuple, np.argwhere(HAS)))


@FORMS
@pytest.mark.parametrize(("entry", "code"), [(-1.0, "has-the-entry"), (0.5, "has-the-entries-and")])
def test_entries_that_say_more_are_refused(form, entry, code, tmp_path):
    matrix = sparse.csr_array(HAS.astype(float))
    matrix.data[2] = entry
    with pytest.raises(DataError, match=message(code, f"{entry:g}")) as error:
        told_of(store(tmp_path, form, matrix))
    assert "tags are there or not: cut numbers into ranges" in error.value.do


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_entries_that_are_no_numbers(entry):
    with pytest.raises(DataError, match=message("has-the-entry", f"{entry:g}")):
        held_entries(np.array([1.0, entry]), ("item", "tag"), "m")


def test_equal_entries_are_edges():
    for values in ([True, False], [2, 0], [0.5, 0.0], [np.uint8(1), np.uint8(0)]):
        assert held_entries(np.array(values), ("item", "tag"), "m").tolist() == [True, False]


def test_entries_of_the_first_type_are_edges_whatever_they_are():
    liked = sparse.csr_array(HAS * 2.5)
    assert len(load(Liked(), liked).train) == HAS.sum()


# ---- tables of all entries of a matrix


def files_of(folder, table):
    """Write a table in all forms; return these by name."""
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "bare.csv", index=False, header=False)
    table.to_parquet(folder / "t.parquet", index=False)
    return {
        "text": str(folder / "t.csv"),
        "bare text": str(folder / "bare.csv"),
        "parquet": str(folder / "t.parquet"),
        "pandas": table,
        "arrow": pa.table(dict(table)),
        "columns": table.to_dict("list"),
        "stream": pa.table(dict(table)).to_reader(),
    }


TABLES = pytest.mark.parametrize(
    "form", ["text", "bare text", "parquet", "pandas", "arrow", "columns", "stream"]
)


@TABLES
@pytest.mark.parametrize("missing", [0, None])
def test_rows_of_entries_that_are_not_there_are_refused(form, missing, tmp_path):
    long = LONG if missing is not None else LONG.replace({"value": {0: np.nan}})
    with pytest.raises(DataError, match=message("rows-with-0-or-nothing")) as error:
        told_of(files_of(tmp_path, long)[form])
    assert "Drop these rows" in error.value.do
    kept = long[long["value"] == 1]
    found, _ = told_of(files_of(tmp_path, kept)[form])
    assert sorted(map(tuple, found)) == sorted(map(tuple, np.argwhere(HAS)))


@TABLES
def test_pairs_of_the_first_type_are_told(form, tmp_path):
    clicks = BOUGHT.assign(clicked=[0, 1, 1, 0])
    told = []
    train = load(Liked(), files_of(tmp_path, clicks)[form], warn=told.append).train
    assert len(train) == 4
    assert any("rows with 0 or nothing in" in line and "columns" in line for line in told)


@pytest.mark.parametrize(
    "more",
    [
        {"rating": [0, 3, 5, 1]},
        {"rating": [1, 1, 1, 1]},
        {"word": ["0", "a", "b", "1"]},
        {"a": [0, 1, 0, 1], "b": [1, 0, 1, 1]},
        {"time": [0, 1, 1, 0]},
    ],
)
def test_other_columns_say_nothing_of_edges(more, tmp_path):
    table = BOUGHT.assign(**more)
    for form, given in files_of(tmp_path, table).items():
        told = []
        if form == "bare text" and ("time" in more or len(more) > 1):  # without names
            continue
        load(Liked(), given, warn=told.append)
        assert not any("nothing" in line for line in told), form


def test_columns_that_are_named_say_nothing():
    wanted = WantedColumns(("item", "tag"), {}, "item,tag", "members")
    beside = NumbersBeside.of(["item", "tag", "value"], [0, 1], wanted)
    beside.add_cells([["a", "b", "0"]])
    assert beside.notes(wanted, "t") == ()


def test_a_matrix_is_advised_to_be_written_without_zeros(tmp_path):
    wide = pd.DataFrame(np.arange(36).reshape(6, 6) % 2, columns=list("abcdef"))
    wide.to_csv(tmp_path / "wide.csv", index=False)
    for given in (wide, str(tmp_path / "wide.csv")):
        with pytest.raises(DataError, match="a matrix of items by tags") as error:
            told_of(given)
        assert "drop the rows of entries that are 0" in error.value.do
        assert "columns=" not in error.value.do and "--columns" not in error.value.do
        assert "item and tag" in error.value.do


def test_decimal_numbers_are_cut_into_ranges(tmp_path):
    ages = pd.DataFrame({"item": [0, 1], "age": [0.5, 0.25]})
    ages.to_csv(tmp_path / "ages.csv", index=False)
    for given in (ages, str(tmp_path / "ages.csv")):
        with pytest.raises(DataError, match="decimal numbers, such as 0.5") as error:
            told_of(given)
        assert "numbers into ranges" in error.value.do and "Points" not in error.value.do


# ---- one edge type against another


@pytest.mark.parametrize("has", [HAS.T, HAS[:3]])
def test_a_matrix_that_is_short_or_transposed(has):
    liked = sparse.csr_array(np.eye(5, 4))
    shapes = f"{has.shape[0]} x {has.shape[1]}", "5 x 4"
    with pytest.raises(DataError, match=message("is-a-matrix-of-and", *shapes)):
        told_of(sparse.csr_array(has), liked)
    told_of(sparse.csr_array(np.vstack([HAS, HAS])), liked)


@pytest.mark.parametrize("name", ["user", "User_ID", "userid", "customer"])
def test_a_column_that_is_called_as_another_end(name, tmp_path):
    table = pd.DataFrame({name: [0, 1], "feature": ["a", "b"]})
    table.to_csv(tmp_path / "t.csv", index=False)
    for given in (table, *[str(tmp_path / "t.csv")] * (name == "user")):
        with pytest.raises(DataError, match=message("column-of-is-called-as", name, "item")):
            load(Tagged(), {"liked": BOUGHT, "tags": given})


# ---- dicts


COLUMNS = {"user": [0, 1], "item": [1, 2], "rating": [3.0, 4.0]}


@pytest.mark.parametrize("convert", [list, tuple, np.array, pd.Series, pa.array])
def test_a_dict_of_columns_is_a_table(convert):
    table = {name: convert(values) for name, values in COLUMNS.items()}
    whole = wrap_data(Rated(), {"rating": pd.DataFrame(COLUMNS)})
    held_out = load(Rated(), whole, table).test
    assert held_out is not None and held_out.fields["value"].tolist() == [3, 4]
    assert wrap_first(Rated(), table).first is table


def test_the_first_type_of_a_dict():
    table = pd.DataFrame(COLUMNS)
    for given in ({"rating": table}, {"rating": table, "tags": HAS}):
        assert wrap_first(Rated(), given).first is table
    with pytest.raises(UsageError, match=message("only-edges-of-are-read", "rating")):
        wrap_first(Rated(), {"tags": HAS})
    record = RunRecord(App("x", ""), {}, 0, {}, DataOrigin("memory", ""))
    ids = load(Rated(), {"rating": table}).train.ids
    given = {"rating": table, "tags": pd.DataFrame({"item": [1], "tag": [2]})}
    assert len(read_pairs(given, record, Rated(), dict(ids), None, print)) == 2


def test_a_program_of_one_type_gets_its_data_by_name():
    for given in (BOUGHT, (BOUGHT["user"], BOUGHT["item"]), sparse.csr_array(HAS)):
        assert wrap_data(Liked(), {"liked": given}).first is given
    table = {"user": [0], "item": [1], "liked": [1]}
    assert wrap_data(Liked(), table).first is table
    with pytest.raises(UsageError, match=message("data-are-given-for-which", "tags", "Liked")):
        load(Liked(), {"liked": BOUGHT, "tags": BOUGHT})
    with pytest.raises(UsageError) as error:
        load(Liked(), {"liked": (BOUGHT["user"], BOUGHT["item"]), "tags": ([1], [2])})
    assert error.value.do.startswith("Tagged has it")


@pytest.mark.parametrize("program", [Tagged(), Liked()])
def test_none_is_no_data(program):
    name = [*program.edge_types][-1]
    with pytest.raises(UsageError, match=message("no-data-are-given-for", name)):
        load(program, {"liked": BOUGHT, name: None})
