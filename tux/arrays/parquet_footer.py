"""A checksum of the footer of the Parquet files that tux writes.

Pages of Parquet have checksums, and the footer, which names columns, their types and the places of
their pages, has none: of its bits, one of 30 can change so that a column gets another name or
type without a word. So a mark and the digest of the footer stand before it. Other readers do not
look there, as they find the footer by its length, and pages by their places.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path

MARK = b"footer: "
DIGEST = 16
"""Bytes of the digest: BLAKE2b of the footer and of all behind it."""

TAIL = 8
"""Bytes behind the footer: its length, and Parquet's mark."""


def seal_footer(path: Path) -> None:
    """Write the digest of the footer into a Parquet file. Raises OSError."""
    with open(path, "r+b") as file:
        start = _footer_start(file.seek(-TAIL, os.SEEK_END), file.read(TAIL))
        file.seek(start)
        footer = file.read()
        file.seek(start)
        file.write(MARK + _digest(footer) + footer)


def check_footer(path: str) -> None:
    """Compare the footer of a Parquet file with its digest, if it has one. Raises OSError if it is
    another.
    """
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < TAIL:
            return
        file.seek(size - TAIL)
        start = _footer_start(size - TAIL, file.read(TAIL)) - len(MARK) - DIGEST
        if start < 0:
            return
        file.seek(start)
        mark, digest, footer = file.read(len(MARK)), file.read(DIGEST), file.read()
    if mark == MARK and digest != _digest(footer):
        raise OSError("the checksum of its footer is another")


def _footer_start(end: int, tail: bytes) -> int:
    """Return where a footer begins that ends at `end`, where the `tail` begins."""
    return end - int.from_bytes(tail[:4], "little")


def _digest(footer: bytes) -> bytes:
    return blake2b(footer, digest_size=DIGEST).digest()
