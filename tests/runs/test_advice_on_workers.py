"""A run with several workers says once when these cost more than they bring."""

from types import SimpleNamespace

import pytest

from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.runs import train
from tux.runs.advice import FIRST, advise_on_workers


def records(count=FIRST, *, compute=1e-3, apply=0.0, wait=0.0, send=0.0):
    return [{"compute_s": compute, "apply_s": apply, "wait_s": wait, "send_s": send}] * count


def test_more_messages_than_computing():
    told = advise_on_workers(records(compute=2e-3, apply=1e-3, wait=2e-3, send=1.5e-3), 4)
    assert told.startswith("the 4 workers spend more time on messages than on computing (3.5 ms")
    for advice in ("3.0 ms", "fewer workers", "larger blocks", "--slack", "--threads"):
        assert advice in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("of", "workers"),
    [
        (records(compute=3e-3, wait=2e-3, send=1e-3), 4),
        (records(compute=1e-3, apply=3e-3, wait=2e-3, send=1e-3), 4),
        (records(wait=1.0), 1),
        (records(FIRST - 1, wait=1.0), 2),
        (records(FIRST + 1, wait=1.0), 2),
    ],
    ids=["computing", "Apply functions", "one worker", "too early", "told before"],
)
def test_nothing_is_said(of, workers):
    assert advise_on_workers(of, workers) is None


def test_one_slow_epoch_is_not_all():
    some = [*records(1, wait=1.5e-3), *records(FIRST - 1)]
    assert advise_on_workers(some, 2) is None


def test_the_workers_of_all_machines_count(monkeypatch):
    """Also where each machine has one."""
    told = []

    class Telling(NullWatcher):
        """A watcher that notes what is said."""

        def say(self, text):
            told.append(text)

    slow = [each | {"epoch": n + 1} for n, each in enumerate(records(wait=1.0))]
    options, plan = RunOptions(), SimpleNamespace(epochs=FIRST, workers=1, all_workers=2)
    training = SimpleNamespace(epochs=lambda most, **how: iter(slow))
    monkeypatch.setattr(train, "_warn_of_lost_metrics", lambda run, record: None)
    run = SimpleNamespace(options=options, plan=plan, training=training, keep_best=False)
    run.folder, run.watch, run.records = None, Telling(), []
    train._train(run)
    assert len(told) == 1 and told[0].startswith("the 2 workers spend more time on messages")
