"""Bugs to inject into states that are dealt to another number of workers. Each is a context manager
that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import program_mutant

from tux.checkpoint.old_states import OldStates
from tux.checkpoint.redistribute import Redistribution


@program_mutant(OldStates, "unsent_changes")
def changes_that_were_not_sent_stay_behind(original):
    return lambda self, name, f, lo, hi: None


@program_mutant(OldStates, "deltas")
def deltas_that_were_not_taken_stay_behind(original):
    def deltas(self, name, f, lo, hi):
        out = original(self, name, f, lo, hi)
        out[...] = self.fields[name][f].identity
        return out

    return deltas


@program_mutant(Redistribution, "_counts_before")
def all_new_replicas_get_what_was_not_sent(original):
    return lambda self, name, rank, lo, hi: np.zeros(hi - lo, np.int16)


@program_mutant(Redistribution, "_of_rows")
def what_was_not_sent_is_taken_for_sent(original):
    return lambda self, name, f, rank, unsent=True: original(self, name, f, rank)


@program_mutant(OldStates, "_masters")
def a_moved_master_has_what_a_replica_shows(original):
    """Take values from replicas, which have changed them."""

    def masters(self, name, f):
        kept = original(self, name, f)
        return [] if self.fields[name][f].kind == "shared" else kept

    return masters
