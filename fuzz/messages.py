"""Bytes from the network: frames, the payloads of messages, and control messages.

A frame is decoded as the reactor does it, which believes nothing of it, not even that it comes from
a member. What its arrays mean is read as the engine does it for members. (Who may connect at all is
decided by ZeroMQ, which is not fuzzed here.)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np

from fuzz import mutations
from fuzz.parser import Parser, choice, join_parts, split_parts
from tux.arrays.integers import index_dtype
from tux.checkpoint.shard import Digest
from tux.cluster.transport import control
from tux.cluster.transport.control import (
    At,
    Beat,
    Bye,
    End,
    Failure,
    Go,
    HasLoaded,
    HasRead,
    Hello,
    Join,
    Keep,
    MarkPassed,
    MarkReached,
    NotYet,
    Pass,
    ReadWhole,
    Record,
    SendModel,
    StateKept,
    StateNotKept,
    TrainingEnd,
    Until,
    Welcome,
    WorkSample,
)
from tux.cluster.transport.reactor import ANY
from tux.cluster.transport.sequence import Sequences
from tux.engine.records import COSTS
from tux.engine.timeline import Sample
from tux.messages.edge_rows import EdgeRows
from tux.messages.encoding import pack
from tux.messages.frames import DTYPES, checksum, decode, encode
from tux.messages.message import Kind, Message
from tux.messages.payloads import (
    Answer,
    Contribution,
    EvalRows,
    ModelRows,
    Totals,
)
from tux.messages.piece import Content, Piece, RoundPiece, content_of
from tux.messages.pull_payloads import FieldRows, PullAnswer, PullRequest, Push
from tux.messages.touched import FIRST, ONCE, RowsByBlock
from tux.program.fields import mirror, shared, total, value
from tux.rows.table import RowTable

JOB, WORKERS = 0xFEEDFACE12345678, 3
SUM_AT, HEAD = 44, 52  # where the checksum stands in a header, and the bytes of this


class _Route:
    """Rows 1, 3 and 4 of a type, whatever the block, of three blocks."""

    numbers = range(3)

    def __init__(self, *, masked: bool) -> None:
        self.masked = masked

    @property
    def told(self) -> RowsByBlock:
        """The rows that the messages of one input have named."""
        return RowsByBlock()

    def up(self, home: int, numbers: np.ndarray) -> np.ndarray:
        """See `tux.messages.payloads.Rows`."""
        return np.array([1, 3, 4], np.int32)

    def down(self, worker: int, numbers: np.ndarray) -> np.ndarray:
        """Return the same rows."""
        return np.array([1, 3, 4], np.int32)


def _table(name: str, n: int, fields: dict[str, Any]) -> RowTable:
    sized = {field: declared.resolve({}) for field, declared in fields.items()}
    return RowTable.allocate(name, sized, n, np.full(n, 4))


BLOCK, TOUCHED = _Route(masked=False), _Route(masked=True)
FIELDS = [np.zeros((5, 2), np.float32), np.zeros(5, np.int64)]
SUM = [np.zeros((1, 2), np.float64)]
TABLES = [
    _table("user", 5, {"x": shared("f4", 2)}),
    _table("bag", 5, {"held": mirror("u2", "edges", kept=True), "n": value("i4")}),
    _table("tau", 1, {"mean": value("f8"), "sum": total("f8")}),
]


def _pack_dirty(*fields: np.ndarray) -> list[np.ndarray]:
    """Return a packed message in which all of each field is dirty."""
    return pack((field, np.ones((len(field), field[0].size), np.uint8)) for field in fields)


THREE = _pack_dirty(np.ones((3, 2), np.float32), np.ones(3, np.int64))
SOME = pack(
    [
        (np.ones((3, 2), np.float32), np.array([[1, 1], [0, 0], [0, 0]], np.uint8)),
        (np.ones(3, np.int64), np.array([[0], [1], [0]], np.uint8)),
    ]
)
ONES, IDS = np.ones((2, 2), np.float32), np.array([4, 0])
ENDS = IDS.astype(index_dtype(5))
Read = Callable[[Message], object]
READERS: dict[Kind, tuple[Read, ...]] = {
    Kind.CONTRIBUTION: (
        lambda m: Contribution.read(m, BLOCK, FIELDS, gather=True, weighted=True),
        lambda m: Contribution.read(m, BLOCK, FIELDS, gather=True, weighted=False),
        lambda m: Contribution.read(m, TOUCHED, FIELDS, gather=True, weighted=False),
        lambda m: Contribution.read(m, TOUCHED, FIELDS, gather=False, weighted=True),
        lambda m: Totals.read(m, SUM),
    ),
    Kind.TOTALS: (lambda m: Totals.read(m, SUM),),
    Kind.ANSWER: (
        lambda m: Answer.read(m, BLOCK, FIELDS),
        lambda m: Answer.read(m, TOUCHED, FIELDS),
        lambda m: Answer.of_context(m, SUM),
    ),
    Kind.EVAL_ROWS: (lambda m: EvalRows.read(m, FIELDS, [2, 3]),),
    Kind.MODEL_ROWS: (
        lambda m: ModelRows.read(m, TABLES, [5, 5]),
        lambda m: EdgeRows.read(m, {"topic": np.zeros((0, 2), np.uint16)}, [5, 5]),
    ),
    Kind.PIECE: (lambda m: Piece.read(m, 10), lambda m: RoundPiece.read(m, 10)),
    Kind.TAKEN: (content_of,),
    Kind.PULL_REQUEST: (lambda m: PullRequest.read(m, 2),),
    Kind.PULL_ANSWER: (lambda m: PullAnswer.read(m, FIELDS, {3: [2, 2]}),),
    Kind.PUSH: (lambda m: Push.read(m, 2),),
}
TWO_ROWS = FieldRows(np.array([4, 1], np.int32), np.array([2, 2], np.int32))
HEADS = np.array([2, 7, 0], np.int32)
WEIGHTS = np.array([1, 2, 3], np.float32)
ANSWERED = [np.array([1], np.int32), np.uint8([ONCE])]
PAYLOADS: tuple[tuple[Kind, int, list[np.ndarray]], ...] = (
    (Kind.CONTRIBUTION, 0, [HEADS, WEIGHTS, *THREE]),
    (Kind.CONTRIBUTION, 0, [HEADS, *SOME]),
    (Kind.CONTRIBUTION, 0, [HEADS, np.uint8([FIRST]), np.uint8([0b11100000]), *THREE]),
    (Kind.TOTALS, 0, _pack_dirty(np.ones((1, 2)))),
    (Kind.ANSWER, 0, [np.array([0, 2], np.int32), *THREE]),
    (Kind.ANSWER, 0, [*ANSWERED, np.array([0, 1, 2], np.int32), *SOME]),
    (Kind.EVAL_ROWS, 0, [ONES, np.ones((3, 1), np.int64)]),
    (Kind.MODEL_ROWS, 0, [IDS, ONES]),
    (Kind.MODEL_ROWS, 1, [IDS, np.array([1, 2]), np.uint16([7, 8, 9]), np.int32([[3], [4]])]),
    (
        Kind.MODEL_ROWS,
        3,
        EdgeRows(ENDS, ENDS[::-1], {"topic": np.ones((2, 2), np.uint16)}).arrays(),
    ),
    (Kind.PIECE, Content.LISTS, [np.zeros(10, np.uint8)]),
    (Kind.PIECE, Content.STATE, [np.ones(10, np.uint8)]),
    (Kind.PIECE, 0, [np.array([12]), np.ones(10, np.uint8)]),
    (Kind.TAKEN, Content.STATE, []),
    (Kind.PULL_REQUEST, 0, PullRequest(3, 1, TWO_ROWS).arrays()),
    (Kind.PULL_ANSWER, 0, PullAnswer(3, 2, [ONES, np.zeros((2, 1), np.int64)]).arrays()),
    (Kind.PUSH, 0, Push(3, TWO_ROWS, [ONES, np.zeros((2, 1), np.int64)]).arrays()),
)
CONTROLS: tuple[control.Control, ...] = (
    Join("tcp://127.0.0.1:1", bytes(range(16)), lost="worker 1 was killed"),
    Hello({"tux": "0.1.0", "--rank": "8"}, 4711, "host", "tcp://127.0.0.1:1"),
    Welcome(bytes(range(16)), [Digest(4096, "0" * 64)], bytes(range(16))),
    Go(["ipc:///tmp/x/0", "ipc:///tmp/x/1"]),
    Pass(40, keep=True),
    MarkPassed(20),
    MarkReached(7),
    Keep(7, "/tmp/x/worker-0000.shard"),
    Keep(7, sends=True),
    StateKept(7, Digest(4096, "0" * 64), None),
    StateNotKept(7, "the disk is full"),
    End(),
    At(8),
    Until(9),
    Record({**dict.fromkeys(COSTS, 1.0), "epoch": 1, "rmse": 0.5}),
    WorkSample(
        Sample(1e9, 0.1, 2, 7, {"compute": 0.05}, 10, 4096, [0, 5], lanes={"main": [0, 9, 3, 7]})
    ),
    TrainingEnd(0.25, 7, ended_early=True),
    SendModel(1, 2, 5),
    Failure(3, "what", "where", "do", "Traceback ..."),
    Bye("it was interrupted"),
    NotYet(),
    HasRead(),
    HasLoaded(),
    ReadWhole(),
)
BEAT = Beat(works=True, refused=3, last_refused="a connection")


# ---- valid messages as bytes


def _frames(kind: Kind, sync_id: int, arrays: Sequence[np.ndarray], inside: int = 2048) -> bytes:
    message = Message(kind, 0, 2, 0, sync_id, arrays, 0)
    return join_parts(bytes(frame) for frame in encode(message, JOB, inside))


def _valid() -> list[bytes]:
    carried = [
        *PAYLOADS,
        *((Kind.CONTROL, 0, control.pack(each, 0, 2).arrays) for each in CONTROLS),
        (Kind.BEAT, 0, control.pack_beat(BEAT, 0, 0, 2).arrays),
    ]
    return [_frames(*each, inside) for each in carried for inside in (0, 2048)]


# ---- damaged ones


def _number(rng: Random) -> int:
    return rng.choice(mutations.NUMBERS) + rng.choice((0, 0, 1, -1))


def _damage_descriptors(rng: Random, parts: list[bytes]) -> list[bytes]:
    """Replace numbers of the header or of a descriptor of frames."""
    head = bytearray(parts[0]) if parts else bytearray()
    if len(head) < HEAD:
        return parts
    for _ in range(rng.choice((1, 1, 2, 4))):
        chance = rng.random()
        if chance < 0.3:
            at, size = rng.choice(
                ((4, 2), (6, 1), (7, 1), (8, 8), (16, 4), (20, 4), (24, 8), (32, 4))
            )
            head[at : at + size] = (_number(rng) % 2 ** (8 * size)).to_bytes(size, "little")
        elif len(head) > HEAD:
            at = HEAD + 34 * rng.randrange(max(1, min(head[7], (len(head) - HEAD) // 34)))
            match rng.randrange(3):
                case 0:
                    head[at : at + 1] = bytes([rng.randrange(14)])
                case 1:
                    head[at + 1 : at + 2] = bytes([rng.randrange(6)])
                case _:
                    place = at + 2 + 8 * rng.randrange(4)
                    if rng.random() < 0.1:  # no bytes, whatever the other lengths are
                        head[at + 2 : at + 34] = bytes(32)
                        head[at + 1] = 4
                    head[place : place + 8] = (_number(rng) % 2**64).to_bytes(8, "little")
    return [bytes(head), *parts[1:]]


def _add_checksum(parts: list[bytes]) -> list[bytes]:
    """Return the frames with a right checksum."""
    if not parts or len(parts[0]) < HEAD:
        return parts
    head = parts[0]
    bare = head[:SUM_AT] + bytes(8) + head[HEAD:]
    return [
        head[:SUM_AT] + struct.pack("<Q", checksum([bare, *parts[1:]])) + head[HEAD:],
        *parts[1:],
    ]


def _array(rng: Random, array: np.ndarray) -> np.ndarray:
    """Return another array instead of one that is right."""
    match rng.randrange(7):
        case 0:
            return array[: rng.randrange(len(array) + 1)] if array.ndim else array
        case 1:
            with np.errstate(invalid="ignore"):
                return array.astype(rng.choice(DTYPES))
        case 2:
            return array.reshape(rng.choice([(-1,), (-1, 1), (1, -1), (1, 1, 1, -1)]))
        case 3:
            return np.concatenate([array.reshape(-1), array.reshape(-1)])
        case 4:
            sizes = [rng.randrange(4) for _ in range(rng.randrange(4))]
            return np.ones(sizes, rng.choice(DTYPES))
        case _:
            raw = bytearray(array.tobytes())
            size = array.itemsize
            for _ in range(rng.choice((1, 1, 3)) if raw else 0):
                at = size * rng.randrange(len(raw) // size)
                raw[at : at + size] = (_number(rng) % 2 ** (8 * size)).to_bytes(size, "little")
            return np.frombuffer(bytes(raw), array.dtype).reshape(array.shape)


def _message_input(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Make frames whose bytes are damaged, with or without a right checksum, or whose arrays
    are.
    """
    chance = rng.random()
    if chance < 0.1:
        return join_parts(rng.randbytes(rng.randrange(150)) for _ in range(rng.randrange(4)))
    if chance < 0.2:
        return mutations.damage_binary(rng, samples)
    if chance < 0.5:
        kind, sync_id, arrays = rng.choice(PAYLOADS)
        changed = list(arrays) or [np.zeros(3, np.uint8)]
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            at = rng.randrange(len(changed))
            match rng.randrange(8):
                case 0:
                    changed.pop(at)
                case 1:
                    changed.insert(at, rng.choice(changed))
                case _:
                    changed[at] = _array(rng, changed[at])
            changed = changed or [np.zeros(0, np.uint8)]
        kind = rng.choice(list(Kind)) if rng.random() < 0.05 else kind
        return _frames(kind, sync_id, changed, rng.choice((0, 2048)))
    parts = split_parts(rng.choice(samples))
    if chance < 0.8:
        parts = _damage_descriptors(rng, parts)
    else:
        at = rng.randrange(len(parts))
        parts[at] = mutations.damage_bytes(rng, parts[at], mutations.BINARY)
        if rng.random() < 0.1:
            parts.insert(at, rng.choice(parts))
    return join_parts(_add_checksum(parts) if rng.random() < 0.9 else parts)


def _read_message(content: bytes) -> object:
    """Read frames as the reactor and the worker behind it do."""
    frames = [memoryview(part) for part in split_parts(content)]
    message = decode(frames, JOB, ANY)
    sequences = Sequences(WORKERS + 1)
    if message.dest != 2 or message.source == 2 or not sequences.is_from_member(message):
        return None
    sequences.accept(message, "worker 2")
    if message.kind is Kind.CONTROL:
        return _take_control(message)
    if message.kind is Kind.BEAT:
        return control.beat_in(message)
    readers = READERS.get(message.kind)
    if readers is None:
        return None
    if content in VALID:
        return message
    return readers[choice(content, len(readers))](message)


def _take_control(message: Message) -> object:
    """Read a control message, as the launcher and workers do at once."""
    found = control.unpack(message)
    if isinstance(found, Record):
        return control.epoch_of(message, found, 0)
    return control.as_error(found) if isinstance(found, Failure) else found


def _control_input(rng: Random, samples: Sequence[bytes]) -> bytes:
    """Make bytes of a control that are damaged, or a control with other values."""
    if rng.random() < 0.5:
        return mutations.damage_binary(rng, samples)
    value = mutations.change_json(rng, msgspec.msgpack.decode(rng.choice(samples)))
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):  # which no message can have
        return mutations.damage_binary(rng, samples)


def _read_control(content: bytes) -> object:
    return _take_control(Message(Kind.CONTROL, 1, 2, arrays=[np.frombuffer(content, np.uint8)]))


VALID = frozenset(_valid())


def parsers(folder: Path) -> dict[str, Parser]:
    """Return all parsers of this file by name."""
    controls = [msgspec.msgpack.encode(each) for each in CONTROLS]
    return {
        "frames": Parser(_valid(), _read_message, _message_input),
        "control": Parser(controls, _read_control, _control_input),
    }
