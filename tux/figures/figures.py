"""Figures, and the files that they become: .png, .svg or .pdf.

No other file imports matplotlib, which is installed by the extra `plot`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tux.base import disk
from tux.base.errors import UsageError

ENDINGS = (".png", ".svg", ".pdf")


def check(path: str | os.PathLike[str]) -> None:
    """Raise UsageError if no picture can be made, as matplotlib is missing, or the name has another
    ending than .png, .svg or .pdf.
    """
    if Path(path).suffix.lower() not in ENDINGS:
        raise UsageError(
            f"{path}: no kind of picture",
            do=f"end the name with {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}",
        )
    if find_spec("matplotlib") is None:
        raise UsageError(
            "matplotlib, which draws the plots, is not installed",
            do="pip install 'tux[plot]', or pip install matplotlib",
        )


def figure(wide: float, high: float) -> Any:
    """Make an empty figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(wide, high), layout="constrained")


def save(path: str | os.PathLike[str], drawn: Callable[[], Any]) -> None:
    """Write the figure that `drawn` makes to a file, which appears whole.

    Raises UsageError as `check` does, `DiskError` if the file cannot be written.
    """
    check(path)
    import matplotlib

    with matplotlib.rc_context(
        {"svg.hashsalt": "tux", "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold"}
    ):
        made = drawn()
        with disk.replacing(path) as part, open(part, "wb") as out:
            suffix = Path(path).suffix.lower().removeprefix(".")
            made.savefig(
                out, format=suffix, dpi=150, metadata={"Date": None} if suffix == "svg" else None
            )
