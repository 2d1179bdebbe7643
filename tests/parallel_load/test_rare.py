"""The rounds that find columns which occur rarely in all shares."""

import numpy as np
import pytest

from tux.arrays.arrow import STRING
from tux.parallel_load.algorithm.columns import BadColumns
from tux.parallel_load.algorithm.rare import RARE_ROUNDS, find_rare
from tux.parallel_load.algorithm.rounds import run_together

SHARES = [
    (np.array([1, 5, 9]), np.array([2, 1, 7])),
    (np.array([], np.int64), np.array([], np.int64)),
    (np.array([5, 9, 12]), np.array([3, -6, 1])),
]


def test_counts_of_all_shares_are_added_up():
    taken = []
    steps = [find_rare(3, ids, counts, 2) for ids, counts in SHARES]
    kept, found = zip(*run_together(steps, lambda at, inbox: taken.append(at)), strict=True)
    assert [each.tolist() for each in kept] == [[True, True, False], [], [True, False, False]]
    assert set(found) == {(2, 2, 2)}
    assert taken.count(0) == RARE_ROUNDS


def test_numbers_and_words_are_compared_as_words():
    words = np.array(["10", "9", "ape"], STRING), np.array([1, 1, 1])
    numbers = np.array([9, 10, 11]), np.array([1, 2, 3])
    large = np.array([2**64 - 1], np.uint64), np.array([9])
    steps = [find_rare(3, *each, 3) for each in (words, numbers, large)]
    (first, found), (second, _), (third, _) = run_together(steps)
    assert first.tolist() == [True, False, False]
    assert second.tolist() == [False, True, True] and third.tolist() == [True]
    assert found == (2, 3, 3)


@pytest.mark.parametrize("counts", [np.array([1, 2]), np.array([1 << 62, 0, 0]), np.ones(3)])
def test_counts_that_do_not_fit_end_the_load(counts):
    steps = find_rare(1, *SHARES[0], 2)
    inbox = [next(steps)[0]]
    for _ in range(2):
        inbox = [steps.send(inbox)[0]]
    with pytest.raises(BadColumns, match="loader 0"):
        steps.send([[inbox[0][0], counts]])
