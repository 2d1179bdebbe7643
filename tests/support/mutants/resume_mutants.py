"""Bugs to inject into runs that go on from a state. Each is a context manager that replaces
functions for as long as it lasts.
"""

from __future__ import annotations

from support.mutants.mutation import program_mutant

from tux.engine import training
from tux.engine.training import Training


def _forget(original, begins):
    """Return a `put_back` that leaves arrays whose names begin so as they are."""

    def put_back(partition, arrays):
        own = training.arrays_of(partition)
        kept = {
            name: own[name].copy() if name in own and name.startswith(begins) else array
            for name, array in arrays.items()
        }
        original(partition, kept)

    return put_back


@program_mutant(training, "put_back")
def rows_are_not_put_back(original):
    return _forget(original, ("rows/user", "rows/item"))


@program_mutant(training, "put_back")
def masters_are_not_put_back(original):
    return _forget(original, ("masters/user", "masters/item"))


@program_mutant(training, "put_back")
def the_context_is_not_put_back(original):
    return _forget(original, ("rows/tau", "masters/tau", "masters/special"))


@program_mutant(training, "put_back")
def what_mirrors_have_sent_is_not_put_back(original):
    return _forget(original, ("base/user", "base/item"))


@program_mutant(training, "put_back")
def fields_of_edges_are_not_put_back(original):
    return _forget(original, ("edges/",))


@program_mutant(training, "put_back")
def fields_of_other_edges_are_not_put_back(original):
    return _forget(original, ("edges.",))


@program_mutant(Training, "resume")
def a_resumed_run_counts_epochs_anew(original):
    def resume(self, state):
        original(self, state._replace(head=_with(state.head, epoch=state.head.epoch - 1)))

    return resume


@program_mutant(Training, "resume")
def a_resumed_run_counts_repetitions_anew(original):
    def resume(self, state):
        head = _with(state.head, repetitions={})
        original(self, state._replace(head=head))

    return resume


@program_mutant(Training, "resume")
def a_resumed_run_leaves_an_epoch_out(original):
    def resume(self, state):
        original(self, state._replace(head=_with(state.head, epoch=state.head.epoch + 1)))

    return resume


@program_mutant(Training, "resume")
def setup_runs_again_in_a_resumed_run(original):
    def resume(self, state):
        original(self, state)
        self._resumed = None

    return resume


def _with(head, **changed):
    """Return the head with other numbers."""
    return type(head)(**{name: getattr(head, name) for name in head.__struct_fields__} | changed)
