"""Parsers of text files: edges, bags of columns, samples, vertices and their labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.parser import Parser, choice, from_file
from tux.arrays.arrow import CodedColumn
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.bags.bags import read_bags, read_vocabulary
from tux.io.edges.read import read_edges
from tux.io.edges.request import EdgeRequest
from tux.io.formats.detect import detect_format
from tux.io.samples.label_files import read_sample_labels
from tux.io.samples.labels import SampleLabels, numbers_of
from tux.io.samples.samples import read_samples
from tux.io.source import plain_rows, text
from tux.io.source.input_shares import ShareRows, cut_into_shares, read_share
from tux.io.vertices.columns import WantedField
from tux.io.vertices.ids import read_ids
from tux.io.vertices.labels import read_vertex_labels
from tux.io.vertices.table import read_vertices

ONE, TWO = ("node", "node"), ("user", "item")
F4, I4 = np.dtype("f4"), np.dtype("i4")
FIELDS: tuple[dict[str, Any], ...] = ({"value": "f4"}, {"value": "i4"}, {}, {"a": "f8", "b": "u1"})
LONGEST_LINE = 1 << 15  # bytes of a line
BLOCKS = (text.BLOCK, 64, text.BLOCK, 7)
"""Bytes that are parsed at a time: few, so that lines go over the ends of blocks."""

EDGES = (
    b"1,2,3.5\n1,3,4\n4,2,-1e3\n70000,2,0.25\n",
    b"userId,movieId,rating,timestamp\n1,31,2.5,1260759144\n2,10,4.0,835355493\n",
    b"1::1193::5::978300760\n2::661::3::978302109\n",
    b"# a comment\n0\t1\n1\t2\n% another\n2\t0\n",
    b"1 2 1.5\n2  3\t2\n",
    b'user;item;value\nana;"x; y";1\nb\xc3\xb6b;z;2\n',
    b"a|b|1|7\nb|c|2|8\n",
    b"\xef\xbb\xbfsource,target\r\n18446744073709551615,007\r\n1,2\r\n",
)
DOCWORD = (b"3\n5\n4\n1 1 2\n1 5 1\n3 2 7\n3 3 1\n", b"2\n2\n2\n2 2 1\n1 1 9\n")
LDA_C = (b"2 0:1 3:2\n1 2:5\n0\n3 0:1 1:1 4:2\n", b"1 7:1\n1 7:2\n")
SVM = (
    b"+1 1:0.5 3:1 7:-2e-3\n-1 2:1 # comment\n+1 1:1\n",
    b"1 1:1 2:2\n2 3:0.25\n1\n",
    b"1:1 2:2\n\n3:1 4:4\n",
    b"spam 1:1 1:2\nham 3:123456789012345678901234567890\n",
    b"1:0.5 qid:3 1:1 2:2\n-1:2 qid:3 0:1 3:.5\n",
    b"1 qid:1 0:1 2:2\n0 qid:2 1:1\n",
)
DOCUMENTS = (
    b"the cat sat on the mat\n\nThe DOG barked, twice!\n",
    "größe straße naïve — 日本語 テスト\nабв где 123 a1\n".encode(),
)
VOCABULARY = (b"the\ncat\nsat\nmat\ndog\n", "größe\n日本語\n".encode())
TABLES = (
    b"label,age,job,w\n1,31,clerk,1\n0,45,cook,0.5\n1,NA,clerk,2\n",
    b"a\tb\ty\n1.5\tTrue\tno\n2\tFalse\tyes\n0\tTrue\tno\n",
    b'x;"a word";class\n1;"u;v";A\n;w;B\n',
)
SAMPLE_LABELS = (b"1\n-1\n1\n", b"spam\nham\n\n", b"0\r\n1\r\n")
MARKET = (
    b"%%MatrixMarket matrix coordinate real general\n% c\n3 4 3\n1 1 0.5\n2 4 -1e3\n3 2 7\n",
    b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n",
    b"%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 4\n3 1 -5\n",
)
DIMACS = (
    b"c road\np sp 4 3\na 1 2 7\na 3 1 0.5\na 4 2 -1e3\n",
    b"p edge 3 2\nn 1 5\ne 1 2\ne 2 1\ne 3 2\n",
    b"p max 3 1\nn 1 s\na 1 3 5\n",
)
GML = (
    b'graph [\n  node [ id 1 label "a" ]\n  node [ id 2 label "b" ]\n'
    b"  edge [ source 1 target 2 value 3 ]\n]\n",
    b"graph\n[\ndirected 1\nnode\n[\nid 0\n]\nedge\n[\nsource 0\ntarget 0\n]\n]\n",
)
PAJEK = (
    b'*Vertices 3\n1 "a"\n2 "b c" 0.5 0.5\n*Arcs\n1 2 3\n*Edges\n2 3\n',
    b"*Network x\n*Vertices 3\n*Arcslist\n1 2 3\n*Edgeslist\n2 3\n",
    b"% c\n*Vertices 2\n*Matrix\n0 2\n1 0\n",
)
GRAPHML = (
    b'<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    b'<key id="d" for="edge" attr.name="weight" attr.type="double"><default>2</default></key>'
    b'<graph edgedefault="directed"><node id="a"/><edge source="a" target="b"><data key="d">3'
    b"</data></edge></graph></graphml>\n",
    b'<graphml><graph edgedefault="undirected"><edge source="1" target="2"/></graph></graphml>',
)
ADJLIST = (b"# c\n1 2 3\n2 3\n7\n", b"a b\nb c a\n007 8\n")
DICTS = (
    b"1 2 {'weight': 3.0}\n2 3 {'weight': np.float64(1.5), 'a': [1, {}]}\n",
    b"a,b,{}\nb,c,{'x': \"y'\"}\n",
)
FOREIGN = (
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>\n<!-- d -->\n<a b='c'>\n</a>\n",
    b"1 |f x:1.5 y:2 |g z\n-1 'tag |f x:1\n",
    b"1:\n5,3,2005-09-06\n6,4,2005-09-06\n",
    b"INSERT INTO a VALUES (1,2);\n",
    b'[\n{"a": 1}\n]\n',
    b"<http://a> <http://b> <http://c> .\n",
)
METIS = (
    b"3 2\n2\n1 3\n2\n",
    b"% c\n3 2 001\n2 5\n1 5 3 7\n2 7\n",
    b"3 2 111 2\n1 4 4 2 1\n1 4 4 1 1 3 2\n9 0 0 2 2\n",
    b"4 1\n\n3\n2\n\n",
)
VERTICES = (
    b"id,age,group,x_0,x_1\n1,30,a,0.5,1\n2,40,b,-1,2e5\n70,25,a,0,0\n",
    b"id\tage\tgroup\tx\nana\t1\tu\t0.5\nbob\t2\tv\t0.25\n",
    b'node;group;age\n"a b";x;7\nc;"y;z";8\n',
)
POINTS = (b"0.5 1.5 2\n1 2 3\n-1e3 0 0\n", b"id,age,group,x_0,x_1\n1,1,a,0.5,1\n2,3,b,-1,2\n")
VERTEX_IDS = (b"user\n3\n1\n3\n", b"ana\nb b\n", b"age,id\n40,ana\n41,bob\n", b"0\n70\n")
LABELS = (b"0 8\n1 8\n1 9\n", b"node\tlabel\nana\tred\nb b\tblue\n", b"0,1\n1,1\n2,0\n")
COMMUNITIES = (b"0 1 2\n2\n", b"# c\n1\t2\n\n0\n")

LINES = b"1,2,3.5\n1,3,4\n4,2,-1e3\n70000,2,0.25\n"  # which is packed
NETWORKS = frozenset((*DIMACS, *GML, *PAJEK, *GRAPHML, *ADJLIST, *DICTS))
VALID = NETWORKS | {
    *(*EDGES, *DOCWORD, *LDA_C, *SVM, *MARKET, *METIS, *TABLES, *VERTICES, LINES),
}


def skipping(content: bytes) -> Any:
    """Return whether bad rows are left out or stop the reading: "skip" or "stop"."""
    return ("stop", "skip")[choice(content, 2, "skip")]


def edges(path: Path, content: bytes) -> object:
    """Read any file as edges; of what is valid, nothing is asked that may not be there."""
    if content in VALID:
        square = content in METIS or content in MARKET[1:] or content in NETWORKS
        return read_edges(path, ONE if square else TWO, {})
    ends = (ONE, TWO)[choice(content, 2, "ends")]
    columns = (None, None, None, "1,2,3", "user,item,value")[choice(content, 5, "columns")]
    if path.suffix in (".mtx", ".graph"):
        columns, ends = None, (ONE, ONE, TWO)[choice(content, 3, "ends")]
    return read_edges(
        path,
        ends,
        FIELDS[choice(content, len(FIELDS), "fields")],
        columns=columns,
        on_bad_row=skipping(content),
        undirected=("both", "once")[choice(content, 2, "undirected")],  # type: ignore[arg-type]
    )


def _plain(path: Path, content: bytes) -> object:
    """Read edges so that even few of them are worth the compiled loop and threads."""
    before = plain_rows.BYTES_PER_THREAD
    plain_rows.BYTES_PER_THREAD = 4 + choice(content, 20, "piece")
    try:
        return edges(path, content)
    finally:
        plain_rows.BYTES_PER_THREAD = before


def _read_shares(path: Path, content: bytes) -> object:
    """Read edges in shares, and check that the shares have the rows and the bad rows of the whole.
    With faulty quotes they have not: whether Arrow or a look at each line judges these depends on
    the rows beside them.
    """
    fields = FIELDS[choice(content, len(FIELDS), "fields")]
    # a very long line shows the layout to each share anew, which is slow without being wrong
    count = (
        2 + choice(content, 5, "shares")
        if max(map(len, content.split(b"\n"))) < LONGEST_LINE
        else 0
    )
    whole, *parts = (
        read_share(
            share,
            EdgeRequest(str(path), TWO, {} if content in VALID else fields, on_bad_row="skip"),
        )
        for number in (1, count)
        if number
        for share in cut_into_shares(path, number)
    )
    if count and b'"' not in content:
        assert sum(part.skipped for part in parts) == whole.skipped
        told = next((part.first_skipped for part in parts if part.skipped), "")
        assert told == whole.first_skipped
        assert [row for part in parts for row in _rows_of(part)] == _rows_of(whole)
    return whole


def _rows_of(share: ShareRows) -> list[tuple[str, ...]]:
    """Return the rows of a share as text: ids are numbers in one share and words in another."""
    columns = (each.whole() for each in share.columns)
    cells = (each.values[each.codes] if isinstance(each, CodedColumn) else each for each in columns)
    return [*zip(*(map(str, each.tolist()) for each in cells), strict=True)]


def _many(path: Path, content: bytes) -> object:
    """Read edges in two files, cut anywhere."""
    cut = choice(content, len(content) + 1, "cut")
    if content in VALID:
        cut = content.index(b"\n") + 1
    folder = path.with_name("many")
    folder.mkdir(exist_ok=True)
    for name, part in (("1", content[:cut]), ("2", content[cut:])):
        with open(folder / name, "wb", buffering=0) as file:
            file.write(part)
    return edges(folder, content)


def in_blocks(read: Callable[[Path, bytes], object]) -> Callable[[Path, bytes], object]:
    """Return the reader with smaller blocks, so that some inputs are more than a block."""

    def of(path: Path, content: bytes) -> object:
        before = text.BLOCK
        # very many blocks of a very long line would be slow without being wrong
        if len(content) < 4000 and content not in VALID:
            text.BLOCK = BLOCKS[choice(content, 4, "block")]
        try:
            return read(path, content)
        finally:
            text.BLOCK = before

    return of


def _bags(form: Any) -> Callable[[Path, bytes], object]:
    def read(path: Path, content: bytes) -> object:
        fields: Any = ({"count": "i4"}, {"count": "f4"}, {"count": "u1"}, {"count": "f8"})
        if form == "svm":
            fields = ({"value": "f4"}, {"value": "f8"}, {"value": "f4"}, {"value": "f4"})
        return read_bags(
            path,
            fields=fields[choice(content, 4, "fields")],
            form=form,
            on_bad_row=skipping(content),
        )

    return read


def _samples(form: Any) -> Callable[[Path, bytes], object]:
    def read(path: Path, content: bytes) -> object:
        weight = "w" if form == "table" and choice(content, 4, "weight") == 0 else None
        needed = choice(content, 2, "labels") == 0
        if content in VALID:
            weight, needed = None, False
        ranked = needed and choice(content, 3, "ranked") == 0
        return read_samples(
            path,
            form=form,
            weight=weight,
            on_bad_row=skipping(content),
            require_labels=needed,
            numeric=ranked or content not in VALID and choice(content, 2, "numeric") == 0,
            ranked=ranked,
        )

    return read


def _foreign(path: Path, content: bytes) -> object:
    """Detect a file of a kind that is not read, of which valid ones are errors."""
    try:
        return detect_format(path)
    except DataError as error:
        if content in FOREIGN:
            return error
        raise


def _sample_labels(path: Path, content: bytes) -> object:
    column = read_sample_labels(path)
    return SampleLabels.of(column), numbers_of(column, -np.inf)


def vertices(path: Path, content: bytes) -> object:
    """Read any file as a table of vertices."""
    wanted = (
        None,
        [WantedField("age", F4), WantedField("group", I4)],
        [WantedField("x", F4, 2), WantedField("age", I4, optional=True)],
        [WantedField("x", F4, 0)],
    )
    asked = None if content in VALID else wanted[choice(content, 4, "wanted")]
    return read_vertices(path, "user", asked, on_bad_row=skipping(content))


def points(path: Path, content: bytes) -> object:
    """Read any file as points."""
    return read_vertices(
        path, "point", [WantedField("x", F4, 0)], on_bad_row=skipping(content), points=True
    )


def labels(path: Path, content: bytes) -> object:
    """Read any file as labels of vertices."""
    ids = (np.arange(4), np.array(["ana", "b b", "0"], np.dtypes.StringDType()))
    known = content in LABELS[1:2]
    return read_vertex_labels(path, Ids.of(ids[known or choice(content, 4, "ids") == 0])[0])


def vertex_ids(path: Path, content: bytes) -> object:
    """Read any file as ids of vertices."""
    known = np.array(["ana", "b b", "0"], np.dtypes.StringDType())
    return read_ids(path, "user", Ids(known) if choice(content, 2, "ids") else Ids(np.arange(4)))


Reader = Callable[[Path, bytes], object]


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers of this file by name; they write into `folder`."""

    def of(
        samples: Sequence[bytes], read: Reader, name: str = "input.txt", share: float = 1.0
    ) -> Parser:
        return Parser(samples, from_file(folder / name, in_blocks(read)), share=share)

    return {
        "edges": of(EDGES, edges),
        "edges-plain": of(EDGES, _plain),
        "edges-shares": of(EDGES, _read_shares, share=0.5),
        "edges-files": of(EDGES + SVM, _many, share=0.5),
        "market": of(MARKET, edges, "input.mtx"),
        "metis": of(METIS, edges, "input.graph"),
        "dimacs": of(DIMACS, edges),
        "gml": of(GML, edges, share=0.5),
        "pajek": of(PAJEK, edges),
        "graphml": of(GRAPHML, edges, share=0.5),
        "adjacency": of(ADJLIST, edges, "input.adjlist"),
        "edges-dicts": of(DICTS, edges),
        "detect": of(
            EDGES + DOCWORD + LDA_C + SVM + MARKET + DIMACS + PAJEK,
            lambda path, content: detect_format(path),
            "input",
        ),
        "foreign": of(FOREIGN, _foreign, "input"),
        "docword": of(DOCWORD, _bags("docword")),
        "lda-c": of(LDA_C, _bags("lda-c")),
        "svm-bags": of(SVM, _bags("svm")),
        "bags-detected": of(DOCWORD + LDA_C[:1], edges),
        "documents": of(DOCUMENTS, _bags("text"), share=0.5),  # a table of all characters each
        "vocabulary": of(VOCABULARY, lambda path, content: read_vocabulary(path)),
        "svm-samples": of(SVM, _samples("svm")),
        "table-samples": of(TABLES, _samples("table")),
        "sample-labels": of(SAMPLE_LABELS, _sample_labels),
        "vertices": of(VERTICES, vertices),
        "points": of(POINTS, points),
        "vertex-ids": of(VERTEX_IDS, vertex_ids, share=0.5),
        "vertex-labels": of(LABELS, labels),
        "communities": of(COMMUNITIES, labels, "input.cmty"),
    }
