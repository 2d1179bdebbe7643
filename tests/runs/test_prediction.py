"""Advice on machines, and how many of them pay."""

from tux.runs.prediction import EpochPrediction, advise_on_machines, most_that_pays


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
    told = [*advise_on_machines(found, found[1], slacks, {"batch_size": 100})]
    assert told[0].startswith("advice: 2 machines") and "1.8 times as fast" in told[0]
    assert told[1].startswith("4 machines send and wait")
    assert told[2].startswith("with --slack 2 an epoch takes 3 s")
    assert "--batch-size" in told[3] and len(told) == 4


def test_advice_where_one_machine_is_enough():
    found = [costs(1, 8.0), costs(2, 7.5)]
    assert not [*advise_on_machines(found[:1], found[0], [], {})]
    told = [*advise_on_machines(found, found[0], [], {})]
    assert told[0] == "advice: 1 machine, one worker on each, whose threads use all cores"
    assert len(told) == 2
