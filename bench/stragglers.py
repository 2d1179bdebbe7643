"""Throughput at several slacks when each of four workers is slow now and then, beside what an event
simulation without any cost allows; and programs with one clock an epoch, or a few.

usage: python -m bench.stragglers [--plot FILE]      the plot shows the staleness that the probe
                                                     vertex observed ([plot] extra)
       python -m bench.stragglers --apps pagerank,als,mf,lda [--slacks 0,4] [--late SECONDS]
                                  [--epochs N] [--size N] [--runs N]

With --apps: N epochs (default 40) of PageRank, ALS, matrix factorization and LDA in one batch, as
`tux2_mf.py` and `tux2_lda.py` in docs/examples have them, on generated data of N edges (default
200,000). In each epoch another one of the four workers is late, by --late seconds (default .2).
Nothing is judged before the last epoch. Seconds are the median of N runs (default 3) after one that
is not counted; the metrics are those of the last epoch.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.arguments import names_among
from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.base.random import key, uniforms
from tux.engine.records import metrics
from tux.options.options import RunOptions
from tux.program.sources import find
from tux.runs.session import run
from tux.synthetic.corpus import corpus
from tux.synthetic.graph import graph
from tux.synthetic.ratings import ratings

WORKERS, CLOCKS, EPOCHS, LENGTH = 4, 100, 2, 0.01
APPS = {"pagerank": "LatePageRank", "als": "LateALS", "mf": "LateMF", "lda": "LateTopics"}


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


def data_of(app: str, size: int) -> EdgeData:
    """Generate `size` edges for an app, or a little fewer."""
    if app == "pagerank":
        pages = max(size // 10, round(4 * size**0.5))
        return from_arrays(*graph(pages, size), ends=("page", "page"))
    if app == "lda":
        made = corpus(max(size // 130, 10), max(min(size // 20, 6906), 50), 20, size)
        return EdgeData.of(("document", "word"), made.document, made.word, {"count": made.count})
    side = max(size // 50, round(2 * size**0.5))
    drawn = ratings(side, side, size).arrays()
    return EdgeData.of(("user", "item"), drawn["user"], drawn["item"], {"value": drawn["rating"]})


def late_epochs(given: argparse.Namespace) -> None:
    """Print the table of the apps in which a worker is late in each epoch."""
    write = sys.stdout.write
    write(
        f"{WORKERS} workers, {given.epochs} epochs of about {given.size:,} edges, in each of which "
        f"one worker is late by {given.late:g} s\n"
    )
    heads = "seconds", "compute", "wait", "stale"
    write(f"{'app':<10} {'slack':>6} {' '.join(f'{head:>8}' for head in heads)}  metrics\n")
    for app in given.apps:
        edges = data_of(app, given.size)
        for slack in given.slacks:
            runs = [records_of(app, edges, slack, given) for _ in range(given.runs + 1)][1:]
            last = runs[-1][-1]
            seconds = statistics.median(records[-1]["seconds"] for records in runs)
            compute, wait = (
                statistics.median(sum(record[name] for record in records) for records in runs)
                for name in ("compute_s", "wait_s")
            )
            shown = ", ".join(f"{name} {value:.5g}" for name, value in metrics(last).items())
            write(
                f"{app:<10} {slack:>6} {seconds:>8.2f} {compute:>8.2f} {wait:>8.2f} "
                f"{last['max_staleness']:>8}  {shown}\n"
            )
            sys.stdout.flush()


def records_of(
    app: str, edges: EdgeData, slack: str, given: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the records of a run of an app."""
    source = f"{Path(__file__).with_name('late_epochs.py')}:{APPS[app]}"
    options = RunOptions(
        epochs=given.epochs,
        eval_every=given.epochs,
        workers=WORKERS,
        threads=1,
        slack=slack if slack == "inf" else int(slack),
    )
    return run(find(source).program(length=given.late), edges, options=options).records


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
    """Print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--plot", type=Path)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--apps", type=names_among(APPS), default=[])
    arguments.add_argument("--slacks", type=lambda text: text.split(","), default=["0", "4"])
    arguments.add_argument("--late", type=float, default=0.2)
    arguments.add_argument("--epochs", type=int, default=40)
    arguments.add_argument("--size", type=int, default=200_000)
    arguments.add_argument("--runs", type=int, default=3)
    given = arguments.parse_args(argv)
    if given.apps:
        late_epochs(given)
    else:
        probe(given)


def probe(given: argparse.Namespace) -> None:
    """Print the table of the probe, and draw its plot."""
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
