"""Mutants of the engine that random programs tell from the real thing (support/prove)."""

import pytest
from prove import catch_mutant
from support.mutants.mutation import OF_PROGRAMS

SEEDS = 1000


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_mutants_are_caught(name):
    """Run seeds until one is caught: up to 200 for the mutants that there are."""
    assert catch_mutant(name, SEEDS), f"{SEEDS} random programs do not tell {name} from the engine"
