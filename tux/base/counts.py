"""Counts by name."""

from __future__ import annotations

from collections.abc import Mapping


def add_counts(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """Add two counts by name."""
    return {name: first.get(name, 0) + second.get(name, 0) for name in {**first, **second}}
