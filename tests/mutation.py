"""How a bug is injected: a context manager that replaces functions of a class for as long as it
lasts.
"""

from __future__ import annotations

from contextlib import contextmanager

from tux.base.errors import TuxError

# What a caught bug looks like: an assertion on reads, a state machine's refusal, workers that all
# wait, and arrays that do not fit.
CAUGHT = (AssertionError, RuntimeError, TuxError, LookupError, ValueError)
MUTANTS = {}


def mutant(owner, *names):
    """Register a bug: the decorated function makes, of the originals ``owner.name``, what stands
    in for them.
    """

    def register(make):
        @contextmanager
        def injected():
            originals = [vars(owner)[name] for name in names]
            made = make(*originals)
            for name, replacement in zip(names, [made] if len(names) == 1 else made, strict=True):
                setattr(owner, name, replacement)
            try:
                yield
            finally:
                for name, original in zip(names, originals, strict=True):
                    setattr(owner, name, original)

        MUTANTS[make.__name__] = injected
        return injected

    return register
