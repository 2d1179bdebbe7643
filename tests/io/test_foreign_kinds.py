"""Kinds of files that are known and not read: each is named, with what to do; no table is one."""

import gzip
import lzma

import pytest

from tux.base.errors import DataError
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges
from tux.io.formats.detect import detect_format
from tux.io.samples.samples import read_samples
from tux.io.vertices.table import read_vertices

HTML = "<!DOCTYPE html>\n<html>\n<head><title>404 Not Found</title></head>\n</html>\n"
VOWPAL = [
    "1 |f x0:1.28 x1:1.44\n-1 |f x0:-1.02 x1:-1.5\n",
    "| price:.23 sqft:.25 age:.05 2006\n| price:.18 sqft:.15 age:.35 1976\n",
    "1 2.0 'second |MetricFeatures:3.28 height:1.5 length:2.0\n",
    "0 |user age_23 male |item drama\n1 |user age_41 female |item comedy\n",
    "3 1:2.5 |a b c |d e\n",
    "-1 'tag | a:1 b:2\n+1 'tug | a:1\n",
    "1:0:0.5 | a:1 b:2\n2:1:0.5 | a:1\n",
    "|words the cat sat |n len:3\n",
    "1.5 |x a:1e-3\n\n2e0 |x b:7\n",
    "1 0.5 |A x:1 |B y:2 |C z:3\n",
    "-1 | 5:1 9:1 | 12:3\n",
]
TEXTS = [
    *((text, "Vowpal Wabbit", "libsvm") for text in VOWPAL),
    ("1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n885013,4,2005-10-19\n", "Netflix", "awk"),
    ("17:\n5,3\n6,4\n18:\n7,3\n", "Netflix", "awk"),
    ("1:\n30878\n2647871\n10:\n1952305\n", "Netflix", "awk"),
    ("7:\r\n1,3.5,2004-01-02\r\n2,4,2004-01-02\r\n", "Netflix", "awk"),
    (
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        "pointer of Git LFS",
        "git lfs pull",
    ),
    (HTML, "HTML page", "download failed"),
    ("\ufeff\n<html lang='en'>\n<body>Sign in</body></html>", "HTML page", "download failed"),
    ("<!-- moved -->\n<HTML><HEAD>", "HTML page", "download failed"),
    ("<?xml version='1.0'?>\n<!doctype HTML PUBLIC '-//W3C'>\n<html>", "HTML", "download failed"),
    ("404: Not Found", "error of a web server", "download failed"),
    ("Forbidden\n", "error of a web server", "download failed"),
    (
        '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code></Error>',
        "error of a web server",
        "download failed",
    ),
    ("<?xml version='1.0'?>\n<osm version='0.6'>\n<node id='1'/>\n</osm>\n", "XML", "CSV"),
    ("<data>\n  <row a='1'/>\n</data>\n", "XML", "CSV"),
    ("<!DOCTYPE dblp SYSTEM 'dblp.dtd' [\n<!ENTITY a 'b'>]>\n<dblp>", "XML", "CSV"),
    (
        "<?xml version='1.0'?>\n<gexf xmlns='http://gexf.net/1.3'>\n<graph>",
        "GEXF graph",
        "networkx",
    ),
    ("<gexf version='1.2'>\n", "GEXF graph", "networkx"),
    (
        "<?xml version='1.0'?>\n<?mso-application progid='Excel.Sheet'?>\n<Workbook>",
        "Excel file",
        "pandas",
    ),
    ("<?xml version='1.0'?>\n<rdf:RDF xmlns:rdf='http://w3.org'>\n", "RDF", "subject and object"),
    (
        '<http://a/b> <http://p> <http://c/d> .\n<http://a/b> <http://q> "two words"@en .\n',
        "N-Triples",
        "subject and object",
    ),
    ('_:b1 <http://p> _:b2 .\n_:b2 <http://p> "x" <http://g> .\n', "N-Triples", "table"),
    ("@prefix ex: <http://e.org/> .\nex:a ex:b ex:c .\n", "Turtle", "subject and object"),
    ("PREFIX ex: <http://e.org/>\nex:a ex:b ex:c .\n", "Turtle", "subject and object"),
    ('{"user": 1, "item": 2}\n{"user": 1, "item": 3}\n', "JSON", "CSV"),
    ('{\n  "nodes": [],\n  "links": []\n}\n', "JSON", "CSV"),
    ('[\n  {"a": 1}\n]\n', "JSON", "CSV"),
    ("[[1, 2], [2, 3]]", "JSON", "CSV"),
    ("[\n  1,\n  2\n]\n", "JSON", "CSV"),
    ("[1, 2, 0.5]\n[2, 3, 0.25]\n", "JSON", "CSV"),
    ('["a", "b"]\n["c", "d"]\n', "JSON", "CSV"),
    ("-- MySQL dump 10.13\n\nDROP TABLE IF EXISTS `a`;\nCREATE TABLE `a` (\n", "SQL", "export"),
    ("PRAGMA foreign_keys=OFF;\nINSERT INTO links VALUES(1,2);\n", "SQL", "export"),
    ("COPY public.links (a, b) FROM stdin;\n1\t2\n\\.\n", "SQL", "export"),
    ('digraph "G" {\n  a -> b;\n}\n', "Graphviz", "table"),
    ("strict graph {\n  a -- b [weight=2];\n}\n", "Graphviz", "table"),
    ("graph karate{\n1 -- 2\n}\n", "Graphviz", "table"),
    ("// made by hand\n/* twice */\ndigraph G\n{\n1 -> 2\n}\n", "Graphviz", "table"),
    ("% comment\n@RELATION iris\n\n@ATTRIBUTE x REAL\n@DATA\n1\n", "ARFF", "CSV"),
    ("@relation 'two words'\n@attribute a {x,y}\n", "ARFF", "CSV"),
    ("dl n=5 format=edgelist1\nlabels embedded\ndata:\n1 2\n", "UCINET", "table"),
    ("LEDA.GRAPH\nstring\nint\n", "LEDA", "networkx"),
    (">>graph6<<DQc\n", "graph6", "networkx"),
]
BYTES = [
    (b"Obj\1\4\x14avro.codec\bnull\0", "Avro", "Parquet"),
    (b"\x93NUMPY\1\0v\0{'descr': '<i8'}", ".npy", "save_npz"),
    (b"\x80\2}q\0X\1\0\0\0aq\1K\1s.", "pickle", "Load"),
    (b"\x80\4\x95\x0c\0\0\0\0\0\0\0]", "pickle", "Load"),
    (b"ORC\x13\0\0\n\7", "ORC", "Parquet"),
    (b"ORC\0\0", "ORC", "Parquet"),
    (b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n", "PDF", "data"),
    (b"%!PS-Adobe-3.0\n", "PostScript", "data"),
    (b"a.csv".ljust(257, b"\0") + b"ustar\x0000", "tar archive", "Unpack"),
    (gzip.compress(b"a.csv".ljust(257, b"\0") + b"ustar  \0", mtime=0), "tar", "Unpack"),
    (gzip.compress(b"X\n\0\0\0\3\0\4\2\2", mtime=0), "object of R", "write.csv"),
    (gzip.compress(b"RDX3\nX\n\0\0\0\3", mtime=0), "R workspace", "write.csv"),
    (lzma.compress(b"RDX2\nX\n\0\0\0\2"), "R workspace", "write.csv"),
    (gzip.compress(HTML.encode(), mtime=0), "HTML page", "download failed"),
    (b"<stata_dta><header><release>118", "Stata", "pandas"),
    (b"\x72\2\1\0\5\0\0\0\0\0", "Stata", "pandas"),
    (bytes(12) + bytes.fromhex("c2ea8160b31411cfbd92080009c7318c"), "SAS", "pandas"),
    (b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!000", "SAS", "pandas"),
    (b"$FL2@(#) SPSS DATA FILE", "SPSS", "pandas"),
    (b"\xff\xff\xff\xff\xc8\1\0\0\x10\0\0\0", "Arrow stream", "Parquet"),
    (b"Rar!\x1a\7\1\0", "RAR", "Unpack"),
    (b"\x89PNG\r\n\x1a\n", "picture", "data"),
    (b"MATLAB 5.0 MAT-file, Platform: GLNXA64", "MATLAB", ".mat"),
]


@pytest.fixture
def detect_error(tmp_path):
    """Return a function that writes a file, detects its kind, and gives message and advice."""

    def detect_content(content: str | bytes, name: str = "data.txt") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        with pytest.raises(DataError) as caught:
            detect_format(path)
        assert caught.value.do
        return f"{caught.value.what} {caught.value.do}"

    return detect_content


@pytest.mark.parametrize(("content", "name", "do"), TEXTS + BYTES)
def test_each_is_named_with_what_to_do(detect_error, content, name, do):
    for file in ("data.txt", "data.csv.gz", "links.graph"):
        message = detect_error(content, file)
        assert name in message and do in message
    if "which tux" not in message:
        assert ", not" in message


@pytest.mark.parametrize("content", [HTML, "version https://git-lfs.github.com/spec/v1\n"])
def test_what_came_instead_of_a_file(detect_error, content):
    for name in ("a.mat", "a.npz", "a.parquet", "a.svm", "a.mtx", "a.xlsx", "a.json", "a.adjlist"):
        assert ", not" in detect_error(content, name)


def test_by_the_name_alone(detect_error):
    assert "Trivial Graph" in detect_error("1 a\n2 b\n#\n1 2\n", "a.tgf")


READERS = [
    lambda path: read_edges(path, ("v", "v"), {}),
    lambda path: read_edges(path, ("user", "item"), {"value": "f4"}, on_bad_row="skip"),
    lambda path: read_samples(path, require_labels=False),
    lambda path: read_bags(path),
    lambda path: read_vertices(path, "user", None),
]


@pytest.mark.parametrize("read", READERS)
def test_every_reader_names_them(tmp_path, read):
    path = tmp_path / "data.csv"
    path.write_text(HTML)
    with pytest.raises(DataError, match="HTML page"):
        read(path)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (HTML, "HTML page"),
        ("<html>\n<body>Please sign in</body>\n</html>\n", "HTML page"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n", "Git LFS"),
        ("404: Not Found", "web server"),
        ("<?xml version='1.0'?>\n<Error><Code>NoSuchKey</Code></Error>", "web server"),
        (b"%PDF-1.7\n1 0 obj\n", "PDF"),
        (b"{\\rtf1\\ansi text}\n", "RTF"),
        (gzip.compress(b"a.csv".ljust(257, b"\0") + b"ustar\x0000", mtime=0), "tar"),
        (b"ORC\0\0", "ORC"),
        (b"Obj\1\4", "Avro"),
        ('{"text": "the cat sat"}\n{"text": "the dog"}\n', "JSON"),
        ('id,text\n1,"the cat sat"\n2,"the dog, ran"\n', "columns id, text"),
        ("id\ttext\n1\tthe cat\n2\tthe dog\n", "columns id, text"),
        ('"label";"review"\n1;"good, so good"\n', "columns label, review"),
        ("document|word|count\n1|cat|2\n", "columns document, word, count"),
        ("cat:2 dog:1\ndog:3 fish:2\n", "words and their counts"),
        ("the:12\na:3 cat_1:1\n", "words and their counts"),
        ('[{"text":"a b"},\n{"text":"c"}]', "JSON"),
        ('[\n{"text": "a b"},\n{"text": "c"}\n]\n', "JSON"),
        ('[\n  {\n    "text": "a b"\n  }\n]\n', "JSON"),
    ],
)
def test_no_documents(tmp_path, content, name):
    path = tmp_path / "docs.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DataError, match=name):
        read_bags(path, form="text")


@pytest.mark.parametrize(
    "text",
    [
        "<html><p>one document</p></html>\n<html><p>two</p></html>\n",
        "text, and more text\nthe cat, and the dog\n",
        "user name and place\nthe cat\n",
        "at 10:30 the cat sat\nat 11:15 it ran\n",
        "see {x}\n{x} is here\n",
        "<p>the cat</p>\n<p>the dog</p>\n",
        "create table manners\ninsert into this\n",
        "graph theory { and more }\n",
        "name, place\nthe cat sat, then ran\nmore\n",
        "title, text\nthe cat, the dog\n",
        "title,text\nthe cat\nthe dog, and more, and more\n",
        "John3:16\nLuke2:1\n",
        "John3:16\nLuke2:1\nMark1:1\nand more\n",
        "cat:1\n",
        "cat:2 dog:1\n",
    ],
)
def test_documents_of_any_text(tmp_path, text):
    path = tmp_path / "docs.txt"
    path.write_text(text)
    assert len(read_bags(path, form="text").rows) == text.count("\n")


def test_a_name_before_documents_is_told(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text("text\nthe cat sat\nthe dog\n")
    assert read_bags(path, form="text").edges.notes == (
        "row 1, text, is read as a document; if it is a name, remove it",
    )


@pytest.mark.parametrize(
    ("text", "row"), [("# by hand\n\ntext\nthe cat\n", 3), ("\nuser_name\nthe cat\n", 2)]
)
def test_the_row_of_a_name_is_told(tmp_path, text, row):
    path = tmp_path / "docs.txt"
    path.write_text(text)
    (note,) = read_bags(path, form="text").edges.notes
    assert note.startswith(f"row {row}, {text.split()[-3]}, is read")


@pytest.mark.parametrize("first", ["text.", "the text", "(text)", "text, text", "cat"])
def test_a_row_that_is_no_name(tmp_path, first):
    path = tmp_path / "docs.txt"
    path.write_text(f"{first}\nthe cat sat\n")
    assert not read_bags(path, form="text").edges.notes


def test_a_folder_of_no_documents(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text('{"text": "a"}\n{"text": "b"}\n')
    with pytest.raises(DataError, match=r"a\.txt is JSON"):
        read_bags(tmp_path, form="text")


def test_long_words_of_documents(tmp_path):
    path = tmp_path / "docs.txt"
    path.write_text("a" * 50_000 + "\nb c\n")
    assert len(read_bags(path, form="text").rows) == 2


def test_one_of_many_files(tmp_path):
    (tmp_path / "1.csv").write_text("1,2\n2,3\n")
    (tmp_path / "2.csv").write_text(HTML)
    with pytest.raises(DataError, match=r"2\.csv is an HTML page"):
        read_edges(tmp_path, ("v", "v"), {})


@pytest.mark.parametrize(
    "text",
    [
        "a|b|1|7\nb|c|2|8\n",
        "1|2|3\n4|5|6\n",
        "1 | 2 | 3\n4 | 5 | 6\n",
        "ana |bob |3\nbob |cem |4\n",
        "1 |bob |ann\n2 |bob |cem\n",
        "1|2|12:30\n3|4|12:45\n",
        "1|genre:7|5\n2|genre:9|4\n",
        "<s> the 5\nthe </s> 3\n",
        "<s> the\nthe cat\ncat </s>\n",
        "<s> the\nthe <unk>\n<unk> </s>\n",
        "<s> the\nthe </s>\n<s> a\na </s>\n",
        "user | item | rating\nana | b | 3\n",
        "<Albert>\t<wasBornIn>\t<Ulm>\n<Ulm>\t<isLocatedIn>\t<Germany>\n",
        "<http://a> <http://b>\n<http://b> <http://c>\n",
        "<a@b.org> <c@d.org>\n<c@d.org> <a@b.org>\n",
        "/m/027rn\t/location/country\t/m/06cx9\n",
        "graph 1\nnode 2\n",
        "graph,node\na,b\n",
        "version 2\n1 2\n",
        "404 Alice\n",
        "404 Not\nFound 405\n",
        "1: 2 3\n2: 1\n",
        "1:,2\n3:,4\n",
        "1:\n2:\n3:\n",
        "insert into\ncreate table\n",
        "prefix suffix\na b\n",
        "dl n\nn dl\n",
        "@ana @bob\n@bob @cem\n",
        "[1] [2]\n[2] [3]\n",
        "{a} {b}\n{b} {c}\n",
        "Obj 1\nObj 2\n",
        "RDX2 1\n3 4\n",
        "ORCID,paper\nORC,\t7\n",
        "ORC\t1\nORC\t2\n",
        "select insert\nfrom copy\n",
        "% sym unweighted\n1 2\n2 3\n",
        "% asym posweighted\n% 3 2 2\n1 2 4\n2 1 5\n",
        "# Directed graph: x.txt\n# Nodes: 2 Edges: 1\n# FromNodeId\tToNodeId\n0\t1\n",
        "c 1 2\np 3 4\n",
        "p sp 1 2\np sp 2 3\n",
        "*a *b\n*b *c\n",
        "",
        "\n",
        "x",
    ],
)
def test_tables_are_none_of_them(tmp_path, text):
    path = tmp_path / "data.txt"
    path.write_text(text)
    assert detect_format(path).value == "text"
