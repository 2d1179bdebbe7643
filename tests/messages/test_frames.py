"""Messages as bytes: what is sent arrives, and whatever else arrives is refused in one line,
before anything is allocated for it.
"""

import struct
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from support.examples import examples
from support.machines.team import relaxed

from tux.base.errors import Refused
from tux.messages import frames
from tux.messages.frames import DTYPES, KINDS, checksum, decode, encode
from tux.messages.message import Kind, Message

JOB, WORKERS = 0xFEEDFACE12345678, 3
HEAD, EACH = frames._HEADER.size, frames._DESCRIPTOR.size
GOOD = Message(
    Kind.CONTRIBUTION,
    1,
    2,
    7,
    3,
    [np.arange(6, dtype="f4").reshape(2, 3), np.array([1, 2], "i8")],
    9,
)


def raw(message, job=JOB, inside=0):
    """Return the frames as they come from a network: bytes. At most `inside` bytes of arrays are in
    the first frame.
    """
    return [bytes(frame) for frame in encode(message, job, inside)]


def check_same_messages(decoded, message):
    """Assert that two messages are equal, and their arrays in dtype, shape and bytes."""
    fields = ("kind", "source", "dest", "clock", "sync_id", "sequence")
    assert [getattr(decoded, f) for f in fields] == [getattr(message, f) for f in fields]
    for one, other in zip(decoded.arrays, message.arrays, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def assert_refused(parts, words="refused"):
    """Assert that `decode` refuses the frames, in one line that has these words."""
    with pytest.raises(Refused, match=words) as error:
        decode(parts, JOB, WORKERS)
    assert "\n" not in str(error.value) and error.value.exit_code == 7


def forge_frames(fields=(), descriptors=None, buffers=(b"",), *, count=None):
    """Make frames with a right checksum around any claims: `fields` of the header by place, and
    (code, ndim, lengths) of each descriptor.
    """
    descriptors = (
        [(9, 1, (len(buffer) // 4,)) for buffer in buffers] if descriptors is None else descriptors
    )
    described = b"".join(
        struct.pack("<BB4Q", code, ndim, *lengths, *[0] * (4 - len(lengths)))
        for code, ndim, lengths in descriptors
    )
    header = [
        frames.MAGIC,
        frames.VERSION,
        0,
        len(descriptors) if count is None else count,
        JOB,
        0,
        1,
        0,
        0,
        0,
        0,
    ]
    for place, value in dict(fields).items():
        header[place] = value
    total = checksum([frames._HEADER.pack(*header) + described, *buffers])
    return [frames._HEADER.pack(*header[:-1], total) + described, *buffers]


shapes = st.one_of(
    [arrays.array_shapes(min_dims=n, max_dims=n, min_side=0, max_side=4) for n in range(1, 5)]
)
some_arrays = st.lists(
    st.sampled_from(DTYPES).flatmap(lambda dtype: arrays.arrays(dtype, shapes)), max_size=4
)
messages = st.builds(
    Message,
    kind=st.sampled_from(KINDS),
    source=st.integers(0, WORKERS),
    dest=st.integers(0, WORKERS),
    clock=st.integers(0, 2**64 - 1),
    sync_id=st.integers(0, 2**32 - 1),
    sequence=st.integers(0, 2**64 - 1),
    arrays=some_arrays,
    payload=st.none(),
)


@relaxed
@given(messages, st.sampled_from([0, 20, frames.INSIDE]))
def test_what_is_sent_arrives(message, inside):
    check_same_messages(decode(raw(message, inside=inside), JOB, WORKERS), message)


def test_small_arrays_are_in_the_first_frame():
    """They lie where numbers of 8 bytes may lie, and cannot be written."""
    for inside, count in ((39, 3), (40, 1)):
        assert len(raw(GOOD, inside=inside)) == count
    head = memoryview(raw(GOOD, inside=40)[0])
    for array in decode([head], JOB, WORKERS).arrays:
        assert array.ctypes.data % 8 == 0 and array.flags.aligned and not array.flags.writeable


def test_a_first_frame_that_is_too_short_or_too_long():
    (head,) = raw(GOOD, inside=100)
    for wrong in (head[:-1], head[:-16], head[:-41], head + b"\0", head + bytes(8)):
        assert_refused([wrong], "buffer")
    assert_refused([head, b""], "1 buffers for 2 arrays")
    assert_refused([head, *raw(GOOD)[1:]], "2 buffers for 2 arrays")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape",
    [(), (0,), (3,), (2, 3), (0, 3), (3, 0), (1, 2, 3), (2, 1, 3, 2), (2, 0, 1, 2)],
    ids=str,
)
def test_every_dtype_and_shape(dtype, shape):
    message = Message(
        Kind.ANSWER,
        0,
        1,
        arrays=[np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)],
    )
    check_same_messages(decode(raw(message), JOB, WORKERS), message)


def test_messages_without_arrays_and_with_many():
    check_same_messages(
        decode(raw(Message(Kind.CONTROL, 3, 0)), JOB, WORKERS), Message(Kind.CONTROL, 3, 0)
    )
    many = Message(Kind.MODEL_ROWS, 0, 0, arrays=[np.full(1, i, "u1") for i in range(255)])
    check_same_messages(decode(raw(many), JOB, WORKERS), many)


def test_arrays_that_are_views_of_others():
    whole = np.arange(24, dtype="f8").reshape(4, 6)
    for view in (whole[:, ::2], whole.T, whole[1:3, 2:4], whole[::-1]):
        check_same_messages(
            decode(raw(Message(Kind.CONTRIBUTION, 0, 1, arrays=[view])), JOB, WORKERS),
            Message(Kind.CONTRIBUTION, 0, 1, arrays=[view]),
        )


def test_nothing_is_copied_on_either_side():
    array = np.arange(1000, dtype="f4")
    sent = encode(Message(Kind.CONTRIBUTION, 0, 1, arrays=[array]), JOB, inside=0)
    assert np.shares_memory(sent[1], array)
    (decoded,) = decode(sent, JOB, WORKERS).arrays
    assert np.shares_memory(decoded, array)


@pytest.mark.parametrize("largest", [1, 7, 64, 4000, 4001])
def test_arrays_of_any_size_travel_in_bounded_frames(monkeypatch, largest):
    monkeypatch.setattr(frames, "MAX_FRAME_BYTES", largest)
    arrays = [np.arange(1000, dtype="f4"), np.zeros((0, 3)), np.arange(12, dtype="u1")]
    message = Message(Kind.CONTRIBUTION, 0, 1, arrays=arrays)
    head, *buffers = raw(message, inside=0)
    assert max(map(len, buffers)) <= largest and len(buffers) == sum(
        max(1, -(-array.nbytes // largest)) for array in arrays
    )
    check_same_messages(decode([head, *buffers], JOB, WORKERS), message)
    if len(buffers) == 3:
        return
    for wrong in (buffers[:-1], [*buffers, b"x"], [buffers[0] + b"x", *buffers[1:]]):
        with pytest.raises(Refused):
            decode([head, *wrong], JOB, WORKERS)


@pytest.mark.parametrize("shift", [1, 3, 4])
def test_buffers_may_lie_anywhere(shift):
    head, *buffers = raw(GOOD)
    moved = [memoryview(bytes(shift) + buffer)[shift:] for buffer in buffers]
    check_same_messages(decode([head, *moved], JOB, WORKERS), GOOD)


@pytest.mark.parametrize(
    "message",
    [
        Message(Kind.CONTRIBUTION, 0, 1, arrays=[np.zeros(1)] * 256),
        Message(Kind.CONTRIBUTION, 0, 1, arrays=[np.zeros((1,) * 5)]),
        Message(Kind.CONTRIBUTION, 0, 1, arrays=[np.array(["x"])]),
        Message(Kind.CONTRIBUTION, 0, 1, arrays=[np.zeros(1, ">f4")]),
    ],
    ids=["too many arrays", "five dimensions", "strings", "big-endian"],
)
def test_what_cannot_be_sent_is_an_error_at_the_sender(message):
    with pytest.raises(ValueError):
        encode(message, JOB)


def test_the_checksum_knows_order_length_and_every_bit():
    parts = [b"abcdefgh", b"ijk"]
    different = [
        [b"ijk", b"abcdefgh"],
        [b"abcdefghijk"],
        [b"abcdefgh", b"ijk\0"],
        [b"abcdefgh", b"ijk", b""],
        [b"abcdefg", b"hijk"],
        [],
    ]
    assert len({checksum(each) for each in (parts, *different)}) == 7
    block = bytes(range(85))
    for bit in range(8 * len(block)):
        flipped = bytearray(block)
        flipped[bit // 8] ^= 1 << bit % 8
        assert checksum([bytes(flipped)]) != checksum([block])
    assert checksum([block[8:16] + block[:8] + block[16:]]) != checksum([block])


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_the_checksum_knows_a_wrong_sign(dtype):
    """Signs are the highest bits of words, which multiplications modulo 2^64 don't spread by
    themselves.
    """
    numbers = np.arange(1, 65).astype(dtype)
    assert checksum([numbers]) != checksum([-numbers])
    for step in (2, 4, 8):
        turned = numbers.copy()
        turned[::step] *= -1
        assert checksum([turned]) != checksum([numbers])


@relaxed
@given(st.data(), messages, st.sampled_from([0, frames.INSIDE]))
def test_a_flipped_bit_is_refused(data, message, inside):
    parts = raw(message, inside=inside)
    which = data.draw(st.integers(0, len(parts) - 1).filter(lambda i: len(parts[i])))
    bit = data.draw(st.integers(0, 8 * len(parts[which]) - 1))
    spoilt = bytearray(parts[which])
    spoilt[bit // 8] ^= 1 << bit % 8
    assert_refused([*parts[:which], bytes(spoilt), *parts[which + 1 :]])


def test_what_is_not_of_this_job():
    assert len(decode(forge_frames(), JOB, WORKERS).arrays) == 1  # the forgery itself is well made
    assert_refused(forge_frames({0: b"TUX\0"}), "not tux's")
    assert_refused(forge_frames({1: 1}), f"protocol version 1.*this is version {frames.VERSION}")
    assert_refused(raw(GOOD, job=JOB + 1), "another job")
    assert_refused(forge_frames({2: len(KINDS)}), f"of kind {len(KINDS)}")
    assert_refused(forge_frames({5: WORKERS + 1}), f"from worker {WORKERS + 1}")
    assert_refused(forge_frames({6: 2**32 - 1}), "to 4294967295")
    assert_refused(
        [*raw(GOOD)[:2], raw(Message(Kind.CONTRIBUTION, 0, 0, arrays=[np.array([1, 3], "i8")]))[1]],
        "bad checksum",
    )


@pytest.mark.parametrize(
    "length", [0, 1, 4, HEAD - 1, HEAD, HEAD + 1, HEAD + EACH, HEAD + 2 * EACH - 1]
)
def test_a_header_cut_short(length):
    head, *buffers = raw(GOOD)
    assert_refused([head[:length], *buffers])


def test_wrong_numbers_of_descriptors_and_buffers():
    head, first, second = raw(GOOD)
    assert_refused([])
    assert_refused([b""])
    assert_refused([head], "buffer of 0 bytes for 24")
    assert_refused([head, first], "1 buffers for 2 arrays")
    assert_refused([head, first, second, b""], "3 buffers for 2 arrays")
    assert_refused([head + b"\0", first, second])
    assert_refused([head + bytes(EACH), first, second])
    assert_refused([first, head, second])
    assert_refused(forge_frames(count=0), "1 buffers for 0 arrays")
    assert_refused(forge_frames(count=2), "1 buffers for 2 arrays")
    assert_refused(forge_frames(count=255))


def test_buffers_of_the_wrong_size():
    head, first, second = raw(GOOD)
    assert_refused([head, first[:-1], second], "buffer of 23 bytes for 24")
    assert_refused([head, first + b"\0", second], "buffer of 25 bytes for 24")
    assert_refused([head, b"", second], "buffer of 0 bytes for 24")
    assert_refused([head, second, first])


def test_unknown_types_and_dimensions():
    assert_refused(forge_frames(descriptors=[(len(DTYPES), 1, (0,))]), "unknown type")
    assert_refused(forge_frames(descriptors=[(255, 1, (0,))]), "unknown type")
    assert_refused(forge_frames(descriptors=[(0, 5, (0,))]), "unknown type")
    assert_refused(forge_frames(descriptors=[(0, 255, (0,))]), "unknown type")


@pytest.mark.parametrize(
    "lengths",
    [(2**40,), (2**62,), (2**64 - 1,), (2**32, 2**32), (2**63, 2), (2**16,) * 4, (2**64 - 1,) * 4],
    ids=str,
)
def test_absurd_sizes_are_refused_without_allocating(lengths):
    parts = forge_frames(descriptors=[(9, len(lengths), lengths)])
    tracemalloc.start()
    assert_refused(parts, "buffer of 0 bytes for")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1 << 20


@pytest.mark.parametrize(
    "lengths",
    [(0, 2**64 - 1), (2**64 - 1, 0), (0, 2**63 - 1), (0, 2**40, 2**40), (2**63, 0, 1, 1)],
    ids=str,
)
def test_absurd_shapes_of_nothing_are_refused(lengths):
    """Their size is 0, as that of their buffer, yet numpy has no such arrays."""
    assert_refused(forge_frames(descriptors=[(9, len(lengths), lengths)]))


HTTP = (
    b"GET /metrics HTTP/1.1\r\nHost: 10.0.0.1:7000\r\nUser-Agent: curl/8.5.0\r\nAccept: "
    b"*/*\r\nConnection: keep-alive\r\n\r\n"
)


@pytest.mark.parametrize(
    "foreign",
    [
        HTTP,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc" + bytes(200),
        b"SSH-2.0-OpenSSH_9.6\r\n",
        bytes(500),
    ],
)
def test_other_protocols(foreign):
    for parts in ([foreign], [foreign, b""], [b"", foreign], [foreign[:HEAD]], [foreign] * 300):
        assert_refused(parts, "not tux's")


noise = st.lists(st.binary(max_size=200), max_size=4)


def only_refused(parts):
    """Decode frames. This may succeed or be refused; any other error would end the job."""
    try:
        decode(parts, JOB, WORKERS)
    except Refused as error:
        assert "\n" not in str(error)


@pytest.mark.slow
@settings(relaxed, max_examples=examples(300))
@given(noise)
def test_random_bytes_raise_nothing_but_refusals(parts):
    only_refused(parts)


@settings(relaxed, max_examples=examples(300))
@given(st.binary(min_size=HEAD - 6, max_size=HEAD - 6), noise)
def test_random_bytes_after_a_good_beginning(header, parts):
    only_refused([frames.MAGIC + struct.pack("<H", frames.VERSION) + header, *parts])


@settings(relaxed, max_examples=examples(300))
@given(messages, st.binary(max_size=80), st.integers(0, 300))
def test_first_frames_of_any_length(message, more, length):
    (head, *_) = raw(message, inside=frames.INSIDE)
    only_refused([head[:length] + more])


lengths_of_any_size = (
    st.integers(0, 3)
    | st.integers(0, 2**64 - 1)
    | st.sampled_from([2**31, 2**32, 2**62, 2**63, 2**64 - 1])
)
descriptions = st.tuples(
    st.integers(0, 12), st.integers(0, 6), st.tuples(*[lengths_of_any_size] * 4)
)


@settings(relaxed, max_examples=examples(300))
@given(
    st.dictionaries(st.integers(2, 3), st.integers(0, 255)),
    st.lists(st.tuples(descriptions, st.binary(max_size=24)), max_size=3),
)
def test_forgeries_with_a_right_checksum(fields, claims):
    only_refused(
        forge_frames(fields, [claim for claim, _ in claims], [buffer for _, buffer in claims])
    )
