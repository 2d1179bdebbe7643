"""Rows below the first one that are no rows of the table, and rows that cannot be told."""

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.vertices.columns import WantedField as Field
from tux.io.vertices.table import read_vertices

PAGE = ("page", "page")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("source,target\nann,bob\nbob,cid\n\nId,Label\nann,Ann Lee\n", "Id, Label is read as an"),
        ("source,target\nann,bob\nbob,cid\nname,city\nann,Rome\n", "name, city is read"),
        ("source,target\nann,bob\nfrom,to\nbob,cid\n", "from, to is read as an edge"),
        ("01.02.24, 10:15 - Ann: hallo\n01.02.24, 10:16 - Bob: hi\n", "pages are dates, as 01.02"),
        ("day,page\n2020-01-01,a\n2020-01-02,b\n", "pages are dates, as 2020-01-01"),
        ("source,target\nname,title\ntitle,label\nlabel,name\n", ""),
    ],
)
def test_odd_rows_are_told(file, text, says):
    notes = read_edges(file(text), PAGE, {}).notes
    assert any(says in note for note in notes) if says else not notes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('"ann","the \\"best\\" tea"\n"bob","milk"\n', "behind backslashes"),
        ("user,item\n1,10,4\n2,20,3\n", "3 cells, but row 1 has 2 names"),
        ("user;item\n1;10;4\n2;20;3\n", "3 cells, but row 1 has 2 names"),
        ("user|item\nHeat| The|4\nJaws| A|5\n", "3 cells, but row 1 has 2 names"),
    ],
)
def test_rows_that_cannot_be_told_are_refused(file, text, says):
    with pytest.raises(DataError, match=says):
        read_edges(file(text), ("user", "item"), {})


def test_a_line_of_many_tabs_and_quotes_takes_no_long_time(file):
    path = file("user\titem\n" + "a" + "\t" * 200_000 + '"\n' + ',"' * 50_000 + "\n")
    with pytest.raises(DataError, match="instead of 2"):
        read_edges(path, ("user", "item"), {})


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u202f"])
def test_other_blanks_beside_numbers_are_told(file, blank):
    with pytest.raises(DataError, match="rating is '4.*', not a number") as error:
        read_edges(file(f"user,item,rating\n1,10,4{blank}\n"), ("user", "item"), {"rating": "f4"})
    assert error.value.where.endswith(":2")
    with pytest.raises(DataError, match="b is '4.*', not a number"):
        path = file(f"a,b\n1,2\n3,4{blank}\n")
        read_vertices(path, "v", [Field("x", np.dtype("f8"), 0)], points=True)


def test_points_with_a_cell_more_than_names_are_refused(file):
    with pytest.raises(DataError, match=message("rows-have-cells-but-row", "3", "2 names")):
        path = file("a,b\n1,5,2\n2,5,3\n")
        read_vertices(path, "v", [Field("x", np.dtype("f8"), 0)], points=True)


@pytest.mark.parametrize(
    "text",
    [
        '"C:\\dir\\","milk"\n"D:\\","milk"\n',
        '"user","item"\n"1",1,10\n"2",2,20\n',
        "user item\n1 1 10\n2 2 20\n",
        "user\titem\n1\t1\t10\n2\t2\t20\n",
        "user,item\n1,10,\n2,20,\n",
    ],
)
def test_backslashes_and_names_of_rows_are_read(file, text):
    assert len(read_edges(file(text), ("user", "item"), {})) == 2


@pytest.mark.parametrize("cut", [",", "::", " "])
@pytest.mark.parametrize("kind", ["i4", "u1", "f4"])
def test_a_number_in_hexadecimal_is_none_whatever_its_column_holds(file, cut, kind):
    rows = [("1", "2", "3"), ("2", "3", "0x10"), ("0x4", "4", "5")]
    path = file("".join(cut.join(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="rating is '0x10', not a") as error:
        read_edges(path, ("user", "item"), {"rating": kind})
    assert error.value.where.endswith(":2")
    edges = read_edges(path, ("user", "item"), {"rating": kind}, on_bad_row="skip")
    assert edges.skipped == 1 and edges.ids["user"].values.tolist() == ["0x4", "1"]


def test_an_index_in_hexadecimal_is_none(file):
    with pytest.raises(DataError, match="0x1"):
        read_edges(
            file("%%MatrixMarket matrix coordinate real general\n2 2 1\n0x1 2 3\n"), PAGE, {}
        )


def test_blanks_before_a_long_row_of_cells_take_no_long_time(file):
    path = file("1" + " " * 100_000 + "\u00b7\n2,3\n")
    with pytest.raises(DataError):
        read_edges(path, ("user", "item"), {})
