"""The report of ``tux run APP DATA --verify``: the fields that differ on several workers, as plain
Python, or with edges in shares, from those of one worker.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tux.base.errors import ProgramError, UsageError
from tux.base.text import plural
from tux.cli import show

if TYPE_CHECKING:
    from tux.inputs.load import Data
    from tux.options.options import RunOptions
    from tux.program.program import Program
    from tux.runs.verify import Difference, Verified


def print_verification(
    program: Program, data: Data | None, test: Data | None, options: RunOptions
) -> int:
    """Verify `program`, print what was found, and return the exit code. ProgramError if a result
    depends on the number of workers or on the shares of edges though no field is changed in place,
    if plain Python computes something else, or if a run failed.
    """
    from tux.runs.verify import verify

    if options.out is not None or options.place is not None:
        raise UsageError(
            "--verify keeps no model and runs on this machine alone",
            do="leave out --out and --nnodes, or --verify",
        )
    with show.watcher() as watch:
        report = verify(program, data, test, options, watch)
    _show(report)
    worst = report.of(0, jit=False) or report.of(0) or report.of(0, shares=True)
    for text in _not_compared(report):
        show.say(text)
    for error in (*report.failed.values(), *([] if report.several else report.refused.values())):
        raise error
    if not worst and not report.of(2):
        told = "the same on 1, 2 and 3 workers, but for rounding"
    elif not worst:
        told = (
            "at slack 2 stages may read values that are up to 2 clocks old; Barrier() makes a "
            "stage wait for all of them"
        )
    else:
        told = _excuse(program, report)
    if not told:
        raise _error(program, report, worst[0])
    show.say(told)
    return 0


def _show(report: Verified) -> None:
    """Print the table of differences, and a line for each field that differs by more than
    rounding.
    """
    show.say(f"{plural(report.epochs, 'epoch')} on {report.sizes}, compared with 1 worker:")
    groups: dict[str, tuple[Any, ...]] = {
        "plain Python": (0, False),
        "slack 0": (0, True),
        "slack 2": (2, True),
    }
    if any(setting.shares for setting in (*report.compared, *report.failed)):
        groups["in shares"] = (0, True, True)
    rows = [
        [field, *(_cell(report, field, each) for each in groups.values())]
        for field in report.fields
    ]
    show.grid(["field", *groups], rows)
    if not report.fields:
        show.say("the program has no field to compare")
    for setting, error in report.failed.items():
        show.say(f"{setting}: failed: {error.what}")
    shown: set[str] = set()
    for group in groups.values():
        for each in report.of(*group):
            if each.field not in shown:
                shown.add(each.field)
                show.say(_sentence(each))


def _not_compared(report: Verified) -> Iterator[str]:
    """Yield a line for each reason why the program does not run on some cuts."""
    reasons: dict[str, dict[str, None]] = {}
    for setting, error in report.refused.items():
        reasons.setdefault(error.what, {})[setting.partitioner] = None
    for what, cuts in reasons.items():
        yield f"not compared on cuts by {' and '.join(cuts)}: {what}"


def _excuse(program: Program, report: Verified) -> str:
    """Return why values may depend on the number of workers though nothing is wrong; "" if they may
    not. No program needs to compute something else in plain Python, or in shares.
    """
    wrong = any(each.is_wrong for each in report.suspects)
    if wrong or report.of(0, jit=False):
        return ""
    if report.in_place:
        return (
            f"the stages change {', '.join(report.in_place)} in place, so values depend on the "
            "order of the changes; compare the metrics of longer runs instead"
        )
    if program.agree == "optimum" and not report.of(0, shares=True):
        return (
            f"{type(program).__name__} promises the optimum on any number of workers, not the path "
            "to it; compare the metrics of runs to their end instead"
        )
    return ""


def _error(program: Program, report: Verified, worst: Difference) -> ProgramError:
    """Return the error of a program of which a field differs."""
    from tux.program.checks import place

    what = f"{worst.field} depends on {_cause(worst)}"
    if worst.setting.shares:
        do = (
            "what a function does with shares of the edges does not add up to what it does with "
            "all: leave shares out, and additive=True"
        )
        return ProgramError(what, where=place(type(program)), do=do)
    if report.suspects:
        found = report.suspects[0]
        return ProgramError(f"{what}: {found.what}", where=found.where, do=found.do)
    do = "docs/program.md, 'Right on several workers', has the usual reasons"
    return ProgramError(what, where=place(type(program)), do=do)


def _cell(report: Verified, field: str, group: tuple[Any, ...]) -> str:
    """Return the largest difference of one field in one group of settings."""
    here = [
        each for each in report.differences if each.field == field and each.setting.is_of(*group)
    ]
    if not here:
        return "same" if any(each.is_of(*group) for each in report.compared) else "-"
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
    if each.setting.shares:
        return "the shares in which a function gets the edges of a vertex"
    return "the number of workers"
