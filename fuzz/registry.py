"""All parsers by name."""

from __future__ import annotations

from pathlib import Path

from fuzz import binaries, folders, messages, rounds, tables, texts
from fuzz.parser import Parser

MODULES = (texts, tables, binaries, folders, messages, rounds)


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers by name; they write into `folder`, which is empty."""
    found: dict[str, Parser] = {}
    for module in MODULES:
        found |= module.parsers(folder)
    return found
