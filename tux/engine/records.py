"""What one epoch's record holds: metrics, which a program names, and costs, which every program
has.
"""

from __future__ import annotations

from typing import Any

COSTS = (
    "epoch",
    "clock",
    "seconds",
    "edges_per_second",
    "compute_s",
    "wait_s",
    "apply_s",
    "send_s",
    "bytes_sent",
    "bytes_dense",
    "max_staleness",
)


def metrics(record: dict[str, Any]) -> dict[str, float]:
    """The record's metrics by name."""
    return {
        name: value
        for name, value in record.items()
        if name not in COSTS and not name.startswith("bytes_sent_")
    }


def split(record: dict[str, Any]) -> dict[str, float]:
    """How an epoch's time went, in milliseconds by what, where there are several workers; and
    what travelled, in MB by vertex type.
    """
    sent = {
        name.removeprefix("bytes_sent_"): value
        for name, value in record.items()
        if name.startswith("bytes_sent_")
    }
    if not sent:
        return {}
    times = {
        f"{what} ms": 1e3 * record[f"{what}_s"] for what in ("compute", "wait", "apply", "send")
    }
    return times | {f"{name} MB": value / 1e6 for name, value in sent.items()}
