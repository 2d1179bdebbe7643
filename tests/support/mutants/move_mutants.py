"""Bugs to inject into states that are dealt to another number of workers. Each is a context manager
that replaces functions for as long as it lasts.
"""

from __future__ import annotations

import numpy as np
from support.mutants.mutation import program_mutant

from tux.checkpoint import redistribute
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


@program_mutant(Redistribution, "_check_mirror")
def the_first_replica_decides_a_mirror_field(original):
    return lambda self, name, f: None


@program_mutant(OldStates, "trained_rows")
def the_mirror_fields_of_the_first_worker_are_forgotten(original):
    def rows(self, name, f, table="rows"):
        kept = original(self, name, f, table)
        return kept[1:] if self.fields[name][f].kind == "mirror" and len(kept) > 1 else kept

    return rows


@program_mutant(redistribute, "_match")
def edges_are_told_apart_by_their_places(original):
    """Take edges for the same that have the same place, where the names are others."""

    def match(own, others):
        here, there = original(own, others)
        return np.sort(here), np.sort(there)

    return match


@program_mutant(Redistribution, "_context_of")
def only_the_first_worker_has_the_context(original):
    def context(self, rank):
        out = original(self, rank)
        return {name: array * 0 if rank else array for name, array in out.items()}

    return context
