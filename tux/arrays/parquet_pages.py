"""The headers of a Parquet file's pages, which are read before Arrow believes them.

A page says how many bytes it has when it is unpacked, and a dictionary how many entries. Arrow
allocates as much, and unpacks as much, up to 2 GB a page, whatever the footer says of the column.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, NamedTuple

from tux.arrays.packed import ROOM
from tux.arrays.parquet_sizes import ColumnChunk

LOOKED_AT = (1 << 8, 1 << 12, 1 << 16, 1 << 20)
"""Bytes that are read of a header, more where they do not suffice: most have some 30."""

DEEPEST = 4
"""Structures in each other that a header may have; Parquet's have 3."""

UNREADABLE = "the header of a page cannot be read"


class PageHeader(NamedTuple):
    """A header of `length` bytes: those of its page as it lies in the file, and unpacked; and the
    entries of a dictionary, 0 of another page.
    """

    length: int
    packed: int
    unpacked: int
    entries: int


def check_pages(file: int, chunks: Iterable[ColumnChunk]) -> None:
    """Raise OSError if a page of these columns of a file claims more bytes than its column has by
    the footer, and more than any packed file may hold (`ROOM`); or a dictionary more entries than
    its bytes can hold; or if there are more pages than values.
    """
    for chunk in chunks:
        at, end = chunk.start, chunk.start + chunk.packed
        pages, most = 0, max(chunk.unpacked, ROOM)
        while at < end:
            header, pages = read_header(file, at), pages + 1
            if header.unpacked > most:
                raise OSError(
                    f"a page of {chunk.leaf} says that it has {header.unpacked:,} bytes, and its "
                    f"column {chunk.unpacked:,}"
                )
            if header.entries * chunk.least_entry > header.unpacked:
                raise OSError(
                    f"a dictionary of {chunk.leaf} says that it has {header.entries:,} entries in "
                    f"{header.unpacked:,} bytes"
                )
            if pages > chunk.values + 2:  # a dictionary, and one page of no values
                raise OSError(f"{chunk.leaf} has more pages than values")
            at += header.length + header.packed


def read_header(file: int, at: int) -> PageHeader:
    """Read the header that begins at a place of an opened file. OSError if it is none."""
    for size in LOOKED_AT:
        content = os.pread(file, size, at)
        try:
            fields, length = _read_struct(content, 0, DEEPEST)
        except IndexError:
            if len(content) < size:
                break
            continue
        packed, unpacked = fields.get(3, -1), fields.get(2, -1)
        dictionary = fields.get(7) or {}
        entries = dictionary.get(1, 0) if isinstance(dictionary, dict) else -1
        if not all(isinstance(n, int) and n >= 0 for n in (packed, unpacked, entries)):
            break
        return PageHeader(length, packed, unpacked, entries)
    raise OSError(UNREADABLE)


# Thrift's compact protocol: https://github.com/apache/thrift/blob/master/doc/specs


def _read_struct(content: bytes, at: int, deepest: int) -> tuple[dict[int, Any], int]:
    """Read the fields of a structure by their numbers, and the place behind it. IndexError where
    the content ends before; OSError for kinds that no header has.
    """
    if not deepest:
        raise OSError(UNREADABLE)
    fields, number = dict[int, Any](), 0
    while head := content[at]:
        step, kind, at = head >> 4, head & 15, at + 1
        if step:
            number += step
        else:
            number, at = _read_integer(content, at)
        match kind:
            case 1 | 2:  # true and false
                fields[number] = None
            case 3:
                at += 1
            case 4 | 5 | 6:
                fields[number], at = _read_integer(content, at)
            case 7:
                at += 8
            case 8:
                size, at = _read_varint(content, at)
                at += size
            case 12:
                fields[number], at = _read_struct(content, at, deepest - 1)
            case _:
                raise OSError(UNREADABLE)
    return fields, at + 1


def _read_integer(content: bytes, at: int) -> tuple[int, int]:
    """Read a number whose sign is its last bit, and the place behind it."""
    coded, at = _read_varint(content, at)
    return (coded >> 1) ^ -(coded & 1), at


def _read_varint(content: bytes, at: int) -> tuple[int, int]:
    """Read a number of 7 bits a byte, the last ones first, and the place behind it."""
    number = shift = 0
    while (byte := content[at]) >= 128:
        number |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if shift > 63:
            raise OSError(UNREADABLE)
    return number | byte << shift, at + 1
