"""Damage to the files of a run that has stopped, and to the compiled functions of a cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

from faults.damage import one_bit
from tux.base.cache import cache_folder
from tux.run_folder.traces import TRACES

UNPROTECTED = ("timeline.jsonl", "B2SUMS", TRACES)
"""Files, and a folder of files, that no run reads when it goes on."""
WAYS = ("a bit", "cut", "empty", "missing", "zeros")


class Harm:
    """Damage to one file, done when it is made. `undo` puts the whole file back."""

    def __init__(self, path: Path, draw: Random) -> None:
        self.path, self.way = path, draw.choice(WAYS)
        self._before = path.read_bytes()
        size = len(self._before)
        if self.way == "a bit" and size:
            one_bit(path, draw.randrange(8 * size))
        elif self.way == "zeros" and size:
            where = draw.randrange(size)
            with open(path, "r+b") as file:
                file.seek(where)
                file.write(bytes(min(512, size - where)))
        elif self.way == "missing":
            path.unlink()
        else:
            os.truncate(path, draw.randrange(size) if self.way == "cut" and size else 0)
        self._after = _content(path)

    def __str__(self) -> str:
        return f"{self.path.parent.name}/{self.path.name}: {self.way}"

    @property
    def is_none(self) -> bool:
        """True if the file is as it was: zeros in the place of zeros."""
        return self._after == self._before

    def undo(self) -> None:
        """Put the whole file back, unless the run has written or removed it since."""
        if self.path.parent.exists() and _content(self.path) == self._after:
            self.path.write_bytes(self._before)

    def is_named(self, message: str) -> bool:
        """Return whether a message names the file, or the checkpoint in which it lies."""
        inside = "checkpoints" in self.path.parts and "checkpoint" in message
        return inside or self.path.name in message


def _content(path: Path) -> bytes | None:
    """Return what is in a file; None if there is none."""
    return path.read_bytes() if path.exists() else None


def find_files(out: Path, *, of_checkpoints: bool) -> list[Path]:
    """List the files of a run's folder that can be damaged: of checkpoints, or all others."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    inside = [path for path in files if "checkpoints" in path.relative_to(out).parts]
    if of_checkpoints:
        return inside
    others = [path for path in files if path not in inside]
    return [path for path in others if path.relative_to(out).parts[0] not in UNPROTECTED]


def damage_file(paths: Sequence[Path], draw: Random) -> Harm | None:
    """Damage one of some files; None if there is none, or nothing has changed."""
    if not paths:
        return None
    harm = Harm(draw.choice(paths), draw)
    return None if harm.is_none else harm


def damage_cache(to: Path, draw: Random, count: int = 40) -> None:
    """Make a copy of the cache of compiled functions, in which some newest files are damaged: those
    that the runs before have used.
    """
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(cache_folder(), to, copy_function=_link)
    files = [path for path in to.rglob("*") if path.is_file()]
    newest = sorted(files, key=lambda path: path.stat().st_atime)[-4 * count :]
    for path in draw.sample(newest, min(count, len(newest))):
        content = path.read_bytes()
        path.unlink()  # the file itself is the cache's, too
        path.write_bytes(content)
        Harm(path, draw)


def _link(source: str, target: str) -> None:
    """Link a file, or copy it where it is on another disk; a run under way may remove it."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        return
    except OSError:
        shutil.copy2(source, target)
