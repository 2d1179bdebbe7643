"""The parsers that are fuzzed: each with valid inputs, and with functions that damage these."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz import mutations

Make = Callable[[Random, Sequence[bytes]], bytes]


@dataclass(frozen=True)
class Parser:
    """`read` parses an input; it returns whatever it likes for those of `samples`, which are valid.

    `make` damages samples. Of the inputs asked for, a parser gets the `share`: less than all if
    one takes long.
    """

    samples: Sequence[bytes]
    read: Callable[[bytes], object]
    make: Make = mutations.damage_text
    share: float = 1.0

    def input(self, name: str, seed: int, number: int) -> bytes:
        """Make input `number` of the parser called `name`; the same in every process."""
        return self.make(Random(f"{seed} {name} {number}"), self.samples)


def choice(content: bytes, count: int, of: str = "") -> int:
    """Choose one of `count` ways to read an input, by its bytes alone; `of` names what is
    chosen.
    """
    return zlib.crc32(content, zlib.crc32(of.encode())) % count


def from_file(path: Path, read: Callable[[Path, bytes], object]) -> Callable[[bytes], object]:
    """Return a parser of bytes that writes them to a file for `read`, which gets the bytes too."""

    def of(content: bytes) -> object:
        with open(path, "wb", buffering=0) as file:
            file.write(content)
        return read(path, content)

    return of


def join_parts(parts: Iterable[bytes]) -> bytes:
    """Join byte strings to one, each after its length."""
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def split_parts(content: bytes) -> list[bytes]:
    """Split what `join_parts` has made into its byte strings; other bytes give whatever "
    "they give."""
    parts, at = [], 0
    while at < len(content):
        end = at + 4 + int.from_bytes(content[at : at + 4], "little")
        parts.append(content[at + 4 : end])
        at = end
    return parts


def room() -> Path | None:
    """Return a folder in memory to write inputs to, if the system has one."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and os.access(memory, os.W_OK) else None
