"""Workers and slack that are chosen by trials."""

import signal
from contextlib import suppress

import pytest

from tux.base.errors import UsageError
from tux.base.signals import handle_ending
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.program.sources import find
from tux.run_folder.folder import read_run
from tux.runs.session import run
from tux.runs.tuning import Trial, choose_settings, settle, trial_of, trial_options


def table_of_trials(seconds, metric=None):
    """Return a function that measures trials as a table says, by (workers, slack)."""

    def measure(options):
        key = options.workers, options.slack
        return Trial(*key, seconds[key], (metric or {}).get(key))

    return measure


AUTO = RunOptions(workers="auto", slack="auto")


def choose(measure, options=AUTO, cores=4):
    """Return what is chosen, and the settings that were tried."""
    made, trials = choose_settings(options, measure, cores)
    assert not made.leaves_open
    return (made.workers, made.slack), [(each.workers, each.slack) for each in trials]


def test_workers_are_taken_while_they_pay():
    times = {(1, 0): 8.0, (2, 0): 5.0, (4, 0): 4.9}
    slack = {(2, 1): 4.9}
    assert choose(table_of_trials(times | slack)) == ((2, 0), [(1, 0), (2, 0), (4, 0), (2, 1)])
    assert choose(table_of_trials(times | {(2, 0): 7.9})) == ((1, 0), [(1, 0), (2, 0)])
    assert choose(table_of_trials({(1, 0): 1.0}), cores=1) == ((1, 0), [(1, 0)])


def test_slack_is_taken_while_it_pays_and_costs_no_quality():
    times = {(4, 0): 8.0, (4, 1): 6.0, (4, 2): 5.0, (4, 4): 4.95}
    options = RunOptions(workers=4, slack="auto")
    assert choose(table_of_trials(times), options)[0] == (4, 2)
    metric = {(4, 0): 1.0, (4, 1): 1.001, (4, 2): 1.2}
    assert choose(table_of_trials(times, metric), options) == ((4, 1), [(4, 0), (4, 1), (4, 2)])


def test_a_slack_that_is_named_stays():
    options = RunOptions(workers="auto", slack=3)
    assert choose(table_of_trials({(1, 3): 5.0, (2, 3): 9.0}), options)[0] == (1, 3)


def test_seconds_of_a_trial_leave_the_first_epoch_out():
    records = [{"epoch": n, "seconds": 10.0 + n, "rmse": 1 / n} for n in (1, 2, 3)]
    assert trial_of(2, 1, records, "rmse") == Trial(2, 1, 1.0, 1 / 3)
    late = [*records, {"epoch": 4, "seconds": 99.0, "rmse": 1 / 4}]
    assert trial_of(2, 1, late, "rmse") == Trial(2, 1, 1.0, 1 / 4)
    assert trial_of(2, 1, records[:1], "") == Trial(2, 1, 11.0, None)


def test_a_trial_keeps_and_judges_nothing_but_its_end():
    program = find("mf").program()
    options = RunOptions(epochs=9, patience=2, out="run", checkpoint_every="2", slack="auto")
    tried = trial_options(options, program)
    assert (tried.epochs, tried.eval_every, tried.patience, tried.out) == (4, 4, 0, None)
    assert trial_options(RunOptions(epochs=2), program).epochs == 2


def test_what_is_chosen_is_recorded_and_gives_the_same_run(tmp_path):
    program = find("mf").program(rank=2)
    said = []

    class Watch:
        """Note what is said."""

        def say(self, text):
            said.append(text)

        def __getattr__(self, name):
            return lambda *given: None

    auto = RunOptions(epochs=2, workers=1, slack="auto", out=tmp_path / "auto")
    made = run(program, None, None, auto, Watch())
    options = read_run(tmp_path / "auto").options
    assert options["workers"] == 1 and options["slack"] == 0
    assert said[0].startswith("auto: --workers 1 --slack 0; an epoch takes ")
    again = run(program, None, None, RunOptions(epochs=2))
    assert [each["objective"] for each in made.records] == [
        each["objective"] for each in again.records
    ]


@pytest.mark.slow
def test_trials_of_several_workers_are_runs(tmp_path):
    options = RunOptions(epochs=2, workers=2, slack="auto", out=tmp_path / "run")
    made = run(find("mf").program(rank=2), None, None, options)
    chosen = read_run(tmp_path / "run").options
    assert chosen["workers"] == 2 and chosen["slack"] in (0, 1, 2, 4, 8)
    again = run(find("mf").program(rank=2), None, None, RunOptions(epochs=2, workers=2))
    if chosen["slack"] == 0:
        assert made.records[-1]["objective"] == again.records[-1]["objective"]


def test_a_signal_in_a_trial_ends_the_command():
    """It is handled, and what it raises is dropped on the way, as in a callback of a library."""

    def try_out(options):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return run(find("mf").program(rank=2), None, None, options)

    restore = handle_ending()
    try:
        with pytest.raises(KeyboardInterrupt):
            settle(
                RunOptions(epochs=1, slack="auto"),
                find("mf").program(),
                None,
                try_out,
                NullWatcher(),
            )
    finally:
        restore()


@pytest.mark.parametrize("data", ["-"])
def test_data_that_are_read_once_allow_no_trials(data):
    with pytest.raises(UsageError, match="--workers auto is chosen by trials"):
        run(find("mf").program(), data, None, RunOptions(workers="auto"))
