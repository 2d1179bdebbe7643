"""Neighbour lists: entries of each width, and the order of random numbers."""

from random import Random

import numpy as np
import pytest

from tux.networkx_backend.lists import NeighbourLists
from tux.networkx_backend.twister import draw_below, draws_of, give_back, shuffle


@pytest.mark.parametrize(
    ("vertices", "width"), [(1, 1), (256, 1), (257, 2), (65_536, 2), (65_537, 3)]
)
def test_entries_take_the_bytes_that_the_largest_needs(vertices, width):
    sizes = np.zeros(vertices, np.int64)
    sizes[0], sizes[-1] = sizes[0] + 2, sizes[-1] + 1
    entries = np.array([vertices - 1, 0, vertices // 2])[: sizes.sum()]
    lists = NeighbourLists.of(sizes, entries)
    assert lists.width == width and len(lists.packed) == width * len(entries) + 7
    assert lists.entries().tolist() == entries.tolist()
    assert lists.of_vertex(0).tolist() == entries[: sizes[0]].tolist()


@pytest.mark.parametrize("width", range(1, 8))
def test_entries_of_any_width(width):
    narrow = NeighbourLists.of_sizes(np.array([5]))
    entries = np.random.default_rng(width).integers(0, 1 << 8 * width, 5)
    wide = narrow._replace(
        packed=np.full(5 * width + 7, 255, np.uint8), width=width, kind=np.empty(0, np.int64)
    )
    wide.fill(entries)
    assert wide.entries().tolist() == entries.tolist()


def test_fewer_entries_take_less_room():
    lists = NeighbourLists.of(np.array([2, 1]), np.array([0, 1, 0]))
    assert lists.first(3) is lists
    assert len(lists.first(2).packed) == 2 + 7


def test_random_numbers_are_those_of_python():
    seed, other = Random(5), Random(5)
    draws, order = draws_of(seed), np.arange(2000)
    shuffle(draws, order)
    expected = list(range(2000))
    other.shuffle(expected)
    assert order.tolist() == expected
    ends = [1, 2, 3, 8, 1000, 2**32 - 1]
    found = [draw_below(draws, end) for end in ends]
    assert found == [other.choice(range(end)) for end in ends]
    give_back(seed, draws)
    assert seed.random() == other.random() and seed.gauss() == other.gauss()


def test_generators_of_other_classes_are_left_to_networkx():
    class Own(Random):
        pass

    with pytest.raises(NotImplementedError, match="Own"):
        draws_of(Own(1))
