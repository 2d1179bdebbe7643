"""The file systems in which folders lie: in memory, on a disk of the machine, or elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

MOUNTS = Path("/proc/mounts")
ESCAPED = re.compile(r"\\([0-7]{3})")
"""A blank and the like, in names of folders there."""


LOCAL = ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "xfs", "zfs")
"""File systems of disks of the machine: a file that is replaced stays for those who have mapped it,
and is read again as fast as any.
"""


def lies_in_memory(folder: Path) -> bool:
    """Return whether a folder lies in memory (tmpfs)."""
    return _find_system(folder) in ("tmpfs", "ramfs")


def lies_on_local_disk(folder: Path) -> bool:
    """Return whether a folder is known to lie on a disk of this machine."""
    return MOUNTS.exists() and _find_system(folder) in LOCAL


def _find_system(folder: Path) -> str:
    """Find the kind of the file system of a folder."""
    kinds = {}
    for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        _, place, kind, *_ = line.split(" ")
        kinds[Path(ESCAPED.sub(lambda found: chr(int(found[1], 8)), place))] = kind
    path = folder.resolve()
    nearest = next((each for each in (path, *path.parents) if each in kinds), Path("/"))
    return kinds.get(nearest, "")
