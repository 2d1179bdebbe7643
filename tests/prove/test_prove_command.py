"""The command of the proof: its flags, what it says of a seed, and Ctrl-C."""

from types import SimpleNamespace

import prove
import pytest


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["0"], "a whole number from 1 is needed, not 0"),
        (["-3"], "from 1 is needed, not -3"),
        (["--first", "-5"], "from 0 is needed, not -5"),
        (["--seed", "-1"], "from 0 is needed, not -1"),
        (["--seed", "1", "--only", "clocks"], "1 --only clocks --first N"),
    ],
)
def test_a_wrong_flag_is_told(words, why, capsys):
    with pytest.raises(SystemExit):
        prove.flags(words)
    assert why in capsys.readouterr().err


def make_pool(*pieces):
    """Return a pool with these results, and Ctrl-C comes while the next one is waited for."""
    results = iter(pieces)

    def wait():
        if result := next(results, None):
            return result
        raise KeyboardInterrupt

    return SimpleNamespace(submit=lambda *_: SimpleNamespace(result=wait))


def test_ctrl_c_prints_the_counts_so_far(capsys):
    failed = [(12, "AssertionError: 3: late")]
    pool = make_pool(([(0, 0), (1, 1)], []), ([(2, 2)], failed))
    chosen = prove.flags(["400", "--only", "clocks", "--first", "10"])
    with pytest.raises(KeyboardInterrupt):
        prove.prove(chosen, pool)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "clocks, seed 12: AssertionError: 3: late"
    assert said[1] == "again: tests/prove.py 1 --only clocks --first 12"
    assert said[2].startswith("clocks: 4 seeds from 10, 1 wrong, ")


def test_a_seed_that_is_right_is_not_made_small():
    assert prove.shrink_seed(1) == "programs, seed 1: right"
