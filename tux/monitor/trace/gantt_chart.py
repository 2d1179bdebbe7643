"""A Gantt chart of a run: a row for each worker, and in it the worker's states over time."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from tux.base.text import data_name, plural
from tux.figures import figures
from tux.monitor.trace.gantt import Gantt
from tux.monitor.trace.gantt_parts import STATES, Parts
from tux.run_folder.folder import RunRecord

# the colours of the page of `tux watch`; states of work are drawn below the others
COLOURS = {
    "compute": "#2a78d6",
    "apply": "#1baf7a",
    "send": "#eda100",
    "serve": "#6a58c8",
    "wait": "#c6ccd6",
    "other": "#ece4d4",
}
GOES_ON = {"color": "#c8322b", "linewidth": 1.2, "linestyle": (0, (3, 3))}
COLUMNS = 1_000
"""Columns of the picture: shorter intervals are drawn together, as shares of the height."""

ROW = 0.34  # inches; rows of many workers are less high
HIGHEST = 16.0  # inches, of all rows
BAR = 0.8  # of the height of a row
LETTERS = 45  # of each name in the title, at most


class Stacks(NamedTuple):
    """The bars of the chart, one after the other, each with the shares of its states."""

    worker: np.ndarray  # (n,)
    start: np.ndarray  # (n,) s
    stop: np.ndarray  # (n,) s
    shares: np.ndarray  # (n, states), their sum being 1


def stacks(parts: Parts, width: float) -> Stacks:
    """Return the intervals of workers as bars, intervals shorter than `width` seconds together."""
    begins = parts.begins()
    worker, start, stop = parts.worker[begins], parts.start[begins], parts.stop[begins]
    seconds = np.zeros((len(begins), len(STATES)))
    number = np.repeat(np.arange(len(begins)), np.diff(np.append(begins, len(parts.worker))))
    np.add.at(seconds, (number, parts.state), parts.seconds)
    is_long, column = stop - start >= width, np.floor(start / width)
    new = np.ones(len(begins), bool)
    new[1:] = is_long[1:] | is_long[:-1] | (np.diff(worker) != 0) | (np.diff(column) != 0)
    new[1:] |= start[1:] - stop[:-1] > width  # nothing was done in between
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(begins)) - 1
    shares = np.add.reduceat(seconds, first)
    return Stacks(
        worker[first], start[first], stop[last], shares / shares.sum(axis=1, keepdims=True)
    )


def save(path: str | os.PathLike[str], gantt: Gantt, run: RunRecord) -> None:
    """Draw a chart to a .png, .svg or .pdf file. Raises as `figures.save` does."""
    figures.save(path, lambda: draw(gantt, run))


def draw(gantt: Gantt, run: RunRecord) -> Any:
    """Make the figure that `save` writes."""
    workers = gantt.workers
    row = min(ROW, HIGHEST / len(workers))
    made = figures.figure(11, 1.75 + row * max(len(workers), 2))
    axes: Any = made.subplots()
    bars = stacks(gantt.parts, (gantt.high - gantt.low) / COLUMNS)
    for at, worker in enumerate(workers):
        _draw_row(axes, bars, worker, at)
    for mark in gantt.marks:
        axes.axvline(mark, **GOES_ON)
    shares = gantt.shares()
    shown = {
        f"{state} {100 * shares[state]:.1f} %": axes.fill_between(
            [], [], [], facecolor=colour, edgecolor="#8a919c", linewidth=0.4
        )
        for state, colour in COLOURS.items()
        if shares[state] > 0
    }
    if gantt.marks:
        shown["started again"] = axes.plot([], [], **GOES_ON)[0]
    made.legend(
        shown.values(), shown, loc="outside lower left", ncols=7, frameon=False, fontsize=8.5
    )
    _label(axes, gantt, row)
    below = _subtitle(gantt, run, mixed=bool((bars.shares.max(axis=1) < 1).any()))
    pad = 4 + 12 * (below.count("\n") + 1)
    axes.set_title(_title(run), loc="left", pad=pad, fontsize=11, parse_math=False)
    axes.annotate(
        below, (0, 1), xycoords="axes fraction", xytext=(0, 4), textcoords="offset points",
        fontsize=8.5,
    )  # fmt: skip
    return made


def _draw_row(axes: Any, bars: Stacks, worker: int, at: int) -> None:
    """Draw the bars of one worker in row `at`."""
    of = bars.worker == worker
    order = [STATES.index(state) for state in COLOURS]
    start, stop, shares = bars.start[of], bars.stop[of], bars.shares[of][:, order]
    below = at + BAR / 2 - BAR * np.cumsum(np.c_[np.zeros(len(shares)), shares], axis=1)
    for each, (state, colour) in enumerate(COLOURS.items()):
        there = shares[:, each] > 0
        if not there.any():
            continue
        # each bar, and nothing behind it
        x = np.column_stack([start[there], stop[there]]).ravel()
        low, high = (
            np.column_stack([below[there, edge], np.full(there.sum(), at)]).ravel()
            for edge in (each, each + 1)
        )
        axes.fill_between(
            x, low, high, step="post", color=colour, linewidth=0, antialiased=False, label=state
        )


def _label(axes: Any, gantt: Gantt, row: float) -> None:
    """Label the axes of a chart with rows so high, in inches."""
    workers = gantt.workers
    size = min(9.0, 50 * row)  # points, of an inch that has 72
    axes.set_yticks(range(len(workers)), [f"worker {each}" for each in workers], fontsize=size)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(workers) - 0.5, -0.5)
    axes.set_xlim(gantt.low, gantt.high)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axes.set_xlabel("seconds since training began")
    axes.spines[["top", "right", "left"]].set_visible(False)


def _title(run: RunRecord) -> str:
    """Return the names of program and data."""
    program, data = os.path.basename(run.app.name), data_name(run.data.path)
    return f"{_short(program)}: {_short(data)}"


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _subtitle(gantt: Gantt, run: RunRecord, *, mixed: bool) -> str:
    """Describe the run, the time that is shown, and bars of several colours, in words."""
    told = [plural(len(gantt.workers), "worker")]
    if "slack" in run.options and len(gantt.workers) > 1:
        told.append(f"slack {run.options['slack']}")
    of = f"{_number(gantt.end)} s"
    if gantt.low > 0 or gantt.high < gantt.end:
        of = f"{_number(gantt.low)} to {_number(gantt.high)} s of {of}"
    text = ", ".join([*told, of])
    if mixed:
        text += "\nA bar of several colours shows the shares of its time, not an order"
        share = gantt.unordered_share()
        text += f"; of {100 * share:.0f} % of the time nothing else is recorded" * (share >= 0.005)
        text += "."
    return text


def _number(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 1000 else f"{seconds:.4g}"
