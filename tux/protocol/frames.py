"""Messages as bytes: a fixed header, a descriptor and a raw buffer for each array. This is where
bytes from the network are checked: `decode` trusts nothing. Pure functions.

    header       magic 4s, version u16, kind u8, arrays u8, job u64, source u32, dest u32,
                 clock u64, sync u32, sequence u64, checksum u64
    descriptors  one for each array, in the header's frame: dtype code u8, dimensions u8,
                 lengths 4 x u64
    buffers      one frame for each array, C-contiguous, little-endian

The checksum covers the header (with the checksum's own place zero), the descriptors and all
buffers. It finds accidents, not attackers; against those, transports between machines encrypt and
authenticate.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from tux.base.errors import Refused
from tux.partition.compiled import compiled
from tux.protocol.message import Kind, Message

MAGIC, VERSION = b"tux\x00", 3
KINDS = tuple(Kind)  # by their numbers
DTYPES = tuple(
    np.dtype(code) for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
)
MOST_ARRAYS, MOST_DIMENSIONS = 255, 4
_HEADER = struct.Struct("<4sHBBQIIQIQQ")
_DESCRIPTOR = struct.Struct("<BB4Q")


@compiled
def _fold(raw, state):  # type: ignore[no-untyped-def]
    """A 64-bit sum of bytes (n,) in which every place has another weight, their number too; four
    lanes, to keep the multiplier busy.
    """
    p = np.uint64(0x9E3779B97F4A7C15)
    a, b, c, d = (
        state ^ np.uint64(1),
        state ^ np.uint64(2),
        state ^ np.uint64(3),
        state ^ np.uint64(4),
    )
    n = len(raw) // 8
    words = raw[: 8 * n].view(np.uint64)
    # rotations, since a product alone would keep a flipped top bit at the top
    left, right = np.uint64(31), np.uint64(33)
    for i in range(0, n - n % 4, 4):
        a, b, c, d = (
            (a ^ words[i]) * p,
            (b ^ words[i + 1]) * p,
            (c ^ words[i + 2]) * p,
            (d ^ words[i + 3]) * p,
        )
        a, b = (a << left) | (a >> right), (b << left) | (b >> right)
        c, d = (c << left) | (c >> right), (d << left) | (d >> right)
    for i in range(n - n % 4, n):
        a = (a ^ words[i]) * p
        a = (a << left) | (a >> right)
    rest = np.uint64(0)
    for i in range(8 * n, len(raw)):
        rest = (rest << np.uint64(8)) | np.uint64(raw[i])
    for x in (b, c, d, rest, np.uint64(len(raw))):
        a = ((a ^ (a >> np.uint64(29))) ^ x) * p
    return a ^ (a >> np.uint64(32))


def checksum(buffers: Sequence[Any]) -> int:
    """64-bit checksum of byte buffers in their order; lengths count too."""
    state = np.uint64(0)
    for buffer in buffers:
        state = np.uint64(_fold(np.frombuffer(memoryview(buffer).toreadonly(), np.uint8), state))
    return int(state)


def encode(message: Message, job: int) -> list[Any]:
    """Frames of `message`: header bytes, then the arrays' buffers, not copied."""
    arrays = [np.asarray(a, order="C") for a in message.arrays]
    if len(arrays) > MOST_ARRAYS or any(a.ndim > MOST_DIMENSIONS for a in arrays):
        raise ValueError(
            f"a message of {len(arrays)} arrays, or of more than {MOST_DIMENSIONS} dimensions"
        )
    described = b"".join(
        _DESCRIPTOR.pack(DTYPES.index(a.dtype), a.ndim, *a.shape, *[0] * (MOST_DIMENSIONS - a.ndim))
        for a in arrays
    )
    buffers = [a.reshape(-1).view(np.uint8) for a in arrays]
    fixed = (
        MAGIC,
        VERSION,
        message.kind,
        len(arrays),
        job,
        message.source,
        message.dest,
        message.clock,
        message.sync_id,
    )
    bare = _HEADER.pack(*fixed, message.sequence, 0) + described
    total = checksum([bare, *buffers])
    return [_HEADER.pack(*fixed, message.sequence, total) + described, *buffers]


def decode(frames: Sequence[Any], job: int, workers: int) -> Message:
    """The message of `frames`; Refused, in one line, for anything that is not a message of this job
    between its `workers`.

    Arrays are views of the frames: nothing is allocated by what a frame claims.
    """
    head = bytes(frames[0]) if frames else b""
    if len(head) < _HEADER.size or head[:4] != MAGIC:
        raise Refused("a frame that is not tux's was refused")
    _, version, kind, count, of_job, source, dest, clock, sync_id, sequence, total = (
        _HEADER.unpack_from(head)
    )
    if version != VERSION:
        raise Refused(
            f"a message of protocol version {version} was refused: this is version {VERSION}"
        )
    if of_job != job:
        raise Refused("a message of another job was refused")
    if kind >= len(KINDS) or source > workers or dest > workers:
        raise Refused(f"a message from worker {source} to {dest} of kind {kind} was refused")
    if len(head) != _HEADER.size + count * _DESCRIPTOR.size or len(frames) != count + 1:
        raise Refused(
            f"a message from worker {source} with {len(frames) - 1} buffers for {count} arrays was "
            "refused"
        )
    arrays = [
        _array(head, _HEADER.size + j * _DESCRIPTOR.size, frames[j + 1], source)
        for j in range(count)
    ]
    bare = head[: _HEADER.size - 8] + bytes(8) + head[_HEADER.size :]
    if checksum([bare, *[a.reshape(-1).view(np.uint8) for a in arrays]]) != total:
        raise Refused(f"a message from worker {source} with a bad checksum was refused")
    return Message(KINDS[kind], source, dest, clock, sync_id, arrays, sequence)


def _array(head: bytes, at: int, frame: Any, source: int) -> np.ndarray:
    code, ndim, *lengths = _DESCRIPTOR.unpack_from(head, at)
    view = memoryview(frame)
    if code >= len(DTYPES) or ndim > MOST_DIMENSIONS:
        raise Refused(f"a message from worker {source} with an array of unknown type was refused")
    size = DTYPES[code].itemsize
    for length in lengths[:ndim]:
        size *= length
    if size != view.nbytes:
        raise Refused(
            f"a message from worker {source} with a buffer of {view.nbytes} bytes for {size} was "
            "refused"
        )
    try:
        return np.frombuffer(view, DTYPES[code]).reshape(lengths[:ndim])
    except ValueError:  # lengths that no array has, of a size that happens to fit
        raise Refused(
            f"a message from worker {source} with an array of impossible shape was refused"
        ) from None
