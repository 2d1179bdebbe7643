"""All scenarios by name, in the order of the table."""

from __future__ import annotations

from faults import (
    damage,
    disks,
    endings,
    engines,
    kills,
    launchers,
    machines,
    messages,
    real,
    workers,
    written,
)
from faults.scenario import Scenario

MODULES = (
    workers,
    real,
    launchers,
    endings,
    kills,
    machines,
    messages,
    disks,
    damage,
    written,
    engines,
)


def scenarios() -> dict[str, Scenario]:
    """Return all scenarios by name."""
    return {each.name: each for module in MODULES for each in module.scenarios()}
