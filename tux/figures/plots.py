"""Pictures of partitions side by side, and of vectors in two dimensions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tux.base.errors import UsageError
from tux.base.random import key, permutation
from tux.figures import figures
from tux.io.vertices.labels import VertexLabels
from tux.partition.quality import Quality

# told apart by all eyes (Tol)
COLOURS = ("#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#222222", "#ee8866")
WIDEST = 2.0  # balances beyond are written at the edge
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
QUIET, LOUD = "#a9b8c9", "#4477aa"
NAMED, OTHER, NONE = (LOUD, *COLOURS[:5], COLOURS[6]), "#bdbdbd", "#e4e4e4"  # of labels
POINTS = 20_000  # of a scatter, at most


def save(
    path: str | os.PathLike[str], judged: Sequence[tuple[str, Quality]], best: str = ""
) -> None:
    """Draw (name, quality) pairs, in their order, to a .png, .svg or .pdf file: RF, balance,
    volume, and RF by degree; `best` stands out.

    Raises as `figures.save` does.
    """
    figures.save(path, lambda: draw(judged, best))


def save_vectors(
    path: str | os.PathLike[str], vectors: np.ndarray, labels: VertexLabels | None = None
) -> None:
    """Draw vectors (n, d), n and d at least 2, as points in their two principal directions,
    coloured by label if there are labels.

    Raises as `save` does, and UsageError for fewer vectors or numbers.
    """
    if vectors.ndim != 2 or min(vectors.shape) < 2:
        raise UsageError(f"vectors of shape {vectors.shape} cannot be drawn in two dimensions")
    figures.save(path, lambda: draw_vectors(vectors, labels))


def draw(judged: Sequence[tuple[str, Quality]], best: str = "") -> Any:
    """Make the figure that `save` writes."""
    heights = 1.6 + 0.42 * len(judged), 4.0
    figure = figures.figure(11, sum(heights))
    if judged:
        first = judged[0][1]
        figure.suptitle(
            f"{first.edges:,} edges of {first.vertices:,} vertices in {first.k:,} parts",
            x=0.01,
            ha="left",
            fontsize=11,
        )
    bars, curves = figure.subfigures(2, 1, height_ratios=heights)
    replication, balance, volume = bars.subplots(1, 3, sharey=True)
    _draw_replication(replication, judged, best)
    _draw_balances(balance, [quality for _, quality in judged])
    _draw_volumes(volume, judged, best)
    _draw_by_degree(curves.subplots(), judged, best)
    return figure


def _draw_replication(axes: Any, judged: Sequence[tuple[str, Quality]], best: str) -> None:
    """Draw the replicas of a vertex, and the lower bound of each partition."""
    qualities = [quality for _, quality in judged]
    _draw_bars(
        axes, judged, best, [q.replication for q in qualities], "RF: replicas of a vertex", "{:.2f}"
    )
    for at, q in enumerate(qualities):
        axes.plot(
            [q.bound, q.bound],
            [at - 0.4, at + 0.4],
            color="black",
            linewidth=1.2,
            label="lower bound" if not at else None,
        )
    if judged:
        _draw_legend(axes)


def _draw_volumes(axes: Any, judged: Sequence[tuple[str, Quality]], best: str) -> None:
    """Draw the bytes that an epoch sends."""
    volumes = [quality.volume for _, quality in judged]
    divisor, unit = _unit(max(volumes, default=0))
    heights = [volume / divisor for volume in volumes]
    _draw_bars(axes, judged, best, heights, f"volume an epoch, {unit}", "{:.3g}")


def _draw_bars(
    axes: Any,
    judged: Sequence[tuple[str, Quality]],
    best: str,
    values: Sequence[float],
    title: str,
    form: str,
) -> None:
    """Draw one horizontal bar a method, with its value; the first on top."""
    names = [name for name, _ in judged]
    colours = [LOUD if name == best or not best else QUIET for name in names]
    shown = axes.barh(range(len(names)), values, color=colours)
    axes.bar_label(shown, [form.format(value) for value in values], padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max([*values, 1e-9]) * 1.18)
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _draw_balances(axes: Any, qualities: Sequence[Quality]) -> None:
    """Draw the three balances of each method as marks on a line of its own."""
    kinds = (
        ("edges", "o", COLOURS[0]),
        ("vertices", "s", COLOURS[1]),
        ("masters", "^", COLOURS[2]),
    )
    # so that equal ones do not hide each other
    for lower, (name, mark, colour) in zip((-0.2, 0, 0.2), kinds, strict=True):
        values = [
            {"edges": q.edge_balance, "vertices": q.vertex_balance, "masters": q.master_balance}[
                name
            ]
            for q in qualities
        ]
        heights = [at + lower for at in range(len(values))]
        axes.plot(
            values,
            heights,
            mark,
            color=colour,
            label=name,
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.5,
        )
        for at, value in enumerate(values):
            if value > WIDEST:
                label = axes.text(
                    WIDEST,
                    at + 1.4 * lower,
                    f"{value:.1f} →",
                    ha="right",
                    va="center",
                    fontsize=7,
                    color=colour,
                )
                label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    for at in range(len(qualities)):
        axes.axhline(at, color="#dddddd", linewidth=0.8, zorder=0)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlim(0.97, WIDEST)
    axes.set_title("most in one part / mean", loc="left")
    _draw_legend(axes)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_legend(axes: Any) -> None:
    """Draw the legend under the axes, where it hides nothing."""
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0, -0.35 / (1 + 0.42 * len(axes.get_yticks()))),
        ncols=3,
        frameon=False,
        fontsize=8,
    )


def _draw_by_degree(axes: Any, judged: Sequence[tuple[str, Quality]], best: str) -> None:
    """Draw a line a method: the mean replicas of vertices of each power of two of edges."""
    for at, (name, quality) in enumerate(judged):
        colour, mark = (
            (LOUD, "o")
            if name == best
            else (COLOURS[at % len(COLOURS)], MARKS[(at + at // len(COLOURS)) % len(MARKS)])
        )
        line = "-" if at < len(COLOURS) or name == best else "--"
        width = 2.4 if name == best else 1.1
        points = [(bucket.low, bucket.replication) for bucket in quality.by_degree]
        axes.plot(
            *zip(*points, strict=True) if points else ([], []),
            line,
            color=colour,
            marker=mark,
            markersize=4,
            linewidth=width,
            label=name,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 1 else "")
    axes.set_xlabel("edges of a vertex (from this to below the next power of two)")
    axes.set_ylabel("replicas, mean")
    axes.set_title("RF by degree", loc="left")
    axes.grid(color="#e5e5e5", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def _unit(most: int) -> tuple[int, str]:
    return next(
        (
            (size, unit)
            for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
            if most >= size
        ),
        (1, "bytes"),
    )


# ---- vectors


def principal_components(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors (n, d) in their two principal directions, (n, 2), and the shares of the
    variance that these have, (2,).

    The sign of a direction is chosen so that its largest entry is positive.
    """
    middle = vectors.mean(0, dtype=np.float64)
    spread = np.zeros((vectors.shape[1],) * 2)
    for at in range(0, len(vectors), POINTS):
        piece = vectors[at : at + POINTS] - middle
        spread += piece.T @ piece
    directions, variance, _ = np.linalg.svd(spread, hermitian=True)
    top = directions[:, :2]
    top = top * np.sign(top[np.abs(top).argmax(0), range(2)])
    return (vectors - middle) @ top, variance[:2] / max(float(variance.sum()), 1e-300)


def draw_vectors(vectors: np.ndarray, labels: VertexLabels | None = None) -> Any:
    """Make the figure that `save_vectors` writes."""
    points, shares = principal_components(vectors)
    # in random order, so that no label hides another
    chosen = permutation(key(0, "plot"), len(points))[:POINTS]
    colour, legend, top = _colour_vertices(labels, len(points))
    # but points with no colour are drawn below
    chosen = chosen[np.argsort(colour[chosen] < len(NAMED), kind="stable")]
    figure = figures.figure(8.5 if legend else 6.5, 6)
    axes: Any = figure.subplots()
    shades = np.array([*NAMED, OTHER, NONE, LOUD])
    size = float(np.clip(30_000 / len(chosen), 4, 40))
    axes.scatter(
        *points[chosen].T,
        s=size,
        c=shades[colour[chosen]],
        alpha=0.75,
        linewidths=0,
        rasterized=True,
    )
    ringed: Any = {"edgecolors": "black", "linewidths": 1.2}
    for name, at in legend:
        axes.scatter([], [], s=36, color=shades[at], label=name)
        if labels and at < len(NAMED):  # where its vertices are on average
            mean = points[labels.member[:, top[at]]].mean(0)
            axes.scatter(*mean, s=110, color=shades[at], zorder=3, **ringed)
    if top:
        axes.scatter([], [], s=70, color="white", label="mean of a label", **ringed)
    if legend:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            frameon=False,
            title="label (vertices)",
            alignment="left",
        )
    drawn = f"{len(points):,} vertices" + (
        f", {len(chosen):,} of them drawn" if len(chosen) < len(points) else ""
    )
    axes.set_title(f"{drawn}: the first two of {vectors.shape[1]} principal components", loc="left")
    _name_components(axes, shares)
    return figure


def _name_components(axes: Any, shares: np.ndarray) -> None:
    """Write beside the axes which components they are, with each one's share of the variance."""
    for axis, share, name in zip(
        (axes.xaxis, axes.yaxis), shares, ("first", "second"), strict=True
    ):
        axis.set_label_text(f"{name} component, {100 * share:.1f} % of the variance")
        axis.set_ticks([])
    axes.set_aspect("equal", adjustable="datalim")
    axes.spines[["top", "right"]].set_visible(False)


def _colour_vertices(
    labels: VertexLabels | None, n: int
) -> tuple[np.ndarray, list[tuple[str, int]], list[int]]:
    """Return each vertex's colour, (n,), the legend, and the labels with a colour of their own, the
    most frequent ones. A vertex has the colour of its rarest label.
    """
    if labels is None:
        return np.full(n, len(NAMED) + 2), [], []
    times = labels.member.sum(0)
    top = [int(label) for label in np.argsort(-times, kind="stable")[: len(NAMED)] if times[label]]
    other, none = len(NAMED), len(NAMED) + 1
    colour = np.where(labels.member.any(1), other, none)
    for at, label in enumerate(top):
        colour[labels.member[:, label]] = at
    legend = [(f"{labels.names[label]} ({times[label]:,})", at) for at, label in enumerate(top)]
    rest = int(np.count_nonzero(times)) - len(top)
    legend += (
        [(f"{rest:,} other{'s' * (rest > 1)} only ({int((colour == other).sum()):,})", other)]
        if rest
        else []
    )
    legend += [(f"none ({int((colour == none).sum()):,})", none)] if (colour == none).any() else []
    return colour, legend, top
