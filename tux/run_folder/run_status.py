"""The state of a run by its folder: whether it runs, has ended, was interrupted or was killed, and
how it goes on.
"""

from __future__ import annotations

from pathlib import Path

from tux.arrays.piped import STANDARD, input_name
from tux.base.text import plural
from tux.checkpoint.snapshot import describe_place
from tux.checkpoint.store import has_checkpoint
from tux.options.options import MEMORY
from tux.run_folder.folder import Incarnation, RunRecord
from tux.run_folder.run_lock import holder


def describe_state(folder: Path, run: RunRecord, epochs: int) -> str:
    """Describe the state of a run of which so many epochs are recorded, in one line."""
    by, done = holder(folder), f"{plural(epochs, 'epoch')} done"
    if by is not None and by.lives:
        return f"running: {by} on {by.host}; {done}"
    if run.interrupted is not None:
        model = "" if run.results else ", no model written"
        how = f"interrupted after {plural(epochs, 'epoch')}{model}"
    elif run.results:
        return f"ended; {done}"
    elif by is not None:
        how = f"killed: {by} is gone; {done}"
    else:
        how = f"ended with an error; {done}"
    if has_checkpoint(folder):
        return f"{how}; to go on: tux run --resume {folder}"
    if _can_be_read_again(run) and not (run.results and (folder / "model").exists()):
        return f"{how}; to begin it again, as it has no checkpoint: tux run --resume {folder}"
    return f"{how}; it cannot go on, as it has no checkpoint: run it anew with another --out"


def describe_restart(each: Incarnation) -> str:
    """Describe from where a run went on, and why."""
    start = f"checkpoint {each.checkpoint}, {describe_place(each.epochs, each.clocks)}"
    others = f", on {plural(each.workers, 'worker')}" if each.workers else ""
    return f"from {start if each.checkpoint else 'the beginning'}{others}: {each.why}"


def _can_be_read_again(run: RunRecord) -> bool:
    """Return whether the data of a run can be read again: they were not given in memory or by
    standard input.
    """
    named = (origin.path for origin in (run.data, run.test) if origin is not None)
    return not any(path in (MEMORY, input_name(STANDARD)) for path in named)
