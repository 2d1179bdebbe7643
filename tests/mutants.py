"""All bugs to inject into the protocol, by name.

A proof by simulation is worth what it can find: every one of these must be caught within 100 seeds.
"""

import clock_mutants  # noqa: F401 - registers its mutants
import replica_mutants  # noqa: F401 - registers its mutants
from mutation import REGISTERED

MUTANTS = dict(REGISTERED)
