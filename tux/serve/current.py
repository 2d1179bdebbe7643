"""The model that a run's folder has now. A model that takes the place of the one before is loaded
beside it, and answers from then on; questions under way end with the model that they began with.

A model is known by its files: their places on the disk, sizes and times. Whatever replaces them is
noticed: a folder that is renamed to this name, a link that leads elsewhere, a run that goes on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tux.base.errors import TuxError
from tux.base.text import one_line
from tux.serve.answering import AnsweringModel

FileMark = tuple[str, int, int, int, int]
"""The path of a file, its device and its number there, its size and its time of change."""


class CurrentModel:
    """The model of a run's folder: `model`, which is always a whole one, and `count`, how many
    there have been. `load` loads one, and `tell` gets a line when another one is there or cannot be
    had.

    One thread at a time may call `refresh`; all may read.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        load: Callable[[str], AnsweringModel],
        tell: Callable[[str], None],
    ) -> None:
        """Load the first model; errors are those of `load`."""
        self._folder, self._load, self._tell = Path(folder), load, tell
        self._seen = marks_of(self._folder)
        self.model, self.count = load(os.path.realpath(folder)), 1

    def refresh(self) -> bool:
        """Load the model anew if its files are others; return whether there is another one now. A
        model that is not whole, or changes while it is read, is tried again when its files change.
        """
        marks = marks_of(self._folder)
        if marks == self._seen:
            return False
        if marks is None:
            self._seen = None
            self._tell(f"{self._folder} has no model now; the one before goes on to answer")
            return False
        try:
            model = self._load(os.path.realpath(self._folder))
        except Exception as error:  # whatever is wrong with the new one, the old one is whole
            if marks_of(self._folder) == marks:
                self._seen = marks
                self._tell(_explain(self._folder, error))
            return False
        if marks_of(self._folder) != marks:
            return False
        self._seen, self.model, self.count = marks, model, self.count + 1
        self._tell(f"{self._folder} has another model, which answers from now on")
        return True


def marks_of(folder: Path) -> tuple[FileMark, ...] | None:
    """Return the marks of the files of a model, and of `run.json`; None if they are not there."""
    try:
        real = Path(os.path.realpath(folder))
        names = sorted(os.listdir(real / "model"))
        paths = [real / "run.json", *(real / "model" / name for name in names)]
        found = [(str(path), path.stat()) for path in paths]
    except OSError:
        return None
    return tuple((name, s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for name, s in found)


def _explain(folder: Path, error: Exception) -> str:
    """Say in one line why a new model cannot be had."""
    told = error.what if isinstance(error, TuxError) else f"{type(error).__name__}: {error}"
    where = f", at {error.where}" if isinstance(error, TuxError) and error.where else ""
    told = one_line(f"{told}{where}")
    return f"the new model of {folder} cannot be loaded, and the one before goes on: {told}"


class FixedModel:
    """A model that no other takes the place of, in the form of `CurrentModel`."""

    def __init__(self, model: AnsweringModel) -> None:
        self.model, self.count = model, 1

    def refresh(self) -> bool:
        """Return that there is no other one."""
        return False
