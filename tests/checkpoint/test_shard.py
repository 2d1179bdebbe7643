"""A worker's state as a file: what is written is read, and any damage is found."""

import os
import re
from contextlib import contextmanager

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.examples import examples
from support.messages import message

from tux.arrays.pieced import ArrayPieces
from tux.base.errors import DataError, DiskError, ProgramError
from tux.checkpoint import shard
from tux.checkpoint.shard import ALIGNED, MAGIC, Digest, hash_bytes, read, write

DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
TEXTS = st.text(max_size=8)
HEADS = st.dictionaries(
    TEXTS,
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats(allow_nan=False, allow_infinity=False)
        | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)


@st.composite
def strided_arrays(draw):
    """Draw an array with any strides: transposed, reversed, with gaps, or repeated."""
    array = draw(hnp.arrays(draw(DTYPES), draw(SHAPES)))
    array = array.transpose(draw(st.permutations(range(array.ndim))))
    steps = [draw(st.sampled_from([1, 2, -1, -2])) for _ in range(array.ndim)]
    array = array[tuple(slice(None, None, step) for step in steps)]
    return np.broadcast_to(array, (2, *array.shape)) if draw(st.booleans()) else array


def same_bits(a, b):
    """Return whether two arrays are of one dtype and shape and have the same bits."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def write_small_shard(folder):
    """Return a small file, what is in it, and its digest."""
    arrays = {
        "a": np.arange(5, dtype=np.float16),
        "b": np.array([[True, False]]),
        "c": np.zeros((0, 3), np.int32),
        "d": np.arange(4.0, 20.0),
    }
    return folder / "w.shard", arrays, write(folder / "w.shard", {"epoch": 3}, arrays)


@settings(max_examples=examples(40), deadline=None)
@given(head=HEADS, arrays=st.dictionaries(TEXTS, strided_arrays(), max_size=3))
def test_what_is_written_is_read(tmp_path_factory, head, arrays):
    path = tmp_path_factory.mktemp("shards") / "w.shard"
    digest = write(path, head, arrays)
    found = read(path, digest)
    found.check()
    assert found.head == head and list(found) == list(arrays)
    assert all(same_bits(found[name], array) for name, array in arrays.items())
    assert digest.size == path.stat().st_size and digest.size % ALIGNED == 0


@pytest.mark.parametrize(
    "array",
    [
        np.arange(1000.0).reshape(20, 50),
        np.arange(1000, dtype=">i4").reshape(20, 50).T[::-1, ::2],
        np.broadcast_to(np.arange(7, dtype=np.uint8), (30, 7)),
        np.arange(100, dtype=np.uint8)[1:97].view(np.float32),  # not aligned
        np.ones((), np.float16),
    ],
    ids=["contiguous", "strided", "repeated", "unaligned", "scalar"],
)
def test_arrays_larger_than_a_piece(tmp_path, monkeypatch, array):
    monkeypatch.setattr(shard, "PIECE", 64)
    found = read(tmp_path / "w", write(tmp_path / "w", {}, {"x": array, "y": array}))
    found.check()
    assert same_bits(found["x"], array) and same_bits(found["y"], array)
    assert max(len(piece) for piece in shard._pieces(array)) <= 64


def test_an_array_read_cannot_be_written(tmp_path):
    path, arrays, digest = write_small_shard(tmp_path)
    for array in read(path, digest).values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert len(read(path, digest)) == len(arrays) and "c" in read(path, digest)
    with pytest.raises(KeyError):
        read(path, digest)["z"]


@pytest.mark.parametrize(
    "dtype", ["c8", "O", "U3", "S3", "M8[s]", "m8[s]", "V4", "g", [("a", "i4")], "(2,)i4,i4"]
)
def test_dtypes_that_are_refused(tmp_path, dtype):
    with pytest.raises(ProgramError, match="walk.state is an array of .*, which a checkpoint"):
        write(tmp_path / "w", {}, {"walk.state": np.zeros(2, dtype)})
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), (1, 2), {1: 2}, {3}, b"x", object(), "\ud800"]
)
def test_a_head_is_read_as_it_was_written_or_refused(tmp_path, value):
    with pytest.raises(ProgramError, match="^'best' in a worker's state is not what JSON"):
        write(tmp_path / "w", {"epoch": 1, "best": [value]}, {})
    with pytest.raises(ProgramError, match="^a name in a worker's state is not what JSON"):
        write(tmp_path / "w", {}, {"\ud800": np.zeros(1)})
    assert os.listdir(tmp_path) == []


def test_a_head_that_is_too_long_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(shard, "LONGEST", 100)
    with pytest.raises(ProgramError, match="more than 100"):
        write(tmp_path / "w", {"x": "y" * 100}, {})


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(DiskError, match="No such file or directory"):
        write(tmp_path / "none" / "w", {}, {})


@contextmanager
def flip_bit(number, bit):
    """Change one bit of an open file for as long as the context lasts."""
    (before,) = os.pread(number, 1, bit // 8)
    os.pwrite(number, bytes([before ^ 1 << bit % 8]), bit // 8)
    yield
    os.pwrite(number, bytes([before]), bit // 8)


def test_every_flipped_bit_is_found(tmp_path):
    """Each is found by `check`; a joiner that reads arrays alone finds those in arrays."""
    path = tmp_path / "w.shard"
    digest = write(path, {}, {"a": np.array([1.5, -2]), "b": np.zeros(9, bool)})
    assert digest.size < 512
    with open(path, "r+b", buffering=0) as file:
        for bit in range(8 * digest.size):
            with (
                flip_bit(file.fileno(), bit),
                pytest.raises(DataError, match=message("of-a-checkpoint-is-damaged", "w.shard")),
            ):
                read(path, digest).check()
            if bit % 8 == 0:
                with flip_bit(file.fileno(), bit), pytest.raises(DataError):
                    list(read(path, digest).values())
    assert len(read(path, digest)) == 2


@pytest.mark.slow
def test_flipped_bits_of_a_larger_file_are_found(tmp_path):
    rng = np.random.default_rng(1)
    path = tmp_path / "w.shard"
    arrays = {f"a{i}": rng.random(100_000) for i in range(5)}
    digest = write(path, {}, arrays)
    with open(path, "r+b", buffering=0) as file:
        for bit in rng.integers(0, 8 * digest.size, 1000).tolist():
            with flip_bit(file.fileno(), bit), pytest.raises(DataError):
                read(path, digest).check()
    read(path, digest).check()


def test_a_file_cut_off_anywhere_is_found(tmp_path):
    path, _, digest = write_small_shard(tmp_path)
    content = path.read_bytes()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(DataError, match=f"{size:,} bytes instead of {len(content):,}"):
            read(path, digest)
    path.write_bytes(content + b"\0")
    with pytest.raises(DataError, match=message("of-a-checkpoint-is-damaged", "bytes instead of")):
        read(path, digest)


def test_a_file_that_shrinks_or_goes_while_it_is_read_is_found(tmp_path):
    path, _, digest = write_small_shard(tmp_path)
    found = read(path, digest)
    os.truncate(path, digest.size - ALIGNED)
    for look in (found.check, lambda: found["d"]):
        with pytest.raises(DataError):
            look()
    path.unlink()
    for look in (found.check, lambda: found["d"], lambda: read(path, digest)):
        with pytest.raises(DataError):
            look()


def test_arrays_that_change_places_are_found(tmp_path):
    """Two of one size, in the file, and two parts of one array."""
    path = tmp_path / "w"
    digest = write(path, {}, {"a": np.arange(16.0), "b": np.arange(16.0) + 1})
    content = path.read_bytes()
    a, b = content[-256:-128], content[-128:]
    for swapped in (b + a, a[64:] + a[:64] + b):
        path.write_bytes(content[:-256] + swapped)
        with pytest.raises(DataError):
            read(path, digest).check()


def test_another_workers_file_is_found(tmp_path):
    """It has the same size and is whole."""
    first = write(tmp_path / "0", {"rank": 0}, {"a": np.zeros(9)})
    second = write(tmp_path / "1", {"rank": 0}, {"a": np.ones(9)})
    assert first.size == second.size
    with pytest.raises(DataError, match="its head is not what was written"):
        read(tmp_path / "1", first)


GOOD = {"name": "a", "dtype": "<f8", "shape": [2], "offset": 0, "size": 16, "crc32": "00000000"}


@pytest.mark.parametrize(
    "lie",
    [
        {"shape": [1 << 60], "size": 1 << 63},
        {"shape": [1 << 40, 1 << 40]},
        {"shape": [-2]},
        {"shape": [2.5]},
        {"shape": [1] * 70 + [2]},
        {"shape": [0, 1 << 62, 1 << 62], "size": 0},
        {"shape": [0, 1 << 63], "size": 0},
        {"offset": 64},
        {"offset": -64},
        {"size": 8},
        {"dtype": "|O8"},
        {"dtype": "<c16", "shape": [1]},
        {"dtype": "f8,f8", "shape": [1]},
        {"dtype": "<f3"},
        {"more": 1},
        {"name": None},
    ],
    ids=str,
)
def test_a_head_that_lies_takes_no_memory(tmp_path, lie):
    """Its digest is right: whoever made the file has made the manifest."""
    line = msgspec.json.encode({"head": {}, "arrays": [{**GOOD, **lie}]})
    opening = MAGIC + line + b"\n"
    opening = opening.ljust(-(-len(opening) // ALIGNED) * ALIGNED, b"\0")
    (tmp_path / "w").write_bytes(opening + bytes(64))
    with pytest.raises(DataError, match=message("of-a-checkpoint-is-damaged", "w")):
        read(tmp_path / "w", Digest(len(opening) + 64, hash_bytes(opening)))


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 64, MAGIC, MAGIC + b"{}", MAGIC + b"[" * 100_000 + b"\n", b'{"head": {}}\n'],
    ids=range(6),
)
def test_a_file_of_another_kind_is_refused(tmp_path, content):
    (tmp_path / "w").write_bytes(content)
    with pytest.raises(DataError, match=re.escape("w of a checkpoint is damaged")):
        read(tmp_path / "w", Digest(len(content), hash_bytes(content)))


def test_one_name_for_two_arrays_is_refused(tmp_path):
    entries = [GOOD, {**GOOD, "offset": 64}]
    opening = MAGIC + msgspec.json.encode({"head": {}, "arrays": entries}) + b"\n"
    opening = opening.ljust(-(-len(opening) // ALIGNED) * ALIGNED, b"\0")
    (tmp_path / "w").write_bytes(opening + bytes(128))
    with pytest.raises(DataError):
        read(tmp_path / "w", Digest(len(opening) + 128, hash_bytes(opening)))


def test_ranges_of_rows_are_read_alone(tmp_path):
    arrays = {"a": np.arange(12.0).reshape(4, 3), "b": np.arange(5, dtype="i2")}
    file = tmp_path / "a.shard"
    held = read(file, write(file, {}, arrays))
    for name, array in arrays.items():
        rows = held.rows(name)
        assert (rows.shape, rows.dtype) == (array.shape, array.dtype)
        for part in (slice(None), slice(1, 3), slice(4, 4)):
            assert np.array_equal(rows[part], array[part]) and rows[part].shape == array[part].shape
    os.truncate(file, file.stat().st_size - ALIGNED)
    with pytest.raises(DataError, match="shorter"):
        held.rows("b")[:]


def test_an_array_in_pieces_is_written_as_the_whole_is(tmp_path):
    array = np.arange(21, dtype="i4").reshape(7, 3)
    pieces = ArrayPieces(array.dtype, 7, iter([array[:2], array[2:2], array[2:]]), (3,))
    whole = write(tmp_path / "whole", {}, {"a": array, "b": array[0]})
    assert write(tmp_path / "pieces", {}, {"a": pieces, "b": array[0]}) == whole
    assert (tmp_path / "pieces").read_bytes() == (tmp_path / "whole").read_bytes()
