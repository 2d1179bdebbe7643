"""Advice on machines, and how many of them pay."""

import pytest

from tux.runs.prediction import (
    MOST_AHEAD,
    EpochPrediction,
    advise_on_machines,
    epochs_ahead,
    most_that_pays,
)


def costs(workers, seconds, compute=1.0, wait=0.0, slack=0):
    """Return costs of which only these differ."""
    return EpochPrediction(workers, seconds, 0.0, compute, 0.0, 0.0, wait, slack)


def test_the_largest_number_that_pays():
    assert most_that_pays([costs(1, 8.0)]).workers == 1
    assert most_that_pays([costs(1, 8.0), costs(2, 4.5), costs(4, 2.4)]).workers == 4
    assert most_that_pays([costs(1, 8.0), costs(2, 4.5), costs(4, 4.0)]).workers == 2
    assert most_that_pays([costs(1, 8.0), costs(2, 7.5), costs(4, 2.0)]).workers == 1


def test_advice_on_machines_and_slack():
    found = [costs(1, 8.0), costs(2, 4.5), costs(4, 4.0, 1.0, 3.0)]
    slacks = [costs(2, 4.4, slack=1), costs(2, 3.0, slack=2)]
    told = [*advise_on_machines(found, found[1], slacks, {"batch_size": 100}, 1)]
    assert told[0].startswith("advice: 2 machines") and "1.8 times as fast" in told[0]
    assert "a worker of 1 thread on each" in told[0]
    assert told[1] == "4 machines do not pay: of 4 s, a worker computes for 1 s"
    assert told[2].startswith("with --slack 2 an epoch takes 3 s; as values are older")
    assert "--batch-size" in told[3] and len(told) == 4


def test_advice_where_one_machine_is_enough():
    found = [costs(1, 8.0), costs(2, 7.5)]
    assert not [*advise_on_machines(found[:1], found[0], [], {}, 8)]
    told = [*advise_on_machines(found, found[0], [], {}, 8)]
    assert told[0] == "advice: 1 machine, a worker of 8 threads on each"
    assert len(told) == 2


def test_short_epochs_are_told():
    short = costs(1, 0.004)
    told = [*advise_on_machines([short], short, [], {}, 1)]
    assert told == ["an epoch of 4 ms is short: its run may take far longer"]


@pytest.mark.parametrize(
    ("clocks", "stale", "slack", "ahead"),
    [(1, 0, 0, 1), (1, 3, 4, 4), (3, 5, 4, 2), (9, 4, 4, 1), (1, 3, "inf", 1), (0, 0, 4, 1)],
)
def test_epochs_that_a_worker_is_ahead(clocks, stale, slack, ahead):
    records = [{"clock": (n + 1) * clocks, "max_staleness": stale} for n in range(3)]
    assert epochs_ahead(records, slack) == ahead
    assert epochs_ahead([{"clock": 1, "max_staleness": 3}], 10_000) == MOST_AHEAD


def test_a_smaller_slack_has_no_older_values():
    best = costs(2, 4.0, slack="inf")
    told = [*advise_on_machines([best], best, [costs(2, 3.0, slack=4)], {}, 1)]
    assert told == ["with --slack 4 an epoch takes 3 s"]
