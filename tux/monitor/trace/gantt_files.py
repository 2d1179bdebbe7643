"""Files of a Gantt chart: a picture, or text for other programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.base.disk import replacing
from tux.base.errors import UsageError
from tux.figures import figures
from tux.monitor.trace import gantt_chart
from tux.monitor.trace.gantt import Gantt
from tux.predict.export import check_new
from tux.run_folder.folder import RunRecord

TEXTS = (".tsv", ".json")
TRACE = ".trace.json"
"""The end of a file in the Trace Event Format, which Perfetto and Chrome draw."""


def writer(path: str | os.PathLike[str]) -> Callable[[Gantt, RunRecord], None]:
    """Return a function that writes a chart to a new file. The end of the name decides: a picture,
    a table as text, .tsv or .json, or events for Perfetto, .trace.json.

    Raises UsageError for another ending, if the file exists, and if matplotlib is missing where a
    picture is drawn; writing raises DiskError.
    """
    check_new(path)
    ending = Path(path).suffix.lower()
    if ending in figures.ENDINGS:
        figures.check(path)
        return lambda gantt, run: gantt_chart.save(path, gantt, run)
    if ending not in TEXTS:
        endings = (*figures.ENDINGS, *TEXTS, TRACE)
        raise UsageError(
            f"{path} does not say which kind of file to write",
            do=f"end its name in {', '.join(endings[:-1])} or {endings[-1]}",
        )

    def write(gantt: Gantt, run: RunRecord) -> None:
        columns = gantt.arrays()
        with replacing(path) as part:
            if Path(path).name.lower().endswith(TRACE):
                part.write_bytes(msgspec.json.encode(trace_events(gantt)))
            elif ending == ".json":
                lists = {name: array.tolist() for name, array in columns.items()}
                part.write_bytes(msgspec.json.encode(lists))
            else:
                part.write_text(_table(columns), encoding="utf-8")

    return write


def trace_events(gantt: Gantt) -> dict[str, Any]:
    """Return a chart as an object of the Trace Event Format: a process for each worker, whose
    states are complete events in microseconds since training began, and a mark where the run went
    on after a fault or by another command.
    """
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": worker, "args": {"name": f"worker {worker}"}}
        for worker in gantt.workers
    ]
    columns = gantt.arrays()
    rows = (columns[name].tolist() for name in ("worker", "state", "from", "to", "exact"))
    for worker, state, begin, end, exact in zip(*rows, strict=True):
        event = {"name": state, "ph": "X", "pid": worker, "tid": 0, "args": {"exact": exact}}
        events.append(event | {"ts": 1e6 * begin, "dur": 1e6 * (end - begin)})
    mark = {"name": "went on", "ph": "i", "s": "g", "pid": gantt.workers[0], "tid": 0}
    events += [mark | {"ts": 1e6 * at} for at in gantt.marks]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _table(columns: dict[str, np.ndarray]) -> str:
    """Write columns as lines of cells that are separated by tabs; `true` and `false` for
    booleans.
    """
    cells = [
        np.where(array, "true", "false") if array.dtype == bool else array.tolist()
        for array in columns.values()
    ]
    lines = [list(columns), *zip(*cells, strict=True)]
    return "".join("\t".join(map(str, line)) + "\n" for line in lines)
