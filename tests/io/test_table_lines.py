"""The choice of the lines of a table of text that are its rows."""

import pandas as pd
import pytest

from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.edges.request import EdgeRequest
from tux.io.samples.samples import read_samples
from tux.io.source import text as io_text
from tux.io.source.input_shares import cut_into_shares, read_share
from tux.io.vertices.columns import WantedField
from tux.io.vertices.ids import read_ids
from tux.io.vertices.labels import read_vertex_labels
from tux.io.vertices.table import read_vertices

PAGE = ("page", "page")
ENDS = ("user", "item")
VALUE = {"rating": "f4"}


def pairs(edges):
    ids = [
        edges.ids[end].decode(code)
        for end, code in zip(edges.ends, (edges.src, edges.dst), strict=True)
    ]
    return list(zip(*(column.tolist() for column in ids), strict=True))


# ---- lines that begin with # or %

KEPT = [  # text, and its edges
    ("source,target\n#a,b\nb,#a\n", [("#a", "b"), ("b", "#a")]),
    ("source\ttarget\n%20\tb\n#1\tb\na\tb\n", [("%20", "b"), ("#1", "b"), ("a", "b")]),
    ("a b\n#a b\nb #a\n", [("a", "b"), ("#a", "b"), ("b", "#a")]),
    ("#a b\n#c b\nb d\nd #c\n", [("#a", "b"), ("#c", "b"), ("b", "d"), ("d", "#c")]),
    ("#a b\na b\nb #a\n", [("#a", "b"), ("a", "b"), ("b", "#a")]),
    ("source;target\n#x;y\n##z;y\nw;y\n", [("#x", "y"), ("##z", "y"), ("w", "y")]),
    ("source|target\n%x|y\nw|y\n", [("%x", "y"), ("w", "y")]),
    ("a::b\n#a::b\n", [("a", "b"), ("#a", "b")]),
    ('source,target\n"#a",b\nc,b\n', [("#a", "b"), ("c", "b")]),
    ("source,target\n%,b\nc,b\n", [("%", "b"), ("c", "b")]),
    ("source,target\n# a,b\nc,b\n", [("# a", "b"), ("c", "b")]),
    ("source target\n# b\nc b\n", [("c", "b")]),
    ("# a comment\nsource,target\nc,b\n", [("c", "b")]),
    ("# FromNodeId\tToNodeId\nc\tb\nd\tb\n", [("c", "b"), ("d", "b")]),
    ("% sym unweighted\n% 3 2 2\n1 2\n2 3\n", [(1, 2), (2, 3)]),
    ("1 2\n#3 4\n2 3\n", [(1, 2), (2, 3)]),
    ("1 2\n# 3 4\n2 3\n", [(1, 2), (2, 3)]),
    ("a b\n#note: three words\nb c\n", [("a", "b"), ("b", "c")]),
    ("a b\n## \nb c\n", [("a", "b"), ("b", "c")]),
    ("a,b\n#\nb,c\n", [("a", "b"), ("b", "c")]),
    ("\n\n#only\n\na,b\nb,c\n", [("a", "b"), ("b", "c")]),
]


@pytest.mark.parametrize(("text", "edges"), KEPT)
def test_marked_lines_of_edges(file, text, edges):
    read = read_edges(file(text), PAGE, {})
    assert pairs(read) == edges
    marked = sum(line.strip()[:1] in ("#", "%") for line in text.split("\n"))
    kept = sum(str(source)[:1] in ("#", "%") for source, _ in edges) - text.count('"#')
    left = marked - kept
    told = "; ".join(read.notes)
    assert ("of comments" in told) == (left > 0) and ("no comments" in told) == (kept > 0)


@pytest.mark.parametrize("mark", ["# c", "# user,item,rating"])
def test_more_comments_than_rows_are_looked_at(file, mark):
    edges = read_edges(file("# c\n" * 1500 + f"{mark}\nu,i,1\nv,j,2\n"), ENDS, VALUE)
    assert pairs(edges) == [("u", "i"), ("v", "j")]
    assert edges.notes == ("1,501 lines of comments, which begin with # or %",)


@pytest.mark.parametrize("size", [16 << 20, 8])
def test_comments_before_the_first_row_are_comments_in_blocks_of_any_size(file, monkeypatch, size):
    monkeypatch.setattr(io_text, "BLOCK", size)
    head = "#x,y,1\n" * 9
    edges = read_edges(file(head + "user,item,rating\nu,i,1\n"), ENDS, VALUE)
    assert pairs(edges) == [("u", "i")] and edges.notes[0].startswith("9 lines of comments")
    table = read_vertices(file(head + "id,x,y\na,1,2\n", "v.csv"), "page", [WantedField("x")])
    assert len(table.ids.codes) == 1 and table.notes[1].startswith("9 lines of comments")


@pytest.mark.long
@pytest.mark.parametrize("names", ["user,item,rating,", ""])
def test_a_first_row_of_any_length(file, names):
    cells = ",".join(["x"] * 200_000)
    title = f"{names}{cells}\n" if names else ""
    edges = read_edges(file(f"{title}u,i,1,{cells}\nv,j,2,{cells}\n"), ENDS, VALUE)
    assert pairs(edges) == [("u", "i"), ("v", "j")]


def test_half_of_the_rows_are_hashtags(file):
    tags = ["#rain", "#snow", "%wet", "wind"] * 12
    text = "item,user,rating\n" + "".join(f"{tag},u{at},{at % 5}\n" for at, tag in enumerate(tags))
    edges = read_edges(file(text), ENDS, VALUE)
    assert len(edges) == 48 and len(edges.ids["item"]) == 4
    assert edges.notes == ("36 edges that begin with # or %, read as all others: no comments",)


def test_shares_are_as_the_whole(folder, monkeypatch):
    lines = [f"{'#' * (at % 3 == 0)}t{at},u{at % 7},{at}\n" for at in range(60)]
    here = folder(
        {
            "a.csv": "# one\nitem,user,rating\n" + "".join(lines[:40]),
            "b.csv": lines[40:] and "# two\n" + "".join(lines[40:]),
        }
    )
    monkeypatch.setattr(io_text, "BLOCK", 64)
    whole = read_edges(here, ENDS, VALUE)
    assert len(whole) == 60
    read = [read_share(share, EdgeRequest(here, ENDS, VALUE)) for share in cut_into_shares(here, 3)]
    assert sum(each.rows for each in read) == 60
    passed = [sum(counts) for counts in zip(*(each.passed for each in read), strict=True)]
    assert passed == [2, 20, 0, 0, 60, 0, 0]


def test_samples_vertices_ids_and_labels(file):
    samples = read_samples(file("tag,n,label\n#a,1,x\nb,2,y\n# c\n%d,3,x\n", "s.csv"))
    assert samples.edges.ids["feature"].values.tolist() == ["n", "tag=#a", "tag=%d", "tag=b"]
    table = read_vertices(file("id,x\n#a,1\nb,2\n# no\n", "v.csv"), "page", [WantedField("x")])
    assert [str(each) for each in table.ids.values[table.ids.codes]] == ["#a", "b"]
    known = read_edges(file("#a b\nb #a\nb c\n", "e.txt"), PAGE, {}).ids["page"]
    assert read_ids(file("b\n#a\n", "ids.txt"), "page", known).tolist() == ["b", "#a"]
    labels = read_vertex_labels(file("# note\nb 1\n#a 2\nc 1\n", "labels.txt"), known)
    assert labels.member.sum() == 3


# ---- rows of several lines

SEVERAL = 'user,item,rating,review\nu,i,1,"good\nreally, ""good"""\nv,j,2,fine\nw,"k\n\nk",3,"\n"\n'


@pytest.mark.parametrize("size", [16 << 20, 24, 7])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_breaks_within_quotes(file, monkeypatch, size, end):
    monkeypatch.setattr(io_text, "BLOCK", size)
    edges = read_edges(file(SEVERAL.replace("\n", end)), ENDS, VALUE)
    assert pairs(edges) == [("u", "i"), ("v", "j"), ("w", f"k{end}{end}k")]
    assert edges.fields["rating"].tolist() == [1, 2, 3]
    assert edges.notes == ("columns that are not used: review",)


def test_a_bad_row_behind_such_rows_has_its_line(file):
    with pytest.raises(DataError, match="rating is 'x'") as error:
        read_edges(path := file(SEVERAL + "x,y,x,z\n"), ENDS, VALUE)
    assert error.value.where == f"{path}:9"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('u,i,1,"open\nv,j,2,fine\nw,k,3,fine\n', "a quote is not closed"),
        ('u,i,1,"open\nv,j,2,f"ine\nw,k,3,fine\n', "a quote is not closed"),
    ],
)
def test_a_quote_that_is_not_closed_takes_no_other_rows(file, text, says):
    text = "user,item,rating,review\n" + text
    with pytest.raises(DataError, match=says):
        read_edges(file(text), ENDS, VALUE)
    assert len(read_edges(file(text), ENDS, VALUE, on_bad_row="skip")) == 2


def test_quotes_within_words_are_words(file):
    text = 'user\titem\trating\n5" pipe\ti\t1\nx\t6" pipe\t2\ny\ti\t3\n'
    assert pairs(read_edges(file(text), ENDS, VALUE)) == [
        ('5" pipe', "i"),
        ("x", '6" pipe'),
        ("y", "i"),
    ]


def test_shares_of_rows_of_several_lines_are_whole_files(folder):
    rows = "".join(f'u{at},i{at},{at},"a\nb"\n' for at in range(40))
    here = folder({"a.csv": "user,item,rating,review\n" + rows})
    read = [read_share(share, EdgeRequest(here, ENDS, VALUE)) for share in cut_into_shares(here, 3)]
    assert sorted(each.rows for each in read) == [0, 0, 40]


def test_names_over_several_lines(file):
    text = '"user\nid","item","rating\n(1-5)"\nu,i,1\nv,j,2\n'
    assert pairs(read_edges(file(text), ENDS, VALUE)) == [("u", "i"), ("v", "j")]


def test_words_and_tables_of_vertices_hold_line_breaks(file):
    frame = pd.DataFrame({"a": ["x\ny", "z", "x\ny"], "label": [0, 1, 0]})
    path = file(frame.to_csv(index=False), "s.csv")
    assert read_samples(path).edges.ids["feature"].values.tolist() == ["a=x\ny", "a=z"]
    frame = pd.DataFrame({"id": ["x\ny", "z"], "x": [1.5, 2.5]})
    table = read_vertices(file(frame.to_csv(index=False), "v.csv"), "page", [WantedField("x")])
    assert [str(each) for each in table.ids.values[table.ids.codes]] == ["x\ny", "z"]


# ---- other habits of programs that write tables


@pytest.mark.parametrize(
    "text",
    [
        "user;item;rating\n1;2;3\n4;5;6\n",
        "sep=;\nuser;item;rating\n1;2;3\n4;5;6\n",
        '"sep=;"\r\nuser;item;rating\r\n1;2;3\r\n4;5;6\r\n',
        "SEP=,\nuser,item,rating\n1,2,3\n4,5,6\n",
        "sep=|\nuser|item|rating\n1|2|3\n4|5|6\n",
        "sep=\\t\nuser\titem\trating\n1\t2\t3\n4\t5\t6\n",
        "\ufeffsep=;\nuser;item;rating\n1;2;3\n4;5;6\n",
        "user,item,rating\r1,2,3\r4,5,6\r",
        "user,item,rating\r1,2,3\r4,5,6",
        "user\titem\trating\r1\t2\t3\r4\t5\t6\r",
        "1,2,3\r4,5,6\r",
    ],
)
def test_first_lines_of_excel_and_ends_of_lines_of_old_macs(file, text):
    edges = read_edges(file(text, "x.csv"), ENDS, VALUE)
    assert pairs(edges) == [(1, 2), (4, 5)] and edges.fields["rating"].tolist() == [3, 6]
    assert edges.notes == ()


def test_a_last_row_of_another_width_below_the_line_of_excel(file):
    path = file("sep=;\nuser;item;rating\n1;2;3\n4;5;6\nin all\n")
    with pytest.raises(DataError, match="1 column instead of 3") as error:
        read_edges(path, ENDS, VALUE)
    assert error.value.where == f"{path}:5"


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
)
def test_text_in_utf_16_is_named(file, encoding):
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"
    path = file(f"{mark}user\titem\trating\n1\t2\t3\n".encode(encoding), "x.csv")
    with pytest.raises(DataError, match=encoding[:6].upper()) as error:
        read_edges(path, ENDS, VALUE)
    assert "iconv" in error.value.do
