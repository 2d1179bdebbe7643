"""Columns of edges that lie on disk."""

import errno
import gc
import os
import threading
import weakref
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tux.arrays.disk_columns import (
    SPARE,
    empty_column,
    file_of,
    is_for_disk,
    limited_memory,
    make_room,
    rows_to_come,
    span_of,
    store_column,
)
from tux.arrays.mapped_files import MappedFile
from tux.base.errors import DiskError

MOST = 1 << 40
"""More memory than any process holds."""


@pytest.fixture(autouse=True)
def small_columns(monkeypatch):
    """Have small arrays lie on disk, too, and no large ones in memory."""
    monkeypatch.setattr("tux.arrays.disk_columns.LARGE", 1 << 12)
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.0)


def count_descriptors(folder):
    """Count the open files of this process that lie in a folder."""
    own = Path("/proc/self/fd")
    links = []
    for each in own.iterdir():
        with suppress(OSError):  # that of the folder itself
            links.append(os.readlink(each))
    return sum(link.startswith(f"{folder}/") for link in links)


def test_columns_lie_on_disk_within_the_block_alone(tmp_path):
    assert file_of(empty_column(10_000, np.int32)) is None
    with limited_memory(tmp_path, MOST):
        column = empty_column((5_000, 3), np.float32)
        assert isinstance(file_of(column), MappedFile) and count_descriptors(tmp_path) == 2
        assert column.shape == (5_000, 3) and column.dtype == np.float32
        assert file_of(empty_column(10, np.float32)) is None  # too small
    column[:] = 7
    assert not is_for_disk(1 << 40) and (column == 7).all()  # it lives on


def test_without_a_limit_nothing_changes(tmp_path):
    with limited_memory(tmp_path, None):
        assert not is_for_disk(1 << 40) and file_of(empty_column(10_000, np.int32)) is None


def test_columns_lie_in_memory_as_long_as_half_of_what_is_left_has_room(tmp_path, monkeypatch):
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.5)
    taken = [5 * SPARE]
    monkeypatch.setattr("tux.arrays.disk_columns.anonymous", lambda: taken[0])
    with limited_memory(tmp_path, 10 * SPARE):  # 4 times SPARE is left, half of it for columns
        assert not is_for_disk(2 * SPARE) and is_for_disk(2 * SPARE + 1)
        taken[0] += SPARE
        assert not is_for_disk(SPARE) and is_for_disk(SPARE + 1)
        with rows_to_come(SPARE):
            assert not is_for_disk(SPARE // 2) and is_for_disk(SPARE // 2 + 1)
        assert not is_for_disk(SPARE)
        assert "tux memory" not in [each.name for each in threading.enumerate()]  # no file


def test_columns_make_room_for_rows_that_are_to_come(tmp_path, monkeypatch):
    monkeypatch.setattr("tux.arrays.disk_columns.HELD", 0.5)
    taken = [SPARE]
    monkeypatch.setattr("tux.arrays.disk_columns.anonymous", lambda: taken[0])
    small, large = np.arange(5), np.arange(10_000)
    with limited_memory(tmp_path, 10 * SPARE):
        taken[0] = 3 * SPARE
        with rows_to_come(2 * SPARE):
            assert make_room(large) is large
        with rows_to_come(5 * SPARE):
            assert make_room(small) is small
            moved = make_room(large)
            assert file_of(moved) and np.array_equal(moved, large) and make_room(moved) is moved


def test_files_have_no_names_and_end_with_their_arrays(tmp_path):
    with limited_memory(tmp_path, MOST):
        columns = [empty_column(10_000, np.int64) for _ in range(3)]
        views = [each[5:] for each in columns]
        assert not list(tmp_path.iterdir()) and count_descriptors(tmp_path) == 2 * 3
        del columns
        gc.collect()
        assert count_descriptors(tmp_path) == 2 * 3  # by the views
        del views
        gc.collect()
        assert count_descriptors(tmp_path) == 0


def test_a_copy_is_made_once(tmp_path):
    given = np.arange(10_000)
    assert store_column(given) is given
    with limited_memory(tmp_path, MOST):
        stored = store_column(given)
        assert file_of(stored) and np.array_equal(stored, given)
        assert store_column(stored) is stored
        assert store_column(stored[100:]).base is not None


def test_a_column_is_whole_after_its_memory_is_given_back(tmp_path):
    with limited_memory(tmp_path, MOST):
        column = store_column(np.arange(100_000))
    file = file_of(column)
    for step in (file.give_back, file.hide, file.read_ahead, file.give_back):
        step(*span_of(column, 1_000, 90_001))
        assert np.array_equal(column, np.arange(100_000))
    column[50_000] = -1  # is written later
    file.give_back(0, len(file))
    assert column[50_000] == -1


def test_the_span_of_a_view(tmp_path):
    with limited_memory(tmp_path, MOST):
        column = empty_column((2_000, 4), np.float32)
    assert span_of(column, 10, 12) == (160, 192)
    assert span_of(column[100:], 0, 1) == (1_600, 1_616)
    assert span_of(column.view(np.int32)[5:][5:], 0, 2_000 - 10) == (160, 32_000)


def test_memory_above_the_limit_is_given_back(tmp_path, monkeypatch):
    hidden = threading.Event()
    monkeypatch.setattr(MappedFile, "hide", lambda file, begin, end: hidden.set())
    with limited_memory(tmp_path, 1):  # no process holds so little
        column = store_column(np.arange(10_000))
        assert hidden.wait(60)
    assert np.array_equal(column, np.arange(10_000))


def test_files_whose_memory_was_given_back_end_with_their_arrays(tmp_path, monkeypatch):
    hidden = threading.Event()
    monkeypatch.setattr(MappedFile, "hide", lambda file, begin, end: hidden.set())
    over = [True]
    monkeypatch.setattr("tux.arrays.disk_columns.resident", lambda: 2 if over[0] else 0)
    with limited_memory(tmp_path, 1):
        column = store_column(np.arange(10_000))
        assert hidden.wait(60)
        over[0] = False
        ended = threading.Event()
        weakref.finalize(file_of(column), ended.set)
        del column
        gc.collect()
        assert ended.wait(60)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def fallocate(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", fallocate)
    with limited_memory(tmp_path, MOST):
        with pytest.raises(DiskError, match=f"{tmp_path} has no room for 0 MB") as got:
            empty_column(10_000, np.int32)
        assert "free space there" in got.value.do
        assert count_descriptors(tmp_path) == 0 and not list(tmp_path.iterdir())
