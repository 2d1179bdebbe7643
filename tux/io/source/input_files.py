"""The files that DATA stands for: one, or many that are read one after the other as if they were
one.

    ratings.csv                 a file
    ratings/                    a folder of files
    ratings/part-*.csv          a pattern: * and ? stand for characters of a name, ** for folders
    s3://bucket/ratings/        a URI that `pyarrow.fs` knows, of a file, a folder or a pattern
    ["a.csv", "b.csv"]          several of these, from Python

Files of a folder or a pattern are in order of their paths. Files are passed over if they are empty,
or if their name, or the name of a folder on the way to them from the given one, begins with a point
or with _.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

import msgspec

from tux.arrays import stores
from tux.arrays.piped import STANDARD
from tux.base.errors import DataError, UsageError
from tux.base.text import plural

Path = str | os.PathLike[str]
Source = Path | Sequence[Path]
PATTERN = re.compile(r"[*?\[]")
CUT, PART = "manifest.json", re.compile(r"part-\d+")  # in folders of tux partition
RUN = "run.json"  # in folders of runs
OWN = {CUT: {"format", "parts"}, RUN: {"app", "parameters"}}
"""Files by which tux knows its own folders, and names that are in them."""
MOST_RECORD = 1 << 24
"""Bytes of such a file, at most."""
PASSED_OVER = (".", "_")  # first letters of names of files that are no data, as Spark's _SUCCESS


class InputFile(NamedTuple):
    """One file of the input, and its size in bytes on its disk."""

    path: str
    size: int


class FilePiece(NamedTuple):
    """A part of a file: bytes of text, or row groups of Parquet, from `begin` up to `end`; None: up
    to the end of the file.
    """

    path: str
    begin: int = 0
    end: int | None = None


class Files(str):
    """The name of several files in messages, with the pieces of files that it stands for.

    It is a string, so that it can be named wherever one file can; `pieces_of` gives the pieces.
    """

    pieces: tuple[FilePiece, ...]

    @classmethod
    def of(cls, name: str, pieces: Sequence[FilePiece]) -> Files:
        """Give these pieces a name."""
        files = cls(name)
        files.pieces = tuple(pieces)
        return files


def pieces_of(path: Path) -> tuple[FilePiece, ...]:
    """Return the pieces of files that a path stands for."""
    return path.pieces if isinstance(path, Files) else (FilePiece(os.fspath(path)),)


def input_files(data: Source) -> str:
    """Return the one file that `data` stands for, or its files as `Files`.

    Raises `DataError` if there is none or all are empty, and `UsageError` for an argument that can
    name none.
    """
    if isinstance(data, Files):
        return data
    if isinstance(data, str | os.PathLike):
        path = lookup_path(data)
        if _is_file(path):
            return path
    files = list_files(data)
    if len(files) == 1:
        return files[0].path
    return Files.of(source_name(data), [FilePiece(file.path) for file in files])


def list_files(data: Source) -> list[InputFile]:
    """List the files that `data` stands for, in order, without empty ones if there are several.
    Raises the errors of `input_files`.
    """
    if not isinstance(data, str | os.PathLike):
        if not data:
            raise UsageError("no file is named", do="name one at least")
        found = [file for each in data for file in _find_files(lookup_path(each))]
    else:
        found = _find_files(lookup_path(data))
    if len(found) < 2:
        return found
    if not (filled := [file for file in found if file.size]):
        raise DataError(f"all {len(found):,} files of {source_name(data)} are empty")
    return filled


def holds_files(folder: str) -> bool:
    """Return whether a folder of this machine holds files that are data by their names."""
    return any(_counts(each.name) and not each.folder for each in _entries(folder))


def lookup_path(path: Path) -> str:
    """Return a path as it is looked up: that of a file:// URI without the scheme, others as they
    are. Raises UsageError for a URI with a password in it.
    """
    name = stores.local_path(path)
    return stores.without_secrets(name) if stores.is_uri(name) else name


def source_name(data: Source) -> str:
    """Return the name of the data in messages: the path; of several paths, the first and the number
    of others.
    """
    if isinstance(data, str | os.PathLike):
        return os.fspath(data)
    first = os.fspath(data[0])
    return first if len(data) == 1 else f"{first} and {plural(len(data) - 1, 'other')}"


def absolute_source(data: Source) -> str | list[str]:
    """Return the data in a form that means the same in any folder: absolute paths, patterns and
    URIs.
    """
    if not isinstance(data, str | os.PathLike):
        return [_absolute(path) for path in data]
    return _absolute(data)


def _absolute(path: Path) -> str:
    name = lookup_path(path)
    return name if stores.is_uri(name) else os.path.abspath(name)


def _is_file(path: str) -> bool:
    """Return whether a path is that of one file, or of none; then reading it raises the error."""
    if path == STANDARD or stores.is_uri(path) or os.path.isdir(path):
        return path == STANDARD
    return not PATTERN.search(path) or os.path.lexists(path)


def _find_files(path: str) -> list[InputFile]:
    """Find the files of one path."""
    if stores.is_uri(path):
        return _of_store(path)
    if _is_file(path):
        return [InputFile(path, _size(path))]
    if os.path.isdir(path):
        return _of_folder(path, _entries(path))
    files = [
        InputFile(name, _size(name))
        for name in sorted(glob.glob(path, recursive=True))
        if _counts(os.path.relpath(name, _root(path))) and not os.path.isdir(name)
    ]
    for file in files:
        _check_kind(file.path)
    if not files:
        raise DataError(
            f"no file is called as the pattern {path} says",
            do="Check the pattern, and the folder you are in.",
        )
    return files


def _size(path: str) -> int:
    """Return the size of a file in bytes; 1 for a pipe or the like, and for a file that cannot be
    looked at, about which reading it raises the error.
    """
    try:
        return os.stat(path).st_size if os.path.isfile(path) else 1
    except OSError:
        return 1


def _entries(folder: str) -> Iterator[stores.StoreEntry]:
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise DataError(f"the folder {folder} cannot be read: {error.strerror}") from None
    for name in names:
        path = os.path.join(folder, name)
        yield stores.StoreEntry(path, _size(path), os.path.isdir(path), name)


def _of_folder(folder: str, entries: Iterable[stores.StoreEntry]) -> list[InputFile]:
    """Return the files among the entries of a folder. Raises DataError if there is none, or if
    there is a folder among them, which may stand for anything.
    """
    counted = [each for each in entries if _counts(each.name)]
    _refuse_own_folder(folder, {each.name for each in counted})
    if inner := next((each.name for each in counted if each.folder), None):
        raise DataError(
            f"the folder {folder} holds folders, such as {inner}",
            do="Name the files with a pattern, such as '*/*.csv' below it.",
        )
    if not counted:
        raise DataError(
            f"the folder {folder} holds no file of data",
            do="Files whose names begin with a point or with _ are passed over.",
        )
    for each in counted:
        _check_kind(each.path)
    return [InputFile(each.path, each.size) for each in counted]


def _refuse_own_folder(folder: str, names: Set[str]) -> None:
    """Raise DataError for a folder that tux has written, with entries of these names: a graph in
    parts, one of its parts, or a run.
    """
    part = PART.fullmatch(os.path.basename(folder.rstrip("/")))
    whole = os.path.dirname(folder.rstrip("/"))
    if CUT in names and any(map(PART.fullmatch, names)) and _is_own(folder, CUT):
        whole = folder
    elif not (part and _is_own(whole, CUT)):
        if RUN in names and _is_own(folder, RUN):
            raise DataError(
                f"{folder} is the folder of a run, not data",
                do=f"Name the data themselves. tux info {folder} tells which the run has read.",
            )
        return
    raise DataError(
        f"{folder} is {'' if whole == folder else 'a part of '}a graph that is cut already",
        do=f"Name the file that it was cut from; or train on the parts: tux run APP {whole}.",
    )


def _is_own(folder: str, name: str) -> bool:
    """Return whether a folder has a file that tux has written under a name of `OWN`."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            record = msgspec.json.decode(file.read(MOST_RECORD))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(record, dict) and OWN[name] <= record.keys()


def _check_kind(path: str) -> None:
    """Raise DataError for an entry of a folder that is neither a file nor a pipe: a device may
    never end.
    """
    try:
        mode = 0 if stores.is_uri(path) else os.stat(path).st_mode
    except OSError:
        return  # reading it will raise the error
    if mode and not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
        raise DataError(
            f"{path} is a device or a socket, which is read only where it is named itself",
            do="Remove it, or name the files with a pattern.",
        )


def _counts(path: str) -> bool:
    """Return whether no name of a path, from the given folder on, is one to pass over."""
    return not any(
        name.startswith(PASSED_OVER) for name in path.split("/") if name not in (".", "..")
    )


def _root(pattern: str) -> str:
    """Return the folder above the first name of a pattern that has a sign of a pattern in it."""
    names = pattern.split("/")
    at = next(at for at, name in enumerate(names) if PATTERN.search(name))
    return "/".join(names[:at]) or ("/" if pattern.startswith("/") else ".")


def _of_store(uri: str) -> list[InputFile]:
    """Find the files of a URI. A ? in its pattern stands for no letter, as it begins the
    options.
    """
    base, options = stores.split_options(uri)
    if not PATTERN.search(base):
        found = stores.uri_entry(uri)
        if not found.folder:
            return [InputFile(uri, found.size)]
        return _of_folder(uri, stores.list_folder(uri))
    root = _root(base)
    try:
        matches = re.compile(_expression(base[len(root) :].lstrip("/")))
    except re.error as error:
        raise UsageError(f"{uri} is no pattern of names: {error}", do="correct it") from None
    files = [
        InputFile(each.path, each.size)
        for each in stores.list_folder(root + options, below=True)
        if not each.folder and _counts(each.name) and matches.fullmatch(each.name)
    ]
    if not files:
        raise DataError(f"no file is called as the pattern {uri} says", do="Check the pattern.")
    return files


def _expression(pattern: str) -> str:
    """Translate a pattern of names to a regular expression, in which ** stands for any folders,
    also none.
    """
    return "".join(map(_part, re.findall(r"\*\*/|\*\*|\*|\[!?\]?[^\]]*\]|.", pattern)))


def _part(part: str) -> str:
    if part.startswith("[") and len(part) > 1:
        inner = part[1:-1].replace("\\", r"\\")
        return f"[^{inner[1:]}]" if inner.startswith("!") else f"[{inner}]"
    return {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*"}.get(part, re.escape(part))
