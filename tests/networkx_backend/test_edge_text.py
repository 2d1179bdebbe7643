"""Graphs from lines of text: those that networkx reads, also its errors."""

import gzip
import io

import networkx as nx
import numpy as np
import pytest
from support.networkx_cases.graphs import is_same

from tux.networkx_backend import edge_text
from tux.networkx_backend.edge_text import read_edgelist, read_weighted_edgelist

PLAIN = "# a comment\n1 2\n\n2 3\n 1\t 4 \n4 4\r\n-7 1\n1 2\n2 1"
TEXTS = {
    "plain": PLAIN,
    "one line": "1 2",
    "nothing": "",
    "other integers": "+1 2\n1_0 3\n007 0\n-0 5\n123456789012345678901 2\n2 3\n",
    "far apart": "1 1000000000000\n5 1\n-1000000000000 5\n",
    "one word": "1\n2 3\n4\n",
    "comments behind": "1 2 # 3\n2 3# 4\n#5 6\n",
    "rest": "1 2 3\n2 3\n",
    "a dict": "1 2 {'weight': 3}\n2 3 {'color': 'red'}\n3 4\n",
    "weights": "1 2 0.5\n2 3 1e400\n3 1 -2\n1 2 7\n",
    "decimals": "".join(
        f"1 {at} {word}\n"
        for at, word in enumerate(
            "0.1 -.5 5. 007.50 -0 12345678901234567 0.30000000000000004 1e3 inf 1_0.5 +1".split()
        )
    ),
    "no decimals": "1 2 0.5\n2 3 1.2.3\n",
    "a point": "1 2 .\n",
    "letters behind": "1 2 \u00e9\n2 3 x 4\r\n3 4 5\n",
    "no integers": "a b\n1 c\nb 1.5\n",
    "other blanks": "1\x0b2\n3\xa04\n",
    "minus": "-\n- 1\n1 -\n",
}
WAYS = (
    {},
    {"nodetype": int},
    {"nodetype": float},
    {"nodetype": int, "data": False, "create_using": nx.DiGraph},
    {"nodetype": int, "data": [("weight", float)]},
    {"nodetype": int, "data": [("weight", int)], "create_using": nx.DiGraph},
    {"nodetype": int, "data": [("name", str)]},
    {"nodetype": int, "data": False, "encoding": "ascii"},
    {"nodetype": int, "data": [("w", float)], "comments": "."},
    {"nodetype": int, "data": [("w", float)], "delimiter": ","},
    {"nodetype": int, "data": False, "delimiter": ",", "comments": ","},
    {"data": [("a", float), ("a", int)]},
    {"nodetype": int, "comments": None},
    {"nodetype": int, "comments": "2"},
    {"nodetype": int, "comments": ""},
    {"nodetype": lambda word: None},
    {"nodetype": int, "encoding": "latin-1"},
    {"nodetype": int, "encoding": "utf-16"},
    *({"nodetype": int, "delimiter": sign} for sign in (" ", ",", "\t", "ab")),
)


def check(call, expected_call):
    """Assert that a call gives the graph, or raises the error, of a call of networkx."""
    try:
        expected = expected_call()
    except Exception as error:  # each kind is compared
        with pytest.raises(type(error)) as told:
            call()
        assert str(told.value) == str(error)
        return
    assert is_same(call(), expected)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    text = TEXTS[name].encode()
    for sign in (b" ", b",", b"\t"):
        given = text.replace(b" ", sign)
        for way in WAYS:
            check(
                lambda given=given, way=way: read_edgelist(io.BytesIO(given), **way),
                lambda given=given, way=way: nx.read_edgelist(io.BytesIO(given), **way),
            )


def test_lines_of_random_integers(monkeypatch):
    monkeypatch.setattr(edge_text, "BYTES_AT_ONCE", 100)
    pairs = np.random.default_rng(1).integers(-50, 50, (300, 2)).tolist()
    text = "".join(f"{u} {v}\n" for u, v in pairs).encode()
    for way in ({}, {"nodetype": int}, {"nodetype": int, "create_using": nx.DiGraph}):
        check(
            lambda way=way: read_edgelist(io.BytesIO(text), **way),
            lambda way=way: nx.read_edgelist(io.BytesIO(text), **way),
        )


def test_plain_lines_are_read_by_the_compiled_loop(monkeypatch):
    added = []
    monkeypatch.setattr(edge_text.EdgeText, "add_line", lambda self, line: added.append(line))
    made = read_edgelist(io.BytesIO(PLAIN.encode()), nodetype=int)
    assert added == ["# a comment\n", "\n"] and list(made) == [1, 2, 3, 4, -7]
    added.clear()
    made = read_weighted_edgelist(io.BytesIO(b"1 2 0.3\n2 1 4\n1 3 1e3\n"), nodetype=int)
    assert added == ["1 3 1e3\n"] and made.columns["weight"].tolist() == [4.0, 4.0]
    made = read_edgelist(io.BytesIO(b"1 2 0.3 x\n2 1\n"), nodetype=int, data=False)
    assert len(added) == 1 and list(made) == [1, 2]


def test_files_lines_and_handles(tmp_path):
    text = PLAIN.encode()
    (tmp_path / "a.txt").write_bytes(text)
    with gzip.open(tmp_path / "a.txt.gz", "wb") as file:
        file.write(text)
    for name in ("a.txt", "a.txt.gz"):
        check(
            lambda name=name: read_edgelist(tmp_path / name, nodetype=int),
            lambda name=name: nx.read_edgelist(tmp_path / name, nodetype=int),
        )
    expected = nx.read_edgelist(tmp_path / "a.txt", nodetype=int)
    lines = text.splitlines(keepends=True)
    assert is_same(read_edgelist(iter(lines), nodetype=int), expected)
    with open(tmp_path / "a.txt", encoding="utf-8") as file:
        assert is_same(read_edgelist(file, nodetype=int), expected)
    with open(tmp_path / "a.txt", "rb") as file:  # which begins in the middle
        file.readline()
        assert is_same(read_edgelist(file, nodetype=int), expected)


def test_weighted_lists():
    for text in (b"a b 1\na c 3.5\nb a 2\n", b"a b\n", b"a b x\n"):
        for kind in (nx.Graph, nx.DiGraph):
            check(
                lambda text=text, kind=kind: read_weighted_edgelist(
                    io.BytesIO(text), create_using=kind
                ),
                lambda text=text, kind=kind: nx.read_weighted_edgelist(
                    io.BytesIO(text), create_using=kind
                ),
            )
