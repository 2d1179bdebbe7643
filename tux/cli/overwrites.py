"""Files that a command would write although it reads them, or writes them by another flag."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from tux.arrays import stores
from tux.base.errors import TuxError, UsageError


def refuse_overwrites(outputs: Mapping[str, str], inputs: Iterable[str]) -> None:
    """Raise UsageError if one of the files that a command is to write, by flag, is one that it
    reads, or if two are one file. `inputs` are files, folders and patterns.
    """
    written: dict[object, str] = {}
    for flag, path in outputs.items():
        if (file := _identity(path)) in written:
            raise UsageError(
                f"{written[file]} and {flag} name one file: {path}", do="name a file for each"
            )
        if file is not None:
            written[file] = flag
    if not any(os.path.isfile(path) for path in outputs.values()):
        return
    for path in inputs:
        for file_read in _files(path):
            if flag := written.get(_identity(file_read), ""):
                raise UsageError(
                    f"{flag} {outputs[flag]} would overwrite {file_read}, which is read",
                    do="name another file to write",
                )


def _identity(path: str) -> object:
    """Return what two names of one file have in common; None for what is no file, such as a pipe or
    /dev/null, which may be named twice.
    """
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        return found.st_dev, found.st_ino
    return None


def _files(path: str) -> Iterator[str]:
    """Yield the files of this machine that an argument names; none of the folder of a run."""
    if stores.is_uri(path) or os.path.exists(os.path.join(path, "run.json")):
        return
    if os.path.isfile(path):
        yield path
        return
    from tux.io.source.input_files import list_files

    with suppress(TuxError):  # which is told when it is read
        yield from (file.path for file in list_files(path))
