"""All bugs to inject into the protocol, by name.

A proof by simulation is worth what it can find: every one of these must be caught within 1,000
seeds.
"""

import support.mutants.clock_mutants  # noqa: F401 - registers its mutants
import support.mutants.epoch_mutants  # noqa: F401 - registers its mutants
import support.mutants.list_mutants  # noqa: F401 - registers its mutants
import support.mutants.load_mutants  # noqa: F401 - registers its mutants
import support.mutants.move_mutants  # noqa: F401 - registers its mutants
import support.mutants.program_mutants  # noqa: F401 - registers its mutants
import support.mutants.pull_mutants  # noqa: F401 - registers its mutants
import support.mutants.replica_mutants  # noqa: F401 - registers its mutants
import support.mutants.resume_mutants  # noqa: F401 - registers its mutants
import support.mutants.ticket_mutants  # noqa: F401 - registers its mutants
from support.mutants.mutation import OF_EPOCHS, OF_PROGRAMS, OF_PULLS, REGISTERED

MUTANTS = REGISTERED | OF_EPOCHS | OF_PULLS | OF_PROGRAMS
