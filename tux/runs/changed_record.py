"""The comparison of a stopped run's record with the checkpoint from which the run goes on."""

from __future__ import annotations

from pathlib import Path

from tux.base.errors import Refused
from tux.base.text import flag_of
from tux.checkpoint.store import CheckpointManifest
from tux.options.options import OPTIONS, RESUMABLE
from tux.options.rules import PATHS, TABLES
from tux.partition.method_of_type import is_open
from tux.program.params import use_present_names
from tux.program.program import Program
from tux.run_folder.folder import RunRecord, check_as_written

FILES = [name for name, declared in OPTIONS.items() if declared.rule in (*PATHS, TABLES)]
"""Options that name files."""


def check_unchanged(
    run: RunRecord, program: type[Program], kept: CheckpointManifest, where: Path
) -> None:
    """Raise Refused if the record of the run differs from the checkpoint, and name the option: the
    record was changed by hand, or is damaged. Files may have been moved; their content is compared
    later. `RESUMABLE` options may be others only where the run has gone on from this checkpoint, or
    from a later one, and has taken none since. DataError for any other change.
    """
    parameters = use_present_names(program.params, kept.parameters)
    *first, last = (flag_of(name).removeprefix("--") for name in RESUMABLE)
    may_be = f"{', '.join(first)} and {last}"
    of_options = {*run.options, *kept.options} - {*FILES}
    if any(each.checkpoint >= kept.number for each in run.incarnations):
        of_options -= {*RESUMABLE}
    for before, now, names in (
        ({"seed": kept.seed}, {"seed": run.seed}, ["seed"]),
        (parameters, run.parameters, sorted({*run.parameters, *parameters})),
        (kept.options, run.options, sorted(of_options)),
    ):
        for name in names:
            both = before.get(name), now.get(name)
            if both[0] != both[1] and not (name == "partitioner" and any(map(is_open, both))):
                raise Refused(
                    f"{name} is {now.get(name)!r}, and was {before.get(name)!r} when checkpoint "
                    f"{kept.number} was taken",
                    where=str(where),
                    do=f"put back what it was; only {may_be} may be others, by flags of tux run "
                    "--resume",
                )
    check_as_written(where.parent)
