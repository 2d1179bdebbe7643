"""The traces of a run's clocks: the files below its folder, and what is found when they are
compared with the rules of SSP.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from tux.base.errors import DataError, UsageError
from tux.base.text import plural
from tux.clock.trace import WorkerTrace, read_trace, trace_name
from tux.run_folder.folder import RunRecord, read_run
from tux.run_folder.trace_rules import TraceReplay

TRACES = "trace"
"""The folder of traces, in that of a run."""

NAMED = re.compile(r"(\d+)-(\d+)\.clocks", re.ASCII)


class TraceCounts(NamedTuple):
    """The counts of a run's traces: starts of the workers, the most workers, clocks up to the end,
    events, how many unfinished clocks were before one that started, at most, and the names of files
    that were cut or are missing.
    """

    starts: int
    workers: int
    clocks: int
    events: int
    stalest: int
    lacking: tuple[str, ...]


def newest_attempt(folder: Path) -> int:
    """Return the number of the last start of workers of which there is a trace; 0: of none."""
    return max(_paths(folder), default=0)


def check_traces(folder: str | os.PathLike[str]) -> TraceCounts:
    """Compare the traces of a run with the rules of SSP (`tux.run_folder.trace_rules`).

    DataError where they break one, or are damaged, or are of another run or slack; UsageError if
    the run has none.
    """
    folder = Path(folder)
    paths = _paths(folder)
    if not paths:
        read_run(folder)  # tells what is wrong with the folder
        raise UsageError(
            f"the run of {folder} has no trace of its clocks",
            do="name the folder of a run with --trace-clocks: tux run APP DATA --out DIR "
            "--trace-clocks",
        )
    run = read_run(folder) if (folder / "run.json").exists() else None
    firsts, counts = {0}, TraceCounts(0, 0, 0, 0, 0, ())
    for attempt, files in sorted(paths.items()):
        # of a worker that was killed at once there is an empty one
        traces = [read_trace(path) for path in sorted(files) if path.stat().st_size]
        if not traces:
            empty = tuple(sorted(path.name for path in files))
            counts = counts._replace(lacking=counts.lacking + empty)
            continue
        _check_heads(traces, run)
        replay = TraceReplay(traces, firsts)
        replay.run()
        firsts |= replay.kept_clocks()
        whole = {each.rank for each in traces if each.is_whole}
        cut = sorted(set(range(traces[0].workers)) - whole)
        counts = TraceCounts(
            counts.starts + 1,
            max(counts.workers, traces[0].workers),
            max(counts.clocks, replay.clocks),
            counts.events + sum(len(each.records) for each in traces),
            max(counts.stalest, replay.stalest),
            counts.lacking + tuple(trace_name(attempt, rank) for rank in cut),
        )
    return counts


def _paths(folder: Path) -> dict[int, list[Path]]:
    """Return the traces of a run's folder by the number of the start of the workers."""
    found: dict[int, list[Path]] = {}
    for path in (folder / TRACES).glob("*.clocks"):
        if named := NAMED.fullmatch(path.name):
            found.setdefault(int(named[1]), []).append(path)
    return found


def _check_heads(traces: list[WorkerTrace], run: RunRecord | None) -> None:
    """Raise DataError if files of one start are not of the workers that their names say, not of one
    run, or not of this `run`, if it is known, or of another slack, if its own is a number.
    """
    first, slack = traces[0], run.options.get("slack") if run else None
    own = (run.id if run else "") or first.run.hex()
    for each in traces:
        if each.run.hex() != own:
            raise DataError(
                f"the trace of another run: its id is {each.run.hex()}, and that of this run {own}",
                where=str(each.path),
                do="put back the file that this run has written, or remove this one, which is then "
                "named as missing",
            )
        rank = int(each.path.name.partition("-")[2].removesuffix(".clocks"))
        if each.rank != rank:
            raise DataError(
                f"the trace of worker {each.rank} has the name of that of worker {rank}",
                where=str(each.path),
                do="put back the files that tux run --trace-clocks has written",
            )
        if (each.workers, each.slack) != (first.workers, first.slack):
            raise DataError(
                f"a trace of a run of {plural(each.workers, 'worker')} with slack {each.slack}, "
                f"beside {first.path.name} of {plural(first.workers, 'worker')} with slack "
                f"{first.slack}",
                where=str(each.path),
                do="put back the files that tux run --trace-clocks has written",
            )
        may_be = {slack, 0} if each.workers == 1 else {slack}  # one worker waits for nobody
        if isinstance(slack, int) and each.slack not in may_be:
            raise DataError(
                f"its clocks ran at slack {each.slack}, and the run has slack {slack}",
                where=str(each.path),
                do="this is a fault of tux, unless a file was changed: report it, with the folder",
            )
