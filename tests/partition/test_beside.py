"""Edges that are placed beside those of another type, each by its own ends."""

import numpy as np
import pytest

from tux.base.hashing import by_hash
from tux.partition.beside import (
    no_replicas,
    place_beside,
    replicas_by_side,
    with_homes,
)
from tux.partition.method_of_type import MethodOfType, is_open


def near(counts, seed=0):
    """Return the replicas that edges make of which each vertex has counts[v][p] in part p."""
    k = len(counts[0])
    flat = [(v, p) for v, row in enumerate(counts) for p in range(k) for _ in range(row[p])]
    src, parts = (np.array(column, np.int32) for column in zip(*flat, strict=True))
    held = replicas_by_side(src, np.zeros_like(src), parts, k, (len(counts), 1))[0]
    return with_homes(held, k, seed)


def slow_part(one, other, homes, k):
    """Return the part of an edge by the rule's words; `one` and `other`: edges by part."""
    best, found = 0.0, -1
    for part in range(k):
        score = 0.0
        for counts, home in zip((one, other), homes, strict=True):
            if counts[part]:
                score += 16 + counts[part] / sum(counts)
            elif not sum(counts) and home == part:
                score += 8
        if score > best or (score == best and found >= 0 and part - found > k / 2):
            best, found = score, part
    return found


def test_a_part_that_has_both_ends_then_the_larger_share():
    """
    edges by part    0  1  2
                 0   3  1  .
                 1   .  1  9
                 2   .  .  4
    """
    held = near([[3, 1, 0], [0, 1, 9], [0, 0, 4]])
    src, dst = np.array([0, 0, 1, 2, 0], np.int32), np.array([1, 2, 2, 2, 0], np.int32)
    # (0, 1): both are in 1. (0, 2): 3/4 of 0 are in 0, all of 2 in 2
    assert place_beside(src, dst, held, held, 3).tolist() == [1, 2, 2, 2, 0]
    assert place_beside(src, dst, held, held, 3, whole=0).tolist() == [0, 0, 2, 2, 0]
    assert place_beside(src, dst, held, held, 3, whole=1).tolist() == [2, 2, 2, 2, 0]


def test_a_vertex_without_placed_edges_has_a_home():
    homes = by_hash(np.arange(6), 4, 3)
    tags, users = with_homes(no_replicas(6), 4, 3), near([[1, 1, 1, 1], [2, 0, 0, 0]])
    src, dst = np.repeat(np.arange(2, dtype=np.int32), 6), np.tile(np.arange(6, dtype=np.int32), 2)
    parts = place_beside(src, dst, users, tags, 4)
    assert parts[:6].tolist() == homes.tolist()  # user 0 is in all parts: tags are not cut
    assert not parts[6:].any()
    alone = place_beside(dst, dst, tags, tags, 4)
    assert alone.tolist() == by_hash(dst, 4, 3).tolist()


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7])
def test_equal_parts_win_against_as_many_others(k):
    """The users of two parts meet in one of them."""
    held = near(np.eye(k, dtype=int).tolist())
    src, dst = (each.ravel().astype(np.int32) for each in np.indices((k, k)))
    parts = place_beside(src, dst, held, held, k).reshape(k, k)
    assert (parts == parts.T).all()
    wins = np.bincount(parts.ravel(), minlength=k)
    assert wins.max() - wins.min() <= 2 * ((k + 1) % 2)  # both orders of a pair


def test_it_is_the_rule():
    rng = np.random.default_rng(2)
    for k in (1, 2, 5):
        sides = [rng.integers(0, 3, (9, k)) * (rng.random((9, k)) < 0.4) for _ in range(2)]
        sides[0][0, 0] = sides[1][0, 0] = 1
        held = [near(side.tolist(), 4) for side in sides]
        src, dst = rng.integers(0, 9, (2, 60)).astype(np.int32)
        home = by_hash(np.arange(9), k, 4)
        expected = [
            slow_part(sides[0][u], sides[1][v], (home[u], home[v]), k)
            for u, v in zip(src, dst, strict=True)
        ]
        assert place_beside(src, dst, *held, k).tolist() == expected


def test_the_text_of_a_partitioner():
    for text, parsed in {"aweto:rating": ("aweto", "rating"), "ne": ("ne", "")}.items():
        assert MethodOfType.parse(text) == parsed and str(MethodOfType(*parsed)) == text
    assert is_open("auto:rating") and is_open("auto") and not is_open("ne:auto")
    assert not is_open(None)
