"""Tables of vertices: the same fields from every kind of table, and what is wrong with a row."""

from types import SimpleNamespace

import numpy as np
import pytest

from tux.arrays.arrow import write_parquet
from tux.arrays.ids import Ids
from tux.arrays.ragged import Lists
from tux.base.errors import DataError
from tux.io.vertices.columns import WantedField
from tux.io.vertices.table import read_vertices

F4, I4 = np.dtype("f4"), np.dtype("i4")
AGE, KIND, X = WantedField("age", F4), WantedField("kind", I4), WantedField("x", F4, 2, "dims")
ALL = [AGE, KIND, X]
TEXT = "id,age,x_0,x_1,kind\n7,1.5,1,2,red\n3,2,3,4,blue\n5,3e0,5,6,red\n"


def file(tmp_path, text, name="points.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def read_error(source, wanted=ALL, **how):
    with pytest.raises(DataError) as error:
        read_vertices(source, "point", wanted, **how)
    return str(error.value)


def text(tmp_path):
    return file(tmp_path, TEXT)


def tabs(tmp_path):
    return file(tmp_path, "# points\n\n" + TEXT.replace(",", "\t"), "points.tsv")


def parquet(tmp_path):
    columns = {"id": np.array([7, 3, 5]), "age": np.array([1.5, 2, 3])}
    columns |= {"x": np.array([[1.0, 2], [3, 4], [5, 6]]), "kind": words("red", "blue", "red")}
    write_parquet(tmp_path / "points.parquet", columns)
    return tmp_path / "points.parquet"


def lists(tmp_path):
    columns = {"id": np.array([7, 3, 5]), "age": np.array([1.5, 2, 3])}
    x = Lists(np.array([0, 2, 4, 6]), np.arange(1, 7))
    columns |= {"x": x, "kind": words("red", "blue", "red")}
    write_parquet(tmp_path / "points.parquet", columns)
    return tmp_path / "points.parquet"


def npz(tmp_path):
    kind = np.array(["red", "blue", "red"])
    x = np.array([[1.0, 2], [3, 4], [5, 6]], "f4")
    np.savez(tmp_path / "p.npz", id=np.array([7, 3, 5]), age=[1.5, 2, 3], x=x, kind=kind)
    return tmp_path / "p.npz"


def arrays(tmp_path):
    x = [[1, 2], [3, 4], [5, 6]]
    return {"id": [7, 3, 5], "age": [1.5, 2, 3], "x": x, "kind": ["red", "blue", "red"]}


def table(tmp_path):
    return pytest.importorskip("pyarrow").table(arrays(tmp_path))


def frame(tmp_path):
    """Return a data frame like that of pandas: columns by name, text and lists as objects."""
    columns = arrays(tmp_path)
    x = np.empty(3, object)
    x[:] = [np.array(row) for row in columns["x"]]
    columns["x"], columns["kind"] = x, np.array(columns["kind"], object)
    return ObjectFrame({name: np.asarray(column) for name, column in columns.items()})


class ObjectFrame:
    """The part of a data frame that is used."""

    def __init__(self, columns):
        self.given, self.columns = columns, list(columns)

    def __getitem__(self, name):
        return SimpleNamespace(to_numpy=lambda: self.given[name])


def words(*texts):
    return np.array(texts, np.dtypes.StringDType())


@pytest.mark.parametrize("made", [text, tabs, parquet, lists, npz, arrays, table, frame])
def test_every_kind_of_table_gives_the_same(tmp_path, made):
    read = read_vertices(made(tmp_path), "point", ALL)
    assert Ids.of(read.ids)[0].values.tolist() == [3, 5, 7]
    order = np.argsort(Ids.of(read.ids)[1])
    assert read.fields["age"][order].tolist() == [2, 3, 1.5]
    assert read.fields["x"][order].tolist() == [[3, 4], [5, 6], [1, 2]]
    assert read.fields["kind"][order].tolist() == [0, 1, 1]
    assert read.categories["kind"].tolist() == ["blue", "red"]
    assert [read.fields[name].dtype for name in ("age", "kind", "x")] == [F4, I4, F4]


@pytest.mark.parametrize(
    ("head", "ids"), [("point,age", "point"), ("age,ID", "ID"), ("name,age", "name")]
)
def test_the_ids_are_called_so_or_come_first(tmp_path, head, ids):
    first = head.split(",")[0] == ids
    rows = "a,1\nb,2\n" if first else "1,a\n2,b\n"
    read = read_vertices(file(tmp_path, f"{head}\n{rows}"), "point", [AGE])
    assert Ids.of(read.ids)[0].values.tolist() == ["a", "b"]
    assert read.fields["age"].tolist() == [1, 2]


def test_all_columns_where_no_program_says_which(tmp_path):
    head = "id,age,x_0,x_1,kind,long name\n"
    path = file(tmp_path, head + "1,2,3,4,b,0\n2,5,6,7.5,a,0\n")
    read = read_vertices(path, "point", None)
    assert {name: values.tolist() for name, values in read.fields.items()} == {
        "age": [2, 5],
        "x": [[3, 4], [6, 7.5]],
        "kind": [1, 0],
    }
    assert read.fields["age"].dtype.kind == "i" and read.categories["kind"].tolist() == ["a", "b"]


def test_numbers_of_categories_and_truth_values(tmp_path):
    path = file(tmp_path, "id,kind,new\n1,3,true\n2,1.0,false\n")
    read = read_vertices(path, "point", [KIND, WantedField("new", np.dtype("b1"))])
    assert read.fields["kind"].tolist() == [3, 1] and "kind" not in read.categories
    assert read.fields["new"].tolist() == [True, False]


def test_categories_of_before_keep_their_numbers(tmp_path):
    path = file(tmp_path, "id,kind\n1,red\n2,green\n")
    known = {"kind": words("blue", "green", "red")}
    read = read_vertices(path, "point", [KIND], categories=known)
    assert read.fields["kind"].tolist() == [2, 1]
    why = read_error(path, [KIND], categories={"kind": words("red")})
    assert "kind is 'green', which training did not have" in why and "points.csv:3" in why


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("9,,1,2,red", "age is missing"),
        (",1,1,2,red", "id is missing"),
        ("9,1,1,2,", "kind is missing"),
        ("9,nan,1,2,red", "age is nan, not finite"),
        ("9,1,1,much,red", "x_1 is 'much', not a number"),
        ("9,1e99,1,2,red", "age is 1e+99, not a finite float32"),
        ("9,1,1,2", "4 columns instead of 5"),
        ("7,1,1,2,red", "point 7 has a row already, line 2"),
    ],
)
def test_a_bad_row_is_told_by_its_line_or_left_out(tmp_path, row, why):
    path = file(tmp_path, TEXT + row + "\n")
    error = read_error(path)
    assert why in error and f"{path}:5" in error and "--on-bad-row skip" in error
    read = read_vertices(path, "point", ALL, on_bad_row="skip")
    assert len(read.fields["age"]) == 3 and read.skipped == 1
    assert read.first_skipped == f"{path}:5: {why}"


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"age": np.array([1, np.nan, 3])}, "age is nan, not a finite float32"),
        ({"x": np.array([[1, 2], [3, np.nan], [5, 6]])}, "x[1] is nan, not a finite float"),
        ({"x": Lists(np.array([0, 2, 3, 5]), np.arange(5))}, "x has 1 numbers instead of 2"),
        ({"kind": words("a", "", "b")}, "kind is missing"),
        ({"kind": np.array([1, 2.5, 3])}, "kind is 2.5, not a whole number of dtype int32"),
        ({"kind": np.array([1, 2**40, 3])}, "kind is 1099511627776, not a whole number"),
    ],
)
def test_a_bad_row_of_parquet_is_told_by_its_number(tmp_path, columns, why):
    good = {"id": np.array([7, 3, 5]), "age": np.ones(3), "x": np.ones((3, 2))}
    path = tmp_path / "points.parquet"
    write_parquet(path, good | {"kind": np.zeros(3, int)} | columns)
    error = read_error(path)
    assert why in error and f"{path}:row 2" in error
    assert read_vertices(path, "point", ALL, on_bad_row="skip").skipped == 1


def test_nulls_of_every_type_are_missing(tmp_path):
    pa = pytest.importorskip("pyarrow")
    good = {"id": [1, 2], "age": [1.0, 2], "x": [[1.0, 2], [3, 4]], "kind": ["a", "b"]}
    for name, values in good.items():
        for kind in [None, pa.list_(pa.float32(), 2)] if name == "x" else [None]:
            columns = good | {name: pa.array([values[0], None], kind)}
            assert f"{name} is missing" in read_error(pa.table(columns))


@pytest.mark.parametrize(
    ("text", "why", "do"),
    [
        ("id,age,kind\n1,2,3\n", "no column 'x', nor x_0, x_1", "The table has id, age, kind"),
        ("id,kind,x_0,x_1\n1,2,3,4\n", "no column 'age'", "declare the field with a default"),
        ("id,age,kind,x_0\n1,2,3,4\n", "has 1 number a point for x", "Say --dims 1"),
        ("id,age,kind,x_0,x_1,x_2\n1,2,3,4,5,6\n", "has 3 numbers a point for x", "Say --dims 3"),
        ("age,kind,x_0,x_1\n1,2,3,4\n", "no column of ids of points", "Call it id"),
        ("id,age,age,x_0,x_1\n1,2,3,4,5\n", "two columns are called 'age'", "name of its own"),
        ("id,age,kind,x_0,x_1\n1,old,3,4,5\n", "holds words, such as 'old'", 'data("i4")'),
        ("1,2,3,4,5\n", "the first row holds values", "line of names"),
        ("", "is empty", "line of names"),
    ],
)
def test_what_no_row_can_mend_says_what_to_do(tmp_path, text, why, do):
    error = read_error(file(tmp_path, text))
    assert why in error and do in error


@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize("text", [",\t,2e5", '\r\t"\n,,\n,'])
def test_a_table_whose_rows_show_no_columns(tmp_path, text, points):
    with pytest.raises(DataError):
        read_vertices(file(tmp_path, text), "point", None, points=points)


def test_lists_of_one_other_length_are_another_width(tmp_path):
    columns = arrays(tmp_path) | {"x": [[1, 2, 3]] * 3}
    assert "the table has 3 numbers a point for x" in read_error(columns)
    free = WantedField("x", F4, 0)
    assert read_vertices(columns, "point", [free]).fields["x"].shape == (3, 3)


def test_lists_without_numbers(tmp_path):
    path, free = tmp_path / "points.parquet", [WantedField("x", F4, 0)]
    empty = Lists(np.array([0, 0, 0, 0]), np.empty(0))
    write_parquet(path, {"id": np.array([7, 3, 5]), "x": empty})
    assert "column 'x' holds lists without any number" in read_error(path, free)
    some = Lists(np.array([0, 0, 2, 4]), np.arange(4.0))  # the first row's is empty
    write_parquet(path, {"id": np.array([7, 3, 5]), "x": some})
    read = read_vertices(path, "point", free, on_bad_row="skip")
    assert read.fields["x"].tolist() == [[0, 1], [2, 3]]


def test_more_words_than_a_dtype_can_number(tmp_path):
    columns = {"id": range(130), "kind": [f"word {n}" for n in range(130)]}
    error = read_error(columns, [WantedField("kind", np.dtype("i1"))])
    assert "130 different words" in error and 'data("i4")' in error


def test_ids_that_are_no_ids(tmp_path):
    assert "decimal numbers, such as 1.5" in read_error({"id": [1.5, 2.5], "age": [1, 2]}, [AGE])
    assert "an object of type int" in read_error(3)
    assert "columns differ in length" in read_error({"id": [1], "age": [1, 2]}, [AGE])


def test_a_block_with_a_bad_line_is_read_but_for_that_line(tmp_path):
    rows = [f"{n},{n / 2}" for n in range(4000)]
    rows[3000] = "3000,half"
    rows.insert(100, "# a comment")
    path = file(tmp_path, "id,age\n" + "\n".join(rows) + "\n")
    assert f"{path}:3003" in read_error(path, [AGE])
    read = read_vertices(path, "point", [AGE], on_bad_row="skip")
    assert read.fields["age"].tolist() == [n / 2 for n in range(4000) if n != 3000]


def test_a_name_with_a_blank_above_one_column(tmp_path):
    table = read_vertices(
        file(tmp_path, "a b\n1\n2\n"), "point", [WantedField("x", F4, 0)], points=True
    )
    assert table.fields["x"].tolist() == [[1], [2]]


def test_odd_ids_of_points_are_told(tmp_path):
    path = file(tmp_path, "id,x,y\n1,2,3\n2,3,4\nN/A,4,5\n")
    table = read_vertices(path, "point", [WantedField("x", F4, 0)], points=True)
    assert any("'N/A' among points that are whole numbers" in note for note in table.notes)


@pytest.mark.parametrize("width", [0, 2])
def test_x_beside_y_is_a_coordinate_of_points(tmp_path, width):
    """A run that goes on knows their number."""
    path = file(tmp_path, "x,y\n1,2\n3,4\n")
    table = read_vertices(path, "point", [WantedField("x", F4, width)], points=True)
    assert table.fields["x"].tolist() == [[1, 2], [3, 4]]
