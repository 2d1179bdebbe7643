"""Processors and memory that the control groups of this process, of either version, allow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
CORE_FILES = "cpu.cfs_quota_us", "cpu.cfs_period_us"
LIMITS = {
    "memory.max": ("memory.current", ""),
    "memory.high": ("memory.current", ""),
    "memory.limit_in_bytes": ("memory.usage_in_bytes", "total_"),
}
"""Files of limits of memory, of both versions; of each the file of what is used, and what stands
before the names in `memory.stat`.
"""

PAGES = "inactive_file", "active_file"
"""Pages that the system gives back when memory is needed, in `memory.stat`."""


def own_groups() -> str:
    """Return the groups of this process, as /proc/self/cgroup shows them; "" where there are
    none.
    """
    try:
        return Path("/proc/self/cgroup").read_text(encoding="utf-8")
    except OSError:
        return ""


def core_quota(groups: str, root: Path = ROOT) -> float:
    """Return the number of cores that control groups have time for; infinite without a limit.

    `groups`: a process's groups, as `own_groups` returns them; their files are below `root`.
    """
    return min(map(_quota, _folders(groups, root, "cpu")), default=float("inf"))


def memory_left(groups: str, root: Path = ROOT) -> float:
    """Return the bytes of memory that control groups leave, as `core_quota` does. Pages of files
    that the system may give back count as free.
    """
    return min(map(_count_left, _folders(groups, root, "memory")), default=float("inf"))


def _folders(groups: str, root: Path, kind: str) -> Iterator[Path]:
    """Yield the folders of the groups that limit one kind of resources: that of the process, and
    those around it, as a group has no more than those that it is in.
    """
    for line in groups.splitlines():
        kinds, path = line.split(":", 2)[1:]
        if kinds and kind not in kinds.split(","):
            continue
        own = Path(path.lstrip("/"))
        for group in (own, *own.parents):
            yield (root / kind if kinds else root) / group


def _quota(group: Path) -> float:
    """Return the number of cores that the files of one control group give it."""
    try:
        if (both := group / "cpu.max").exists():
            quota, period = both.read_text(encoding="utf-8").split()
        else:
            quota, period = (
                (group / name).read_text(encoding="utf-8").strip() for name in CORE_FILES
            )
        return int(quota) / int(period) if int(quota) > 0 else float("inf")
    except (OSError, ValueError, ZeroDivisionError):  # no such files, or "max"
        return float("inf")


def _count_left(group: Path) -> float:
    """Return the bytes that the files of one control group leave it."""
    left = float("inf")
    for limit, (used, before) in LIMITS.items():
        try:
            most, now = (int((group / name).read_text(encoding="ascii")) for name in (limit, used))
            lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
            stat = dict(line.split(" ", 1) for line in lines)
            pages = sum(int(stat[f"{before}{name}"]) for name in PAGES)
        except (OSError, ValueError, KeyError):  # no such files, or "max"
            continue
        left = min(left, max(most - now + pages, 0))
    return left
