"""The machine that a benchmark runs on, in words."""

from __future__ import annotations

import platform
from pathlib import Path

from tux.base.parallel import cores
from tux.base.text import plural


def machine() -> str:
    """Return the processor's name, and how many of its cores this process may use."""
    return f"{_processor()}, {plural(cores(), 'core')}"


def _processor() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.is_file() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())
