"""numpy's own files, .npy and .npz, without arrays of objects. A header is not trusted: the bytes
that it states must be there before memory is taken.
"""

from __future__ import annotations

import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from typing import IO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike

from tux.arrays.disk_columns import empty_column
from tux.arrays.packed import check_unpacked, head_of
from tux.arrays.pieced import ArrayPieces
from tux.arrays.piped import readable_path
from tux.base.disk import writing
from tux.base.errors import DataError

DENSEST = 1032  # deflate makes at most so many bytes of one
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
# The errors of zipfile about bytes that are no archive, or one that is packed in a way that it
# cannot read (RuntimeError).
DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
MOST_EMPTY = 1 << 20
"""Rows or columns that an array without a value may have."""

LAST = 0x10FFFF  # of the characters of Unicode
PIECE = 1 << 24  # bytes read at a time

MAGIC = b"\x93NUMPY"
LENGTHS = {b"\x01\x00": 2, b"\x02\x00": 4}  # bytes of the header's length, by the format's version
HEADER_SIZE = 1 << 12  # of any array that is read here
HEADER = re.compile(
    rb"\{'descr': '(?P<descr>[<>|=]?[b-zA-Z]\d{0,9})', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(\d{1,18}L?(, ?\d{1,18}L?)*,?)?)\),? ?\}\s*"
)
"""The header that numpy.save writes before arrays that are neither records nor objects. (The dtype
"a" is an old name, about which numpy warns.)
"""


def read_npy(path: str | os.PathLike[str], most: int = 1) -> np.ndarray:
    """Read the one array of a .npy file: numbers or strings of fixed length ("U", also if the file
    has bytes), of at most `most` dimensions. Raises `DataError` for any other, such as objects.
    """
    head_of(path, 1)  # raises if there is no such file
    with open(readable_path(path), "rb") as file:
        return _array(file, os.path.getsize(readable_path(path)), str(path), most)


def read_npy_rows(path: str | os.PathLike[str], begin: int, end: int) -> np.ndarray:
    """Read the rows from `begin` to `end`, exclusive, of an array of one dimension that `read_npy`
    can read. Raises its errors.
    """
    where = str(path)
    with open(readable_path(path), "rb") as file:
        shape, dtype, _ = _header(file, where)
        _check_size(shape, dtype, os.path.getsize(readable_path(path)) - file.tell(), where)
        file.seek(begin * dtype.itemsize, os.SEEK_CUR)
        array = np.fromfile(file, dtype, end - begin)
    return _decode_strings(array, where) if dtype.kind in "SU" else array


def read_npz(
    path: str | os.PathLike[str], names: Collection[str] | None, most: int = 1
) -> dict[str, np.ndarray]:
    """Read those of the arrays `names` (None: all) that a .npz file holds, each of at most `most`
    dimensions. Raises `DataError` if the file is damaged, or an array has not the size that its
    header states.
    """
    head_of(path, 1)
    try:
        with zipfile.ZipFile(readable_path(path)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            arrays = {}
            asked = members if names is None else sorted(members.keys() & set(names))
            size = os.path.getsize(readable_path(path))
            for name in asked:
                info = members[name]
                there = min(info.compress_size, size) * (
                    1 if info.compress_type == STORED else DENSEST
                )
                if info.compress_type not in (STORED, DEFLATED) or info.file_size > there:
                    raise DataError("no array can be packed so", where=f"{path}:{name}")
            check_unpacked(path, sum(members[name].file_size for name in asked), size)
            for name in asked:
                info = members[name]
                with archive.open(info) as file:
                    arrays[name] = _array(file, info.file_size, f"{path}:{name}", most)
            return arrays
    except DAMAGED as error:
        if not os.fspath(path).lower().endswith(".npz"):  # it may be packed text, too
            raise DataError(
                f"{path} is no readable zip file ({error})", do="Fetch or write the file again."
            ) from None
        raise DataError(
            f"{path} is no readable .npz file ({error})",
            do="Write it again, as numpy.savez or scipy.sparse.save_npz does.",
        ) from None


def read_npz_rows(
    path: str | os.PathLike[str], name: str, begin: int, end: int, length: int | None = None
) -> np.ndarray:
    """Read the rows from `begin` to `end`, exclusive, of an array of numbers of one dimension in a
    .npz file, and of this `length`, if it is given. What is packed before them is unpacked, and
    given up. Raises `DataError` for any other array, or if it is damaged there; and if these are
    the last rows, if it is damaged anywhere.
    """
    where = f"{path}:{name}"
    try:
        with zipfile.ZipFile(readable_path(path)) as archive, archive.open(f"{name}.npy") as file:
            shape, dtype, _ = _header(file, where)
            if dtype.kind not in "biuf" or len(shape) != 1 or not 0 <= begin <= end <= shape[0]:
                raise DataError(f"no rows {begin:,} to {end:,} of an array", where=where)
            if length is not None and length != shape[0]:
                raise DataError(f"{shape[0]:,} rows, not {length:,}", where=where)
            before, size = begin * dtype.itemsize, (end - begin) * dtype.itemsize
            if end < shape[0]:
                file.seek(before, os.SEEK_CUR)
            else:  # zipfile compares no checksum of a file in which it has jumped
                for at in range(0, before, PIECE):
                    file.read(min(PIECE, before - at))
            return np.frombuffer(file.read(size), dtype, end - begin)
    except (KeyError, *DAMAGED) as error:
        raise DataError(f"no readable array of numpy ({error})", where=where) from None


def write_npy(path: str | os.PathLike[str], array: ArrayLike) -> None:
    """Write one array (n, ...) of numbers as numpy.save does.

    Raises DiskError, which, unlike numpy's error, says what is wrong with the disk.
    """
    with writing(path), open(path, "wb") as file:
        for piece in npy_bytes(array):
            file.write(piece)


def npy_bytes(array: ArrayLike) -> Iterator[bytes | memoryview]:
    """Yield the bytes of a file of numpy with one array (n, ...) of numbers: its header, and its
    values.
    """
    whole = np.ascontiguousarray(array)
    yield _npy_header(whole)
    yield whole.data


def write_pieces(path: str | os.PathLike[str], row: ArrayPieces) -> None:
    """Write an array of numbers as numpy.save does, piece by piece. Raises DiskError."""
    header = _npy_header(np.broadcast_to(np.zeros((), row.dtype), row.shape))
    with writing(path), open(path, "wb") as file:
        file.write(header)
        for piece in row.pieces:
            file.write(np.ascontiguousarray(piece, row.dtype).data)


def write_npz(path: str | os.PathLike[str], arrays: Mapping[str, ArrayPieces]) -> None:
    """Write arrays of numbers as numpy.savez does, piece by piece. Raises DiskError."""
    with writing(path), zipfile.ZipFile(path, "w", STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(_npy_header(np.broadcast_to(np.zeros((), array.dtype), array.shape)))
                for piece in array.pieces:
                    file.write(np.ascontiguousarray(piece, array.dtype).tobytes())


def npy_pieces(path: str | os.PathLike[str], most: int = PIECE) -> ArrayPieces:
    """Read the array of numbers in a .npy file in pieces of at most `most` bytes, or of a row; only
    one is in memory at a time. Raises `DataError` as `map_npy` does.
    """
    whole = map_npy(path)
    step = max(1, most // (whole.itemsize * max(1, math.prod(whole.shape[1:]))))
    starts = range(0, max(len(whole), 1), step)
    # each piece is mapped alone, so that its memory is free before the next is looked at
    pieces = (np.array(map_npy(path)[lo : lo + step]) for lo in starts)
    return ArrayPieces(whole.dtype, len(whole), pieces, whole.shape[1:])


def _npy_header(array: np.ndarray) -> bytes:
    header = io.BytesIO()
    about = npy.header_data_from_array_1_0(array) | {"fortran_order": False}
    npy.write_array_header_1_0(header, about)
    return header.getvalue()


def map_npy(path: str | os.PathLike[str]) -> np.memmap:
    """Map the array of numbers in a .npy file, of any shape, into memory, not writable.

    Raises `DataError` for any other file, and if the file has another size than its header says.
    """
    where = os.fspath(path)
    try:
        with open(where, "rb") as file:
            shape, dtype, fortran = _header(file, where)
            offset, size = file.tell(), os.fstat(file.fileno()).st_size
    except OSError as error:
        raise DataError(f"no readable array of numpy ({error})", where=where) from None
    if dtype.kind not in "biufc":
        raise DataError(f"an array of {dtype} instead of numbers", where=where)
    if fortran:
        raise DataError("an array in Fortran's order is not read here", where=where)
    _check_size(shape, dtype, size - offset, where)
    return np.memmap(where, dtype, "r", offset, shape)


def _header(file: IO[bytes], where: str) -> tuple[tuple[int, ...], np.dtype, bool]:
    """Parse the header of an array whose file is open at its beginning. Returns its shape, its
    dtype, and True if it is stored column by column; `file` then stands at the first byte of the
    values.

    numpy's own reader is not used: it parses headers as Python code, and raises errors of Python's
    tokenizer.
    """
    magic = file.read(8)
    if magic[:6] != MAGIC:
        raise DataError("no readable array of numpy (it does not begin as one)", where=where)
    if magic[6:] not in LENGTHS:
        raise DataError(
            f"an array of version {magic[6]}.{magic[7]} of the format is not read here"
            if len(magic) == 8
            else "no readable array of numpy (it ends in its header)",
            where=where,
        )
    length = LENGTHS[magic[6:]]
    size = int.from_bytes(file.read(length), "little")
    text = file.read(size) if size <= HEADER_SIZE else b""
    header = HEADER.fullmatch(text)
    if header is None:
        raise DataError(
            "no readable array of numpy (its header is damaged, or it holds neither numbers nor "
            "strings)",
            where=where,
            do="Give a row of numbers, or of strings of fixed length.",
        )
    shape = tuple(int(digits) for digits in re.findall(rb"\d+", header["shape"]))
    try:
        dtype = np.dtype(header["descr"].decode())
    except TypeError:
        raise DataError(
            f"no readable array of numpy (there is no dtype {header['descr'].decode()!r})",
            where=where,
        ) from None
    return shape, dtype, header["fortran"] == b"True" and len(shape) > 1


def _check_size(shape: tuple[int, ...], dtype: np.dtype, there: int, where: str) -> None:
    """Raise `DataError` unless an array takes as many bytes as are there."""
    claimed = math.prod(shape) * dtype.itemsize
    if claimed != there:
        raise DataError(
            f"shape {shape} of {dtype} takes {claimed:,} bytes, but {there:,} follow",
            where=where,
            do="Is the file cut short?" if there < claimed else "Save the array anew.",
        )


def _array(file: IO[bytes], size: int, where: str, most: int) -> np.ndarray:
    """Read the array in an open file of `size` bytes, of at most `most` dimensions."""
    try:
        shape, dtype, fortran = _header(file, where)
        if dtype.kind not in "biufcSU" or len(shape) > most:
            raise DataError(
                f"an array of {dtype} of shape {shape} is not read here",
                where=where,
                do="Give a row of numbers, or of strings of fixed length.",
            )
        _check_size(shape, dtype, size - file.tell(), where)
        if not math.prod(shape) * dtype.itemsize and max(shape, default=0) > MOST_EMPTY:
            raise DataError(f"shape {shape} of {dtype} has no value", where=where)
        array = empty_column(shape[::-1] if fortran else shape, dtype)
        flat = array.reshape(-1).view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
        done = 0
        while piece := file.read(PIECE):  # to the very end, where a checksum is compared
            flat[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
    except DAMAGED as error:
        raise DataError(f"no readable array of numpy ({error})", where=where) from None
    if done != array.nbytes:
        raise DataError(
            f"{array.nbytes:,} bytes are announced, but there are {done:,}", where=where
        )
    array = np.ascontiguousarray(array.T) if fortran else array
    return _decode_strings(array, where) if dtype.kind in "SU" else array


def _decode_strings(array: np.ndarray, where: str) -> np.ndarray:
    """Convert strings of fixed length to the type "U"; strings of bytes must be UTF-8. Raises
    DataError for bytes or code points that are no text.
    """
    if array.dtype.kind == "S":
        try:
            return np.strings.decode(array, "utf-8")
        except UnicodeDecodeError:
            raise DataError("an array of bytes that are not UTF-8 text", where=where) from None
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    codes = native.reshape(-1).view(np.uint32) if native.nbytes else np.empty(0, np.uint32)
    if ((codes > LAST) | ((codes >= 0xD800) & (codes < 0xE000))).any():
        raise DataError("an array of strings that are no Unicode text", where=where)
    return native
