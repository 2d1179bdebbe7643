"""Bugs to inject into epochs that run as one pass: versions of the context, where a run stops, what
is judged and kept, and what belongs to an epoch. Each is a context manager that replaces functions
for as long as it lasts.
"""

from __future__ import annotations

from support.mutants.mutation import epoch_mutant

from tux.checkpoint.snapshot import Counts
from tux.clock.schedule import Schedule
from tux.engine.clock_loop import ClockLoop
from tux.engine.partition import Partition
from tux.engine.stretch import Judging, Stretch
from tux.engine.training import Training
from tux.program.program import has_converged
from tux.sync.master_tables import MasterTables
from tux.sync.server import Server


@epoch_mutant(ClockLoop, "_note_version")
def metrics_are_those_that_tau_holds_by_then(original):
    return lambda loop, message: None


@epoch_mutant(ClockLoop, "_note_version")
def metrics_are_of_the_version_before(original):
    """Keep the metrics that each answer replaces, also within an epoch."""

    def note(loop, message):
        epoch = loop._tasks[message.clock - loop.first].epoch
        if epoch is not None and loop.worker.syncs[message.sync_id].table == "tau":
            loop._metrics[epoch] = loop.worker.metrics()

    return note


@epoch_mutant(ClockLoop, "_ended_epochs")
def an_epoch_is_told_when_the_next_one_begins(original):
    def tell_ended(loop):
        finished, loop.clock.finished = loop.clock.finished, loop.clock.started
        told = [*original(loop)]
        loop.clock.finished = finished
        yield from told

    return tell_ended


@epoch_mutant(MasterTables, "begin_epoch")
def metrics_of_the_epoch_before_stay(original):
    return lambda server, epoch: False


@epoch_mutant(MasterTables, "begin_epoch")
def metrics_are_forgotten_at_each_clock(original):
    return lambda server, epoch: epoch is not None


@epoch_mutant(Stretch, "goes_on")
def stops_on_what_a_worker_happens_to_know(original):
    return lambda stretch, known: original(stretch, stretch.number)


@epoch_mutant(Stretch, "goes_on")
def stops_on_one_version_too_many(original):
    return lambda stretch, known: original(stretch, known + 1)


@epoch_mutant(Stretch, "goes_on")
def an_epoch_begins_after_a_converged_version(original):
    return lambda stretch, known: original(stretch, 0)


@epoch_mutant(Stretch, "lets_stop")
def one_epoch_that_has_converged_is_enough(original):
    return lambda stretch, metrics: has_converged(stretch._program, metrics)


@epoch_mutant(Stretch, "converged")
def a_converged_version_before_the_last_does_not_count(original):
    return property(lambda stretch: False)


@epoch_mutant(Stretch, "goes_on")
def a_state_at_the_end_of_an_epoch_is_kept_at_once(original):
    """Keep it before the clocks are finished, and go on."""

    def goes_on(stretch, known):
        answer = original(stretch, known)
        if answer is False and stretch.wanted:
            training = stretch._training
            for _ in training.marks.keep(training.state()):
                pass
            stretch.wanted, stretch.number = None, stretch.number + 1
            return True
        return answer

    return goes_on


@epoch_mutant(Stretch, "goes_on")
def a_state_at_the_end_of_an_epoch_is_left_out(original):
    def goes_on(stretch, known):
        answer = original(stretch, known)
        if answer is False and stretch.wanted:
            stretch.wanted, stretch.number = None, stretch.number + 1
            return True
        return answer

    return goes_on


@epoch_mutant(Judging, "ends_after")
def clocks_go_on_over_a_judged_epoch(original):
    return lambda judging, number: number == judging.last


@epoch_mutant(ClockLoop, "_keep")
def judges_and_keeps_before_all_is_finished(original):
    """Keep a state within an epoch while clocks are not finished."""

    def keep(loop):
        yield from loop._epochs.keep(loop)
        loop._is_due = loop._closed = False

    return keep


@epoch_mutant(Partition, "pass_number")
def a_clock_sees_the_epoch_of_the_last_record(original):
    return property(lambda partition: partition.epoch)


@epoch_mutant(Schedule, "clocks")
def the_first_epoch_of_a_pass_gives_its_number_to_all(original):
    def clocks(schedule, number=None):
        schedule.number = getattr(schedule, "number", number)
        return original(schedule, schedule.number)

    return clocks


@epoch_mutant(Training, "_end_within")
def costs_are_those_since_the_stretch_began(original):
    def end_within(training, stretch, ended):
        begun = training._begun
        record = original(training, stretch, ended)
        training._begun = begun
        return record

    return end_within


@epoch_mutant(Training, "_end_within")
def costs_between_two_records_are_lost(original):
    def end_within(training, stretch, ended):
        record = original(training, stretch, ended)
        training.worker.bytes_sent["tau"] += 1
        training._begun = Counts.of(training.worker, training.trained)
        return record

    return end_within


@epoch_mutant(ClockLoop, "_may_go_on")
def clocks_are_counted_on_from_epoch_to_epoch(original):
    """Count the clocks of a pass where those of an epoch are meant."""

    def may_go_on(loop):
        turns = loop.turns
        answer = original(loop)
        loop.turns = turns
        return answer

    return may_go_on


@epoch_mutant(ClockLoop, "_may_go_on")
def without_a_bound_epochs_are_not_waited_for(original):
    def may_go_on(loop):
        own, loop.worker.is_asynchronous = loop.worker.is_asynchronous, False
        try:
            return original(loop)
        finally:
            loop.worker.is_asynchronous = own

    return may_go_on


@epoch_mutant(Server, "hold_context")
def the_context_goes_on_before_the_applies(original):
    return lambda server, clock, until: None


@epoch_mutant(Training, "passes_mark")
def marks_at_the_ends_of_epochs_do_not_count(original):
    def passes(training, epoch):
        before = training._passed
        wanted = original(training, epoch)
        if epoch is not None:
            training._passed = before
        return wanted

    return passes
