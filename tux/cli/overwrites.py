"""Files that a command would write although it reads them, or writes them by another flag."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from tux.arrays import stores
from tux.base.checksums import SUMS
from tux.base.disk import is_stream
from tux.base.errors import TuxError, UsageError

OF_RUNS = ("run.json", "metrics.jsonl", "timeline.jsonl", SUMS)
"""Files of a run beside its model."""


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
    if is_stream(path):
        return None
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def _files(path: str) -> Iterator[str]:
    """Yield the files of this machine that an argument, FILE or TYPE=FILE, names; of the folder of
    a run those that the run has written.
    """
    if "=" in path and not os.path.lexists(path):
        path = stores.local_path(path.partition("=")[2])
    if not path or stores.is_uri(path):
        return
    if os.path.isfile(path):
        yield path
        return
    if os.path.exists(os.path.join(path, "run.json")):
        yield from (os.path.join(path, name) for name in OF_RUNS)
        for folder, _, names in os.walk(os.path.join(path, "model")):
            yield from (os.path.join(folder, name) for name in names)
        return
    from tux.io.source.input_files import list_files

    with suppress(TuxError):  # which is told when it is read
        yield from (file.path for file in list_files(path))
