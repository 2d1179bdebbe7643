"""Chooses the workers and the slack of a run where its user leaves them open ("auto"): by trials,
each of which is the run's first epochs with other settings.

More workers of this machine, or more slack, are taken as long as they pay: an epoch takes less by
`GAIN`, and the monitored metric is as good as with the settings before, but for `LOSS`. So an
algorithm that old values cost passes keeps slack 0. Settings with which a trial fails, as numbers
diverge or the program cannot be cut, are not taken. The choice is a pure function of what trials
measure.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tux.base.errors import Interrupted, TuxError
from tux.base.parallel import cores
from tux.base.signals import check_ending_since
from tux.base.text import plural
from tux.graph.manifest import read_manifest
from tux.inputs.memory import MemoryData
from tux.inputs.origin import cut_folder
from tux.options.options import RunOptions
from tux.options.rules import AUTO
from tux.options.watcher import Watcher
from tux.program.base_program import badness, default_epochs
from tux.program.program import Program
from tux.run_folder.folder import RunFolder

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
    """The settings and the results of a trial: seconds of an epoch, and the `badness` of the metric
    that the program monitors after the last one; None if it monitors none. A trial that
    has failed takes for ever.
    """

    workers: int
    slack: int | str
    seconds: float
    monitored: float | None = None

    def pays(self, before: Trial) -> bool:
        """Return whether these settings are better than those of another trial."""
        if self.has_failed or self.seconds > (1 - GAIN) * before.seconds:
            return False
        if self.monitored is None or before.monitored is None:
            return True
        return self.monitored <= before.monitored + LOSS * abs(before.monitored)

    @property
    def has_failed(self) -> bool:
        """True if the trial has failed."""
        return self.seconds == math.inf

    @property
    def settings(self) -> str:
        """The settings in words."""
        return f"{plural(self.workers, 'worker')} at slack {self.slack}"

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s by {self.settings}"


def settle(
    options: RunOptions,
    program: Program,
    data: Any,
    check: Callable[[RunOptions], None],
    run: Callable[[RunOptions, Path | None], Any],
    watch: Watcher,
) -> RunOptions:
    """Return the options with what they leave open chosen by trials, which are told to `watch`.
    `run` runs the program on the data with other options, whose files lie in a folder, that of the
    run if it has one; it returns a `tux.runs.session.Result`. Before the first trial, `check`
    raises what a run with the least settings would. The error of the first trial is raised.

    Options of runs that cannot be tried, on several machines or on data that can be read only once,
    are returned as they are: they are refused where the run is planned.
    """
    if options.leaves_open:
        options = _fit_to_parts(options, data)
    if not options.leaves_open or options.place or _is_read_once(data):
        return options
    options = replace(options, workers=options.workers or 1)
    least = least_settings(options)
    check(least)
    if not trial_options(least, program).epochs:
        watch.say(f"auto: {_flags(least)}; a run without epochs has nothing to try")
        return least
    with ExitStack() as stack:
        folder = None
        if options.out is not None:  # it is new, or refused before trials
            folder = stack.enter_context(RunFolder(options.out)).path
        chosen, trials = choose_settings(
            options, _measuring(program, lambda each: run(each, folder), watch), cores()
        )
    found = ", ".join(str(each) for each in trials if not each.has_failed)
    watch.say(f"auto: {_flags(chosen)}; an epoch takes {found}")
    return chosen


def _fit_to_parts(options: RunOptions, data: Any) -> RunOptions:
    """Return the options with as many workers as data that are cut have parts, if no number is
    named; of several machines, each finds its own.
    """
    cut = cut_folder(data)
    if cut is None or isinstance(options.workers, int):
        return options
    return replace(options, workers=None if options.place else read_manifest(cut).parts)


def _flags(options: RunOptions) -> str:
    """Return the flags that say what was chosen."""
    return f"--workers {options.workers} --slack {options.slack}"


def _measuring(
    program: Program, run: Callable[[RunOptions], Any], watch: Watcher
) -> Callable[[RunOptions], Trial]:
    """Return a function that makes a trial of options by `run`. It raises the error of the first
    one; what ends a later one is said.
    """
    made: list[Trial] = []

    def measure(options: RunOptions) -> Trial:
        begun, workers = time.monotonic(), options.workers
        assert isinstance(workers, int)
        trial = Trial(workers, options.slack, math.inf)
        watch.phase(f"try {trial.settings}")
        try:
            result = run(trial_options(options, program))
        except Interrupted:
            raise
        except TuxError as error:
            check_ending_since(begun)
            if not made:
                raise
            watch.say(f"auto: {trial.settings} fail: {error.what}")
        else:
            check_ending_since(begun)  # a trial that was to end is no reason to go on with the run
            if result.worker:
                result.worker.release()
            trial = trial_of(workers, options.slack, result.records, program)
        made.append(trial)
        return trial

    return measure


def _is_read_once(data: Any) -> bool:
    """Return whether some of the data are a stream in memory. Input that is a pipe is copied when
    it is first read (`tux.arrays.piped`).
    """
    each = data.values() if isinstance(data, dict) else [data]
    parts = [part for own in each if isinstance(own, MemoryData) for part in own.parts]
    return any(isinstance(part, Iterator) for part in parts)


def least_settings(options: RunOptions) -> RunOptions:
    """Return the options of the first trial: one worker, and slack 0, where they are left open."""
    least = replace(options, workers=1) if options.workers == AUTO else options
    return replace(least, slack=0) if options.slack == AUTO else least


def trial_options(options: RunOptions, program: Program) -> RunOptions:
    """Return the options of a trial: of the first epochs, of which nothing is kept. They are judged
    where those of the run are, as clocks of two epochs are not under way where one is judged; and
    patience does not end them.
    """
    own = default_epochs(program, from_model=options.from_run is not None)
    epochs = min(EPOCHS, own if options.epochs is None else options.epochs)
    unused: dict[str, Any] = {"labels": None} if program.input.vertex_labels else {}
    unused |= dict.fromkeys(("out", "log", "checkpoint_every", "keep", "restarts", "judge_top"))
    return replace(
        options,
        epochs=epochs,
        patience=options.patience * EPOCHS,
        profile=False,
        trace_clocks=False,
        keeps_interrupted=False,
        **unused,
    )


def trial_of(
    workers: int, slack: int | str, records: Sequence[dict[str, Any]], program: Program
) -> Trial:
    """Return the trial that has these records of epochs."""
    ends = [record["seconds"] for record in records]
    each = [end - start for start, end in pairwise(ends)]
    return Trial(workers, slack, statistics.median(each or ends), badness(program, records[-1]))


def choose_settings(
    options: RunOptions, measure: Callable[[RunOptions], Trial], here: int
) -> tuple[RunOptions, list[Trial]]:
    """Choose what the options leave open; return them, and the trials in their order. `measure`
    makes a trial of options that leave nothing open. `here`: cores of this machine.
    """
    best = least_settings(options)
    trials = [measure(best)]
    kept = trials[0]

    def try_each(settings: Sequence[RunOptions]) -> None:
        nonlocal best, kept
        for each in settings:
            trials.append(measure(each))
            if not trials[-1].pays(kept):
                return
            best, kept = each, trials[-1]

    if options.workers == AUTO:
        try_each([replace(best, workers=2**n) for n in range(1, here.bit_length())])
    if options.slack == AUTO and kept.workers > 1:
        try_each([replace(best, slack=slack) for slack in SLACKS])
    return best, trials
