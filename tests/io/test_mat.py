"""MATLAB's files: graphs and labels out of bytes made by hand, by scipy, and by others; and of
damaged ones nothing but an error.
"""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from support.messages import message

from tux.base.errors import DataError
from tux.cli.main import main
from tux.io.edges.mat import read_mat_labels
from tux.io.edges.read import read_edges

ENDS = ("node", "node")
TYPES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 9}


def element(order, kind, data, small=False):
    if small and len(data) <= 4:
        return struct.pack(order + "I", len(data) << 16 | kind) + data.ljust(4, b"\0")
    return struct.pack(order + "II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def array(order, dtype, values, small=False):
    return element(order, TYPES[dtype], np.array(values, order + dtype).tobytes(), small)


def matrix(name, kind, sizes, *parts, order="<", flags=0, small=False):
    head = [
        array(order, "u4", [flags << 8 | kind, 9]),
        array(order, "i4", sizes),
        element(order, 1, name.encode(), small),
    ]
    return element(order, 14, b"".join([*head, *parts]))


def sparse(name, sizes, rows, bounds, values=None, order="<", dtype="f8", flags=0, small=False):
    parts = [array(order, "i4", rows, small), array(order, "i4", bounds, small)]
    parts += [] if values is None else [array(order, dtype, values, small)]
    return matrix(name, 5, sizes, *parts, order=order, flags=flags, small=small)


def compress_element(data, order="<"):
    data = zlib.compress(data)
    return struct.pack(order + "II", 15, len(data)) + data


def header(order="<", version=0x0100, text=b"MATLAB 5.0 MAT-file"):
    return text.ljust(124) + struct.pack(order + "H", version) + (b"IM" if order == "<" else b"MI")


def edge_list(edges):
    """Return pairs of ids in order, with values if there are any."""
    ids = edges.ids["node"].values
    return sorted(
        zip(
            ids[edges.src].tolist(),
            ids[edges.dst].tolist(),
            *(v.tolist() for v in edges.fields.values()),
            strict=True,
        )
    )


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(*parts, order="<", head=None):
        (tmp_path / "g.mat").write_bytes(
            b"".join([header(order) if head is None else head, *parts])
        )
        return "g.mat"

    return write


#  0 --2-- 1 --3--> 2 ==4      3
GRAPH = {"sizes": [4, 4], "rows": [1, 0, 1, 2], "bounds": [0, 1, 2, 4, 4], "values": [2, 2, 3, 4]}
EDGES = [(0, 1, 2), (1, 0, 2), (1, 2, 3), (2, 2, 4)]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("pack", [lambda data, order: data, compress_element])
@pytest.mark.parametrize("dtype", ["f8", "u1", "i2"])
def test_a_graph(file, order, pack, dtype):
    path = file(
        pack(sparse("network", **GRAPH, order=order, dtype=dtype, small=True), order), order=order
    )
    edges = read_edges(path, ENDS, {"value": "f4"})
    assert edge_list(edges) == EDGES and edges.fields["value"].dtype == np.float32
    assert edges.ids["node"].values.tolist() == [0, 1, 2, 3]
    assert edge_list(read_edges(path, ENDS, {})) == [edge[:2] for edge in EDGES]


def test_small_parts_and_spare_room(file):
    """An entry alone fits into the head of its element; and room for more entries than there are
    holds none.
    """
    assert edge_list(
        read_edges(
            file(sparse("network", [2, 2], [1], [0, 1, 1], [1], dtype="u1", small=True)), ENDS, {}
        )
    ) == [(1, 0)]
    assert edge_list(
        read_edges(file(sparse("network", [2, 2], [1, 0, 0], [0, 1, 1], [1, 0, 0])), ENDS, {})
    ) == [(1, 0)]


def test_a_pattern_is_of_ones(file):
    edges = read_edges(file(sparse("network", [2, 2], [1], [0, 1, 1])), ENDS, {"value": "f8"})
    assert edge_list(edges) == [(1, 0, 1.0)]


LABELS = {"sizes": [4, 2], "rows": [0, 2, 1], "bounds": [0, 2, 3], "values": [1, 1, 0]}
OTHERS = (
    element("<", 2, b"no matrix"),
    matrix("text", 4, [1, 3], element("<", 16, b"abc")),
    matrix("", 17, [9], element("<", 1, b"an object")),
    matrix("dense", 6, [2, 2], array("<", "f8", [0, 5, 0, 6])),
)


def test_among_others(file):
    one = sparse("a", **GRAPH)
    path = file(*OTHERS, compress_element(sparse("group", **LABELS)), compress_element(one))
    assert edge_list(read_edges(path, ENDS, {})) == [edge[:2] for edge in EDGES]
    found = [part.tolist() for part in read_mat_labels(path)[:2]]
    assert found == [[0, 2], [0, 0]]  # an entry that is 0 is none
    assert [part.tolist() for part in read_mat_labels(path, "dense")[:2]] == [[1, 1], [0, 1]]
    two = file(one, sparse("b", [2, 2], [1], [0, 1, 1]))
    with pytest.raises(
        DataError,
        match=r"several matrices.*\n.*a \(4 x 4, sparse\), b \(2 x 2, sparse\).*--columns",
    ):
        read_edges(two, ENDS, {})
    assert edge_list(read_edges(two, ENDS, {}, columns="b")) == [(1, 0)]
    assert edge_list(
        read_edges(file(one, sparse("network", [2, 2], [1], [0, 1, 1])), ENDS, {})
    ) == [(1, 0)]


def test_two_types(file):
    edges = read_edges(file(sparse("group", **LABELS)), ("user", "tag"), {"value": "f4"})
    assert (
        edges.src.tolist() == [0, 2, 1]
        and edges.dst.tolist() == [0, 0, 1]
        and edges.fields["value"].tolist() == [1, 1, 0]
    )
    assert [len(ids) for ids in edges.ids.values()] == [4, 2]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ([], "no square sparse matrix.*\n.*no matrix"),
        ([sparse("group", **LABELS)], r"no square sparse matrix.*\n.*group \(4 x 2, sparse\)"),
        ([sparse("network", [2, 2], [], [0, 0, 0], [])], "holds no edge"),
        ([sparse("network", **GRAPH, flags=8)], "complex"),
        ([sparse("network", **(GRAPH | {"values": [1, 2, np.nan, 1]}))], "not finite"),
        ([sparse("network", **(GRAPH | {"rows": [1, 0, 1, 4]}))], "outside of 4 rows"),
        ([sparse("network", **(GRAPH | {"rows": [1, 0, 1, -1]}))], "outside of 4 rows"),
        ([sparse("network", **(GRAPH | {"bounds": [0, 2, 1, 4, 4]}))], "bounds of 4 columns"),
        ([sparse("network", **(GRAPH | {"bounds": [0, 1, 2, 4, 5]}))], "bounds of 4 columns"),
        ([sparse("network", **(GRAPH | {"bounds": [0, 1, 2, 4]}))], "bounds of 4 columns"),
        ([sparse("network", **(GRAPH | {"values": [1, 2]}))], "2 values of 4 entries"),
        ([compress_element(sparse("network", **GRAPH))[:-9]], "byte 128"),
        ([compress_element(b"x" * 20)], "small element of 30,840 bytes"),
    ],
)
def test_what_is_no_graph(file, parts, words):
    with pytest.raises(DataError, match=words):
        read_edges(file(*parts), ENDS, {})


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "no MATLAB file of level 5"),
        (b"from to\n1 2\n", "no MATLAB file of level 5"),
        # of level 4
        (struct.pack("<5I", 0, 2, 2, 0, 2).ljust(200, b"\0"), "no MATLAB file of level 5"),
        (header(version=0x0200, text=b"MATLAB 7.3 MAT-file"), "version 7.3"),
        (header(">", version=0x0200), "version 7.3"),
    ],
)
def test_other_files(file, head, words):
    with pytest.raises(DataError, match=words) as error:
        read_edges(file(head=head), ENDS, {})
    assert "-v7" in error.value.do
    with pytest.raises(DataError, match=message("no-such-file")):
        read_edges("none.mat", ENDS, {})


def test_a_type_or_a_name_that_does_not_fit(file):
    path = file(sparse("group", **LABELS))
    with pytest.raises(DataError, match=message("of-is-no-square-sparse")):
        read_edges(path, ENDS, {}, columns="group")
    with pytest.raises(DataError, match=message("has-no-matrix", "'labels'")):
        read_mat_labels(path, "labels")
    with pytest.raises(DataError, match="a, b are needed"):
        read_edges(file(sparse("network", **GRAPH)), ENDS, {"a": "f4", "b": "f4"})


@pytest.mark.parametrize("pack", [bytes, compress_element])
def test_damage_is_told(file, pack):
    """Cut anywhere, or with any byte changed, a file is read or it is a DataError; and a packed
    one that is changed is never read.
    """
    whole = header() + pack(sparse("network", **GRAPH))
    for size in range(len(header()) + 1, len(whole)):
        with pytest.raises(DataError):
            read_edges(file(head=whole[:size]), ENDS, {})
    for at in range(124, len(whole)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(whole)
            changed[at] ^= flip
            try:
                edges = read_edges(file(head=bytes(changed)), ENDS, {"value": "f8"})
            except DataError:
                continue
            assert pack is bytes or edge_list(edges) == EDGES


@pytest.mark.parametrize("pack", [bytes, compress_element])
def test_sizes_are_not_believed(file, pack):
    """Neither a matrix said to be huge nor an element said to be long takes memory."""
    huge = 2**31 - 1
    lies = [
        sparse("network", [huge, huge], [1, 0], [0, 1, 2], [1, 1]),
        matrix("network", 5, [huge, huge], array("<", "i4", [0]), struct.pack("<II", 5, 2**32 - 8)),
        matrix("network", 5, [2, 2], struct.pack("<II", 5, 2**32 - 8)),
        sparse("network", [huge, 1], [7], [0, 1], [1]),
    ]
    for lie in lies:
        path = file(pack(lie))
        tracemalloc.start()
        with pytest.raises(DataError):
            read_edges(path, ("row", "column"), {})
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 16 << 20


@pytest.mark.parametrize("packing", [False, True])
def test_what_scipy_writes(tmp_path, packing):
    rng = np.random.default_rng(0)
    graph, group = (
        sp.random_array((50, 50), density=0.1, rng=rng, format="csr"),
        sp.random_array((50, 4), density=0.3, rng=rng) > 0,
    )
    path = tmp_path / "g.mat"
    scipy.io.savemat(
        path,
        {"group": group, "network": graph, "more": {"a": [1, 2], "b": "text"}},
        do_compression=packing,
    )
    there, back = graph.tocoo(), read_edges(path, ENDS, {"value": "f8"})
    assert edge_list(back) == sorted(
        zip(there.row.tolist(), there.col.tolist(), there.data.tolist(), strict=True)
    )
    rows, columns, _ = read_mat_labels(path)
    dense = np.zeros((50, 4), bool)
    dense[rows, columns] = True
    assert (dense == group.toarray()).all()


def test_commands(file, capsys):
    path = file(
        compress_element(sparse("network", **GRAPH)),
        compress_element(sparse("b", [3, 2], [2], [0, 1, 1], [1])),
    )
    assert main(["info", path]) == 0
    said = capsys.readouterr().out
    assert "edges            4" in said and "1 to 4" not in said and "2 to 4, mean 2.75" in said
    assert main(["partition", path, "--parts", "2", "--method", "random", "--out", "cut"]) == 0
    assert "a matrix of 4 x 4" in capsys.readouterr().out
    assert main(["partition", path, "--parts", "2", "--method", "random", "--columns", "b"]) == 0
    said = capsys.readouterr().out
    assert "a matrix of 3 x 2" in said and "3 sources and 2 targets" in said
    assert main(["info", "cut"]) == 0 and "with value" in capsys.readouterr().out


def test_blogcatalog(real_data):
    path = real_data / "labelled" / "blogcatalog.mat"
    edges = read_edges(path, ENDS, {})
    assert len(edges.ids["node"]) == 10_312 and len(edges) == 2 * 333_983 and edges.duplicates == 0
    assert (edges.src != edges.dst).all()
    rows, columns, _ = read_mat_labels(path)
    assert len(rows) == 14_476 and len(np.unique(columns)) == 39
