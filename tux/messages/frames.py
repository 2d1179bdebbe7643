"""Messages as bytes: a fixed header, a descriptor and a raw buffer for each array. This is where
bytes from the network are checked: `decode` trusts nothing. Pure functions.

    header       magic 4s, version u16, kind u8, arrays u8, job u64, source u32, dest u32,
                 clock u64, sync u32, sequence u64, checksum u64
    descriptors  one for each array, in the header's frame: dtype code u8, dimensions u8,
                 lengths 4 x u64
    buffers      C-contiguous, little-endian: if all together are small, in the header's frame, each
                 from a multiple of 8 bytes on; else one frame for each array, or several of at
                 most MAX_FRAME_BYTES bytes

The checksum covers the header (with the checksum's own place zero), the descriptors and all
buffers. It finds accidents, not attackers; against those, transports between machines encrypt and
authenticate.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.errors import Refused
from tux.messages.message import Kind, Message

MAGIC, VERSION = b"tux\x00", 5
KINDS = tuple(Kind)  # by their numbers
DTYPES = tuple(
    np.dtype(code) for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
)
CODES = {dtype: code for code, dtype in enumerate(DTYPES)}
MOST_ARRAYS, MOST_DIMENSIONS = 255, 4
MAX_FRAME_BYTES = 1 << 26
"""Bytes of a frame. Rows may have any size, so larger arrays travel in several frames."""
INSIDE = 2048
"""Bytes of buffers that are copied into the header's frame: a frame of its own takes longer."""
_HEADER = struct.Struct("<4sHBBQIIQIQQ")
_DESCRIPTOR = struct.Struct("<BB4Q")
_CHECKSUM = struct.Struct("<Q")
_ZERO, _ZEROS = np.uint64(0), bytes(8)


@cached_njit
def _sum_bytes(raw, state):  # type: ignore[no-untyped-def]
    """Compute a 64-bit sum of bytes (n,) in which every place has another weight, and which depends
    on n too. Four independent sums keep the processor's multiplier busy.
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
    """Compute the 64-bit checksum of byte buffers in their order; their lengths count too."""
    state = _ZERO
    for buffer in buffers:
        raw = buffer if type(buffer) is bytes else memoryview(buffer).toreadonly()
        state = np.uint64(_sum_bytes(np.frombuffer(raw, np.uint8), state))
    return int(state)


def encode(message: Message, job: int, inside: int = INSIDE) -> list[Any]:
    """Make the frames of `message`: header bytes, then the arrays' buffers, which are not copied.
    If all buffers together have at most `inside` bytes, they are copied into the header's frame,
    and that is the only one.
    """
    arrays = [np.asarray(a, order="C") for a in message.arrays]
    if len(arrays) > MOST_ARRAYS:
        raise ValueError(f"a message of {len(arrays)} arrays")
    header = _HEADER.pack(
        MAGIC,
        VERSION,
        message.kind,
        len(arrays),
        job,
        message.source,
        message.dest,
        message.clock,
        message.sync_id,
        message.sequence,
        0,
    )
    bare = b"".join([header, *[_pack_descriptor(a.dtype, a.shape) for a in arrays]])
    if arrays and sum([array.nbytes for array in arrays]) <= inside:
        bare = b"".join([bare, *_align_arrays(len(bare), arrays)])
        return [_put_checksum(bare, checksum([bare]))]
    buffers = [a.reshape(-1).view(np.uint8) for a in arrays]
    return [_put_checksum(bare, checksum([bare, *buffers])), *_frames(buffers)]


def _frames(buffers: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield buffers as frames; a buffer of more than MAX_FRAME_BYTES bytes becomes several."""
    for buffer in buffers:
        if len(buffer) <= MAX_FRAME_BYTES:
            yield buffer
        else:
            yield from (
                buffer[at : at + MAX_FRAME_BYTES] for at in range(0, len(buffer), MAX_FRAME_BYTES)
            )


def _put_checksum(bare: bytes, total: int) -> bytes:
    """Put the checksum into the frame of a header, which has zeros in its place."""
    return b"".join([bare[: _HEADER.size - 8], _CHECKSUM.pack(total), bare[_HEADER.size :]])


@lru_cache(1024)
def _pack_descriptor(dtype: np.dtype, shape: tuple[int, ...]) -> bytes:
    code, ndim = CODES.get(dtype), len(shape)
    if code is None or ndim > MOST_DIMENSIONS:
        raise ValueError(f"a message cannot have {dtype} of {ndim} dimensions")
    return _DESCRIPTOR.pack(code, ndim, *shape, *[0] * (MOST_DIMENSIONS - ndim))


def _align_arrays(at: int, arrays: Sequence[np.ndarray]) -> Iterator[bytes]:
    """Yield the bytes of the arrays, and before each the zeros that align it to 8 bytes. The first
    begins at place `at` of a frame.
    """
    for array in arrays:
        yield _ZEROS[: -at % 8]
        yield array.tobytes()
        at += -at % 8 + array.nbytes


def decode(frames: Sequence[Any], job: int, workers: int) -> Message:
    """Make the message of `frames`. Refused, in one line, for anything that is not a message of
    this job between its `workers`.

    Arrays are views of the frames: nothing is allocated because of a size that a frame claims.
    """
    head = bytes(frames[0]) if frames else b""
    claimed = _claimed_header(head, job, workers)
    count, source = claimed.arrays, claimed.source
    described = _HEADER.size + count * _DESCRIPTOR.size
    one = len(frames) == 1 and count > 0 and len(head) >= described  # with the buffers in it
    if not one and (len(head) != described or len(frames) <= count):
        raise _wrong_count_error(frames, count, source)
    claims = _claims(head[_HEADER.size : described])
    if claims is None:
        raise Refused(f"a message from worker {source} with an array of unknown type was refused")
    buffers = (
        _split_buffers(head, claims)
        if one
        else frames[1:]
        if len(frames) == count + 1
        else _join_frames(frames, claims, source)
    )
    arrays = [_array(claim, buffer, source) for claim, buffer in zip(claims, buffers, strict=True)]
    bare = b"".join([head[: _HEADER.size - 8], _ZEROS, head[_HEADER.size :]])
    covered = [bare] if one else [bare, *[a.reshape(-1).view(np.uint8) for a in arrays]]
    if checksum(covered) != claimed.checksum:
        raise Refused(f"a message from worker {source} with a bad checksum was refused")
    return Message(
        KINDS[claimed.kind],
        source,
        claimed.dest,
        claimed.clock,
        claimed.sync_id,
        arrays,
        claimed.sequence,
    )


def _claimed_header(head: bytes, job: int, workers: int) -> _ClaimedHeader:
    """Return what the head of a message claims, if the message is one of `job`."""
    if len(head) < _HEADER.size or head[:4] != MAGIC:
        raise Refused("a frame that is not tux's was refused")
    claimed = _ClaimedHeader(*_HEADER.unpack_from(head))
    if claimed.version != VERSION:
        raise Refused(
            f"a message of protocol version {claimed.version} was refused: "
            f"this is version {VERSION}"
        )
    if claimed.job != job:
        raise Refused("a message of another job was refused")
    if claimed.kind >= len(KINDS) or claimed.source > workers or claimed.dest > workers:
        raise Refused(
            f"a message from worker {claimed.source} to {claimed.dest} "
            f"of kind {claimed.kind} was refused"
        )
    return claimed


class _ClaimedHeader(NamedTuple):
    """The fields of `_HEADER`, as the bytes claim them."""

    magic: bytes
    version: int
    kind: int
    arrays: int
    job: int
    source: int
    dest: int
    clock: int
    sync_id: int
    sequence: int
    checksum: int


class _Claim(NamedTuple):
    """The properties of an array that its descriptor states, not yet checked."""

    at: int  # where its buffer is, if it is in the header's frame
    size: int  # bytes
    dtype: np.dtype
    lengths: tuple[int, ...]


@lru_cache(1024)
def _claims(described: bytes) -> tuple[_Claim, ...] | None:
    """Read descriptors; return None if a type or a number of dimensions is unknown. Results are
    cached, as most messages have the same descriptors again and again.
    """
    claims, at = [], _HEADER.size + len(described)
    for code, ndim, *lengths in _DESCRIPTOR.iter_unpack(described):
        if code >= len(DTYPES) or ndim > MOST_DIMENSIONS:
            return None
        at += -at % 8
        size = math.prod(lengths[:ndim], start=DTYPES[code].itemsize)
        claims.append(_Claim(at, size, DTYPES[code], tuple(lengths[:ndim])))
        at += size
    return tuple(claims)


def _split_buffers(head: bytes, claims: Sequence[_Claim]) -> list[memoryview]:
    """Cut the header's frame into the buffers in it. The last one gets the rest, so that its size
    is not the claimed one if the frame is too long.
    """
    view, last = memoryview(head), claims[-1].at
    return [*[view[claim.at : claim.at + claim.size] for claim in claims[:-1]], view[last:]]


def _join_frames(frames: Sequence[Any], claims: Sequence[_Claim], source: int) -> Iterator[Any]:
    """Yield the buffers of the arrays from the frames after the header's. A buffer in several
    frames is joined; this allocates no more than has arrived.
    """
    counts = [max(1, -(-claim.size // MAX_FRAME_BYTES)) for claim in claims]
    if sum(counts) != len(frames) - 1:
        raise _wrong_count_error(frames, len(claims), source)
    at = 1
    for count in counts:
        yield frames[at] if count == 1 else b"".join(frames[at : at + count])
        at += count


def _wrong_count_error(frames: Sequence[Any], count: int, source: int) -> Refused:
    return Refused(
        f"a message from worker {source} with {len(frames) - 1} buffers for {count} arrays was "
        "refused"
    )


def _array(claim: _Claim, frame: Any, source: int) -> np.ndarray:
    view = memoryview(frame)
    if claim.size != view.nbytes:
        raise Refused(
            f"a message from worker {source} with a buffer of {view.nbytes} bytes for {claim.size} "
            "was refused"
        )
    try:
        return np.frombuffer(view, claim.dtype).reshape(claim.lengths)
    except ValueError:  # lengths that no array has, of a size that happens to fit
        raise Refused(
            f"a message from worker {source} with an array of impossible shape was refused"
        ) from None
