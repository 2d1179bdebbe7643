"""Files that are named by a URI, such as s3://bucket/name: opened, listed and measured by the file
systems of Apache Arrow.

Plain names are files of this machine, and file:// names them too. pyarrow is imported inside the
functions, and only for a URI.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tux.base.errors import DataError, UsageError

URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
HERE = "file"
WEB = re.compile("(https?|ftp)://", re.IGNORECASE)  # where no file system is
SECRET = re.compile(r"[^/@]*:[^/@]+@")  # a password before the name of a host


class StoreEntry(NamedTuple):
    """A file in a folder of a store, or a folder in it."""

    path: str
    size: int
    folder: bool
    name: str  # below the folder that was asked for


def is_uri(path: str | os.PathLike[str]) -> bool:
    """Return whether a path is a URI of another file system than that of this machine."""
    found = URI.fullmatch(os.fspath(path))
    return found is not None and found[1].lower() != HERE


def local_path(path: str | os.PathLike[str]) -> str:
    """Return the plain path of a file:// URI; of a plain path, itself, with a leading ~ or ~name
    replaced by the home folder. Other URIs are not changed. Raises UsageError for a file:// URI on
    another host.
    """
    from urllib.parse import unquote

    name = os.fspath(path)
    found = URI.fullmatch(name)
    if found is None or found[1].lower() != HERE:
        return os.path.expanduser(name)
    host, slash, rest = found[2].partition("/")
    if host not in ("", "localhost") or not slash:
        raise UsageError(f"{name} is no file of this machine", do="write file:///folder/name")
    return "/" + unquote(rest)


def output_path(path: str | os.PathLike[str]) -> str:
    """Return the path under which a file or folder is written, as `local_path` gives it. Raises
    UsageError for a name that is none of this machine, so that no work is done whose results cannot
    be kept.
    """
    name = local_path(path)
    if is_uri(name):
        raise UsageError(
            f"{without_secrets(name)} is not on this machine, where all output is written",
            do="name a file or folder of this machine, and copy it there afterwards",
        )
    if not name or "\0" in name:
        raise UsageError(f"{name!r} is no name of an output", do="name a new file or folder")
    if name.startswith("~") and "/" in name:
        raise UsageError(
            f"{name}: there is no home folder {name.partition('/')[0]}",
            do="write the whole path; a folder that is called so is ./~",
        )
    return name


def without_secrets(path: str) -> str:
    """Check that there is no password in a URI, as messages and run.json would show it, and return
    the URI. Raises UsageError.
    """
    found = URI.fullmatch(path)
    if found is not None and SECRET.match(found[2]):
        raise UsageError(
            f"a URI of {found[1]} with a password in it",
            do="leave the password out, and give it in the environment or in the settings of the "
            "file system",
        )
    return path


@contextmanager
def file_system_at(path: str) -> Iterator[tuple[Any, str]]:
    """Give the file system of pyarrow that a URI names, and the path there. Errors inside the block
    become a `DataError` that names the URI.
    """
    import pyarrow as pa  # type: ignore[import-untyped]

    try:
        yield file_system(path)
    except FileNotFoundError:
        raise DataError(f"no such file: {path}", do="Check the name.") from None
    except (pa.ArrowException, OSError, ValueError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        do = "Download it, and name the file." if WEB.match(path) else ""
        raise DataError(f"{path} cannot be read: {said}", do=do) from None


def file_system(path: str) -> tuple[Any, str]:
    """Return the file system of a URI, and the path there, as pyarrow finds them."""
    from pyarrow import fs  # type: ignore[import-untyped]

    return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]


def open_uri(path: str) -> Any:
    """Open the file that a URI names, for reading and seeking. Raises `DataError`."""
    with file_system_at(path) as (store, name):
        return store.open_input_file(name)


def split_options(uri: str) -> tuple[str, str]:
    """Split a URI from its options, as in ?region=eu-west-1, and return both."""
    base, mark, options = uri.partition("?")
    return base, mark + options


def uri_entry(path: str) -> StoreEntry:
    """Look up the file or folder that a URI names. Raises `DataError` if there is none."""
    from pyarrow import fs

    with file_system_at(path) as (store, name):
        info = store.get_file_info(name)
    if info.type == fs.FileType.NotFound:
        raise DataError(f"no such file: {path}", do="Check the name.")
    return StoreEntry(path, info.size or 0, info.type == fs.FileType.Directory, info.base_name)


def list_folder(path: str, *, below: bool = False) -> list[StoreEntry]:
    """List the files and folders in the folder of a URI, in order of names; with `below`, also
    those in its folders. The list is empty if there is no such folder. Raises `DataError`.
    """
    from urllib.parse import quote

    from pyarrow import fs

    base, options = split_options(path)
    with file_system_at(path) as (store, name):
        root = name.rstrip("/")
        found = store.get_file_info(fs.FileSelector(root, allow_not_found=True, recursive=below))
    listed = []
    for info in found:
        inner = info.path[len(root) :].lstrip("/")
        uri = f"{base.rstrip('/')}/{quote(inner)}{options}"
        listed.append(StoreEntry(uri, info.size or 0, info.type == fs.FileType.Directory, inner))
    return sorted(listed, key=lambda each: each.name)
