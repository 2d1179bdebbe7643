"""Parsers of binary files: MATLAB's, numpy's, Parquet, and text that is packed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import numpy as np

from fuzz import mutations
from fuzz.parser import Parser, choice, from_file
from fuzz.texts import LINES, ONE, TWO, edges, points, skipping, vertices
from tux.arrays.arrow import read_parquet, write_parquet
from tux.arrays.npy import map_npy, read_npy
from tux.arrays.ragged import Lists
from tux.io.edges.mat import read_mat_labels
from tux.io.edges.read import read_edges
from tux.io.formats import detect
from tux.io.formats.format import Format
from tux.io.samples.label_files import read_sample_labels
from tux.io.samples.labels import numbers_of
from tux.io.samples.samples import read_samples
from tux.io.source import text

NPY = 128  # bytes before the numbers of an array
PARQUET_SHARE = 0.2
"""Share of the inputs that Parquet gets: most of a call is Arrow's own."""


# ---- MATLAB


def _element(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, len(data)) + data + b"\0" * (-len(data) % 8)


def _matrix(name: str, kind: int, sizes: Sequence[int], *parts: bytes) -> bytes:
    head = [
        _element(6, struct.pack("<II", kind, 9)),
        _element(5, np.array(sizes, "<i4").tobytes()),
        _element(1, name.encode()),
    ]
    return _element(14, b"".join([*head, *parts]))


def _mat(*elements: bytes) -> bytes:
    return (
        b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(elements)
    )


def _sparse(name: str) -> bytes:
    """Return a sparse matrix of 3 x 3."""
    row, bounds = np.array([0, 2, 1], "<i4"), np.array([0, 1, 2, 3], "<i4")
    values = np.array([0.5, 1, -2], "<f8")
    return _matrix(
        name,
        5,
        (3, 3),
        _element(5, row.tobytes()),
        _element(5, bounds.tobytes()),
        _element(9, values.tobytes()),
    )


def _dense(name: str) -> bytes:
    return _matrix(name, 6, (2, 3), _element(2, bytes([1, 0, 0, 1, 1, 0])))


def _pack_element(element: bytes) -> bytes:
    data = zlib.compress(element)
    return struct.pack("<II", 15, len(data)) + data


def _mats() -> tuple[bytes, ...]:
    network, group = _sparse("network"), _dense("group")
    return (
        _mat(network, group),
        _mat(_pack_element(network), _pack_element(group)),
        _mat(group, network),
    )


def _mat_input(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Make a file whose bytes are damaged, or whose matrices are, before they are packed."""
    if rng.random() < 0.6:
        return mutations.damage_binary(rng, samples)
    matrix = mutations.damage_binary(rng, (_sparse("network"), _dense("group")))
    return _mat(
        _pack_element(matrix), *(() if rng.random() < 0.5 else (_pack_element(_sparse("group")),))
    )


def _read_mat(path: Path, content: bytes) -> object:
    match choice(content, 3, "mat"):
        case 0:
            return read_mat_labels(path)
        case 1:
            name = "group" if choice(content, 2, "name") else None
            return read_edges(path, TWO, {}, columns=name, format=Format.MAT)
        case _:
            return read_edges(path, ONE, {"value": "f4"}, format=Format.MAT)


# ---- numpy


def _npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _npys() -> tuple[bytes, ...]:
    return (
        _npy(np.arange(5)),
        _npy(np.array([[0.5, 1], [2, 3]], "f4")),
        _npy(np.array(["a", "bc"])),
        _npy(np.asfortranarray(np.arange(6, dtype="u1").reshape(2, 3))),
        _npy(np.array([b"x", b"yz"])),
        _npy(np.array([True, False])),
    )


def _read_npy(path: Path, content: bytes) -> object:
    match choice(content, 4, "npy") if content not in _NPYS else 3:
        case 0:
            return map_npy(path)
        case 1:
            return numbers_of(read_sample_labels(path))
        case 2:
            return points(path, content)
        case _:
            return read_npy(path, most=2)


def _zip_members(members: Sequence[tuple[str, bytes]], kind: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, kind)
    return file.getvalue()


def _csr() -> dict[str, np.ndarray]:
    return {
        "indices": np.array([0, 2, 1], "i4"),
        "indptr": np.array([0, 2, 2, 3], "i4"),
        "format": np.array(b"csr"),
        "shape": np.array([3, 4]),
        "data": np.array([1.5, 2, -1], "f8"),
    }


def _coo() -> dict[str, np.ndarray]:
    return {
        "row": np.array([0, 2, 1], "i4"),
        "col": np.array([0, 3, 1], "i8"),
        "format": np.array("coo"),
        "shape": np.array([3, 4]),
        "data": np.array([True, True, False]),
    }


def _columns() -> dict[str, np.ndarray]:
    return {
        "id": np.array(["a", "b", "c"]),
        "age": np.array([1, 2, 3], "i2"),
        "group": np.array([b"u", b"v", b"u"]),
        "x": np.arange(6.0).reshape(3, 2),
    }


def _npz_input(archives: Sequence[dict[str, bytes]]) -> Callable[[Random, Sequence[bytes]], bytes]:
    """Return a maker of archives whose bytes are damaged, or whose arrays are, before they are
    packed.
    """

    def make(rng: Random, samples: Sequence[bytes]) -> bytes:
        if rng.random() < 0.5:
            return mutations.damage_binary(rng, samples)
        members = [(f"{name}.npy", content) for name, content in rng.choice(archives).items()]
        for _ in range(rng.choice((1, 1, 2))):
            at = rng.randrange(len(members))
            name, content = members[at]
            match rng.randrange(6):
                case 0:
                    members.pop(at)
                    if not members:
                        members = [(name, b"")]
                case 1:  # the array of another
                    members[at] = name, rng.choice(members)[1]
                case 2:
                    members[at] = name, rng.choice(_NPYS)
                case _:
                    inner = rng.random() < 0.7
                    damaged = (
                        mutations.change_behind(rng, content, NPY)
                        if inner
                        else mutations.damage_binary(rng, [content])
                    )
                    members[at] = name, damaged
        return _zip_members(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))

    return make


# ---- Parquet


def _parquet(path: Path, columns: dict[str, np.ndarray]) -> bytes:
    write_parquet(path, columns)
    content = path.read_bytes()
    path.unlink()
    return content


def _parquets(folder: Path) -> tuple[bytes, ...]:
    path = folder / "sample.parquet"
    strings = np.array(["a", "b", "a"], np.dtypes.StringDType())
    return (
        _parquet(path, {"user": np.array([1, 2, 3]), "item": strings, "value": np.arange(3.0)}),
        _parquet(path, {"id": strings, "x": np.arange(6, dtype="f4").reshape(3, 2)}),
        _parquet(path, {"id": np.array([5, 6, 7]), "age": np.array([1, 2, 3], "i2")}),
        _parquet(path, {"id": np.arange(2), "n": Lists(np.array([0, 2, 3]), np.arange(3))}),
        _parquet(path, {"label": np.array([0, 1, 0]), "a": np.arange(3.0), "b": strings}),
    )


def _read_parquet(valid: Sequence[bytes]) -> Callable[[Path, bytes], object]:
    def read(path: Path, content: bytes) -> object:
        match choice(content, 5, "parquet") if content not in valid else 0:
            case 0:
                return read_parquet(path)
            case 1:
                return read_edges(path, TWO, {"value": "f4"}, on_bad_row=skipping(content))
            case 2:
                return vertices(path, content)
            case 3:
                numeric = choice(content, 2, "numeric") == 0
                return read_samples(path, on_bad_row=skipping(content), numeric=numeric)
            case _:
                return read_edges(path, ONE, {}, on_bad_row=skipping(content))

    return read


# ---- packed text


def _zstd(content: bytes, kind: str = "zstd") -> bytes:
    import pyarrow as pa  # type: ignore[import-untyped]

    out = pa.BufferOutputStream()
    with pa.CompressedOutputStream(out, kind) as stream:
        stream.write(content)
    return bytes(out.getvalue().to_pybytes())


PACKINGS: tuple[Callable[[bytes], bytes], ...] = (
    lambda content: gzip.compress(content, 1, mtime=0),
    lambda content: bz2.compress(content, 1),
    lambda content: lzma.compress(content, preset=0),
    lambda content: _zip_members([("edges.csv", content)], zipfile.ZIP_DEFLATED),
    _zstd,
    lambda content: _zstd(content, "lz4"),
)


def _packed_input(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Make packed text whose bytes are damaged, or whose text is, before it is packed; perhaps
    twice.
    """
    if rng.random() < 0.7:
        return mutations.damage_binary(rng, samples)
    content = rng.choice(PACKINGS)(mutations.damage_text(rng, [LINES]))
    return rng.choice(PACKINGS)(content) if rng.random() < 0.1 else content


_NPYS = _npys()


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers of this file by name; they write into `folder`."""
    archives = [
        {name: _npy(array) for name, array in arrays.items()} for arrays in (_csr(), _coo())
    ]
    columns = [{name: _npy(array) for name, array in _columns().items()}]
    matrices, tables = (
        [
            _zip_members([(f"{name}.npy", content) for name, content in each.items()])
            for each in several
        ]
        for several in (archives, columns)
    )
    parquets = _parquets(folder)
    packed = [pack(LINES) for pack in PACKINGS]

    def read_packed(path: Path, content: bytes) -> object:
        # pyarrow never frees the room for a read that fails, so there is to be little
        before, text.BLOCK, detect.HEAD = (text.BLOCK, detect.HEAD), 1 << 16, 1 << 10
        try:
            return read_edges(path, TWO, {}) if content in packed else edges(path, content)
        finally:
            text.BLOCK, detect.HEAD = before

    def matrix(path: Path, content: bytes) -> object:
        needed = content not in matrices and choice(content, 2) == 0
        return read_samples(path, on_bad_row=skipping(content), require_labels=needed)

    def network(path: Path, content: bytes) -> object:
        ends = TWO if content in matrices or choice(content, 2, "ends") else ONE
        return read_edges(path, ends, {"value": "f4"})

    def table(path: Path, content: bytes) -> object:
        return vertices(path, content) if content not in tables else points(path, content)

    return {
        "mat": Parser(_mats(), from_file(folder / "input.mat", _read_mat), _mat_input),
        "npy": Parser(_NPYS, from_file(folder / "input.npy", _read_npy), mutations.damage_binary),
        "npz-samples": Parser(
            matrices, from_file(folder / "matrix.npz", matrix), _npz_input(archives)
        ),
        "npz-edges": Parser(
            matrices, from_file(folder / "edges.npz", network), _npz_input(archives)
        ),
        "npz-vertices": Parser(tables, from_file(folder / "table.npz", table), _npz_input(columns)),
        "parquet": Parser(
            parquets,
            from_file(folder / "input.parquet", _read_parquet(parquets)),
            mutations.damage_binary,
            PARQUET_SHARE,
        ),
        "packed": Parser(packed, from_file(folder / "input.csv", read_packed), _packed_input),
    }
