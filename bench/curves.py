"""Curves of a metric by epoch and by time: what tables say of them, and pictures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.figures import figures

COLOURS = ("#bbbbbb", "#4477aa", "#ccbb44", "#aa3377", "#66ccee", "#222222")
LINES = ("-", "-", "-", "--", "-", ":")
WIDTHS = (4.0, 2.8, 1.8, 1.0, 1.0, 1.0)  # so that a curve that lies on another is seen
CLOSE = 1e-9  # of a target, by which rounding may miss it


class Curve(NamedTuple):
    """Runs that differ in their seconds alone."""

    seconds: np.ndarray  # (n,) of training, at the end of each epoch
    metric: np.ndarray  # (n,)
    rises: bool  # whether more is better
    wait: float  # seconds that a worker has waited in all epochs

    @classmethod
    def of(cls, runs: Sequence[Sequence[dict[str, Any]]], metric: str, *, rises: bool) -> Curve:
        """Return the curve of the records of several runs: the median seconds of each epoch, and
        the metric of the first run.
        """
        length = min(map(len, runs))
        seconds = np.median([[r["seconds"] for r in records[:length]] for records in runs], axis=0)
        wait = statistics.median(sum(r["wait_s"] for r in records) for records in runs)
        return cls(seconds, np.array([r[metric] for r in runs[0][:length]]), rises, wait)

    @property
    def an_epoch(self) -> float:
        """Seconds of the mean epoch."""
        return float(self.seconds[-1]) / len(self.seconds)

    def until(self, target: float) -> tuple[int, float]:
        """Return epochs and seconds until the target, which some epoch reaches."""
        sign = 1 if self.rises else -1
        reached = sign * self.metric >= sign * target - CLOSE * abs(target)
        at = int(np.argmax(reached))
        return at + 1, float(self.seconds[at])

    def after(self, epoch: int) -> float:
        """Return the metric after an epoch, of a run that has ended earlier its last one."""
        return float(self.metric[min(epoch, len(self.metric)) - 1])

    def at(self, moment: float) -> float:
        """Return the metric of the last epoch that has ended by then; NaN before the first."""
        ended = int(np.searchsorted(self.seconds, moment, "right"))
        return float(self.metric[ended - 1]) if ended else float("nan")


def target_of(curves: Sequence[Curve]) -> float:
    """Return the best metric of the curve whose best is the worst: all reach it."""
    if curves[0].rises:
        return float(min(curve.metric.max() for curve in curves))
    return float(max(curve.metric.min() for curve in curves))


def by_epoch(curves: Sequence[Curve]) -> list[int]:
    """Return the epochs that a table shows: the first, one in the middle, and the last."""
    last = max(len(curve.metric) for curve in curves)
    return sorted({1, max(1, last // 4), last})


def by_time(curves: Sequence[Curve]) -> list[float]:
    """Return the moments that a table shows: a quarter of the shortest run, half of it, and its
    end.
    """
    least = min(float(curve.seconds[-1]) for curve in curves)
    return [least / 4, least / 2, least]


def format_number(number: float) -> str:
    """Write a number with six digits; a dash for NaN."""
    return "-" if np.isnan(number) else f"{number:.6g}"


def lines_of(curves: Mapping[str, Curve], first: str) -> str:
    """Return a table: of each curve its metric by epoch and by time, the seconds of an epoch and
    those in which a worker waited, and epochs and seconds to the target of all. `first` is the
    head of the column of names.
    """
    every = list(curves.values())
    target, epochs, times = target_of(every), by_epoch(every), by_time(every)
    wide = max(len(first), *map(len, curves))
    out = (
        f"{first:<{wide}} {'s an epoch':>11} {'wait, s':>8}"
        + "".join(f"{f'epoch {epoch}':>12}" for epoch in epochs)
        + "".join(f"{f'{seconds:.3g} s':>12}" for seconds in times)
        + f"{'epochs':>8} {'s':>8}  to {format_number(target)}\n"
    )
    for name, curve in curves.items():
        reached, seconds = curve.until(target)
        out += (
            f"{name:<{wide}} {curve.an_epoch:>11.4f} {curve.wait:>8.2f}"
            + "".join(f"{format_number(curve.after(epoch)):>12}" for epoch in epochs)
            + "".join(f"{format_number(curve.at(moment)):>12}" for moment in times)
            + f"{reached:>8} {seconds:>8.3f}\n"
        )
    return out


def above_best(curves: Mapping[str, Curve]) -> dict[str, Curve]:
    """Return the curves of how far each is above the least of all, as a share of it."""
    best = min(float(curve.metric.min()) for curve in curves.values())
    return {name: curve._replace(metric=curve.metric / best - 1) for name, curve in curves.items()}


class Panel(NamedTuple):
    """Curves that are drawn together, by "epoch" or by "seconds"; `log`: on a logarithmic scale."""

    title: str
    by: str
    metric: str
    curves: Mapping[str, Curve]
    log: bool = False


def plot(path: Path, rows: Sequence[Sequence[Panel]]) -> None:
    """Draw panels, row by row, to a file of a kind that `tux.figures.figures` knows."""
    figures.save(path, lambda: _draw_rows(rows))


def _draw_rows(rows: Sequence[Sequence[Panel]]) -> Any:
    columns = max(map(len, rows))
    figure = figures.figure(4.2 * columns, 3.1 * len(rows))
    axes = figure.subplots(len(rows), columns, squeeze=False)
    for row, panels in zip(axes, rows, strict=True):
        for axis in row[len(panels) :]:
            axis.set_axis_off()
        for axis, panel in zip(row, panels, strict=False):
            _draw(axis, panel)
    return figure


def _draw(axis: Any, panel: Panel) -> None:
    for number, (name, curve) in enumerate(panel.curves.items()):
        x = curve.seconds if panel.by == "seconds" else np.arange(1, len(curve.metric) + 1)
        at = number % len(COLOURS)
        style = {"color": COLOURS[at], "linestyle": LINES[at], "linewidth": WIDTHS[at]}
        axis.plot(x, curve.metric, label=name, **style)
    axis.set_title(panel.title, fontsize=10)
    axis.set_xlabel(panel.by)
    axis.set_xlim(left=0)
    axis.xaxis.get_major_locator().set_params(integer=panel.by == "epoch")
    if panel.log:
        axis.set_yscale("log", nonpositive="mask")
    axis.set_ylabel(panel.metric)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
