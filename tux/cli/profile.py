"""The profile of a run as ``tux run APP --profile`` prints it at the end."""

from __future__ import annotations

import os
from pathlib import Path

from tux.base.text import plural
from tux.cli import show
from tux.cli.widths import cut
from tux.runs.profiling import NOTICEABLE_SHARE, ProfileRow, RunProfile

LABEL_COLUMNS = 44
"""Columns of the name of a stage, which may name many."""

HEADER = ("stage", "calls", "seconds", "share", "visited", "ns", "bytes", "GB/s", "memory", "bound")


def print_profile(profile: RunProfile) -> None:
    """Print the table of stages, what bounds those that took noticeable time, and the lines of the
    slowest one.
    """
    rows = [row for row in profile.rows if is_noticeable(row)]
    workers = ""
    if profile.workers > 1:
        workers = f", sums over {profile.workers} workers and mean seconds"
    threads = plural(profile.threads, "thread")
    show.say(
        f"work of each stage, by {threads}{workers}; ns and bytes are for each edge or vertex:"
    )
    show.grid(HEADER, [cells_of(row) for row in rows])
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.share >= NOTICEABLE_SHARE and row.why:
            reasons.setdefault(row.why, []).append(label_of(row))
    for why, labels in reasons.items():
        show.say(f"{'; '.join(labels)}: {why}")
    if left := [row for row in profile.rows if not is_noticeable(row)]:
        taken = sum(row.seconds for row in left)
        show.say(f"{plural(len(left), 'stage')} of setup and evaluate took {taken:.3f} s more")
    parts = [f"{profile.besides:.3f} s between stages"]
    if profile.workers > 1:
        parts += [f"{profile.waited:.3f} s of waiting", f"{profile.sent:.3f} s of sending"]
    show.say(f"training took {profile.seconds:.3f} s, with {', '.join(parts)}")
    if profile.slowest:
        show.say(f"lines of {profile.slowest}, the slowest: {profile.how}")
    for line in profile.lines:
        place = line.place.removeprefix(f"{Path.cwd()}{os.sep}")
        show.say(f"  {line.share:6.1%}  {place}  {line.text}".rstrip())


def is_noticeable(row: ProfileRow) -> bool:
    """Return whether a row is printed: those of an epoch are, others if they took some time."""
    return row.method == "stages" or row.share >= NOTICEABLE_SHARE


def label_of(row: ProfileRow) -> str:
    """Return the name of a stage, with its method where this is not that of an epoch."""
    return row.stage if row.method == "stages" else f"{row.method}: {row.stage}"


def cells_of(row: ProfileRow) -> list[str]:
    """Return the cells of a row."""
    visited = plural(row.visited, row.unit) if row.unit else "-"
    each = [f"{row.ns:,.1f}", f"{row.bytes:,.0f}", f"{row.gb_s:.1f}", f"{row.memory_gb_s:.1f}"]
    return [
        cut(label_of(row), LABEL_COLUMNS),
        f"{row.calls:,}",
        f"{row.seconds:.3f}",
        f"{row.share:.0%}",
        visited,
        *(each if row.unit else ["-"] * len(each)),
        row.bound,
    ]
