"""Workers and slack that are chosen by trials."""

import math
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from support.messages import message

from tux.arrays.piped import remove_copies
from tux.base.errors import DataError, UsageError
from tux.base.signals import handle_ending
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.program.sources import find
from tux.run_folder.folder import read_run
from tux.runs import session
from tux.runs.session import run
from tux.runs.tuning import EPOCHS, Trial, choose_settings, settle, trial_of, trial_options
from tux.stages.computed import metric


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


def test_settings_with_which_a_trial_fails_are_not_taken():
    times = {(1, 0): 8.0, (2, 0): 5.0, (4, 0): math.inf, (2, 1): math.inf}
    assert choose(table_of_trials(times)) == ((2, 0), [(1, 0), (2, 0), (4, 0), (2, 1)])


def test_a_slack_that_is_named_stays():
    options = RunOptions(workers="auto", slack=3)
    assert choose(table_of_trials({(1, 3): 5.0, (2, 3): 9.0}), options)[0] == (1, 3)


def test_seconds_of_a_trial_leave_the_first_epoch_out():
    records = [{"epoch": n, "seconds": 10.0 + n, "rmse": 1 / n} for n in (1, 2, 3)]
    fields = {"rmse": metric(), "ndcg": metric(rises=True)}

    def program(monitor):
        return SimpleNamespace(monitor=monitor, context=SimpleNamespace(fields=fields))

    assert trial_of(2, 1, records, program("rmse")) == Trial(2, 1, 1.0, 1 / 3)
    rising = [{**each, "ndcg": 0.5} for each in records]
    assert trial_of(2, 1, rising, program("ndcg")) == Trial(2, 1, 1.0, -0.5)
    late = [*records, {"epoch": 4, "seconds": 99.0, "rmse": 1 / 4}]
    assert trial_of(2, 1, late, program("rmse")) == Trial(2, 1, 1.0, 1 / 4)
    assert trial_of(2, 1, records[:1], program("")) == Trial(2, 1, 11.0, None)


def test_a_trial_is_judged_where_the_run_is_and_patience_does_not_end_it():
    """As clocks of two epochs are not under way where one is judged."""
    options = RunOptions(epochs=9, eval_every=3, patience=1, slack="auto")
    tried = trial_options(options, find("mf").program())
    assert (tried.eval_every, tried.patience) == (3, EPOCHS)


def test_a_trial_keeps_nothing():
    program = find("mf").program()
    options = RunOptions(epochs=9, out="run", checkpoint_every="2", slack="auto")
    tried = trial_options(options, program)
    assert (tried.epochs, tried.patience, tried.out) == (EPOCHS, 0, None)
    assert trial_options(RunOptions(epochs=2), program).epochs == 2


class Listener(NullWatcher):
    """A watcher that notes what is said."""

    def __init__(self):
        self.said = []

    def say(self, text):
        self.said.append(text)


def test_what_is_chosen_is_recorded_and_gives_the_same_run(tmp_path):
    program = find("mf").program(rank=2)
    watch = Listener()
    auto = RunOptions(epochs=2, workers=1, slack="auto", out=tmp_path / "auto")
    made = run(program, None, None, auto, watch)
    options = read_run(tmp_path / "auto").options
    assert options["workers"] == 1 and options["slack"] == 0
    assert watch.said[0].startswith("auto: --workers 1 --slack 0; an epoch takes ")
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


def settle_mf(options, try_out, watch=None):
    """Return what trials by `try_out` choose for matrix factorization."""
    program = find("mf").program(rank=2)
    return settle(options, program, None, lambda least: None, try_out, watch or NullWatcher())


def fail_from(workers):
    """Return a function that makes trials, of which those of so many workers diverge."""

    def try_out(options, room):
        if options.workers >= workers:
            raise DataError("user.f is NaN")
        return run(find("mf").program(rank=2), None, None, options)

    return try_out


def test_a_trial_that_fails_is_said_and_not_chosen(monkeypatch):
    monkeypatch.setattr("tux.runs.tuning.cores", lambda: 4)
    watch = Listener()
    auto = RunOptions(epochs=2, workers="auto", slack="auto")
    chosen = settle_mf(auto, fail_from(2), watch)
    assert (chosen.workers, chosen.slack) == (1, 0)
    assert watch.said[0] == "auto: 2 workers at slack 0 fail: user.f is NaN"
    assert watch.said[1].startswith("auto: --workers 1 --slack 0; an epoch takes ")


def test_the_error_of_the_first_trial_is_that_of_the_run():
    with pytest.raises(DataError, match="user.f is NaN"):
        settle_mf(RunOptions(epochs=2, slack="auto"), fail_from(1))


def test_a_run_without_epochs_needs_no_trials():
    made = run(find("mf").program(rank=2), None, None, RunOptions(epochs=0, workers="auto"))
    assert made.record.options["workers"] == 1 and [r["epoch"] for r in made.records] == [0]


def test_what_no_run_can_have_is_refused_before_trials(monkeypatch):
    monkeypatch.setattr(session, "_run", None)  # no trial begins
    options = RunOptions(workers="auto", restarts=2)
    with pytest.raises(UsageError, match="--restarts with one worker"):
        run(find("mf").program(), None, None, options)


def test_files_of_a_trial_lie_in_the_folder_of_the_run(tmp_path, monkeypatch):
    rooms, real = [], session._run

    def note(*given, room=None, **more):
        rooms.append(room)
        return real(*given, room=room, **more)

    monkeypatch.setattr(session, "_run", note)
    out = tmp_path / "run"
    run(find("mf").program(rank=2), None, None, RunOptions(epochs=1, slack="auto", out=out))
    assert rooms == [out, None] and (out / "run.json").exists()


PAGERANK = str(Path(__file__).parents[2] / "docs" / "pagerank.py")


@pytest.fixture
def links(tmp_path):
    """Return a file of a small graph."""
    path = tmp_path / "links.txt"
    path.write_text("".join(f"{n} {(n * 7 + 1) % 40}\n" for n in range(40)))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["auto", None, 2])
def test_a_partitioned_folder_has_as_many_workers_as_parts(links, tmp_path, workers):
    cut, watch = tmp_path / "cut", Listener()
    assert main(["partition", str(links), "--parts", "2", "--out", str(cut)]) == 0
    options = RunOptions(epochs=2, workers=workers, slack="auto", jit=False)
    made = run(find(PAGERANK).program(), str(cut), None, options, watch)
    assert made.record.options["workers"] == 2
    assert watch.said[0].startswith("auto: --workers 2 --slack ")


def test_a_pipe_is_read_once_for_all_trials(links, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writing = threading.Thread(target=lambda: pipe.write_bytes(links.read_bytes()), daemon=True)
    writing.start()
    options = RunOptions(epochs=1, slack="auto", jit=False)
    try:
        made = run(find(PAGERANK).program(), str(pipe), None, options)
    finally:
        remove_copies()
    assert made.sizes["edges"] == 40


def test_a_signal_in_a_trial_ends_the_command():
    """It is handled, and what it raises is dropped on the way, as in a callback of a library."""

    def try_out(options, room):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return run(find("mf").program(rank=2), None, None, options)

    restore = handle_ending()
    try:
        with pytest.raises(KeyboardInterrupt):
            settle_mf(RunOptions(epochs=1, slack="auto"), try_out)
    finally:
        restore()


def test_data_that_are_read_once_allow_no_trials():
    table = pa.table({"user": [1, 2], "item": [1, 2], "value": [1.0, 2.0]})
    stream = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    with pytest.raises(UsageError, match=message("auto-is-chosen-by-trials", "workers")):
        run(find("mf").program(), stream, None, RunOptions(workers="auto"))
