"""A metric's course over the epochs as a small picture, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

WIDTH, HEIGHT = 320, 96  # pixels
MARGIN = 8  # around the curve
MAX_POINTS = 200  # points of a curve


def draw_curve(name: str, epochs: Sequence[float], values: Sequence[float]) -> str:
    """Draw a curve with its first and its last value; "" of fewer than two finite values.

    Text has the colour of the page's, so that it can be read in dark notebooks too.
    """
    x, y = np.asarray(epochs, np.float64), np.asarray(values, np.float64)
    finite = np.isfinite(y)
    x, y = x[finite], y[finite]
    if len(y) < 2:
        return ""
    thin = np.unique(np.linspace(0, len(y) - 1, MAX_POINTS).astype(int))
    x, y = x[thin], y[thin]
    across = _scale(x, MARGIN, WIDTH - MARGIN)
    down = _scale(-y, MARGIN + 14, HEIGHT - MARGIN - 14)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    text = 'font-size="11" font-family="sans-serif" fill="currentColor"'
    first, last = f"{y[0]:.5g}", f"{y[-1]:.5g}"
    label = escape(f"{name}: {first} in epoch {x[0]:.0f}, {last} in epoch {x[-1]:.0f}")
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{label}" xmlns="http://www.w3.org/2000/svg"><title>{label}</title>'
        f'<text x="{MARGIN}" y="12" {text}>{escape(name)} {first}</text>'
        f'<text x="{WIDTH - MARGIN}" y="12" text-anchor="end" {text}>{last}</text>'
        f'<polyline points="{points}" fill="none" stroke="#3b7dd8" stroke-width="2" '
        'stroke-linejoin="round"/>'
        f'<text x="{MARGIN}" y="{HEIGHT - 4}" {text}>epoch {x[0]:.0f}</text>'
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - 4}" text-anchor="end" {text}>{x[-1]:.0f}</text>'
        "</svg>"
    )


def _scale(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Scale values to the range from `low` to `high`; all to its middle if they are equal."""
    span = float(np.ptp(values))
    if not span:
        return np.full(len(values), (low + high) / 2)
    return np.asarray(low + (values - values.min()) / span * (high - low))
