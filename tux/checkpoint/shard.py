"""One worker's state as a file of a checkpoint.

    tux shard 1
    {"head": {...}, "arrays": [{"name": ..., "dtype": ..., "shape": ..., ...}, ...]}
    raw arrays in C order, each padded with zeros to a multiple of 64 bytes

The second line tells of each array where it lies and the CRC-32 of its bytes, padding included.
CRC-32 finds every single bit flip, and is computed at some GB/s; cryptographic hashes are slower
than a disk. What stands before the arrays is small and has such a hash: with the file's length it
is the `Digest`, which the manifest of the checkpoint holds. So no file can stand in for another.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import numpy as np

from tux.arrays.pieced import ArrayPieces
from tux.base.disk import replacing
from tux.base.errors import DataError, DiskError, ProgramError, TuxError

MAGIC = b"tux shard 1\n"
LONGEST = 1 << 24  # bytes of the second line
PIECE = 1 << 22  # bytes that are read, written or summed at a time
ALIGNED = 64  # bytes; arrays begin at multiples, for vector instructions
KEPT = re.compile(r"[<>|](b1|[iu][1248]|f[248])")
"""The dtypes of arrays that are kept, as numpy writes them: not those of objects, text, times,
records or complex numbers, nor long double, whose bytes mean something else on other processors.
"""

NOT_THERE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)

Count = Annotated[int, msgspec.Meta(ge=0)]
State = Mapping[str, np.ndarray | ArrayPieces]


class Digest(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The digest of a file, which tells whether it is the one that was written: its bytes, and the
    BLAKE2b of its first two lines with their padding.
    """

    size: Count
    sum: str


class Entry(msgspec.Struct, forbid_unknown_fields=True):
    """The place of an array in the file; `offset` counts from the first array."""

    name: str
    dtype: str
    shape: tuple[Count, ...]
    offset: Count
    size: Count  # bytes, without padding
    crc32: str  # eight digits, so that the line's length is known before the sums are


class Head(msgspec.Struct, forbid_unknown_fields=True):
    """The second line of the file."""

    head: dict[str, Any]
    arrays: list[Entry]


class StoredRows(NamedTuple):
    """An array (n, ...) of a file, from the byte `place` on."""

    path: Path
    place: int
    shape: tuple[int, ...]
    dtype: np.dtype

    def __getitem__(self, rows: slice) -> np.ndarray:  # type: ignore[override]
        """Read a range of rows. DataError if the file is shorter now; DiskError if it cannot be
        read.
        """
        first, end, _ = rows.indices(self.shape[0])
        row = math.prod(self.shape[1:])
        count, place = max(end - first, 0) * row, self.place + first * row * self.dtype.itemsize
        try:
            found = np.fromfile(self.path, self.dtype, count, offset=place)
        except OSError as error:
            raise unreadable(self.path, error) from None
        if len(found) < count:
            raise checkpoint_damage(self.path, "it is shorter now")
        return found.reshape(-1 if row else max(end - first, 0), *self.shape[1:])


class Shard(Mapping[str, np.ndarray]):
    """The arrays of a file by name, and its `head`. Each array is mapped when it is asked for, and
    is not writable.

    Only the head has been checked so far: an array is checked when it is asked for, all of them by
    `check`.
    """

    def __init__(self, path: Path, start: int, head: Head) -> None:
        self.path, self.head, self._start = path, head.head, start
        self._entries = {entry.name: entry for entry in head.arrays}

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> np.ndarray:
        """Map an array. DataError if it is damaged; DiskError if it cannot be read."""
        entry = self._entries[name]
        raw = np.zeros(0, np.uint8)
        if entry.size:
            try:
                size = _padded_size(entry.size)
                raw = np.memmap(self.path, np.uint8, "r", self._start + entry.offset, (size,))
            except ValueError as error:  # it is shorter now
                raise checkpoint_damage(self.path, str(error)) from None
            except OSError as error:
                raise unreadable(self.path, error) from None
        self._check(entry, (raw[low : low + PIECE].data for low in range(0, len(raw), PIECE)))
        array = np.asarray(raw)[: entry.size].view(entry.dtype).reshape(entry.shape)
        array.flags.writeable = False
        return array

    def rows(self, name: str) -> StoredRows:
        """Return an array of which ranges are read when they are asked for, and which is not
        checked then.
        """
        entry = self._entries[name]
        place = self._start + entry.offset
        return StoredRows(self.path, place, entry.shape, np.dtype(entry.dtype))

    def check(self) -> None:
        """Read all arrays, a piece at a time. DataError if one is damaged; DiskError if one cannot
        be read.
        """
        try:
            with open(self.path, "rb") as file:
                for entry in self._entries.values():
                    file.seek(self._start + entry.offset)
                    self._check(
                        entry, _read_pieces(file.fileno(), file.tell(), _padded_size(entry.size))
                    )
        except OSError as error:
            raise unreadable(self.path, error) from None

    def _check(self, entry: Entry, pieces: Iterable[Any]) -> None:
        """Raise DataError unless the bytes of an array, with its padding, are those written."""
        total = 0
        for piece in pieces:
            total = zlib.crc32(piece, total)
        if f"{total:08x}" != entry.crc32:
            raise checkpoint_damage(self.path, f"{entry.name} is not what was written")


def write(path: str | os.PathLike[str], head: Mapping[str, Any], arrays: State) -> Digest:
    """Write the file, whole, and wait until it is on the disk. No array is copied whole, and none
    that comes in pieces is in memory as a whole.

    `head`: values that JSON can hold. `arrays`: booleans and real numbers, of any shape and
    strides. ProgramError for others; DiskError if the disk does not take the file.
    """
    entries = _describe_arrays(arrays)
    plan = Head(dict(head), entries)
    start = len(_opening(plan))
    with replacing(path) as part, open(part, "wb") as file:
        file.seek(start)
        for entry, array in zip(entries, arrays.values(), strict=True):
            total = 0
            for piece in _pieces(array):
                total = zlib.crc32(piece, total)
                file.write(piece)
            entry.crc32 = f"{total:08x}"
        opening = _opening(plan)
        file.seek(0)
        file.write(opening)
    size = start + sum(_padded_size(entry.size) for entry in entries)
    return Digest(size, hash_bytes(opening))


def _describe_arrays(arrays: State) -> list[Entry]:
    """Describe arrays that lie one after the other. ProgramError for one that cannot be kept."""
    entries, end = [], 0
    for name, array in arrays.items():
        if not KEPT.fullmatch(array.dtype.str):
            raise ProgramError(
                f"{name} is an array of {array.dtype}, which a checkpoint cannot hold",
                do="keep booleans, whole numbers, or floats of at most 64 bits",
            )
        size = _bytes_of(array)
        entries.append(Entry(name, array.dtype.str, array.shape, end, size, "0" * 8))
        end += _padded_size(size)
    return entries


def _bytes_of(array: np.ndarray | ArrayPieces) -> int:
    return math.prod(array.shape) * array.dtype.itemsize


def read(path: str | os.PathLike[str], digest: Digest) -> Shard:
    """Read the head of the file that `write` has written, and whose digest it has returned.
    DataError if it is another file, or its head is damaged; DiskError if it cannot be read.
    """
    path = Path(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size != digest.size:
                raise checkpoint_damage(path, f"{size:,} bytes instead of {digest.size:,}")
            opening = file.read(len(MAGIC)) + file.readline(LONGEST)
            line = opening[len(MAGIC) :]
            opening += file.read(_padded_size(len(opening)) - len(opening))
    except OSError as error:
        raise unreadable(path, error) from None
    if hash_bytes(opening) != digest.sum or not opening.startswith(MAGIC):
        raise checkpoint_damage(path, "its head is not what was written")
    try:
        head = msgspec.json.decode(line, type=Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise checkpoint_damage(path, str(error)) from None
    _check_places(path, head.arrays, size - len(opening))
    return Shard(path, len(opening), head)


def hash_bytes(content: bytes) -> str:
    """Compute the hash of the small parts of a checkpoint."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def error_text(error: OSError) -> str:
    """Return the text of an error without the name of the file."""
    return error.strerror or str(error)


def checkpoint_damage(path: Path, why: str) -> DataError:
    """Make the error about a damaged file of a checkpoint."""
    return DataError(
        f"{path.name} of a checkpoint is damaged: {why}",
        where=str(path),
        do="copy the folder again, or use an older checkpoint",
    )


def unreadable(path: Path, error: OSError) -> TuxError:
    """Make the error about a file of a checkpoint that the system did not read. A file that is not
    there counts as damaged. Other errors may pass, as that of too many open files does, and the
    file may be whole.
    """
    why = error_text(error)
    if isinstance(error, NOT_THERE):
        return checkpoint_damage(path, why)
    return DiskError(
        f"{path.name} of a checkpoint cannot be read: {why}",
        where=str(path),
        do="see to the cause, or remove the file if the disk has lost it (the checkpoint before it "
        "is used)",
    )


def _check_places(path: Path, entries: list[Entry], there: int) -> None:
    """Raise DataError unless the arrays lie one after the other in the `there` bytes behind the
    head.
    """
    end = 0
    for entry in entries:
        if not KEPT.fullmatch(entry.dtype):
            raise checkpoint_damage(path, f"{entry.name} is an array of {entry.dtype!r}")
        dtype = np.dtype(entry.dtype)
        if entry.offset != end or entry.size != math.prod(entry.shape) * dtype.itemsize:
            raise checkpoint_damage(path, f"{entry.name} cannot be as it is described")
        try:
            np.broadcast_to(np.zeros((), dtype), entry.shape)  # takes no memory
        except ValueError as error:
            raise checkpoint_damage(path, f"{entry.name}: {error}") from None
        end += _padded_size(entry.size)
    if end != there or len({entry.name for entry in entries}) != len(entries):
        raise checkpoint_damage(
            path, f"arrays of {end:,} bytes are described, but there are {there:,}"
        )


def _padded_size(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _opening(head: Head) -> bytes:
    """Make the bytes before the arrays. ProgramError if JSON does not give back their values."""
    line = msgspec.json.encode(head) if _survives(head, Head) else b""
    if not line:
        bad = [name for name, value in head.head.items() if not _survives({name: value}, dict)]
        raise ProgramError(
            f"{', '.join(map(repr, bad)) or 'a name'} in a worker's state is not what JSON holds",
            do="keep text, booleans, finite numbers, lists, and dicts of these by text",
        )
    if len(line) >= LONGEST:
        raise ProgramError(
            f"the head of a worker's state has {len(line):,} bytes, more than {LONGEST:,}",
            do="keep numbers in arrays",
        )
    opening = MAGIC + line + b"\n"
    return opening.ljust(_padded_size(len(opening)), b"\0")


def _survives(value: Any, kind: type) -> bool:
    """Return whether JSON gives back the value that it is given."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(value), type=kind) == value)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _pieces(array: np.ndarray | ArrayPieces) -> Iterator[memoryview]:
    """Yield the bytes of an array in C order, then its padding."""
    if isinstance(array, ArrayPieces):
        given = (np.ascontiguousarray(piece, array.dtype) for piece in array.pieces if piece.size)
        yield from (piece.reshape(-1).view(np.uint8).data for piece in given)
    elif array.size:
        for piece in np.nditer(  # type: ignore[call-overload]
            array,
            ["external_loop", "buffered"],
            [["readonly", "contig"]],
            order="C",
            buffersize=PIECE // array.itemsize,
        ):
            yield piece.view(np.uint8).data
    size = _bytes_of(array)
    yield memoryview(bytes(_padded_size(size) - size))


def _read_pieces(number: int, start: int, size: int) -> Iterator[memoryview]:
    """Yield bytes of an open file, a piece at a time."""
    for low in range(0, size, PIECE):
        yield memoryview(os.pread(number, min(PIECE, size - low), start + low))
