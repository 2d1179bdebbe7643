"""The memory of a run: the limit of this process, and what is said of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tux.arrays.disk_columns import limited_memory, make_room, rows_to_come
from tux.base.file_systems import lies_in_memory
from tux.engine.memory_limit import count_row_bytes, in_bytes, limit_of
from tux.graph.edge_memory import EdgeMemory
from tux.runs.context import RunContext


def limit_memory(run: RunContext) -> None:
    """Keep this process, until the run ends, within the memory that the options allow, or that the
    machine has left. UsageError if it has more already than the options allow.
    """
    folder = run.room or Path(tempfile.gettempdir())
    run.limit = limit_of(run.options.memory, folder)
    run.stack.enter_context(limited_memory(folder, run.limit and run.limit.size))
    if run.limit and run.limit.given:
        run.limit.check()
        if lies_in_memory(folder):
            run.watch.warn(
                f"{folder} lies in memory (tmpfs), and so would the edges: name a folder on a disk "
                "by --out or TMPDIR"
            )


@contextmanager
def room_for_rows(run: RunContext) -> Iterator[None]:
    """Leave memory to the rows of the one worker, which is made meanwhile, if need be by moving
    edges to the disk; say how much it is, where the options have a limit. UsageError if it is too
    much.
    """
    sizes = run.inputs.sizes
    if run.limit is None or not sizes["edges"]:
        yield
        return
    rows = count_row_bytes(run.program, sizes["vertices"])
    held = EdgeMemory.of(sizes["edges"], run.inputs.train.columns_of_edges())
    needed = run.limit.check(rows, edges=held.bytes - held.on_disk)
    if run.limit.given:
        run.watch.say(
            f"memory: {in_bytes(needed)} of {in_bytes(run.limit.size)} for rows and the "
            "program; edges that do not fit lie on disk"
        )
    with rows_to_come(rows.total):
        run.inputs.train = run.inputs.train.replace_columns(make_room)
        yield
