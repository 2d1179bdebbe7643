"""Rows as signed bytes: how far a number is from what arrives, and the mean of what arrives."""

import numpy as np
import pytest

from tux.base.random import key
from tux.sync.row_wire import CODES, RowWire

ROWS = np.random.default_rng(2).normal(size=(40, 6)).astype(np.float32)
EVERY = np.arange(len(ROWS), dtype=np.int32)
UNITS = np.abs(ROWS).max(axis=1, keepdims=True) / CODES


def send_values(rows):
    wire, out = RowWire([rows], [True]), np.empty_like(rows)
    wire.write_values(0, wire.take_values([rows], [np.arange(len(rows), dtype=np.int32)]), out)
    return out


def send_changes(changes, stream):
    wire, own = RowWire([changes], [True]), np.zeros_like(changes)
    arrays = wire.pack_changes([changes], [np.uint64(stream)])
    wire.add_changes([own], [np.arange(len(changes), dtype=np.int32)], arrays)
    return own


def test_values_arrive_to_half_a_unit():
    assert (np.abs(send_values(ROWS) - ROWS) <= UNITS * 0.5001).all()
    largest = np.abs(ROWS) == np.abs(ROWS).max(axis=1, keepdims=True)
    np.testing.assert_allclose(send_values(ROWS)[largest], ROWS[largest], rtol=1e-6)


def test_changes_arrive_to_a_unit_and_right_on_average():
    sent = [send_changes(ROWS, key(seed)) for seed in range(400)]
    assert all((np.abs(each - ROWS) <= UNITS * 1.0001).all() for each in sent)
    # each coin has a standard deviation of at most half a unit
    assert (np.abs(np.mean(sent, axis=0) - ROWS) < 5 * UNITS * 0.5 / 20).all()
    assert not np.array_equal(sent[0], sent[1])
    assert np.array_equal(sent[3], send_changes(ROWS, key(3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("send", [send_values, lambda rows: send_changes(rows, 1)])
def test_what_no_unit_can_hold_arrives_as_no_number(send, dtype):
    rows = np.zeros((4, 2), dtype)
    rows[1, 0], rows[2, 1], rows[3, 1] = np.nan, np.inf, np.finfo(np.float32).max / 2
    found = send(rows)
    assert not found[0].any() and np.isfinite(found[3]).all()
    assert np.isnan(found[1]).any() and np.isnan(found[2]).any()
    if dtype is np.float64:
        assert np.isnan(send(np.full((1, 2), 1e300))).any()


def test_fields_that_are_not_coded_travel_beside():
    whole = np.arange(6, dtype=np.int64).reshape(3, 2)
    wire = RowWire([ROWS, whole], [True, False])
    assert wire.counts([4, 2]) == [4, 4, 2]
    arrays = wire.take_values([ROWS, whole], [EVERY[:4], np.array([2, 0], np.int32)])
    assert [(each.dtype, each.shape) for each in arrays] == [
        (np.int8, (4, 6)),
        (np.float32, (4, 1)),
        (np.int64, (2, 2)),
    ]
    assert arrays[2].tolist() == [[4, 5], [0, 1]]
