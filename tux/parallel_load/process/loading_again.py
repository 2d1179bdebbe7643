"""Data that are loaded anew when a loader is lost: how often and why, and the folder that is
emptied before.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tux.base.disk import writing
from tux.base.errors import TuxError
from tux.cluster.recovery.restarts import Restarts, is_loss


class Losses:
    """The losses of loaders for which the data are loaded anew, `allowed` so many times."""

    def __init__(self, allowed: int) -> None:
        self.allowed, self.why = allowed, list[str]()
        self._restarts = Restarts(allowed)

    def may_load_again(self, error: BaseException) -> bool:
        """Return whether the data are loaded anew after an error. If no restart is left, the error
        of a loss says so.
        """
        if not isinstance(error, TuxError) or not is_loss(error):
            return False
        if self._restarts.allow_restart(error, 0):
            self.why.append(error.what)
            return True
        error.what += self._restarts.none_left
        return False

    def __str__(self) -> str:
        return f"{self.why[-1]}; the data are loaded anew ({self._restarts})"


def empty_folder(folder: Path) -> None:
    """Remove the files that lost loaders have left in a folder. DiskError."""
    with writing(folder):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
