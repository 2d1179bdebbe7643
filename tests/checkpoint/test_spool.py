"""Lists on disk: whatever the workers that wrote them, they are read in one order; damage is
noticed, and so is a full disk.
"""

import errno
import io
import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import DataError, DiskError, Refused
from tux.checkpoint import shard, spool
from tux.checkpoint.segments import check, segments_of_shard
from tux.checkpoint.spool import Scratch, Spool, SpooledLists

N, ROUNDS = 23, 3
WIDTHS = {"path": 4, "noise": 2}


def lists_of(number, vertices):
    """Return the lists of some vertices in a round."""
    rng = np.random.default_rng([number, 5])
    every = {name: rng.integers(-1, N, (N, width)) for name, width in WIDTHS.items()}
    return {name: rows[vertices].astype(np.int32) for name, rows in every.items()}


def write_spools(home, block=5):
    """Write a file for each worker, in memory, as workers do; `home` (N,) is the worker of each
    vertex.
    """
    files = [io.BytesIO() for _ in range(home.max() + 1)]
    for worker, file in enumerate(files):
        spooled = Spool("page", WIDTHS, Scratch(lambda file=file: file))
        mine = np.flatnonzero(home == worker).astype(np.int32)
        for number in range(ROUNDS):
            for low in range(0, N, block):
                here = mine[(mine >= low) & (mine < low + block)]
                spooled.append(here, lists_of(number, here))
        assert spooled.flush() is file
    return files


ORDERS = {"page": np.random.default_rng(0).permutation(N), "other": np.arange(3)}


@pytest.mark.parametrize("workers", [1, 2, 5, N + 4])
@pytest.mark.parametrize("piece", [1, 200, 1 << 20])
def test_all_workers_files_are_one(monkeypatch, workers, piece):
    monkeypatch.setattr(spool, "PIECE", piece)
    home = np.random.default_rng(workers).integers(0, workers, N)
    spooled = SpooledLists(write_spools(np.append(home[:-1], workers - 1)), ORDERS)
    assert spooled.head.over == "page" and spooled.order is ORDERS["page"]
    pieces = list(spooled.pieces())
    assert (len(pieces) > 3) == (piece < 1000)
    for name in WIDTHS:
        column = np.concatenate([each[name] for each in pieces])
        assert np.array_equal(
            column,
            np.concatenate([lists_of(number, np.arange(N))[name] for number in range(ROUNDS)]),
        )


def test_files_are_read_by_their_paths(tmp_path):
    spooled = Spool("page", WIDTHS, Scratch(partial(open, tmp_path / "here", "wb+")))
    for _ in range(2):
        spooled.append(np.arange(N, dtype=np.int32), lists_of(0, np.arange(N)))
    size = spooled.flush().tell()
    spooled.flush().close()
    with SpooledLists.from_files([[(tmp_path / "here", size)]], ORDERS) as lists:
        assert lists.rounds == 2
    assert all(file.closed for file in lists.files)


def test_nothing_is_written_where_no_file_is_wanted():
    spooled = Spool("page", WIDTHS, None)
    spooled.append(np.arange(N, dtype=np.int32), lists_of(0, np.arange(N)))
    assert spooled.flush() is None


def files_with(change):
    files = write_spools(np.arange(N) % 2)
    raw = bytearray(files[1].getvalue())
    return [files[0], io.BytesIO(change(raw, raw.index(b"\n") + 1))]


def number(raw, at, place, value):
    raw[at + 4 * place : at + 4 * place + 4] = np.int32(value).tobytes()
    return raw


@pytest.mark.parametrize(
    "change",
    [
        lambda raw, at: raw[:-1],
        lambda raw, at: raw + b"x",
        lambda raw, at: raw[: -4 * 7],
        lambda raw, at: raw[at:],
        lambda raw, at: b"",
        lambda raw, at: raw.replace(b"page", b"p\xffge", 1),  # no UTF-8
        lambda raw, at: b"[" * 100_000 + b"\n" + raw[at:],
        lambda raw, at: raw.replace(b"page", b"none", 1),
        lambda raw, at: raw.replace(b'"path":4', b'"path":6', 1),
        lambda raw, at: raw.replace(b'"path":4', b'"path":-9', 1),
        lambda raw, at: number(raw, at, 0, 0),  # a vertex of another worker
        lambda raw, at: number(raw, at, 2, N),
        lambda raw, at: number(raw, at, 2, -2),
        # in the second round the first vertex is another
        lambda raw, at: number(raw, at, 7 * (N // 2), 5),
    ],
)
def test_damage_is_noticed(change):
    with pytest.raises(Refused, match="damaged"):
        list(SpooledLists(files_with(change), ORDERS).pieces())


def test_a_file_that_shrinks_is_noticed():
    files = write_spools(np.zeros(N, int))
    spooled = SpooledLists(files, ORDERS)
    files[0].truncate(len(files[0].getvalue()) - 3)
    with pytest.raises(Refused, match="damaged"):
        list(spooled.pieces())


def test_an_unknown_type_is_refused():
    with pytest.raises(Refused):
        SpooledLists(write_spools(np.zeros(N, int)), {"other": np.arange(N)})


def test_a_full_disk_is_told():
    rows = np.arange(N, dtype=np.int32), lists_of(0, np.arange(N))
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(
            DiskError, match=message("cannot-be-written", "file of lists", "No space left")
        ),
    ):
        Spool("page", WIDTHS, Scratch(lambda: full)).append(*rows)
    with pytest.raises(DiskError):
        Spool("page", WIDTHS, Scratch(partial(open, "/nowhere/lists", "wb"))).append(*rows)
    with pytest.raises(DiskError):
        SpooledLists.from_files([[(Path("/nowhere/lists"), 1)]], ORDERS)


# ---- as a part of states


def open_spool(folder, segments=(), start=b"1"):
    spooled = Spool("page", WIDTHS, Scratch.in_folder(folder, 0, start))
    spooled.go_on(segments)
    return spooled


def content(spooled):
    with spooled.open_all() as file:
        file.seek(0)
        return file.read()


@pytest.mark.parametrize("begun", range(ROUNDS + 1))
def test_whoever_goes_on_writes_behind_the_lists_of_a_state(tmp_path, begun):
    """The one before has written more, which is not read."""
    every = np.arange(N, dtype=np.int32)
    first, states = open_spool(tmp_path), []
    for number in range(ROUNDS):
        states.append(first.segments())
        first.append(every, lists_of(number, every))
    states.append(first.segments())
    whole = Path(first.flush().name).read_bytes()
    for each in states:
        check(tmp_path, each)
    assert [len(each) for each in states] == [0, 1, 1, 1]

    second = open_spool(tmp_path, states[begun], b"2")
    assert second.segments() == states[begun]
    for number in range(begun, ROUNDS):
        second.append(every, lists_of(number, every))
    assert len(second.segments()) == (1 if begun in (0, ROUNDS) else 2)
    check(tmp_path, second.segments())
    assert content(second) == whole
    for spooled in (first, second):
        if spooled.file:
            spooled.file.close()


def test_a_segment_that_is_not_what_was_written_is_damaged(tmp_path):
    spooled = open_spool(tmp_path)
    spooled.append(np.arange(N, dtype=np.int32), lists_of(0, np.arange(N)))
    segments = spooled.segments()
    spooled.file.close()
    path = tmp_path / segments[0].name
    content = path.read_bytes()
    path.write_bytes(content + b"x")
    check(tmp_path, segments)
    for bad in (content[:-1], content[:-1] + b"x", b""):
        path.write_bytes(bad)
        with pytest.raises(DataError, match="damaged"):
            check(tmp_path, segments)
    path.unlink()
    with pytest.raises(DataError, match=message("of-a-checkpoint-is-damaged", "No such file")):
        check(tmp_path, segments)


def test_no_shard_names_other_files(tmp_path):
    for named in ("x", [{"name": "../0000-0000000000000001", "size": 1, "crc32": ""}], [{}]):
        digest = shard.write(tmp_path / "shard", {"state": {"lists": named}}, {})
        with pytest.raises(DataError, match="damaged"):
            segments_of_shard(shard.read(tmp_path / "shard", digest))


def test_what_the_disk_has_lost_is_told_each_time(tmp_path, monkeypatch):
    rows = np.arange(N, dtype=np.int32), lists_of(0, np.arange(N))
    spooled = open_spool(tmp_path)
    spooled.append(*rows)
    spooled.flush()

    def fails(number):
        raise OSError(errno.EIO, "it is lost")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails)
        with pytest.raises(DiskError, match=message("cannot-be-written", "Input/output error")):
            spooled.sync()
    for act in (lambda: spooled.append(*rows), spooled.segments, spooled.flush):
        with pytest.raises(DiskError, match=message("cannot-be-written", "Input/output error")):
            act()
    spooled.file.close()
