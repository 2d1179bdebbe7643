"""Messages between the launcher and its workers: they come back as they were, and any others are
refused.
"""

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tux.base import errors
from tux.base.errors import Refused, TuxError
from tux.checkpoint.shard import Digest
from tux.cluster.transport.control import (
    MOST_BYTES,
    Beat,
    Bye,
    Failure,
    Go,
    Hello,
    Join,
    Keep,
    NotYet,
    Record,
    TrainingEnd,
    Welcome,
    WorkSample,
    as_error,
    as_failure,
    beat_in,
    epoch_of,
    pack,
    pack_beat,
    unpack,
)
from tux.engine.records import COSTS
from tux.engine.timeline import Sample, WorkerInfo
from tux.messages.frames import decode, encode
from tux.messages.message import Kind, Message

HELD = WorkerInfo("höst", 4711, 2, 50, {"user": 5}, {"user": 5})
SAMPLE = Sample(1e9, 0.1, 2, 7, {"compute": 0.05}, 10, 4096, [0, 5], lanes={"main": [0, 9, 3, 7]})

CONTROLS = [
    Hello({"tux": "0.1.0", "--rank": "8"}, 4711, "höst", "tcp://127.0.0.1:1"),
    Go([]),
    Go(["ipc:///tmp/x/0", "ipc:///tmp/x/1"]),
    Join("tcp://127.0.0.1:1"),
    Welcome(bytes(range(16))),
    Welcome(bytes(range(16)), [Digest(4096, "0" * 64)], bytes(range(16))),
    Keep(3, "/tmp/file"),
    Keep(3, sends=True),
    Record({}),
    Record({"epoch": 3.0, "test_rmse": 0.1 + 0.2, "tiny": 5e-324, "none": float("inf")}),
    WorkSample(SAMPLE),
    WorkSample(structs.replace(SAMPLE, held=HELD)),
    TrainingEnd(0.25, 7, False),
    Failure(3, "what", "where", "do", "Traceback ..."),
    Failure(1, "", "", ""),
    Bye(),
    Bye("it was interrupted"),
    Bye("worker 1 was killed", again=True),
    Bye("interrupted after 2 epochs", interrupted=True),
    NotYet(),
]
KINDS = [
    errors.UsageError,
    errors.DataError,
    errors.PeerLost,
    errors.DeadlinePassed,
    errors.DiskError,
    errors.Refused,
    errors.Interrupted,
]


NOT_UTF_8 = msgspec.msgpack.encode(Bye("text")).replace(b"text", b"t\xffxt")


def carrying(content, *more):
    """Return a control message with these bytes in it."""
    return Message(Kind.CONTROL, 1, 2, arrays=[np.frombuffer(content, np.uint8), *more])


def assert_refused(message):
    with pytest.raises(Refused, match="worker 1 was refused") as error:
        unpack(message)
    assert "\n" not in error.value.what and error.value.exit_code == 7


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: type(control).__name__)
def test_there_and_back(control):
    message = pack(control, 1, 2)
    assert (message.kind, message.source, message.dest) == (Kind.CONTROL, 1, 2)
    assert unpack(message) == control
    frames = [bytes(frame) for frame in encode(message, 77)]
    assert unpack(decode(frames, 77, 2)) == control


def test_a_heartbeat_there_and_back():
    beat = Beat(paused=True, works=True, refused=3, last_refused="a stranger")
    message = pack_beat(beat, 7, 1, 2)
    assert (message.kind, message.source, message.dest) == (Kind.BEAT, 1, 2)
    frames = [bytes(frame) for frame in encode(message, 77)]
    received = decode(frames, 77, 2)
    assert beat_in(received) == beat and received.sequence == 7


@pytest.mark.parametrize("content", [b"", b"\xc1", msgspec.msgpack.encode({"refused": "many"})])
def test_what_is_no_heartbeat_is_refused(content):
    with pytest.raises(Refused, match="BEAT message of worker 1 was refused"):
        beat_in(carrying(content)._replace(kind=Kind.BEAT))


def test_a_value_that_is_no_number():
    (number,) = unpack(pack(Record({"x": float("nan")}), 1, 2)).fields.values()
    assert number != number


@pytest.mark.parametrize(
    "content",
    [
        {"type": "shutdown"},
        {"type": "trained", "seconds": "0.5", "best_epoch": 1},
        {"type": "trained", "seconds": 0.5},
        {"type": "trained", "seconds": 0.5, "best_epoch": 1.5},
        {"type": "record", "fields": {"epoch": "1"}},
        {"type": "record", "fields": [1, 2]},
        {"type": "go", "addresses": "ipc:///x"},
        {"type": 3},
        {"seconds": 0.5, "best_epoch": 1},
        ["beat"],
        "beat",
        None,
        7,
    ],
    ids=str,
)
def test_what_is_of_another_type(content):
    assert_refused(carrying(msgspec.msgpack.encode(content)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x81",
        b"\xc1",
        b'{"type": "beat"}',
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x91" * 100_000,
        NOT_UTF_8,
    ],
    ids=["nothing", "map cut short", "no type", "JSON", "HTTP", "deep nesting", "no UTF-8"],
)
def test_what_is_no_control_at_all(content):
    assert_refused(carrying(content))


@given(st.binary(max_size=64))
def test_random_bytes_raise_nothing_but_refusals(content):
    try:
        unpack(carrying(content))
    except Refused:
        pass


COMPLETE = dict.fromkeys(COSTS, 1.0)


def test_the_next_epoch_of_a_worker():
    message = pack(Record(COMPLETE), 1, 2)
    assert epoch_of(message, Record(COMPLETE), 0) == 1
    assert epoch_of(message, Record({**COMPLETE, "epoch": 3, "test_rmse": 0.5}), 2) == 3


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "no epoch"),
        ({name: 1 for name in COSTS if name != "wait_s"}, "no wait_s"),
        ({**COMPLETE, "epoch": 2}, "1 is next"),
        ({**COMPLETE, "epoch": 0}, "1 is next"),
        ({**COMPLETE, "epoch": 1.5}, "1 is next"),
        ({**COMPLETE, "epoch": float("nan")}, "1 is next"),
    ],
)
def test_records_that_cannot_be(fields, why):
    with pytest.raises(Refused, match="CONTROL message of worker 1 was refused") as error:
        epoch_of(pack(Record(fields), 1, 2), Record(fields), 0)
    assert why in error.value.what


def test_trailing_bytes():
    assert_refused(carrying(msgspec.msgpack.encode(Bye()) + b"\0"))


def test_no_buffer_or_two():
    assert_refused(Message(Kind.CONTROL, 1, 2))
    assert_refused(carrying(msgspec.msgpack.encode(Bye()), np.zeros(1, np.uint8)))


def test_more_bytes_than_any_control_has():
    content = msgspec.msgpack.encode(Failure(1, "x" * MOST_BYTES, "", ""))
    assert_refused(carrying(content))
    assert_refused(Message(Kind.CONTROL, 1, 2, arrays=[np.zeros(MOST_BYTES + 1, np.uint8)]))


# ---- errors


@pytest.mark.parametrize("kind", [*KINDS, TuxError])
def test_errors_keep_their_kind_words_and_place(kind):
    error = as_error(
        unpack(pack(as_failure(kind("it broke", where="mf.py:3", do="mend it")), 0, 2))
    )
    assert type(error) is kind and str(error) == "it broke\n  at mf.py:3\n  mend it"


def test_an_error_in_the_program_is_one_of_usage():
    error = as_error(as_failure(errors.ProgramError("no such field", where="mf.py:3")))
    assert isinstance(error, errors.UsageError) and error.exit_code == 2


def test_an_error_brings_its_traceback_for_those_who_ask():
    def strange():
        raise errors.DataError("it broke")

    try:
        strange()
    except TuxError as raised:
        error = as_error(as_failure(raised))
    assert "in strange" in "".join(error.__notes__) and "strange" not in str(error)


def test_an_error_with_endless_words_still_fits():
    message = pack(
        as_failure(
            errors.DataError("x" * 3 * MOST_BYTES, where="ü" * MOST_BYTES, do="y" * MOST_BYTES)
        ),
        0,
        2,
    )
    assert message.arrays[0].nbytes < MOST_BYTES
    assert as_error(unpack(message)).what.startswith("xxx")


def test_an_unknown_code_is_an_error_all_the_same():
    error = as_error(Failure(99, "from the future", "", ""))
    assert type(error) is TuxError and error.what == "from the future"
