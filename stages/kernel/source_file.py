"""The file of a kernel's source in the cache folder, where numba and readers find it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tux.base.cache import cache_errors
from tux.base.sealed import warn_not_used


def keep_source(path: Path, source: str) -> None:
    """Write `source` to the file `path`, unless it is there already."""
    try:
        if path.read_bytes() == source.encode():
            return
        warn_not_used(path, "is damaged")
    except FileNotFoundError:
        pass
    _write(path, source)


def _write(path: Path, source: str) -> None:
    """Write a kernel's source whole or not at all: another process may be doing the same."""
    with cache_errors():
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(source)
            Path(temporary).replace(path)
        finally:
            Path(temporary).unlink(missing_ok=True)
