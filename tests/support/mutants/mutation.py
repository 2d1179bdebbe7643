"""Injection of bugs: a context manager that replaces functions of a class while it lasts."""

from __future__ import annotations

from contextlib import contextmanager

from tux.base.errors import TuxError

# Signs of a caught bug: an assertion on reads, a state machine's refusal, workers that all
# wait, and arrays that do not fit.
CAUGHT = (AssertionError, RuntimeError, TuxError, LookupError, ValueError)
REGISTERED, OF_EPOCHS, OF_PULLS, OF_PROGRAMS = {}, {}, {}, {}


def mutant(*targets):
    """Register a bug in clocks and what they send. `targets` are classes and names of their
    functions in turn; the decorated function makes, of the originals, the functions that replace
    them.
    """
    return _register(REGISTERED, targets)


def epoch_mutant(*targets):
    """Register a bug in epochs that run as one pass, as `mutant` does."""
    return _register(OF_EPOCHS, targets)


def pull_mutant(*targets):
    """Register a bug in rows that are pulled, as `mutant` does."""
    return _register(OF_PULLS, targets)


def program_mutant(*targets):
    """Register a bug that random programs find, as `mutant` does; targets may be modules, too."""
    return _register(OF_PROGRAMS, targets)


def _register(registered, targets):
    pairs = list(zip(targets[::2], targets[1::2], strict=True))

    def register(make):
        @contextmanager
        def inject():
            originals = [vars(owner)[name] for owner, name in pairs]
            replacements = make(*originals)
            replacements = [replacements] if len(pairs) == 1 else replacements
            for (owner, name), replacement in zip(pairs, replacements, strict=True):
                setattr(owner, name, replacement)
            try:
                yield
            finally:
                for (owner, name), original in zip(pairs, originals, strict=True):
                    setattr(owner, name, original)

        registered[make.__name__] = inject
        return inject

    return register
