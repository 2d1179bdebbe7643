"""The kind of the first row of a table: names, or data."""

import numpy as np
import pytest

from tux.base.errors import DataError
from tux.io.edges.columns import WantedColumns
from tux.io.edges.layout import known_names
from tux.io.edges.read import read_edges
from tux.io.formats.detect import Format, detect_format
from tux.io.source.row_one import RowOne, has_names, row_one
from tux.io.vertices.columns import WantedField as Field
from tux.io.vertices.table import read_vertices

PAGE = ("page", "page")
KNOWN = known_names(WantedColumns(("user", "item"), {"rating": np.dtype("f4")}, None))


def table(text, separator):
    return [line.split(separator) for line in text.strip().split("\n")]


NAMES = [
    # names in use, of which none stands below
    "u v|A B|B C|C A",
    "citing cited|W1 W2|W2 W3",
    "node_1 node_2|A B|B C",
    "follower followee|P1 P2|P3 P4",
    "node1 node2|P1 P2|P3 P4",
    "head relation tail|Paris capital_of France|Bonn in Germany",
    "subject predicate object|a knows b|b knows c",
    "from_id to_id|x y|y z",
    "FromNodeId ToNodeId|x y|y z",
    "paper1 paper2|x y|y z",
    "id_1 id_2|x y|y z",
    "gene_a gene_b|TP53 BRCA1|MDM2 TP53",
    "Person1Name Person2Name|Ann Bob|Bob Cid",
    "speaker_1 speaker_2|Ann Bob|Bob Cid",
    "userA userB|Ann Bob|Bob Cid",
    "parent child|root x|x y",
    "sender recipient date|a b x|b c y",
    # numbers below
    "protein1 protein2 combined_score|P0 P1 200|P1 P2 33",
    "left right|3 4|4 5",
    "kunde produkt sterne|u1 i1 3|u2 i2 4",
    "a b c|x y 1|y z 2.5",
    # names that are looked for, though one of them is an id
    "source target|source a|a b",
    "user item rating|u1 i1 good|u2 i2 bad",
]
ROWS = [
    "t v|v x|v y|t x",
    "a b|b c|c d",
    "u v|u w|w v",
    # ids with numbers, whose words are names in use
    "u17 i8|u16 i9|u15 i8",
    "user4 item2|user1 item7|user3 item9",
    "node1 node2|node3 node4",
    "u1 i1",
    "page1 page2",
    "P00000 P00001|P00001 P00004|P00002 P00007",
    "1 2|2 3",
    "New_York Boston|Boston Salem",
    "x y 3|y z 4",
    "u1 i1 NA|u2 i2 4",
    "u1 i1 3,5|u2 i2 4,0",
    "head tail|tail head",
    "from to|to be|be from",
    "source target|target source",
]
ROWS.append(f"u{'1' * 200_000}x u{'2' * 200_000}x")  # looked at in one pass
UNSURE = ["the dog|1984 orwell", "ann bob|carol dave|erin frank", "alpha beta|gamma delta"]


@pytest.mark.parametrize(
    ("text", "what"),
    [(text, RowOne.NAMES) for text in NAMES]
    + [(text, RowOne.ROW) for text in ROWS]
    + [(text, RowOne.UNSURE) for text in UNSURE],
)
def test_of_a_table_of_edges(text, what):
    assert row_one(table(text.replace("|", "\n"), " "), KNOWN) is what


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,label|1,2,x", True),
        ("0,1,2,label|1,2,3,x|3,4,5,y", True),
        (",0,1|0,1,2|1,3,4", True),
        ("country,1990,1991,label|DE,1,2,x", True),
        ("400.5,401.0,label|1,2,x|2,3,y", True),
        ("colour,shape,label|red,round,1", True),
        ("colour,shape|red,round|blue,square", True),
        ("a,b,c|b,a,c|x,y,z", True),
        ("5.1,3.5,setosa|4.9,3.0,setosa|6.1,2.2,virginica", False),
        ("1,5,9,setosa|1,2,3,virginica", False),
        ("p1,0.5,1|p2,0.4,1.2", False),
        ("1,14.23,1.71|1,13.2,1.78", False),
        ("39,State-gov,77516,<=50K|50,Private,83311,>50K", False),
        ("p,x,s,n|e,x,s,y|e,b,s,w|p,x,y,w", False),
        ("1.2,3.4,y|2.2,1.4,n|1.1,1.2,y", False),
        ("M,0.455,0.365,15|F,0.53,0.42,9", False),
        ("1,NA,2|2,3,4", False),
        ("x,NA|1,2", False),
    ],
)
def test_of_a_table_of_samples(text, names):
    rows = table(text.replace("|", "\n"), ",")
    assert has_names(rows, {"label", "y", "target", "class"}) is names


def test_a_row_that_may_be_names_is_told_and_can_be_named(file):
    text = "ann bob\ncarol dave\nerin frank\n"
    edges = read_edges(file(text, "x.txt"), PAGE, {})
    assert len(edges) == 3
    assert edges.notes == (
        "row 1, ann, bob, is read as an edge; if it is one of names, name them with --columns",
    )
    assert len(read_edges(file(text, "x.txt"), PAGE, {}, columns="ann,bob")) == 2


def test_columns_of_subject_and_object_are_the_ends(file):
    edges = read_edges(file("subject,predicate,object\na,knows,b\nb,likes,c\n"), PAGE, {})
    assert edges.ids["page"].values.tolist() == ["a", "b", "c"]
    assert edges.columns == {"source page": "subject", "target page": "object"}
    assert edges.notes == ("columns that are not used: predicate",)


@pytest.mark.parametrize(
    "text",
    [
        "from to weight\n1 a b 3\n2 b c 4\n",  # R's write.table: a column of row numbers
        "from,to,weight\na,b,3,\nb,c,4,\n",  # a separator at the end of each row
        '"","from","to","weight"\n"1","a","b",3\n"2","b","c",4\n',  # R's write.csv
        "index,from,to,weight\n0,a,b,3\n1,b,c,4\n",
    ],
)
def test_rows_that_have_a_cell_more_than_names(file, text):
    edges = read_edges(file(text), PAGE, {"weight": "f4"})
    assert edges.ids["page"].values.tolist() == ["a", "b", "c"]
    assert edges.fields["weight"].tolist() == [3, 4]


def test_names_that_stand_again_are_no_rows(file):
    text = "source,target\na,b\nb,c\nsource,target\nc,a\n"
    edges = read_edges(file(text), PAGE, {})
    assert len(edges) == 3 and len(edges.ids["page"]) == 3
    assert edges.notes == ("the line of names stands there 1 more time; it is no edge",)


def test_names_in_a_comment_are_names(file):
    """As numpy's savetxt and SNAP write them."""
    path = file("# item user rating\n7 1 3\n8 1 4\n9 2 5\n", "x.txt")
    edges = read_edges(path, ("user", "item"), {"rating": "f4"})
    assert edges.ids["user"].values.tolist() == [1, 2]
    assert edges.ids["item"].values.tolist() == [7, 8, 9]


@pytest.mark.parametrize(
    "text",
    [
        '"user" "item" "rating"\n"1" "ann" "dune" 4\n"2" "bob lee" "the ""x""" 5\n',
        '"user" "item" "rating"\n"ann" "dune" 4\n"bob lee" "the ""x""" 5\n',
        '"ann" "dune" 4\n"bob lee" "the ""x""" 5\n',
        'user\titem\trating\n"ann"\tdune\t4\n"bob lee"\t"the ""x"""\t5\n',
    ],
)
def test_words_in_quotes_between_blanks_as_r_writes_them(file, text):
    edges = read_edges(file(text, "r.txt"), ("user", "item"), {"rating": "f4"})
    assert edges.ids["user"].values.tolist() == ["ann", "bob lee"]
    assert edges.ids["item"].values.tolist() == ["dune", 'the "x"']
    assert edges.fields["rating"].tolist() == [4, 5]


def test_quotes_of_words_between_blanks_stay(file):
    edges = read_edges(file('5" a\n6" b\n"x" c\n', "r.txt"), PAGE, {})
    assert set(edges.ids["page"].values.tolist()) == {'5"', '6"', '"x"', "a", "b", "c"}


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("fe80::1,router\nfe80::2,router\n", [("fe80::1", "router"), ("fe80::2", "router")]),
        ("std::map\tvector\nstd::set\tlist\n", [("std::map", "vector"), ("std::set", "list")]),
        ("File::Spec Carp\nFile::Copy Carp\n", [("File::Spec", "Carp"), ("File::Copy", "Carp")]),
        ("a::b\nb::c\n", [("a", "b"), ("b", "c")]),
        ("ann bob 4,5\nbob cy 3,5\n", [("ann", "bob"), ("bob", "cy")]),
        ("source | target\n--- | ---\nann | bob\nbob | cy\n", [("ann", "bob"), ("bob", "cy")]),
        ("source  target\n------  ------\nann     bob\n", [("ann", "bob")]),
        ("| source | target |\n|---|---|\n| a | b |\n", [("a", "b")]),
        ("| source | target |\n|:---|---:|\n| a | b |\n", [("a", "b")]),
        (
            "+---+---+\n| from | to |\n+---+---+\n| a | b |\n| b | c |\n+---+---+\n",
            [("a", "b"), ("b", "c")],
        ),
        ("\ufeffsource,target\na,b\n\ufeffsource,target\nb,c\n", [("a", "b"), ("b", "c")]),
        ("mark,source,target\nx:,a,b\ny:,b,c\n", [("a", "b"), ("b", "c")]),
        ("source,target\n::,b\n::,c\n", [("::", "b"), ("::", "c")]),
    ],
)
def test_separators_and_lines_that_stand_within_words_or_for_nothing(file, text, edges):
    read = read_edges(file(text, "x.txt"), PAGE, {})
    ids = read.ids["page"]
    found = zip(ids.decode(read.src).tolist(), ids.decode(read.dst).tolist(), strict=True)
    assert list(found) == edges


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(1, 2)\n(2, 3)\n(3, 1)\n", "brackets"),
        ("{1, 2}\n{2, 3}\n", "brackets"),
        ("(a, b)\n(b, c)\n", "brackets"),
        ("1: 2\n2: 3\n3: 1\n", "colon"),
        ("<1,2>\n<2,3>\n<3,1>\n", "brackets"),
        ("{1, 2},\n{2, 3},\n{3, 1},\n", "brackets"),
        ("[(1, 2),\n (2, 3),\n (3, 1)]\n", "brackets"),
        ("src=1 dst=2\nsrc=2 dst=3\n", "name of their column"),
        ("[12/01/24, 10:15:32] Ann: a\n[12/01/24, 10:16:02] Bob: b\n", "closed in another cell"),
        ('source,target\n="007",a\n="08",b\n', "Excel"),
        ("1:\t2,3\n2:\t3\n", "colon"),
        ("'user','item'\n'ann','dune'\n'bob','dune'\n", "double"),
        ("‘ann’,‘dune’\n‘bob’,‘dune’\n", "double"),
        ('="007",="0012"\n="08",="0012"\n', "Excel"),
        ('"=""007""","=""0012"""\n"=""08""","=""0012"""\n', "Excel"),
    ],
)
def test_signs_of_other_kinds_of_files_are_told(file, text, says):
    with pytest.raises(DataError, match=says) as error:
        read_edges(file(text, "x.txt"), PAGE, {})
    assert "double quotes" in error.value.do


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (["1", "2", r"\N", "3"], "among pages that are whole numbers"),
        (["1", "2", "nan", "3"], "'nan' among pages that are whole numbers"),
        (["1", "2", "Total", "3"], "'Total' among pages"),
        (["1", "2", "NA", "-", "3", "4", "5"], "among pages that are whole numbers"),
        (["ann", "bob", "NULL", "cy"], "NULL among pages"),
        (["1.0", "2.0", "3.0", "2", "4.0"], "1 and 1.0 are two of them"),
        *(
            (["ann", f"{mark} bob", "cy"], f"begin as comments do elsewhere, '{mark} bob'")
            for mark in ("//", ";", "--", "!", "@", "*", "/*", "REM")
        ),
        (["ann", "//bob", "--cy"], "begin as comments do elsewhere, '--cy', '//bob'"),
        (["“ann”", "bob"], "with a quote before or behind them, '“ann”'"),
        (["ann", "J'"], 'with a quote before or behind them, "J\'"'),
        (["ann", "...", "-"], "without a letter and a digit, '-', '...'"),
        (["ann", '"4,5"', '"3,25"'], "with a comma, '3,25', '4,5'"),
    ],
)
def test_odd_ids_are_told(file, ids, says):
    text = "source,target\n" + "".join(f"{each},{ids[0]}\n" for each in sorted(ids))
    notes = read_edges(file(text), PAGE, {}).notes
    assert any(says in note for note in notes)


@pytest.mark.parametrize(
    "words",
    [
        ["@ann", "*bob*", "cy!", "-5", "a;b", "x--y", "!cat"],
        ["Ünal", "Ёж", "你好", "émile", "42a", "_x", "a,b", "1,2,3", "REMBRANDT"],
    ],
)
def test_plain_words_are_not_told(file, words):
    text = "source\ttarget\n" + "".join(f"{each}\t{words[0]}\n" for each in words)
    assert read_edges(file(text), PAGE, {}).notes == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('user,item\n" ann ",p\nann,q\n', "1 id had blanks around"),
        ("user,item\nann\u00a0,p\nann,q\n", "1 id had blanks around"),
        ("user,item\nann, p\nbob,q\ncy, p\n", "2 ids had blanks around"),
        ("user, item\nann, p\nbob, q\n", ""),
    ],
)
def test_blanks_around_some_ids_are_told(file, text, told):
    notes = read_edges(file(text), ("user", "item"), {}).notes
    assert notes == ((f"{told}, which are no part of ids",) if told else ())


@pytest.mark.parametrize(
    ("text", "fields", "told"),
    [
        ("3 3\n1 2\n2 3\n3 1\n", {}, True),
        ("4,2\n1,2\n4,3\n", {}, True),
        ("3 4 5\n1 1 3\n1 2 4\n3 1 2\n2 4 5\n1 4 3\n", {"value": "f4"}, True),
        ("2000 5000\n" + "".join(f"{at} {at + 1}\n" for at in range(1500)), {}, True),
        ("4 3\n1 2\n2 3\n3 1\n1 3\n", {}, True),
        ("3 4 0\n1 2 5\n2 3 6\n3 1 7\n1 3 8\n", {"value": "f4"}, True),
        ("4 3\n4 2\n4 1\n4 0\n", {}, False),
        ("".join(f"{at} {at + 1}\n" for at in range(3000, 0, -1)), {}, False),
        ("3 4\n1 2\n2 3\n3 1\n", {}, False),
        ("2 3\n1 2\n2 3\n3 1\n", {}, False),
        ("3 4 2\n1 1 3\n1 9 4\n", {"value": "f4"}, False),
        ("5 2\n", {}, False),
        ("a 3\nb 2\nb 3\nb 1\n", {}, False),
        ("2000 500\n" + "".join(f"{at} {at + 1}\n" for at in range(1500)), {}, False),
    ],
)
def test_sizes_before_edges_are_told(file, text, fields, told):
    ends = ("user", "item") if fields else PAGE
    notes = read_edges(file(text, "x.txt"), ends, fields).notes
    assert any("numbers of vertices and edges" in note for note in notes) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0,1\n5,6\n6,7\n7,5\n", True),
        ("0,1\nann,bob\nbob,cy\n", True),
        ("0,1\n1,2\n2,0\n", False),
        ("0,1\n5,6\n6,0\n", False),
        ("0 1\n2 3\n4 5\n", False),
        ("0,1\n", False),
    ],
)
def test_columns_that_pandas_counts_are_told(file, text, told):
    notes = read_edges(file(text), PAGE, {}).notes
    assert any("if it is one of names, remove it" in note for note in notes) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0,1\n1.5,2\n3,4\n", True),
        ("0,1\n1,2\n3,4\n", True),
        ("2019,2020\n1.5,2\n3,4\n", True),
        ("2018,2019,2020\n3,4,5\n6,7,8\n", True),
        ("1,2,3\n1.5,2,7\n3,4,8\n", True),
        ("1,2,3\n4,5,6\n7,8,9\n", False),
        ("0,1\n1,0\n0,0\n1,1\n", False),
        ("0\n1.5\n3\n", False),
        ("1,3,5\n2,4,9\n", False),
    ],
)
def test_numbers_that_may_be_names_of_columns_are_told(file, text, told):
    table = read_vertices(file(text), "point", [Field("x", np.dtype("f8"), 0)], points=True)
    assert any("if it is one of names, remove it" in note for note in table.notes) == told


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ('user,item\nann, "tea"\nbob, "milk"\n', [("ann", "tea"), ("bob", "milk")]),
        ('user, item\n"ann", "tea, green"\n', [("ann", "tea, green")]),
        ('user; item\n1; "a" \n2 ;"b;"\n', [(1, "a"), (2, "b;")]),
        ('user | item\n1 | "a"\n2 | "b"\n', [(1, "a"), (2, "b")]),
        ('user,item\n"said, ""hi"" , x",a\n', [('said, "hi" , x', "a")]),
        ('user,item\nann, "tea" leaf\nbob,5" disk\n', [("ann", '"tea" leaf'), ("bob", '5" disk')]),
        ("1,\t10\n2,\t11\n", [(1, 10), (2, 11)]),
        ("user,\titem\nann,\ttea\nbob,\ttea\n", [("ann", "tea"), ("bob", "tea")]),
        (
            "http://a.org/x?a=1,2 http://b.org/\nhttp://c.org/?a=3,4 http://b.org/\n",
            [("http://a.org/x?a=1,2", "http://b.org/"), ("http://c.org/?a=3,4", "http://b.org/")],
        ),
        ("# item user\n# made 2020-01-01\n10 1\n11 2\n", [(1, 10), (2, 11)]),
        ("# item user\n#\n10 1\n11 2\n", [(1, 10), (2, 11)]),
        ("# Format: item,user\n10,1\n11,2\n", [(1, 10), (2, 11)]),
        ("user,item,when\n1,10,2020-01-01 10:00\n2,11,2020-01-02 11:30\n", [(1, 10), (2, 11)]),
        ("user;item;note\n1;10;x\n2;11;at 10:30\n", [(1, 10), (2, 11)]),
        ("user|item|when\n1|10|1/2/2020 10:00\n2|11|\n", [(1, 10), (2, 11)]),
    ],
)
def test_cells_of_other_programs(file, text, edges):
    path = file(text)
    assert detect_format(path) is Format.TEXT
    read = read_edges(path, ("user", "item"), {})
    ends = (
        read.ids[end].decode(codes).tolist()
        for end, codes in zip(read.ends, (read.src, read.dst), strict=True)
    )
    assert sorted(zip(*ends, strict=True)) == sorted(edges)
