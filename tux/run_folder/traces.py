"""The traces of a run's clocks: the files below its folder, and what is found when they are
compared with the rules of SSP.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from tux.base.errors import DataError, UsageError
from tux.clock.trace import WorkerTrace, read_trace
from tux.run_folder.folder import read_run
from tux.run_folder.trace_rules import TraceReplay

TRACES = "trace"
"""The folder of traces, in that of a run."""

NAMED = re.compile(r"(\d+)-(\d+)\.clocks", re.ASCII)


class TraceCounts(NamedTuple):
    """The counts of a run's traces: starts of the workers, the most workers, clocks up to the end,
    events, how many unfinished clocks were before one that started, at most, and how many traces of
    the last start are cut or missing.
    """

    starts: int
    workers: int
    clocks: int
    events: int
    stalest: int
    cut: int


def newest_attempt(folder: Path) -> int:
    """Return the number of the last start of workers of which there is a trace; 0: of none."""
    return max(_paths(folder), default=0)


def check_traces(folder: str | os.PathLike[str]) -> TraceCounts:
    """Compare the traces of a run with the rules of SSP (`tux.run_folder.trace_rules`).

    DataError where they break one, or are damaged, or have another slack than the run; UsageError
    if the run has none.
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
    slack = read_run(folder).options.get("slack") if (folder / "run.json").exists() else None
    firsts, counts = {0}, TraceCounts(0, 0, 0, 0, 0, 0)
    for _, files in sorted(paths.items()):
        # of a worker that was killed at once there is an empty one
        traces = [read_trace(path) for path in sorted(files) if path.stat().st_size]
        if not traces:
            continue
        _check_heads(traces, slack)
        replay = TraceReplay(traces, firsts)
        replay.run()
        firsts |= replay.kept_clocks()
        counts = TraceCounts(
            counts.starts + 1,
            max(counts.workers, traces[0].workers),
            max(counts.clocks, replay.clocks),
            counts.events + sum(len(each.records) for each in traces),
            max(counts.stalest, replay.stalest),
            traces[0].workers - sum(each.is_whole for each in traces),
        )
    return counts


def _paths(folder: Path) -> dict[int, list[Path]]:
    """Return the traces of a run's folder by the number of the start of the workers."""
    found: dict[int, list[Path]] = {}
    for path in (folder / TRACES).glob("*.clocks"):
        if named := NAMED.fullmatch(path.name):
            found.setdefault(int(named[1]), []).append(path)
    return found


def _check_heads(traces: list[WorkerTrace], slack: object) -> None:
    """Raise DataError if files of one start are not of the workers that their names say, not of one
    run, or of another `slack` than that of the run, where it is a number.
    """
    workers, told = traces[0].workers, traces[0].slack
    for each in traces:
        rank = int(each.path.name.partition("-")[2].removesuffix(".clocks"))
        alike = (each.rank, each.workers, each.slack) == (rank, workers, told)
        if not alike or rank >= workers:
            raise DataError(
                f"a trace of worker {each.rank} of {each.workers} at slack {each.slack}, and that "
                f"of {traces[0].path.name} is of {workers} at slack {told}",
                where=str(each.path),
                do="put back the files that tux run --trace-clocks has written",
            )
        if isinstance(slack, int) and each.slack != slack:
            raise DataError(
                f"its clocks ran at slack {each.slack}, and the run has slack {slack}",
                where=str(each.path),
                do="this is a fault of tux, unless a file was changed: report it, with the folder",
            )
