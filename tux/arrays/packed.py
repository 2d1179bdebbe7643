"""The first bytes of a file and its packing, and the unpacking of xz, and of zip with one file in
it.

The other kinds of packing are unpacked by `tux.arrays.arrow`. The name of a file does not count,
since it may be wrong, and a file need not have the usual ending.
"""

from __future__ import annotations

import difflib
import os
from itertools import islice
from typing import IO, Any

from tux.arrays.piped import STANDARD, open_input, path_or_file, readable_path
from tux.base.errors import DataError

MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x04\x22\x4d\x18": "lz4",
}
PARQUET = b"PAR1"
XZ, ZIP, SEVEN = b"\xfd7zXZ\x00", b"PK\x03\x04", b"7z\xbc\xaf"
ENDINGS = (".gz", ".zst", ".bz2", ".lz4", ".xz", ".zip")
LOOKED_AT = 10_000  # names of a folder among which one like a wrong one is looked for
RATIO = 256
"""Bytes that a packed file may hold for each byte of its size, beyond `ROOM`; text has 2 to 30, and
repeated lines 100."""

ROOM = 1 << 28
"""Bytes that any packed file may hold."""

ENCRYPTED = 1  # a bit of a zip member's flags


def head_of(path: str | os.PathLike[str], size: int) -> bytes:
    """Read the first bytes of a file. Raises a `DataError` that says why there are none."""
    if os.path.isdir(path) and os.fspath(path) != STANDARD:
        raise DataError(f"{path} is a folder, not a file", do="Name the file inside it.")
    try:
        with open_input(path) as file:
            return bytes(file.read(size))
    except FileNotFoundError:
        raise DataError(
            f"no such file: {path}",
            do=f"{_guess(path)}Check the name, and the folder you are in.",
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None


def _guess(path: str | os.PathLike[str]) -> str:
    """Return ``Did you mean X?`` for the file of the same folder with the most similar name, "" if
    none is similar.
    """
    folder, name = os.path.split(os.fspath(path))
    try:
        with os.scandir(folder or ".") as entries:
            names = [each.name for each in islice(entries, LOOKED_AT) if each.is_file()]
    except OSError:
        return ""
    near = difflib.get_close_matches(name, names, 1, 0.8)
    return f"Did you mean {os.path.join(folder, near[0])}? " if near else ""


def packing(head: bytes) -> str | None:
    """Return the kind of packing that the first 8 bytes of a file show, as Arrow calls it; None for
    a plain file.
    """
    return next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)


def is_parquet(head: bytes) -> bool:
    """Return whether the first 5 bytes of a file show that it is a Parquet file. The byte after the
    mark PAR1 is then no text, unlike in a table whose first cell is PAR1.
    """
    return head.startswith(PARQUET) and head[4:5] < b" " and not head[4:5].isspace()


def is_packed(head: bytes) -> bool:
    """Return whether the first bytes of a file show that it is packed, in any way, also one that
    cannot be read here.
    """
    return packing(head) is not None or head.startswith((XZ, ZIP, SEVEN))


def holds_arrays(path: str | os.PathLike[str], head: bytes) -> bool:
    """Return whether a file that begins with `head` is an archive of numpy's arrays: a zip file of
    members called .npy.
    """
    import zipfile

    if not head.startswith(ZIP):
        return False
    try:
        with zipfile.ZipFile(readable_path(path)) as archive:
            names = archive.namelist()
    except _zip_faults():
        return True  # damaged, which reading it will tell
    return bool(names) and all(name.endswith(".npy") for name in names)


def open_unpacked(path: str | os.PathLike[str], head: bytes) -> UnpackedStream | None:
    """Open an xz file, or a zip file with one file in it, for reading its unpacked bytes; return
    None if `head` shows neither of them.

    Raises `DataError` for several files in one, or one that needs a password, and for a 7z file.
    """
    if head.startswith(SEVEN):
        raise DataError(
            f"{path} is a 7z file, which is not read here",
            do="Unpack it, or pack it with gzip or zstd.",
        )
    if head.startswith(XZ):
        import lzma

        return UnpackedStream(lzma.open(path_or_file(path)), (lzma.LZMAError, EOFError))
    return _open_member(path) if head.startswith(ZIP) else None


def _zip_faults() -> tuple[type[Exception], ...]:
    """Return the types of the errors that zipfile raises about bytes that are no zip file, or one
    that it cannot read. (IndexError: a member has no name.)
    """
    import zipfile
    import zlib

    own = (zipfile.BadZipFile, zlib.error, EOFError)
    return (*own, NotImplementedError, RuntimeError, ValueError, IndexError, OSError)


def _open_member(path: str | os.PathLike[str]) -> UnpackedStream:
    """Open the one file in a zip file. Folders, and the files that macOS adds, do not count."""
    import zipfile

    damaged = _zip_faults()
    try:
        archive = zipfile.ZipFile(readable_path(path))
        members = [
            info
            for info in archive.infolist()
            if not (info.is_dir() or info.filename.startswith("__MACOSX/"))
        ]
        if len(members) == 1 and not members[0].flag_bits & ENCRYPTED:
            return UnpackedStream(archive.open(members[0]), damaged, archive)
        archive.close()
    except damaged as error:
        raise DataError(
            f"{path} is no readable zip file ({error})", do="Fetch or write the file again."
        ) from None
    if len(members) == 1:
        raise DataError(f"{path} needs a password", do="Unpack it.")
    names = ", ".join(info.filename for info in members[:5]) + (", ..." if len(members) > 5 else "")
    raise DataError(
        f"{path} holds {len(members)} files: {names}", do="Unpack it, and name one of them."
    )


def most_unpacked(size: int) -> int:
    """Return how many bytes a packed file of so many may hold, as a file may be made to fill any
    memory or disk.
    """
    return ROOM + RATIO * size


def check_unpacked(path: str | os.PathLike[str], unpacked: int, size: int) -> None:
    """Raise `DataError` if a packed file of `size` bytes holds more than it may."""
    if unpacked > (most := most_unpacked(size)):
        raise DataError(
            f"{path} holds over {most:,} bytes, {RATIO} times its size and {ROOM >> 20} MB: it may "
            "have been made to fill memory",
            do="If it is what you want to read, unpack it, and name the unpacked file.",
        )


class LimitedStream:
    """The unpacked bytes of a packed file. Reading raises `DataError` after more than it may
    hold.
    """

    def __init__(self, stream: Any, path: str | os.PathLike[str]) -> None:
        self._stream, self._path, self._done = stream, path, 0
        with open_input(path) as file:
            self._size = file.seek(0, os.SEEK_END)

    def __enter__(self) -> LimitedStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """Read the next bytes, at most `size`, fewer only at the end."""
        piece: bytes = self._stream.read(size)
        self._done += len(piece)
        check_unpacked(self._path, self._done, self._size)
        return piece

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class UnpackedStream:
    """A binary file with ``read(n)`` and ``close``, also a context manager. Damage raises an
    OSError, as in Arrow's files.
    """

    def __init__(
        self, file: IO[bytes] | Any, damaged: tuple[type[Exception], ...], archive: Any = None
    ) -> None:
        self._file, self._damaged, self._archive = file, damaged, archive

    def __enter__(self) -> UnpackedStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """Read the next bytes, at most `size`, fewer only at the end."""
        try:
            return bytes(self._file.read(size))
        except self._damaged as error:
            raise OSError(str(error) or type(error).__name__) from None

    def close(self) -> None:
        """Close the file and the archive around it."""
        self._file.close()
        if self._archive is not None:
            self._archive.close()
