"""Partitioned graphs on disk: what is written comes back, mapped; what is damaged is told, and
nothing in it is ever run.
"""

import json
import os
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from support.examples import examples
from support.machines.team import cut_up, graphs

from tux.arrays.arrow import write_parquet
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.graph import store
from tux.graph.manifest import FORMAT, read_manifest

WORDS = ["ana", "ünï cödé", "7", "", "a,b\nc", "../../etc", "x" * 500]
ROUTES = ("up", "down", "peek_up", "peek_down")


@pytest.fixture
def folder(tmp_path):
    """Return a new folder in which two parts of a small graph are saved."""
    edges = EdgeData.of(
        ("user", "item"), [5, 5, -3, 2**62], ["a", "b", "b", "c"], {"value": np.arange(4.0)}
    )
    test = EdgeData.of(
        ("user", "item"), [5, 99], ["c", "zz"], {"value": np.arange(2.0)}, against=edges.ids
    )
    store.save(tmp_path, cut_up(edges, test, k=2), edges.ends)
    return tmp_path


def check_same_parts(found, part):
    """Assert that two parts are equal in all arrays with their dtypes, and in all else."""

    def equal(one, other):
        assert one.dtype == other.dtype and np.array_equal(one, other)

    for name in ("src", "dst", "test_src", "test_dst"):
        equal(getattr(found, name), getattr(part, name))
    for one, other in ((found.fields, part.fields), (found.test_fields, part.test_fields)):
        assert list(one) == list(other)
        for name in other:
            equal(one[name], other[name])
    for one, other in zip(found.degrees, part.degrees, strict=True):
        equal(one, other)
    assert list(found.types) == list(part.types)
    for mine, other in zip(found.types.values(), part.types.values(), strict=True):
        assert (mine.name, mine.vertices, mine.cut, mine.n_train) == (
            other.name,
            other.vertices,
            other.cut,
            other.n_train,
        )
        for name in ("rows", "masters", "order", "home", "number"):
            equal(getattr(mine, name), getattr(other, name))
        for name in ROUTES:
            for a, b in zip(getattr(mine, name), getattr(other, name), strict=True):
                equal(a, b)
        assert len(mine.ids) == len(other.ids)
        assert mine.ids == other.ids


def load_error(folder, *, part=0, words="", where=""):
    """Return the DataError of loading a part, which is one line and names the file."""
    with pytest.raises(DataError, match=words) as error:
        store.load(folder, part)
    assert where in error.value.where and "\n" not in error.value.what
    return error.value


# ---- there and back


@pytest.mark.slow
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(graphs())
def test_what_is_saved_comes_back(tmp_path, case):
    edges, test, assignment, k, seed = case
    parts = cut_up(edges, test, k=k, by=assignment, seed=seed)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    store.save(tmp_path, parts, edges.ends)
    manifest = read_manifest(tmp_path)
    assert (manifest.format, manifest.parts, manifest.ends) == (FORMAT, k, edges.ends)
    for number, part in enumerate(parts):
        check_same_parts(store.load(tmp_path, number), part)


def test_arrays_are_mapped_and_cannot_be_written(folder):
    part = store.load(folder, 0)
    big = [
        part.src,
        part.dst,
        part.fields["value"],
        part.types["user"].rows,
    ]
    assert all(isinstance(array, np.memmap) for array in big)
    with pytest.raises(ValueError, match="read-only"):
        part.src[:] = 0


@pytest.mark.parametrize(
    "values",
    [[3, -(2**63), 2**63 - 1, 0], WORDS, [2**63, 2**64 - 1], ["12", "012"]],
    ids=["integers", "strings", "huge", "zeros"],
)
def test_ids_come_back_exactly(tmp_path, values):
    edges = EdgeData.of(("page", "page"), values, list(reversed(values)), {})
    store.save(tmp_path, cut_up(edges, k=3), edges.ends)
    ids = store.load(tmp_path, 1).types["page"].ids
    assert len(ids) == len(edges.ids["page"])
    assert ids.values.dtype == edges.ids["page"].values.dtype
    assert ids.values.tolist() == edges.ids["page"].values.tolist()
    assert sorted(map(str, ids.values.tolist())) == sorted({str(value) for value in values})
    assert ids.decode(np.arange(len(ids))).tolist() == ids.values.tolist()


def test_ids_are_read_when_asked_for(folder):
    (folder / "user.ids.parquet").unlink()
    ids = store.load(folder, 0).types["user"].ids
    assert len(ids) == 4  # one of them held out
    with pytest.raises(DataError, match="user.ids.parquet"):
        ids.decode(np.zeros(1, int))


def test_parts_without_anything(tmp_path):
    nothing = EdgeData.of(("user", "item"), [], [], {"value": np.empty(0, "f4")})
    parts = cut_up(nothing, k=3, by=[])
    store.save(tmp_path, parts, nothing.ends)
    for number, part in enumerate(parts):
        check_same_parts(store.load(tmp_path, number), part)


def test_more_parts_than_edges(tmp_path):
    edges = EdgeData.of(("user", "item"), [1], ["a"], {"value": np.ones(1, "f4")})
    parts = cut_up(edges, k=5)
    store.save(tmp_path, parts, edges.ends)
    for number, part in enumerate(parts):
        check_same_parts(store.load(tmp_path, number), part)


@pytest.mark.parametrize("field", ["rows", "masters", "up", "down", "order"])
def test_names_that_files_of_the_format_have(tmp_path, field):
    """A type called `fields` with an edge field called `rows`, and the like, are as good as
    others.
    """
    ends = ("fields", "test_fields")
    edges = EdgeData.of(ends, [1, 1, 2], [1, 2, 2], {field: np.arange(3.0)})
    test = EdgeData.of(ends, [1, 3], [2, 3], {field: np.arange(5.0, 7.0)}, against=edges.ids)
    parts = cut_up(edges, test, k=2)
    store.save(tmp_path, parts, edges.ends)
    for number, part in enumerate(parts):
        check_same_parts(store.load(tmp_path, number), part)


# ---- what is damaged


def test_a_folder_without_manifest(folder):
    (folder / "manifest.json").unlink()
    load_error(folder, words="not a partitioned graph: .*No such file", where="manifest.json")
    load_error(folder / "nowhere", words="not a partitioned graph", where="nowhere")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"format": 2}', b"\xff\xfe", b"PK\x03\x04", b"[" * 100_000],
)
def test_a_damaged_manifest(folder, content):
    (folder / "manifest.json").write_bytes(content)
    load_error(folder, words="not a partitioned graph", where="manifest.json")


def test_a_manifest_cut_short_anywhere(folder):
    whole = (folder / "manifest.json").read_bytes()
    for length in range(len(whole)):
        (folder / "manifest.json").write_bytes(whole[:length])
        load_error(folder, words="not a partitioned graph", where="manifest.json")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("parts", "2"),
        ("ends", ["user"]),
        ("fields", [1]),
        ("types", [{}]),
        ("types", [{"name": "user", "ids": "4"}]),
        ("format", None),
    ],
)
def test_a_manifest_of_wrong_types(folder, name, wrong):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: wrong}))
    load_error(folder, words="not a partitioned graph", where="manifest.json")


@pytest.mark.parametrize("rest", [{}, {"parts": None, "shards": 3}])
def test_another_format(folder, rest):
    """Whatever else a later format has: its number is told, not what this version misses in it."""
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99} | rest))
    error = load_error(folder, words="format 2", where="manifest.json")
    assert f"format {FORMAT}" in error.do


@pytest.mark.parametrize("number", [2, 7, -1])
def test_a_part_that_is_not_there(folder, number):
    load_error(folder, part=number, words="part|array")


def test_any_array_missing(folder):
    arrays = [*folder.glob("*.npy"), *folder.glob("part-1/*.npy")]
    assert len(arrays) > 20
    for path in arrays:
        content = path.read_bytes()
        path.unlink()
        load_error(folder, part=1, words="array", where=str(path))
        path.write_bytes(content)
    store.load(folder, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\x76\x00{'descr': '<i4'",
        b"user,item\n1,2\n",
        b"PK\x03\x04" + bytes(100),
        bytes(1000),
    ],
    ids=["empty", "magic", "header", "text", "zip", "zeros"],
)
def test_a_file_that_is_no_array(folder, content):
    (folder / "part-0" / "src.npy").write_bytes(content)
    load_error(folder, words="array", where="src.npy")


def test_an_archive_of_arrays_is_no_array(folder):
    np.savez(folder / "more.npz", a=np.arange(3))
    os.replace(folder / "more.npz", folder / "part-0" / "src.npy")
    load_error(folder, words="array", where="src.npy")


def test_an_array_cut_short(folder):
    path = folder / "degrees.0.npy"
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        load_error(folder, words="array", where="degrees.0.npy")


def header(text):
    """Return a .npy file of which the header is this text, without a number behind it."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    "content",
    [
        header(b"{'descr': '<i4', 'fortran_order': False, 'shape': (1,), )"),
        header(b"("),
        header(b"{'descr': '<i4', 'fortran_order': False, 'shape': (" + b"(" * 5000),
        header(b"{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"),
        header(b"{'descr': '<q9', 'fortran_order': False, 'shape': (0,), }"),
        header(b"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (0,), }"),
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f",
        b"\x93NUMPY\x03\x00\x10\x00\x00\x00",
    ],
    ids=["bracket", "open", "deep", "huge", "dtype", "records", "length", "version"],
)
def test_a_damaged_header(folder, content):
    (folder / "part-0" / "src.npy").write_bytes(content)
    load_error(folder, words="array", where="src.npy")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("part-0/src", np.array(0, np.int32)),
        ("part-0/src", np.full(2, 1000, np.int32)),
        ("part-0/dst", np.full(2, -1, np.int32)),
        ("part-0/dst", np.zeros(1000, np.int32)),
        ("part-0/src", np.zeros(2, np.float32)),
        ("part-0/fields.value", np.zeros(1000)),
        ("part-0/fields.value", np.array(["a", "b"])),
        ("part-0/types.user.rows", np.full(3, 1000, np.int32)),
        ("part-0/types.item.up.bounds", np.array([0, 5, 2])),
        ("part-0/types.item.down", np.full(3, 1000, np.int32)),
        ("part-0/test_src", np.zeros((1, 1), np.int64)),
        ("user.order", np.zeros(1, np.int64)),
        ("degrees.1", np.zeros(1, np.int32)),
    ],
)
def test_arrays_that_do_not_belong_there(folder, name, values):
    """Compiled loops would read beside their arrays."""
    np.save(folder / f"{name}.npy", values)
    error = load_error(folder, words="damaged", where=f"{name}.npy")
    assert "run tux partition again" in error.do


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored | {"parts": -1},
        lambda stored: stored | {"parts": 10**12},
        lambda stored: stored | {"ends": ["user", "nobody"]},
        lambda stored: stored | {"fields": ["../../value"]},
        lambda stored: stored | {"types": [{**entry, "ids": -1} for entry in stored["types"]]},
        lambda stored: stored | {"types": [{**entry, "n_train": []} for entry in stored["types"]]},
        lambda stored: stored | {"types": [{**entry, "name": "user"} for entry in stored["types"]]},
    ],
)
def test_a_manifest_that_cannot_be(folder, change):
    path = folder / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    load_error(folder, words="damaged", where="manifest.json")


def test_a_manifest_that_is_not_utf_8(folder):
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"user"', b'"\xf5ser"'))
    load_error(folder, words="not a partitioned graph", where="manifest.json")


@pytest.mark.parametrize(
    "columns", [{"name": np.arange(3)}, {"id": np.zeros(3)}, {"id": np.arange(1000)}]
)
def test_ids_of_another_kind(folder, columns):
    write_parquet(folder / "user.ids.parquet", columns)
    with pytest.raises(DataError) as error:
        _ = store.load(folder, 0).types["user"].ids.values
    assert "user.ids.parquet" in error.value.where


class Trap:
    """Unpickling this would make a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_pickle_is_refused_and_not_run(folder, tmp_path):
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(sprung)], object)
    np.save(folder / "part-0" / "src.npy", trap)
    load_error(folder, words="array", where="src.npy")
    (folder / "part-0" / "src.npy").write_bytes(trap.dumps())  # a bare pickle
    load_error(folder, words="array", where="src.npy")
    assert not sprung.exists()


def test_ids_that_are_no_parquet(folder):
    (folder / "user.ids.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(DataError, match="user.ids.parquet"):
        _ = store.load(folder, 0).types["user"].ids.values
