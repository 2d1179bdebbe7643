"""A tux whose entry points networkx finds: those of pyproject.toml, whether tux is installed or
not.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def write_entry_points(folder):
    """Write the files by which Python finds the entry points of tux in a folder of its path."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    groups = tomllib.loads(text)["project"]["entry-points"]
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    facts = folder / "tux-0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: tux\nVersion: 0\n")
    (facts / "entry_points.txt").write_text("\n".join(lines))


def run_python(folder, *words, **environment):
    """Run Python in a folder that has entry points; return what it did and wrote."""
    paths = os.pathsep.join([str(folder), str(ROOT)])
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
    )
