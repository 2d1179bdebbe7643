"""What one epoch's record holds: metrics, which a program names, and costs, which every program has."""

from __future__ import annotations

from typing import Any

COSTS = ("epoch", "clock", "seconds", "edges_per_second", "compute_s", "wait_s", "apply_s", "send_s", "bytes_sent", "max_staleness")


def metrics(record: dict[str, Any]) -> dict[str, float]:
    """The record's metrics by name."""
    return {name: value for name, value in record.items() if name not in COSTS}
