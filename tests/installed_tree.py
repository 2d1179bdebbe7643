"""Lay the sources out as they are installed, as links: type checkers cannot follow the mapping of root folders to sub-packages.

usage: python tests/installed_tree.py FOLDER
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSIDE = ("partition", "stages", "apps")


def lay_out(folder: Path) -> None:
    """Make FOLDER/tux with links to every source file, replacing what was there."""
    shutil.rmtree(folder, ignore_errors=True)
    for source in [ROOT / "tux", *(ROOT / name for name in INSIDE)]:
        target = folder / "tux" / ("" if source.name == "tux" else source.name)
        target.mkdir(parents=True, exist_ok=True)
        for file in [*source.glob("*.py"), *source.glob("py.typed")]:
            (target / file.name).symlink_to(file)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
