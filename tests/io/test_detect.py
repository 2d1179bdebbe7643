"""The formats of files: which are taken for bags of columns, and that no table of edges is."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.messages import message

from tux.base.errors import DataError, UsageError
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.formats.edge_formats import EDGE_FORMATS
from tux.io.formats.format import BAGS
from tux.io.samples.samples import read_samples

ENDS = ("document", "word")
DOCWORD = "3\n5\n4\n1 2 1\n1 5 7\n3 1 2\n3 2 1\n"


TABLES = [
    "1 2\n2 3\n",
    "1\t2\t0.5\n",
    "1,2,3\n4,5,6\n",
    "1::2::3\n4::5::6\n5::6::7::8\n",
    "user item rating\n1 2 3\n",
    "user,item\na,b\n",
    "5 12:30\n6 12:45\n7 1:05\n",
    "1 2 12:30:05\n1 3 12:31:07\n",
    "1:100 2:300\n1:150 3:500\n",
    "5 1:100 2:300\n6 1:150 3:500\n",
    "1 1:5\n1 2:6\n",
    "a:1 b:2\nc:3 d:4\na:1 b:2 c:4\n",
    "http://a.b/c http://d.e:80/f\nhttp://a.b/c http://x.y/z x\n",
    "# 1:1\n# 2\n1 2\n",
    "% 3\n3 4\n",
    "3 4 1\n2 7 3 8\n1 7\n\n",
    "5\n1 2\n3 4\n5 1\n",
    "5\n3\n1 2\n3 4\n5 1\n",
    "3\n2\n2\n1 2\n3 1\n",
    "1\n2\n3\n4\n5\n",
    "1\n" * 100 + "1 2\n3 4\n",
    "1\n" * 100 + "1 2 3:1\n3 4 5:1\n",
    "1:1 2:2 3:3 4:4\nx\ny\n",
    "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 3\n",
    "",
    "\n\n",
    "# nothing\n",
    "the quick brown fox\njumps over: the lazy dog\n",
    "PAR1:1 2:1 3:1",
    "1 \0 1:1 2:2 3:3\n",
]


@pytest.mark.parametrize("text", TABLES)
@pytest.mark.parametrize("name", ["edges.txt", "graph.csv"])
def test_tables_are_not_taken_for_bags(file, text, name):
    path = file(text, name)
    assert detect_format(path).bags is None


IDS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.from_regex(r"\A[a-z][a-z:0-9.]{0,8}\Z"),
    st.from_regex(r"\A[0-9]{1,2}:[0-9]{2}\Z"),
)


@pytest.mark.long
@settings(max_examples=examples(200), deadline=None)
@given(st.integers(2, 3), st.sampled_from([" ", "\t", ",", "::"]), st.data())
def test_no_table_of_two_or_three_columns_is(file, width, separator, data):
    lines = data.draw(
        st.lists(st.lists(IDS, min_size=width, max_size=width), min_size=1, max_size=15)
    )
    assert detect_format(file("\n".join(separator.join(line) for line in lines))).bags is None


@pytest.mark.parametrize(
    ("text", "name", "form"),
    [
        ("1 3:1\n1 4:1\n", "a.svm", "svm"),
        ("1 3:1\n1 4:1\n", "a.feat.gz", "svm"),
        ("3:1 4:1\n1:1\n", "a", "svm"),
        ("-1 3:1\n+1 4:1 5:2\n", "a", "svm"),
        ("3 1:1 2:.5 3:1\n3 1:1 2:1 3:1\n", "a", "svm"),
        ("3 1:1 2:5 3:1\n", "a", "lda-c"),
        ("3 1:1 2:5 3:1\n1 0:1\n1 x\n2 4:1 3:1\n0\n", "a", "lda-c"),
        ("1 1:1\n1 1:nan 2:1\n1 0:1\n0 1:1 2:1 3:1", "a", "svm"),
        ("1\n1\n0\n", "a", "docword"),
        ("1\n0\n1\n", "a.svm", "svm"),
        ("1\n0\n# more\n1\n0\n1 3:1\n", "a.svm", "svm"),
        ("1\n0\n1\n0\n1 3:1\n", "a", "svm"),
        ("+1\n-1\n" * 1000 + "-1 3:1\n+1 2:1 4:1\n", "a", "svm"),
        ("0\n" * 1000 + "1 3:1\n2 2:1 4:1\n", "a", "lda-c"),
        ("10\n10\n9\n1 1 1\n1 1 0\n1 1 x\n1 11 1", "a", "docword"),
        ("2 " + " ".join(f"{k}:1" for k in range(1, 200_000)) + "\n1 2:2\n", "a", "svm"),
        ("199999 " + " ".join(f"{k}:1" for k in range(1, 200_000)) + "\n1 2:2\n", "a", "lda-c"),
    ],
)
def test_bags_are_recognised(file, text, name, form):
    assert (
        detect_format(
            file(gzip.compress(text.encode()) if name.endswith("gz") else text, name)
        ).bags
        == form
    )


@pytest.mark.parametrize(
    ("content", "name", "format"),
    [
        (b"MATLAB", "a.MAT", Format.MAT),
        (b"2 1\n2\n1\n", "a.graph", Format.METIS),
        (b"PAR1", "a.txt", Format.PARQUET),
        (b"PK\3\4 damaged", "a", Format.NPZ),
        (b"not packed", "a.npz", Format.NPZ),
        (b"\xef\xbb\xbf# c\n\n%%MatrixMarket matrix", "a.txt", Format.MARKET),
        (gzip.compress(b"%%MatrixMarket matrix", mtime=0), "a.txt", Format.MARKET),
        (gzip.compress(b"PAR1", mtime=0), "a.txt", Format.TEXT),
        (b"\x1f\x8bdamaged", "a.txt", Format.TEXT),
        (b"1 2\n", "a.svm", Format.TEXT),
    ],
)
def test_by_name_and_first_bytes(file, content, name, format):
    assert detect_format(file(content, name)) is format


@pytest.mark.parametrize(
    ("text", "name", "ends"),
    [
        (DOCWORD, "a", ENDS),
        ("1 3:1\n1 4:1\n", "a.svm", ENDS),
        ("3 1:1 2:5 3:1\n1 0:1\n", "a", ENDS),
        ("%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 2\n", "a", ENDS),
        ("c x\np sp 2 1\na 1 2 3\n", "a", ("page", "page")),
        ("2 1\n2\n1\n", "a.graph", ("page", "page")),
        ("1 2 3\n2 3\n", "a.adjlist", ("page", "page")),
        ("*Vertices 2\n*Arcs\n1 2\n", "a", ("page", "page")),
        (
            "graph [\nnode [ id 1 ]\nnode [ id 2 ]\nedge [ source 1\ntarget 2 ] ]\n",
            "a",
            ENDS[:1] * 2,
        ),
    ],
)
def test_lines_may_end_as_on_old_macs(file, text, name, ends):
    formats, edges = set(), []
    for end in ("\n", "\r"):
        path = file(text.replace("\n", end), name)
        formats.add(detect_format(path))
        edges.append(read_edges(path, ends, {}).digest())
    assert len(formats) == 1 and formats != {Format.TEXT} and edges[0] == edges[1]


def test_what_cannot_be_opened(file):
    with pytest.raises(DataError, match=message("no-such-file")):
        detect_format("nothing.txt")
    with pytest.raises(DataError, match="line 1 stands before the banner"):
        detect_format(file("1 2\n%%MatrixMarket matrix\n", "a.txt"))


def test_samples_that_begin_with_rows_of_zeros(file):
    for name in ("a.svm", "a.txt"):
        path = file("1\n0\n" * 60 + "1 7:2\n0 5:1 7:1\n", name)
        edges = read_edges(path, ENDS, {"value": "f4"})
        assert (
            len(edges.ids["document"]) == 122
            and edges.ids["word"].values.tolist() == [5, 7]
            and edges.src.tolist() == [120, 121, 121]
        )
        assert read_samples(path).label.tolist() == [1, -1] * 61
    with pytest.raises(DataError, match=message("no-in-s-of", "word", "3", "document")):
        read_edges(file("1\n0\n1\n", "a.svm"), ENDS, {"value": "f4"})


def test_as_edges(file):
    edges = read_edges(file(DOCWORD), ENDS, {"count": "i4"})
    assert len(edges) == 4 and len(edges.ids["document"]) == 3
    with pytest.raises(UsageError, match="no columns"):
        read_edges(file(DOCWORD), ENDS, {"count": "i4"}, columns="a,b,c")
    with pytest.raises(UsageError, match=message("holds-which-are-not-both", "page")):
        read_edges(file(DOCWORD), ("page", "page"), {})
    with pytest.raises(UsageError, match=message("has-one-number-an-entry")):
        read_edges(file(DOCWORD), ENDS, {"a": "f4", "b": "f4"})


def test_every_format_is_one_of_tables_bags_or_whole_graphs():
    tables = {Format.TEXT, Format.PARQUET, Format.NPY}
    assert {*Format} == {*tables, *BAGS, *EDGE_FORMATS}
    assert len(Format) == len(tables) + len(BAGS) + len(EDGE_FORMATS)
