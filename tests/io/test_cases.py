"""Small files after reports of users of other libraries: each is read right, or refused in words
that say why.
"""

import numpy as np
import pytest

from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples
from tux.io.vertices.columns import WantedField
from tux.io.vertices.table import read_vertices

CASES = [  # what it is read as, its name, its text, and: edges and vertices, points, or the refusal
    (
        "ratings",
        "bignum.csv",
        "label,price\n16777216,1\n16777217,2\n16777219,3\n",
        "2 columns, but 3 are needed (user, item, rating)",
    ),
    (
        "ratings",
        "blanks_pairs.csv",
        "user,item\nann1,film 2\nann2,film 3\n",
        "2 columns, but 3 are needed (user, item, rating)",
    ),
    ("ratings", "emptycell.csv", "user,item,rating\n1,1,4\n1,,3\n2,1,3\n", "item is missing"),
    (
        "ratings",
        "hash_mixed.csv",
        'user,item,rating\nann,#tag,4\n#bob,x,3\ncid,x,2\n"#dan",x,5\n',
        (4, 4, 2),
    ),
    (
        "ratings",
        "latin1.csv",
        b"user,item,rating\nJos\xe9,1,4\nJos\xe9,2,3\nAnn,1,5\nAnn,2,2\n",
        "the line is not UTF-8 text",
    ),
    (
        "ratings",
        "nan.csv",
        "user,item,rating\n1,1,4\n1,2,NaN\n2,1,3\n",
        "rating is NaN, not finite",
    ),
    (
        "ratings",
        "review_some.csv",
        (
            'user,item,rating,review\nu1,i1,4,fine\nu2,i1,3,"good\nbut l'
            'ong"\nu3,i2,5,nice\nu1,i2,2,no\nu4,i1,1,bad\nu2,i2,4,ok\nu3,i'
            "1,3,ok\nu4,i2,3,ok\n"
        ),
        (8, 4, 2),
    ),
    ("ratings", "single.csv", "user,item,rating\n1,1,3\n", (1, 1, 1)),
    ("ratings", "tiny.csv", "user,item,rating\n1,1,4\n1,2,3\n2,1,5\n", (3, 2, 2)),
    (
        "ratings",
        "zeros.csv",
        (
            "user,item,rating\n007,01,1\n007,1,2\n007,2,3\n007,3,4\n7,01,2"
            "\n7,1,3\n7,2,4\n7,3,5\n0070,01,3\n0070,1,4\n0070,2,5\n0070,3,1\n"
            "12,01,4\n12,1,5\n12,2,1\n12,3,2\n"
        ),
        (16, 4, 4),
    ),
    (
        "ratings",
        "netflix.txt",
        (
            "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n2:\n885013,4,"
            "2005-10-19\n30878,4,2005-12-26\n"
        ),
        "is a file of the Netflix Prize (a line 'movie:' before its r",
    ),
    (
        "ratings",
        "page.html.csv",
        (
            "<!DOCTYPE html>\n<html>\n<head><title>404 Not Found</title"
            "></head>\n<body>\n<h1>Not Found</h1>\n<p>The requested URL "
            "was not found.</p>\n</body>\n</html>\n"
        ),
        "is an HTML page, not a file of data",
    ),
    (
        "ratings",
        "onepct.mtx",
        (
            "%MatrixMarket matrix coordinate real general\n% from a ne"
            "twork archive\n6 5 8\n1 1 4\n1 2 3.5\n2 1 5\n3 3 2\n4 2 1\n5 4 "
            "4.5\n6 5 3\n2 5 2\n"
        ),
        (8, 6, 5),
    ),
    ("edges", "bigw.csv", "source,target,weight\n1,2,3e38\n1,2,3e38\n1,3,1\n2,3,1\n", (4, 3)),
    ("edges", "citing.csv", "citing,cited\nW1,W2\nW2,W3\n", (2, 3)),
    ("edges", "club.adjlist", "# like networkx writes it\n1 2 3 4\n2 3\n3 4\n4 5\n5 1\n", (7, 5)),
    (
        "edges",
        "club.gml",
        (
            'graph [\n  node [\n    id 1\n    label "a"\n  ]\n  node [\n   '
            ' id 2\n    label "b"\n  ]\n  node [\n    id 3\n    label "c"\n'
            "  ]\n  edge [\n    source 1\n    target 2\n  ]\n  edge [\n    "
            "source 2\n    target 3\n  ]\n]\n"
        ),
        (4, 3),
    ),
    (
        "edges",
        "club.net",
        ('*Vertices 4\n1 "a"\n2 "b"\n3 "c"\n4 "d"\n*Edges\n1 2 1\n2 3 1\n3 4 1\n'),
        (6, 4),
    ),
    ("edges", "club2.adjlist", "1 2 3 4\n2 3 5\n3 4 6\n4 5 1\n5 1 6\n6 2 3\n", (13, 6)),
    ("edges", "dup6.csv", "x,y\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n", (6, 2)),
    ("edges", "from_to.csv", "from,to\nA,B\nB,C\nC,A\n", (3, 3)),
    (
        "edges",
        "gephi.csv",
        ("Source,Target,Type,Weight\nA,B,Undirected,1\nB,C,Undirected,2\n"),
        (2, 3),
    ),
    ("edges", "hash.tsv", "source\ttarget\n%20\tb\n#1\tb\na\tb\n", (3, 4)),
    ("edges", "hash_edges.txt", "#c a\n#c b\na b\nb d\nd a\nd #c\n", (6, 4)),
    ("edges", "loops.txt", "1 1\n1 2\n2 1\n1 2\n2 3\n3 4\n4 4\n5 5\n", (8, 5)),
    (
        "edges",
        "lfs_pointer.txt",
        (
            "version https://git-lfs.github.com/spec/v1\noid sha256:4d"
            "7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d1"
            "7e2393\nsize 12345\n"
        ),
        "is a pointer of Git LFS, not the file itself",
    ),
    ("edges", "metis_iso.graph", "% with an isolated vertex\n5 3\n2 3\n1 3\n1 2\n\n\n", (6, 5)),
    ("edges", "multi.txt", "a b\na b\na b\na c\n", (4, 3)),
    ("edges", "musae.csv", "node_1,node_2\nA,B\nB,C\nC,A\n", (3, 3)),
    ("edges", "neg_weight.csv", "source,target,weight\n1,2,-1\n2,3,1\n3,1,2\n", (3, 3)),
    (
        "edges",
        "nosize.mtx",
        ("%%MatrixMarket matrix coordinate pattern symmetric\n2 1\n3 1\n4 2\n"),
        "no line of sizes",
    ),
    (
        "edges",
        "nxdata.edgelist",
        ("1 2 {'weight': 3.0}\n2 3 {'weight': 1.0}\n3 1 {'weight': 2.0}\n3 4 {'weight': 2.0}\n"),
        (4, 4),
    ),
    (
        "edges",
        "onepct_sym.mtx",
        ("%MatrixMarket matrix coordinate pattern symmetric\n5 5 5\n2 1\n3 1\n4 2\n5 3\n5 4\n"),
        (10, 5),
    ),
    (
        "edges",
        "road.gr",
        (
            "c USA roads in small\nc\np sp 5 8\na 1 2 17\na 2 1 17\na 2 3 "
            "4\na 3 2 4\na 3 4 9\na 4 3 9\na 4 5 2\na 5 4 2\n"
        ),
        (8, 5),
    ),
    (
        "edges",
        "road2.gr",
        ("p sp 5 8\na 1 2 17\na 2 1 17\na 2 3 4\na 3 2 4\na 3 4 9\na 4 3 9\na 4 5 2\na 5 4 2\n"),
        (8, 5),
    ),
    ("edges", "sinks.txt", "a b\nb c\nc d\na e\n", (4, 5)),
    (
        "edges",
        "town_names.csv",
        ("source,target\nNew York,Boston\nBoston,Salem\nSalem,New York\nSalem,York\nYork,New\n"),
        (5, 5),
    ),
    ("edges", "tri.txt", "t v\nv x\nv y\nt x\n", (4, 4)),
    (
        "edges",
        "triples.csv",
        ("head,relation,tail\nParis,capital_of,France\nBerlin,capital_of,Germany\n"),
        (2, 4),
    ),
    (
        "edges",
        "two_col.csv",
        (
            "follower,followee\nP00000,P00001\nP00001,P00004\nP00002,P00"
            "007\nP00003,P00000\nP00004,P00003\nP00005,P00006\nP00006,P00"
            "009\nP00007,P00002\nP00008,P00005\nP00009,P00008\n"
        ),
        (10, 10),
    ),
    (
        "edges",
        "two_col_nodes.csv",
        (
            "node1,node2\nP00000,P00001\nP00001,P00004\nP00002,P00007\nP0"
            "0003,P00000\nP00004,P00003\nP00005,P00006\nP00006,P00009\nP0"
            "0007,P00002\nP00008,P00005\nP00009,P00008\n"
        ),
        (10, 10),
    ),
    ("edges", "uv.csv", "u,v\nA,B\nB,C\nC,A\n", (3, 3)),
    ("edges", "wstar.csv", "source,target,weight\na,b,3\na,c,1\n", (2, 3)),
    ("edges", "zero_weight.csv", "source,target,weight\n1,2,0\n2,3,1\n3,1,2\n", (3, 3)),
    (
        "edges",
        "x.avro",
        "Obj\x01\x04\x14avro.codec\x08null\x16avro.schema" + "\0" * 20,
        "is an Avro file, which tux does not read",
    ),
    (
        "edges",
        "x.orc",
        "ORC" + "\0" * 30,
        "is an ORC file, which tux does not read",
    ),
    ("samples", "bigval.svm", "1 1:16777217\n0 1:16777216\n", (2, 2, 1)),
    (
        "samples",
        "iris_nohead.csv",
        "5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,2.2,virginica\n",
        "'5.1,3.5,setosa' is no line of column names",
    ),
    ("samples", "label_na.csv", "a,label\n1,NA\n2,DE\n3,NA\n4,DE\n", (4, 4, 1)),
    (
        "samples",
        "missfeat_test.svm",
        ("0 2:1.4494\n0 2:-1.4368\n0 2:-0.0647\n0 2:-0.1447\n0 2:1.0243\n0\n0 900:1\n"),
        "are of one kind: '0' (7)",
    ),
    ("samples", "negweights.csv", "a,b,label,w\n1,2,0,1\n2,1,1,-1\n3,1,1,2\n", (9, 3, 3)),
    (
        "samples",
        "when.csv",
        (
            "a,b,when,label\n1,0,1700000000,0\n0,1,1700000010,0\n1,1,170"
            "0000020,1\n2,0,1700000030,1\n"
        ),
        (9, 4, 3),
    ),
    (
        "samples",
        "iris6.csv",
        (
            "sepal,petal,species\n5.32,1.43,virginica\n8.76,4.79,setosa"
            "\n5.19,1.63,virginica\n8.17,4.97,setosa\n5.44,1.91,virginic"
            "a\n8.73,4.61,setosa\n"
        ),
        "no column of labels",
    ),
    ("points", "dup6.csv", "x,y\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n", (6, 2)),
    (
        "points",
        "dup_points.csv",
        (
            "x,y\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n1,1\n"
            "2,2\n1,1\n2,2\n1,1\n2,2\n1,1\n2,2\n"
        ),
        (20, 2),
    ),
    ("points", "gap.csv", "x,y\n1,\n2,3\nNA,4\n", "y is missing"),
    ("points", "idpoints_nohead.csv", "p1,0.5,1\np2,0.4,1.2\np3,5,5\np4,5.1,5.2\n", (4, 2)),
    ("points", "nohead.csv", "0,0\n0.1,10\n0.1,0\n0,10\n", (4, 2)),
    (
        "points",
        "seconds.csv",
        ("when\n1700000000\n1700000002\n1700000030\n1700000031\n1700000060\n1700000061\n"),
        (6, 1),
    ),
    ("points", "iris_nohead.csv", "5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,2.2,virginica\n", (3, 2)),
]


def sizes(kind, path):
    """Return the numbers of edges and of vertices of each type; points and their coordinates."""
    if kind == "points":
        wanted = [WantedField("x", np.dtype("f8"), 0)]
        return read_vertices(path, "point", wanted, points=True).fields["x"].shape
    if kind == "samples":
        edges = read_samples(path).edges
    elif kind == "ratings":
        edges = read_edges(path, ("user", "item"), {"rating": "f4"})
    else:
        edges = read_edges(path, ("page", "page"), {})
    return (len(edges), *map(len, edges.ids.values()))


@pytest.mark.parametrize(("kind", "name", "text", "expected"), CASES)
def test_a_file_is_read_right_or_refused(file, kind, name, text, expected):
    path = file(text, name)
    if isinstance(expected, tuple):
        assert sizes(kind, path) == expected
        return
    with pytest.raises(DataError) as error:
        sizes(kind, path)
    assert expected in error.value.what and "\n" not in error.value.what
