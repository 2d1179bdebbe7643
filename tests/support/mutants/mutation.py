"""Injection of bugs: a context manager that replaces functions of a class while it lasts."""

from __future__ import annotations

from contextlib import contextmanager

from tux.base.errors import TuxError

# Signs of a caught bug: an assertion on reads, a state machine's refusal, workers that all
# wait, and arrays that do not fit.
CAUGHT = (AssertionError, RuntimeError, TuxError, LookupError, ValueError)
REGISTERED = {}


def mutant(*targets):
    """Register a bug. `targets` are classes and names of their functions in turn; the decorated
    function makes, of the originals, the functions that replace them.
    """
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

        REGISTERED[make.__name__] = inject
        return inject

    return register
