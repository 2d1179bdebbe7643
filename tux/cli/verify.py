"""What ``tux run APP DATA --verify`` tells: which fields differ on several workers, or as plain
Python, from those of one worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tux.base.errors import ProgramError, UsageError
from tux.base.text import plural
from tux.cli import show

if TYPE_CHECKING:
    from tux.program.program import Program
    from tux.run.inputs import Data
    from tux.run.options import RunOptions
    from tux.run.verify import Difference, Verified


def verified(program: Program, data: Data | None, test: Data | None, options: RunOptions) -> int:
    """Verify `program` and show what was found. ProgramError if a result depends on the number of
    workers though no field is changed in place, if plain Python computes something else, or if a
    run failed.
    """
    from tux.program.checks import place
    from tux.run.verify import EPOCHS, verify

    if options.out is not None or options.place is not None:
        raise UsageError(
            "--verify keeps no model and runs on this machine alone",
            do="leave out --out and --nnodes, or --verify",
        )
    with show.watcher() as watch:
        report = verify(program, data, test, options, watch)
    show.say(f"{plural(EPOCHS, 'epoch')} on {report.sizes}, compared with 1 worker:")
    show.grid(["field", "plain Python", "slack 0", "slack 2"], _rows(report))
    if not report.fields:
        show.say("the program has no field to compare")
    for setting, error in report.refused.items():
        show.say(f"{setting}: refused: {error.what}")
    for setting, error in report.failed.items():
        show.say(f"{setting}: failed: {error.what}")
    shown: set[str] = set()
    for each in (*report.of(0, jit=False), *report.of(0), *report.of(2)):
        if each.field not in shown:
            shown.add(each.field)
            show.say(_sentence(each))
    for error in (*report.failed.values(), *([] if report.several else report.refused.values())):
        raise error
    if not shown:
        show.say("the same on 1, 2 and 3 workers, but for rounding")
        return 0
    if not report.of(0, jit=False) and not report.of(0):
        show.say(
            "at slack 2 stages may read values that are up to 2 clocks old; Barrier() makes a "
            "stage wait for all of them"
        )
        return 0
    wrong = any(each.is_wrong for each in report.suspects)
    if report.in_place and not wrong and not report.of(0, jit=False):
        show.say(
            f"the stages change {', '.join(report.in_place)} in place, so values depend on the "
            "order of the changes; compare the metrics of longer runs instead"
        )
        return 0
    worst = (report.of(0, jit=False) or report.of(0))[0]
    what = f"{worst.field} depends on {_cause(worst)}"
    if report.suspects:
        found = report.suspects[0]
        raise ProgramError(f"{what}: {found.what}", where=found.where, do=found.do)
    raise ProgramError(
        what,
        where=place(type(program)),
        do="docs/program.md, 'Right on several workers', has the usual reasons",
    )


def _rows(report: Verified) -> list[list[str]]:
    """A row for each field: how far it is apart in each group of settings."""
    groups = ((0, False), (0, True), (2, True))
    return [[field, *(_cell(report, field, *group) for group in groups)] for field in report.fields]


def _cell(report: Verified, field: str, slack: int, jit: bool) -> str:
    """The largest difference of one field in one group of settings."""
    here = [
        each
        for each in report.differences
        if each.field == field and (each.setting.slack, each.setting.jit) == (slack, jit)
    ]
    group = [s for s in report.compared if (s.slack, s.jit) == (slack, jit)]
    if not here:
        return "same" if group else "-"
    if all(each.is_rounding for each in here):
        return "rounding"
    return f"differs by {max(each.share for each in here):.1%}"


def _sentence(each: Difference) -> str:
    where = f"{each.field} of {each.vertex}" if each.vertex is not None else each.field
    return f"{where}: {_number(each.on_one)} on 1 worker, {_number(each.here)} on {each.setting}"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _cause(each: Difference) -> str:
    if not each.setting.jit:
        return "whether functions are compiled"
    return "the number of workers"
