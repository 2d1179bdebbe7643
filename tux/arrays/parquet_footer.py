"""A checksum of the footer of the Parquet files that tux writes, and the set of files to which one
belongs.

Pages of Parquet have checksums, and the footer, which names columns, their types and the places of
their pages, has none: of its bits, one of 30 can change so that a column gets another name or
type without a word. So a mark and the digest of the footer stand before it. Files that are of use
only together, as those of a model, have the digest of all of them before that. Other readers do not
look there, as they find the footer by its length, and pages by their places.
"""

from __future__ import annotations

import os
import re
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO

MARK = b"footer: "
DIGEST = 16
"""Bytes of the digest: BLAKE2b of the digest of the set, with its mark, of the footer and of all
behind it.
"""

SET_MARK = b"of set: "
SET_DIGEST = 32
"""Bytes of the digest of a set of files."""

SEALS = re.compile(rb"(%s.{%d})?%s(.{%d})\Z" % (SET_MARK, SET_DIGEST, MARK, DIGEST), re.DOTALL)
SEALS_BYTES = len(SET_MARK) + SET_DIGEST + len(MARK) + DIGEST

TAIL = 8
"""Bytes behind the footer: its length, and Parquet's mark."""


def seal_footer(path: Path) -> None:
    """Write the digest of the footer into a Parquet file. Raises OSError."""
    with open(path, "r+b") as file:
        start, _, _ = _find_footer(file)
        _write_end(file, start, b"", start)


def seal_set(path: Path, digest: str) -> None:
    """Write the digest of the set to which a Parquet file with a sealed footer belongs, 64 digits,
    into the file. Raises OSError.
    """
    with open(path, "r+b") as file:
        start, before, own = _find_footer(file)
        _write_end(file, start, SET_MARK + bytes.fromhex(digest), start - len(before + own))


def set_of(path: str | os.PathLike[str]) -> str:
    """Return the digest of the set to which a Parquet file belongs; "" if it names none. Raises
    OSError.
    """
    with open(path, "rb") as file:
        _, before, _ = _find_footer(file)
    return before[len(SET_MARK) :].hex()


def check_footer(path: str) -> None:
    """Compare the footer of a Parquet file with its digest, if it has one. Raises OSError if it is
    another.
    """
    with open(path, "rb") as file:
        start, before, own = _find_footer(file)
        if own and own != _seal(before, file, start):
            raise OSError("the checksum of its footer is another")


def _find_footer(file: BinaryIO) -> tuple[int, bytes, bytes]:
    """Return where the footer of a file begins, and the digests before it, each with its mark: of
    the set, and of the footer; b"" if there is none.
    """
    end = max(file.seek(0, os.SEEK_END) - TAIL, 0)
    file.seek(end)
    start = max(end - int.from_bytes(file.read(TAIL)[:4], "little"), 0)
    file.seek(max(start - SEALS_BYTES, 0))
    found = SEALS.search(file.read(min(start, SEALS_BYTES)))
    return (start, found[1] or b"", MARK + found[2]) if found else (start, b"", b"")


def _write_end(file: BinaryIO, start: int, before: bytes, to: int) -> None:
    """Write the footer that begins at `start`, with its digests before it, to another place."""
    seal = _seal(before, file, start)
    file.seek(start)
    footer = file.read()
    file.seek(to)
    file.write(before + seal + footer)


def _seal(before: bytes, file: BinaryIO, start: int) -> bytes:
    """Return the digest of a footer, with its mark, behind the digest of a set."""
    file.seek(start)
    return MARK + blake2b(before + file.read(), digest_size=DIGEST).digest()
