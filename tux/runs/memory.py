"""The memory of a run: the limit of this process, and what is said of it."""

from __future__ import annotations

from tux.arrays.disk_columns import disk_folder, limited_memory
from tux.engine.memory_limit import (
    check_memory,
    count_row_bytes,
    in_gigabytes,
    memory_disk,
)
from tux.runs.context import RunContext


def limit_memory(run: RunContext) -> None:
    """Keep this process, until the run ends, within the memory that the options allow. UsageError
    if it has more already.
    """
    limit = run.options.memory
    check_memory(limit)
    run.stack.enter_context(limited_memory(run.path, limit))
    if folder := memory_disk():
        run.watch.warn(
            f"{folder} lies in memory (tmpfs), and so would the edges: name a folder on a disk by "
            "--out or TMPDIR"
        )


def tell_memory(run: RunContext) -> None:
    """Say how much memory the rows of the one worker need, if it has a limit. UsageError if it is
    too much.
    """
    limit, sizes = run.options.memory, run.inputs.sizes
    if limit is None or not sizes["edges"]:
        return
    needed = check_memory(limit, count_row_bytes(run.program, sizes["vertices"]))
    run.watch.say(
        f"memory: {in_gigabytes(needed)} of {in_gigabytes(limit)} for rows and the program; edges "
        f"lie on disk, in {disk_folder()}, and as many as fit stay in memory"
    )
