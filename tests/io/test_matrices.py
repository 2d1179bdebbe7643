"""Matrices are not read as edges, columns that are not used are named, and numbers that 32 bits
lose are told.
"""

import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.messages import message

from tux.apps.gbdt import GBDT
from tux.apps.kmeans import PointKMeans
from tux.apps.mf import MF
from tux.base.errors import DataError
from tux.inputs.load import load
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples
from tux.io.source.precision import CloseNumbers, lost_note, lost_values
from tux.io.vertices.columns import WantedField
from tux.io.vertices.table import read_vertices

PAGE = ("page", "page")
ENDS = ("user", "item")
VALUE = {"rating": "f4"}


def lines(rows, header=""):
    return header + "".join(",".join(map(str, row)) + "\n" for row in rows)


STARS = np.arange(48).reshape(8, 6) % 5
ADJACENCY = np.eye(6, dtype=int)


@pytest.mark.parametrize(
    ("text", "ends", "fields"),
    [
        (lines([[at, *row] for at, row in enumerate(STARS)], "user,A,B,C,D,E,F\n"), ENDS, VALUE),
        (lines([[at, *row] for at, row in enumerate(STARS)], ",1,2,3,4,5,6\n"), ENDS, VALUE),
        (
            lines([[f"u{at}", *row] for at, row in enumerate(STARS)], "who,A,B,C,D,E,F\n"),
            ENDS,
            VALUE,
        ),
        (lines([[at, *row[:4]] for at, row in enumerate(STARS)], "user,A,B,C,D\n"), ENDS, VALUE),
        (lines([[at, *row[:3]] for at, row in enumerate(STARS)], "item,A,B,C\n"), ENDS, VALUE),
        (lines(STARS), ENDS, VALUE),
        (lines(STARS, "A,B,C,D,E,F\n"), ENDS, VALUE),
        (lines(STARS).replace(",", "\t"), ENDS, VALUE),
        (lines(STARS).replace(",", " "), PAGE, {}),
        (lines(ADJACENCY), PAGE, {}),
        (lines(ADJACENCY[:4, :4]), PAGE, {}),
        (lines(ADJACENCY, "a,b,c,d,e,f\n"), PAGE, {}),
        (lines(STARS, "the,wind,rain,sun,fog,ice\n"), ("document", "word"), {"count": "i4"}),
        (lines(STARS / 4), PAGE, {"weight": "f4"}),
    ],
)
def test_a_matrix_as_text_is_refused(file, text, ends, fields):
    path = file(text, "matrix.csv")
    with pytest.raises(DataError) as error:
        read_edges(path, ends, fields)
    assert "matrix" in error.value.what or "points" in error.value.what
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        lines([[1, 2, 3, 4], [2, 3, 4, 5]]),
        lines([[1, 2, 3, 4], [2, 3, 4, 5]], "a,b,c,d\n"),
        lines([[1, 2, 3, 881250949, 7]] * 3),
        lines([[1, 2, 3, 4, 5, 6, 7]], "user,item,rating,a,b,c,d\n"),
        lines([[1, 2, 3, 4, 5, 6, 7]], "a,b,rating,user,c,item,d\n"),
    ],
)
def test_tables_of_edges_with_more_columns_are_read(file, text):
    edges = read_edges(file(text, "edges.csv"), ENDS, VALUE)
    assert len(edges) == text.count("\n") - text[0].isalpha()
    assert "columns that are not used: " in edges.notes[0]


def frames():
    pd, nx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    pa, polars = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    ratings = pd.DataFrame(
        {"user": [1, 1, 2, 3, 3], "item": list("abcde"), "rating": [1, 2, 3, 4, 5]}
    )
    pivot = ratings.pivot(index="user", columns="item", values="rating").fillna(0)
    wide = pd.DataFrame(STARS.astype(float), columns=list("ABCDEF"))
    return {
        "pivot": pivot,
        "pivot with its index as a column": pivot.reset_index(),
        "pivot without the name of its index": pivot.rename_axis(None),
        "crosstab": pd.crosstab(ratings.user, ratings.item),
        "wide": wide,
        "wide, arrow": pa.table(dict(wide)),
        "wide, polars": polars.from_pandas(wide),
        "wide, dict": {name: wide[name].tolist() for name in wide},
        "wide, nullable": wide.astype("Int64"),
        "array": STARS,
        "array of floats": STARS.astype(float),
        "adjacency": nx.to_pandas_adjacency(nx.karate_club_graph()),
        "small adjacency": nx.to_pandas_adjacency(nx.cycle_graph(4)),
        "square": pd.DataFrame(np.eye(5)),
    }


@pytest.mark.parametrize("name", frames())
def test_a_matrix_in_memory_is_refused(name):
    with pytest.raises(DataError, match="matrix") as error:
        load(MF(), frames()[name], None)
    assert "melt and stack" in error.value.do and "scipy" in error.value.do


# ---- columns that are not used


def test_each_column_that_is_not_used_is_named(file):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"when": [1, 2], "user": [1, 2], "note": ["x", "y"], "item": [3, 4], "rating": [5, 1]}
    )
    table.to_csv(path := file("", "t.csv"), index=False)
    table.to_parquet(stored := path.with_suffix(".parquet"), index=False)
    for data in (str(path), str(stored), table, table.to_dict("list"), table.to_numpy()[:, 1:4:2]):
        told = []
        if isinstance(data, np.ndarray):
            continue
        load(MF(), data, None, warn=told.append)
        assert [line.partition(": ")[2] for line in told] == [
            "columns that are not used: when, note"
        ]


@pytest.mark.parametrize(
    "name", ["", "Unnamed: 0", "Unnamed: 0.1", "rownames", "__index_level_0__"]
)
def test_columns_that_number_the_rows_are_no_features(file, name):
    samples = read_samples(file(f"{name},a,label\n0,1,x\n1,2,y\n2,3,x\n", "s.csv"))
    assert samples.edges.ids["feature"].values.tolist() == ["a"]
    (note,) = samples.edges.notes
    assert note == f"columns that are not used: {name or 'one without a name, the first'}"


@pytest.mark.parametrize(
    ("text", "columns", "unused"),
    [
        ("x,y\n1,2\n3,4\n", ["x", "y"], ()),
        ("y,x\n1,2\n3,4\n", ["y", "x"], ()),
        ("id,x,y,z\n7,1,2,3\n8,3,4,5\n", ["x", "y", "z"], ()),
        ("x,label\n1,a\n3,b\n", ["x"], ("columns that are not used: label",)),
        ("label,x,y\na,1,2\nb,3,4\n", ["x", "y"], ("columns that are not used: label",)),
        ("x\n1\n3\n", ["x"], ()),
        ("x_0,x_1,n\n1,2,0\n3,4,0\n", ["x_0", "x_1"], ("columns that are not used: n",)),
        ("1,2\n3,4\n", ["column 1", "column 2"], ()),
        ("a,1,2\nb,3,4\n", ["column 2", "column 3"], ("columns that are not used: column 1",)),
        (
            "5.1,3.5,setosa\n4.9,3,setosa\n",
            ["column 1", "column 2"],
            ("columns that are not used: column 3",),
        ),
    ],
)
def test_the_name_of_a_field_does_not_decide_alone(file, text, columns, unused):
    wanted = [WantedField("x", np.dtype("f8"), 0)]
    table = read_vertices(file(text, "p.csv"), "point", wanted, points=True)
    assert table.fields["x"].shape == (2, len(columns))
    assert table.notes == unused


# ---- 32 bits


@pytest.mark.parametrize(
    ("values", "lost"),
    [
        (1_700_000_000 + np.arange(150.0), (150, 2)),
        (16777216 + np.arange(4.0), (4, 3)),
        (52.5 + np.arange(50) * 1e-7, (50, 2)),
        (np.array([1e9, 1e9 + 1]), (2, 1)),
        (-1_700_000_000 - np.arange(9.0), (9, 1)),
        (np.arange(1000.0), None),
        (np.linspace(0, 1, 1000), None),
        (np.array([0.1, 0.2, 1e30]), None),
        (np.array([1e9, 0.0]), None),
        (np.array([7.0, 7.0]), None),
        (np.array([np.nan, np.inf]), None),
        (np.array([]), None),
    ],
)
def test_numbers_that_32_bits_lose(values, lost):
    assert lost_values(values) == lost


def test_numbers_that_come_in_pieces_are_those_of_the_whole():
    draw = np.random.default_rng(7)
    for case in range(200):
        first = float(draw.choice([0.0, 1.7e9, -3.0e8, 2.0**24 - 3, 5.0]))
        width = float(draw.choice([0.0, 3.0, 900.0, 2.0**26, 1e9]))
        values = first + width * draw.random(30).round(2)
        close = CloseNumbers()
        for piece in np.split(values, sorted(draw.integers(0, 31, 4))):
            close.add(piece)
        assert close.note("a") == lost_note("a", values), case


def test_lost_numbers_are_told(file):
    text = "when,a,label\n" + "".join(f"{1700000000 + at},{at},{at % 2}\n" for at in range(50))
    note = read_samples(file(text, "s.csv")).edges.notes[0]
    assert note.startswith("column when: 50 different numbers are 1 in 32 bits")
    samples = read_samples(file(text, "s.csv"), label="when", numeric=True)
    assert not any("column when" in note for note in samples.edges.notes)  # labels have 64 bits
    lines = "".join(f"{1000000001 + at} 1:{1700000000 + 60 * at}\n" for at in range(9))
    notes = read_samples(file(lines, "s.svm"), numeric=True).edges.notes
    assert not any(note.startswith("labels") for note in notes)  # they have 64 bits
    assert any("column 1: 32 bits tell numbers such as 1700000512" in note for note in notes)
    market = (
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1700000000\n2 2 1700000060\n"
    )
    assert "32 bits" in read_edges(file(market, "m.mtx"), ENDS, VALUE).notes[0]
    edges = read_edges(file("user,item,rating\n1,2,1700000000\n1,3,1700000060\n"), ENDS, VALUE)
    assert "rating: 32 bits tell numbers such as 1700000000 apart by 128 only" in edges.notes[0]
    bags = read_bags(file(lines, "s.svm"), fields={"value": np.dtype("f4")})
    assert any("column 1: 32 bits tell" in note for note in bags.edges.notes)


# ---- words that stand for nothing elsewhere


@pytest.mark.parametrize("gap", ["NA", "null", "NULL", "None", "N/A", "n/a", "?", "<NA>", "#N/A"])
def test_words_such_as_na_are_words_among_words_and_missing_among_numbers(file, gap):
    rows = [("DE", 1, 0), (gap, 2, 1), ("FR", gap, 0), ("DE", 3, 1)]
    samples = read_samples(file(lines(rows, "country,n,label\n"), "s.csv"))
    names = samples.edges.ids["feature"].values.tolist()
    assert names == sorted(["n", "country=DE", "country=FR", f"country={gap}"])
    assert any(f"column country holds {gap}, as words" in note for note in samples.edges.notes)
    assert "missing numbers count as 0: 1 of column n" in samples.edges.notes
    labels = read_samples(file(lines([(1, gap), (2, "DE")], "a,label\n"), "s.csv"))
    assert sorted(labels.classes) == sorted([gap, "DE"])
    with pytest.raises(DataError, match="label is missing"):
        read_samples(file(lines([(1, 0), (2, 1), (3, gap)], "a,label\n"), "s.csv"))


@pytest.mark.parametrize("cell", ['"1,000"', '"12,345,678"', '"1,000.5"'])
def test_commas_between_thousands_are_told(file, cell):
    with pytest.raises(DataError) as error:
        read_samples(file(f"a,label\n{cell},1\n{cell},0\n", "s.csv"))
    assert "without commas between thousands" in error.value.do
    with pytest.raises(DataError, match="write it as"):
        read_edges(file(f"user,item,rating\n1,2,{cell}\n", "r.csv"), ENDS, VALUE)


@pytest.mark.parametrize("gap", ["-", ".", r"\N", "missing", "#DIV/0!", "$5", "n.a."])
@pytest.mark.parametrize("times", [1, 6])
def test_other_words_among_numbers_are_told_however_many_they_are(file, gap, times):
    rows = [(1, 2.5, 3), *[(at % 2, gap, 1) for at in range(times)]]
    samples = read_samples(file(lines(rows, "label,a,b\n"), "s.csv"))
    assert any("column a is read as words" in note for note in samples.edges.notes)


def test_a_column_that_is_empty_where_it_begins_is_one_of_numbers(file):
    rows = [(at % 2, "") for at in range(1200)] + [(1, 7), (0, 8)]
    samples = read_samples(file(lines(rows, "label,a\n"), "s.csv"))
    assert samples.edges.ids["feature"].values.tolist() == ["a"]


@pytest.mark.parametrize(
    "values",
    [["$1.50", "$2.50"], ["10%", "20%"], ["5 cm", "7 cm"], ["1d-3", "2D5"], ["3d+2", "1.5d0"]],
)
def test_numbers_with_signs_are_told(file, values):
    rows = [(at % 2, values[at % 2]) for at in range(4)]
    (note,) = read_samples(file(lines(rows, "label,a\n"), "s.csv")).edges.notes
    assert "write numbers without signs" in note


def test_names_of_labels_and_of_missing_columns_are_told(file):
    train = read_samples(file("y,target,a\n1,0,3\n0,1,4\n", "train.csv"))
    assert "labels are those of column y, so target is a feature; see --label" in train.edges.notes
    known = {"feature": train.edges.ids["feature"]}
    new = read_samples(file("y,a\n1,3\n0,4\n", "new.csv"), against=known)
    assert "columns of training that are missing here: target" in new.edges.notes


@pytest.mark.parametrize("coded", [False, True])
def test_decimals_of_parquet(tmp_path, coded):
    value = pa.array([decimal.Decimal("1.25"), None, decimal.Decimal("2.50")])
    value = value.dictionary_encode() if coded else value
    table = pa.table({"user": [1, 2, 3], "item": [2, 3, 4], "rating": value})
    pq.write_table(table, path := tmp_path / "a.parquet")
    edges = read_edges(path, ENDS, VALUE, on_bad_row="skip")
    assert edges.fields["rating"].tolist() == [1.25, 2.5] and edges.skipped == 1
    with pytest.raises(DataError, match=message("a-number-does-not-fit")):
        read_edges(path, ENDS, {"rating": "i4"}, on_bad_row="skip")


@pytest.mark.parametrize(
    ("library", "do"),
    [("pyspark.sql", "toPandas()"), ("dask.dataframe", "compute()"), ("other", "Give names")],
)
def test_tables_that_are_not_in_memory(library, do):
    kind = type("Frame", (), {"__module__": library, "collect": print})
    with pytest.raises(DataError, match=message("is-nothing-that-reads", "MF")) as error:
        load(MF(), kind(), None)
    assert do in error.value.do


def test_a_lazy_frame_is_to_be_collected():
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"user": [1], "item": [2], "value": [3.0]})
    with pytest.raises(
        DataError, match=message("is-nothing-that-reads", "LazyFrame", "MF")
    ) as error:
        load(MF(), frame, None)
    assert "collect()" in error.value.do


@pytest.mark.parametrize("read", ["samples", "labels", "weights", "points"])
def test_masked_values_are_refused(read):
    x = np.array([[1.0, 9], [2, 3], [3, 4]])
    y, w = np.array([1, 0, 1]), np.array([1.0, 2, 3])
    hidden = np.ma.masked_greater_equal
    with pytest.raises(DataError, match="masked value"):
        if read == "points":
            load(PointKMeans(), hidden(x, 9), None)
        elif read == "samples":
            load(GBDT(), (hidden(x, 9), y), None)
        elif read == "labels":
            load(GBDT(), (x, hidden(y, 1)), None)
        else:
            load(GBDT(), (x, y, hidden(w, 3)), None)
    assert load(PointKMeans(), hidden(x, 99), None).train is not None


def test_the_columns_of_an_array_are_told():
    ratings = np.array([[5, 0, 1], [3, 4, 0], [0, 1, 1.0]])
    columns = {"user": "column 1", "item": "column 2", "value": "column 3"}
    assert load(MF(), ratings, None).train.columns == columns
    assert not load(MF(), tuple(ratings.T), None).train.columns


def test_files_whose_columns_stand_in_another_order_are_refused(folder):
    here = folder(
        {"a.csv": "y,town,color\nu,rome,red\nv,oslo,blue\n", "b.csv": "y,color,town\nu,red,oslo\n"}
    )
    with pytest.raises(DataError, match=message("the-columns-of-are-but")):
        read_samples(here, multiclass=True)


def test_dates_are_no_coordinates(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        {"a": [1.0, 2], "when": pd.to_datetime(["2020-01-01", "2021-01-01"]), "b": [3, 4]}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    wanted = [WantedField("x", np.dtype("f8"), 0)]
    for data in (frame, str(tmp_path / "t.parquet")):
        table = read_vertices(data, "point", wanted, points=True)
        assert table.fields["x"].tolist() == [[1, 3], [2, 4]]
        assert table.notes == ("columns that are not used: when",)
