"""Vectors in the files of word2vec, which most tools that take word vectors read: text, and binary.

    text:    n d, then a line for each: id, d numbers, with one blank between
    binary:  the line n d, then for each: id, a blank, d little-endian float32, a newline

A blank or a newline ends an id there, so an id that has one cannot be written; it is an error,
since to replace the blank might make two ids one. (Mikolov et al.'s word2vec.c; gensim's
KeyedVectors.load_word2vec_format reads both.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.disk import replacing
from tux.base.errors import DataError

ROWS = 1 << 14  # written at a time


def write_text(path: str | os.PathLike[str], ids: np.ndarray, matrix: np.ndarray) -> None:
    """Write vectors `matrix` (n, d), as float32, of `ids` (n,) as text; read back, they are the
    same bits.

    Raises `DataError`, before anything is written, for an id that has a blank in it or is empty;
    `DiskError`.
    """
    words = _words(ids, matrix)
    row = " ".join(["%.9g"] * matrix.shape[1])
    with replacing(path) as part, open(part, "wb") as file:
        file.write(b"%d %d\n" % matrix.shape)
        for at, vectors in _pieces(matrix):
            lines = [
                f"{word} {row % tuple(vector)}\n"
                for word, vector in zip(words[at : at + ROWS], vectors.tolist(), strict=True)
            ]
            file.write("".join(lines).encode())


def write_binary(path: str | os.PathLike[str], ids: np.ndarray, matrix: np.ndarray) -> None:
    """Write vectors as `write_text` does, but in the binary form."""
    words = _words(ids, matrix)
    with replacing(path) as part, open(part, "wb") as file:
        file.write(b"%d %d\n" % matrix.shape)
        for at, vectors in _pieces(matrix):
            file.write(
                b"".join(
                    b"%b %b\n" % (word.encode(), vector.tobytes())
                    for word, vector in zip(words[at:], vectors, strict=False)
                )
            )


def export_arrays(ids: np.ndarray, matrix: np.ndarray) -> dict[str, np.ndarray]:
    """Return arrays by name for an export: `id` (n,), integers or text, and `vector` (n, d)."""
    _check(ids, matrix)
    plain = ids.dtype.kind in "iu"
    return {
        "id": ids if plain else np.array([str(word) for word in ids.tolist()], "U"),
        "vector": matrix,
    }


def _words(ids: np.ndarray, matrix: np.ndarray) -> list[str]:
    """Return the ids as text. Raises DataError for an id that the files cannot hold."""
    _check(ids, matrix)
    words = [str(word) for word in ids.tolist()]
    if ids.dtype.kind in "UT" or ids.dtype == STRING:
        for word in words:
            if not word or any(letter.isspace() for letter in word):
                raise DataError(
                    f"the id {word!r} has a blank in it or is empty, which files of word2vec "
                    "cannot hold",
                    do="Take npz, or the model's own Parquet file.",
                )
    return words


def _check(ids: np.ndarray, matrix: np.ndarray) -> None:
    if matrix.ndim != 2 or len(ids) != len(matrix):
        raise DataError(f"{len(ids):,} ids, but vectors of shape {matrix.shape}")


def _pieces(matrix: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for at in range(0, len(matrix), ROWS):
        yield at, np.ascontiguousarray(matrix[at : at + ROWS], "<f4")
