"""Words of stages that have other names since tux 0.2."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tux.base.errors import ProgramError

FORMER = {
    "split": "additive=True, or shares=8 for a number of shares",
    "lanes": "stale_context=True",
    "once": "ForEach(TYPE, f, once=True)",
}
"""The words of 0.2, and what is written instead."""


def refuse_former_words(stage: str, words: Mapping[str, Any]) -> None:
    """Raise ProgramError for a keyword that a stage does not have."""
    for word in words:
        what = f"{stage} has {word}={words[word]!r}, "
        if word in FORMER:
            raise ProgramError(f"{what}a word of tux 0.2", do=f"write {FORMER[word]}")
        raise ProgramError(f"{what}which it does not know", do="see docs/program.md")
