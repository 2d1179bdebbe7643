"""numpy's own files, .npy and .npz, without objects and without belief: what a header claims
must be there before memory is taken.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from collections.abc import Collection
from typing import IO

import numpy as np
from numpy.lib import format as npy

from tux.arrays.arrow import is_parquet
from tux.arrays.piped import readable
from tux.base.disk import writing
from tux.base.errors import DataError

DENSEST = 1032  # deflate makes at most so many bytes of one
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
# What zipfile raises about bytes that are no archive, or one packed in a way it cannot read
# (RuntimeError).
DAMAGED = (OSError, EOFError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error)
PIECE = 1 << 24  # bytes read at a time


def read_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """The one array of a .npy file: a row of numbers or of strings of fixed length. Raises
    `DataError` for any other, such as objects.
    """
    is_parquet(path)  # raises if there is no such file
    with open(readable(path), "rb") as file:
        return _array(file, os.path.getsize(readable(path)), str(path))


def read_npz(path: str | os.PathLike[str], names: Collection[str]) -> dict[str, np.ndarray]:
    """Those of the named arrays that a .npz file holds. Raises `DataError` if it is damaged, or
    an array cannot be as it is announced.
    """
    is_parquet(path)
    try:
        with zipfile.ZipFile(readable(path)) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            found = {}
            for name in sorted(members.keys() & set(names)):
                info, where = members[name], f"{path}:{name}"
                there = min(info.compress_size, os.path.getsize(readable(path))) * (
                    1 if info.compress_type == STORED else DENSEST
                )
                if info.compress_type not in (STORED, DEFLATED) or info.file_size > there:
                    raise DataError("no array can be packed so", where=where)
                with archive.open(info) as file:
                    found[name] = _array(file, info.file_size, where)
            return found
    except DAMAGED as error:
        raise DataError(
            f"{path} is no readable .npz file ({error})",
            do="Write it again, as scipy.sparse.save_npz does.",
        ) from None


def write_npy(path: str | os.PathLike[str], array: np.ndarray) -> None:
    """Write one array (n, ...) of numbers as numpy.save does.

    Raises DiskError, which, unlike numpy's error, says what is wrong with the disk.
    """
    whole = np.ascontiguousarray(array)
    with writing(path), open(path, "wb") as file:
        npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(whole))
        file.write(whole.data)


def _array(file: IO[bytes], size: int, where: str) -> np.ndarray:
    """The array in an open file of `size` bytes."""
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise DataError(
                f"an array of version {version[0]}.{version[1]} of the format is not read here",
                where=where,
            )
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file)
        if dtype.hasobject or dtype.kind not in "biufcSU" or len(shape) > 1:
            told = f"an array of {dtype} of shape {shape} is not read here"
            raise DataError(
                told, where=where, do="Give a row of numbers, or of strings of fixed length."
            )
        claimed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
        if claimed != there:
            raise DataError(
                f"shape {shape} of {dtype} takes {claimed:,} bytes, but {there:,} follow",
                where=where,
            )
        array = np.empty(shape, dtype)
        flat = array.reshape(-1).view(np.uint8) if claimed else np.empty(0, np.uint8)
        done = 0
        while piece := file.read(PIECE):  # to the very end, where a checksum is compared
            flat[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
            done += len(piece)
    except DAMAGED as error:
        raise DataError(f"no readable array of numpy ({error})", where=where) from None
    if done != claimed:
        raise DataError(f"{claimed:,} bytes are announced, but there are {done:,}", where=where)
    return array
