"""Advice on the number of workers, from the times of the first epochs. A pure function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

FIRST = 3
"""Epochs after which a run is judged: the first alone has the start of all workers in it."""


def advise_on_workers(records: Sequence[dict[str, Any]], workers: int) -> str | None:
    """Advise a user whose workers have waited and sent for longer than they have computed, in one
    line. Return None if they have not, or if this is not the epoch after which the advice is given.
    """
    if workers < 2 or len(records) != FIRST:
        return None
    mean = {
        what: 1e3 * sum(record[f"{what}_s"] for record in records) / FIRST
        for what in ("compute", "apply", "wait", "send")
    }
    computing, messages = mean["compute"] + mean["apply"], mean["wait"] + mean["send"]
    if messages <= computing:
        return None
    return (
        f"the {workers} workers spend more time on messages than on computing "
        f"({messages:.1f} ms and {computing:.1f} ms an epoch): fewer workers, larger blocks or "
        "more --slack may be faster; --threads uses the cores of one machine"
    )
