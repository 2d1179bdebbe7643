"""Throughput at several slacks when each of four workers is slow now and then, beside what an event
simulation without any cost allows.

usage: python -m bench.stragglers [--plot FILE]      the plot shows the staleness that the probe
                                                     vertex observed ([plot] extra)
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.networks import from_arrays
from tux.base.random import key, uniforms
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run

WORKERS, CLOCKS, EPOCHS, LENGTH = 4, 100, 2, 0.01


def simulate_ssp(slack: int, clocks: int, seed: int, program: Any) -> float:
    """Return the seconds of `clocks` clocks under the SSP rule alone: messages take no time. A
    worker starts t when all have ended t - slack - 1.
    """
    slow = [
        uniforms(key(seed, "slow", w), np.arange(100_000), 1)[:clocks, 0] < program.chance
        for w in range(WORKERS)
    ]
    ends = np.zeros((clocks + 1, WORKERS))
    for t in range(clocks):
        start = np.maximum(ends[t], ends[t - slack].max() if t >= slack else 0.0)
        ends[t + 1] = start + program.length * (
            1 + program.delay * np.array([slow[w][t] for w in range(WORKERS)])
        )
    return float(ends[-1].max())


def measure_run(slack: int, source: str, seed: int) -> tuple[float, np.ndarray]:
    """Return the seconds of all clocks on four processes, and the histogram of observed
    staleness.
    """
    program = find(source).program(length=LENGTH, clocks=CLOCKS)
    users = np.arange(80 * CLOCKS)
    star = from_arrays(users, np.zeros_like(users), ends=("user", "item"))
    result = run(
        program,
        star,
        options=RunOptions(
            epochs=EPOCHS, eval_every=EPOCHS, seed=seed, workers=WORKERS, slack=slack
        ),
    )
    assert result.model is not None
    return result.results["seconds"], result.model.tau.arrays["observed"][0]


def plot(path: Path, histograms: dict[int, np.ndarray]) -> None:
    """Plot bars of the share of reads by staleness, one panel a slack."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(
        len(histograms), 1, figsize=(6, 1.6 * len(histograms)), sharex=True, squeeze=False
    )
    most = max(histograms) + 2
    for panel, (slack, histogram) in zip(panels[:, 0], histograms.items(), strict=True):
        panel.bar(np.arange(most), histogram[:most] / histogram.sum(), color="#4477aa")
        panel.axvline(slack, color="#cc3311", linestyle=":")
        panel.set_ylabel(f"slack {slack}")
        panel.set_ylim(0, 1)
    panels[0, 0].set_title("share of reads by staleness (dotted: the bound)")
    panels[-1, 0].set_xlabel("clocks behind")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--plot", type=Path)
    arguments.add_argument("--seed", type=int, default=0)
    given = arguments.parse_args(argv)
    source = f"{Path(__file__).parent / 'straggling.py'}:StragglerProbe"
    program = find(source).program(length=LENGTH, clocks=CLOCKS)
    write = sys.stdout.write
    write(
        f"{WORKERS} workers, {CLOCKS} clocks of {1e3 * LENGTH:.0f} ms, {EPOCHS} epochs; a clock "
        "takes 4 times as long with chance 1/4\n"
    )
    write(
        f"{'slack':>6} {'seconds':>8} {'gain':>6} {'simulated':>10} {'gain':>6} "
        f"{'most stale':>11}\n"
    )
    histograms, first = {}, (0.0, 0.0)
    for slack in (0, 1, 2, 4, 8):
        seconds, histograms[slack] = measure_run(slack, source, given.seed)
        bound = simulate_ssp(slack, CLOCKS * EPOCHS, given.seed, program)
        first = first if slack else (seconds, bound)
        stale = int(np.flatnonzero(histograms[slack])[-1])
        write(
            f"{slack:>6} {seconds:>8.2f} {first[0] / seconds:>6.2f} {bound:>10.2f} "
            f"{first[1] / bound:>6.2f} {stale:>11}\n"
        )
    if given.plot:
        plot(given.plot, histograms)


if __name__ == "__main__":
    main()
