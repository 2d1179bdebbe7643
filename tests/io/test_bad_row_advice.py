"""Messages advise to leave bad rows out, but not where the file seems to be of another kind."""

import numpy as np
import pytest

from tux.base.errors import DataError
from tux.io.edges.read import read_edges
from tux.io.samples.samples import read_samples
from tux.io.source.text import ADJACENT, ADVICE
from tux.io.vertices.columns import WantedField
from tux.io.vertices.table import read_vertices

F4 = np.dtype("f4")
GOOD = "".join(f"{at},{at + 1},{at}.5\n" for at in range(30))
SVM = "".join(f"{at % 2} 1:{at} 2:1 3:1 4:2\n" for at in range(30))


def edges(path):
    """Read edges with a number."""
    return read_edges(path, ("user", "item"), {"value": "f4"})


def links(path):
    """Read edges without a number."""
    return read_edges(path, ("v", "v"), {})


def advice(path, content, read=edges):
    """Return the advice of the error that reading a file raises."""
    path.write_text(content)
    with pytest.raises(DataError) as caught:
        read(path)
    return caught.value.do


@pytest.mark.parametrize(
    ("content", "read"),
    [
        (GOOD + "1,2\n", edges),
        (GOOD + "1,2,x\n" * 2 + GOOD, edges),
        ("user,item,value\n1,2,x\n" + GOOD, edges),
        ("1,2,3\n2,3,\n3,4,5\n", edges),
        ("1,2,3\n2,3,nan\n3,4,nan\n", edges),  # of numbers, as the good row before
        (GOOD.replace(",", "\t") + "1\tx\tx\n", edges),
        ("# c\n\n" + GOOD + "9\n" * 3, edges),
        (SVM + "1 x\n", read_samples),
        (SVM[:200] + "\n" + SVM.replace("2:1", "2:a", 1), read_samples),
        (GOOD * 100 + "1,2,x\n" * 200, edges),
        ("y,a\n1,2\n0,inf\n1,3\n", read_samples),
        ("id,x\n1,2\n2,nan\n", lambda path: read_vertices(path, "v", [WantedField("x", F4)])),
    ],
)
def test_one_of_many_rows_may_be_left_out(tmp_path, content, read):
    assert advice(tmp_path / "data.txt", content, read) == ADVICE


@pytest.mark.parametrize(
    ("content", "read", "why"),
    [
        ("1,2,x\n" + GOOD, edges, "its first row is bad"),
        ("# c\n\n1,2,x\n" + GOOD, edges, "its first row is bad"),
        ("alpha beta\n" * 3 + "x\n" * 2, links, "many"),
        ("node 1\nid 2\n]\nnode 3\nid 4\n]\n" * 3, links, "many"),
        ("1,2\n" * 9 + "1,2,3,4\n" * 8, links, "many"),
        ("key value\n=\nkey value\n=\n", links, "many"),
        ("u,i,r\n1,2,good\n2,3,bad\n3,4,ugly\n1,2,3\n1,2,3\n1,2,3\n", edges, "many"),
        ("user,item,rating\n1,2,good\n2,3,bad\n3,4,good\n", edges, "many"),
        ("1 qid\n" + SVM, read_samples, "its first row is bad"),
        ("x,y\n,2\n,3\n,4\n", read_samples, ""),
        (
            "id,x\n1,a\n2,b\n3,c\n",
            lambda path: read_vertices(path, "v", [WantedField("x", F4)]),
            "",
        ),
    ],
)
def test_a_file_of_another_kind_is_not_cut(tmp_path, content, read, why):
    do = advice(tmp_path / "data.txt", content, read)
    assert "skip" not in do and why in do


@pytest.mark.parametrize(
    "content",
    [
        "1 2 3 4\n2 3 5\n3 4 6\n4 5 1\n5 1 6\n6 2 3\n",
        "1 2 3 4\n2 3\n3 4\n4 5\n5 1\n",
        "0 1 2\n1 0\n2 0\n3 4\n4 3\n",
        "10\t20\t30\n20\t10\n30\t10\n",
        "# c\n1 2 3\n2 1\n3 1\n",
    ],
)
def test_an_adjacency_list_by_another_name(tmp_path, content):
    do = advice(tmp_path / "data.txt", content, links)
    assert "skip" not in do and do.endswith(ADJACENT)
    path = tmp_path / "data.adjlist"
    path.write_text(content)
    assert len(links(path)) > 3


def test_the_first_row_of_another_file(folder):
    path = folder({"1.csv": GOOD, "2.csv": "a;b\nc;d\n"})
    with pytest.raises(DataError) as caught:
        edges(path)
    assert caught.value.where.endswith("2.csv:1") and "another kind" in caught.value.do
