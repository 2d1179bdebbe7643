"""Chooses the workers and the slack of a run where its user leaves them open ("auto"): by trials,
each of which is the run's first epochs with other settings.

More workers of this machine, or more slack, are taken as long as they pay: an epoch takes less by
`GAIN`, and the monitored metric is as good as with the settings before, but for `LOSS`. So an
algorithm that old values cost passes keeps slack 0. The choice is a pure function of what trials
measure.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

from tux.arrays.piped import STANDARD
from tux.base.parallel import cores
from tux.base.signals import check_ending_since
from tux.base.text import plural
from tux.inputs.origin import cut_folder
from tux.options.options import RunOptions
from tux.options.rules import AUTO
from tux.options.watcher import Watcher
from tux.program.base_program import default_epochs
from tux.program.program import Program

EPOCHS = 6
"""Epochs of a trial, or all of a shorter run. The first is not timed if there are others, and of
the others the median counts: something else may disturb one of milliseconds.
"""

GAIN = 0.05
"""The share of an epoch's time that settings must save to be taken."""

LOSS = 0.005
"""The share by which the monitored metric may be worse."""

SLACKS = (1, 2, 4, 8)
"""Slacks that are tried after 0."""


class Trial(NamedTuple):
    """The settings and the results of a trial: seconds of an epoch, and the metric that the program
    monitors, of which less is better, after the last one; None if it monitors none.
    """

    workers: int
    slack: int | str
    seconds: float
    monitored: float | None = None

    def pays(self, before: Trial) -> bool:
        """Return whether these settings are better than those of another trial."""
        if self.seconds > (1 - GAIN) * before.seconds:
            return False
        if self.monitored is None or before.monitored is None:
            return True
        return self.monitored <= before.monitored + LOSS * abs(before.monitored)

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s by {plural(self.workers, 'worker')} at slack {self.slack}"


def settle(
    options: RunOptions,
    program: Program,
    data: Any,
    run: Callable[[RunOptions], Any],
    watch: Watcher,
) -> RunOptions:
    """Return the options with what they leave open chosen by trials, which are told to `watch`.
    `run` runs the program on the data with other options, and returns a
    `tux.runs.session.Result`.

    Options of runs that cannot be tried, on several machines or on data that can be read only once,
    are returned as they are: they are refused where the run is planned.
    """
    if options.workers == AUTO and cut_folder(data):
        options = replace(options, workers=None)  # it has as many parts
    if not options.leaves_open or options.place or data == STANDARD:
        return options

    def measure(tried: RunOptions) -> Trial:
        watch.phase(f"try {tried.workers or 'all'} workers, slack {tried.slack}")
        begun = time.monotonic()
        result = run(trial_options(tried, program))
        check_ending_since(begun)  # a trial that was to end is no reason to go on with the run
        if result.worker:
            result.worker.release()
        workers = result.record.options["workers"]
        return trial_of(workers, tried.slack, result.records, program.monitor)

    chosen, trials = choose_settings(options, measure, cores())
    watch.say(
        f"auto: --workers {trials[0].workers if chosen.workers is None else chosen.workers} "
        f"--slack {chosen.slack}; an epoch takes {', '.join(map(str, trials))}"
    )
    return chosen


def trial_options(options: RunOptions, program: Program) -> RunOptions:
    """Return the options of a trial: of the first epochs, of which nothing is kept or judged but
    the last.
    """
    own = default_epochs(program, from_model=options.from_run is not None)
    epochs = min(EPOCHS, own if options.epochs is None else options.epochs)
    unused: dict[str, Any] = {"labels": None} if program.input.vertex_labels else {}
    unused |= dict.fromkeys(("out", "log", "checkpoint_every", "keep", "restarts", "judge_top"))
    return replace(
        options,
        epochs=epochs,
        eval_every=max(epochs, 1),
        patience=0,
        profile=False,
        keeps_interrupted=False,
        **unused,
    )


def trial_of(
    workers: int, slack: int | str, records: Sequence[dict[str, Any]], monitor: str
) -> Trial:
    """Return the trial that has these records of epochs."""
    ends = [record["seconds"] for record in records]
    each = [end - start for start, end in pairwise(ends)]
    return Trial(workers, slack, statistics.median(each or ends), records[-1].get(monitor))


def choose_settings(
    options: RunOptions, measure: Callable[[RunOptions], Trial], here: int
) -> tuple[RunOptions, list[Trial]]:
    """Choose what the options leave open; return them, and the trials in their order. `measure`
    makes a trial of options that leave nothing open. `here`: cores of this machine.
    """
    first = replace(options, slack=0) if options.slack == AUTO else options
    numbers = [2**n for n in range(here.bit_length())]
    by_workers = (
        [replace(first, workers=n) for n in numbers] if options.workers == AUTO else [first]
    )
    best, trials = by_workers[0], [measure(by_workers[0])]
    kept = trials[0]

    def try_each(settings: Sequence[RunOptions]) -> None:
        nonlocal best, kept
        for each in settings:
            trials.append(measure(each))
            if not trials[-1].pays(kept):
                return
            best, kept = each, trials[-1]

    try_each(by_workers[1:])
    if options.slack == AUTO and kept.workers > 1:
        try_each([replace(best, slack=slack) for slack in SLACKS])
    return best, trials
