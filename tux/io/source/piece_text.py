"""The text of a file, or of a piece of it, with one end of lines: newlines.

Lines of a file end in newlines, perhaps each after a carriage return, which readers take for a
blank; or, as on old Macs, in carriage returns alone. The first bytes of the file show which. Then
all readers of the file cut it at the same places, whatever they read of it and however much at a
time. Beside newlines, a carriage return within a line ends none.
"""

from __future__ import annotations

from typing import Any

from tux.arrays import arrow
from tux.arrays.piped import open_input
from tux.base.errors import DataError
from tux.io.source.input_files import FilePiece

HEAD = 1 << 16  # bytes that show the ends of lines


def as_lines(text: bytes, head: bytes) -> bytes:
    """Return a text, of a file that begins with `head`, with newlines at the ends of its lines. No
    byte of it moves.
    """
    head = head[:HEAD]
    # one at the end of the head may be followed by a newline, or end the only line
    old = b"\n" not in head and b"\r" in head[:-1]
    return text.replace(b"\r", b"\n") if old else text


class PieceText:
    """The unpacked text of a piece of a file, as `as_lines` returns it: a binary file with
    ``read(n)`` and ``close``, also a context manager.
    """

    def __init__(self, piece: FilePiece) -> None:
        """Open the file. Raises `DataError` if it cannot be opened, and OSError if it is
        damaged.
        """
        if piece == FilePiece(piece.path):
            self._file = arrow.open_stream(piece.path)
            self._ahead = self._head = bytes(self._file.read(HEAD))
        else:
            with Range(piece.path, 0, HEAD) as file:
                self._ahead, self._head = b"", file.read(HEAD)
            self._file = Range(*piece)

    def __enter__(self) -> PieceText:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """Read the next bytes, at most `size`, fewer only at the end."""
        text, self._ahead = self._ahead[:size], self._ahead[size:]
        if len(text) < size:
            more = self._file.read(size - len(text))
            text = text + more if text else more
        return as_lines(text, self._head)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Range:
    """The bytes of a plain file from `begin` up to `end`: a binary file with ``read(n)`` and
    ``close``, also a context manager.
    """

    def __init__(self, path: str, begin: int, end: int | None) -> None:
        """Open the file. Raises `DataError` if it cannot be opened."""
        try:
            self._file: Any = open_input(path)
            self._file.seek(begin)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
        self._left = None if end is None else end - begin

    def __enter__(self) -> Range:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """Read the next bytes, at most `size`, fewer only at the end."""
        if self._left is not None:
            size = min(size, self._left)
            self._left -= size
        return bytes(self._file.read(size)) if size else b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()
