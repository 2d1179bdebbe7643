"""Figures of Angel (Jiang et al., National Science Review 2018) in small: data, model and hybrid
parallelism, and what slack hides.

usage: python -m bench.angel [--parts parallel,overlap] [--apps lda,adam,lbfgs] [--workers W]
       [--threads T] [--tokens N] [--topics N] [--samples N] [--features N] [--epochs N] [--runs N]
       [--late SECONDS] [--plot FILE]

`parallel` (figure 10): data parallel, W workers of one thread (default 2); model parallel, one
worker whose T threads (default 2) never touch a row at the same time, as the members of a group of
Angel; hybrid, W workers of T threads; and one thread alone. Of each app the metric by epoch and by
time, and the time to the target, which is the worst metric that a layout ends with. Hybrid needs
W x T cores to be the fastest.

`overlap` (figure 12a): W workers at slack 0, where each waits for the others' changes before it
computes, and at slack 1, where they come while it computes; on workers that are never late, and on
workers of which each is late by --late seconds (default .02) in one of eight blocks. L-BFGS has no
mini-batches, so it is left out.

lda is Gibbs sampling of a generated corpus of the size of KOS, by its likelihood per token; adam
and lbfgs are logistic regression of generated clicks, by their objective. Seconds are those of
training, epoch by epoch the median of N runs (default 3), after an epoch that is not counted.
Angel's figures are curves of other data on a cluster. They are compared in shape alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.arguments import names_among
from bench.curves import Curve, Panel, by_epoch, by_time, format_number, plot, target_of
from bench.machine import machine
from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.arrays.edges import EdgeData
from tux.figures.figures import check
from tux.inputs.samples import samples_to_edges
from tux.options.options import RunOptions
from tux.program.program import Program
from tux.program.sources import find
from tux.runs.session import run
from tux.synthetic.clicks import clicks
from tux.synthetic.corpus import corpus

PARTS = ("parallel", "overlap")
SLACKS = (0, 1)
SOURCE = Path(__file__).with_name("late.py")


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


def documents(given: argparse.Namespace) -> EdgeData:
    """Make a corpus whose documents and vocabulary are to its tokens as those of KOS."""
    size = max(10, given.tokens // 136), max(50, min(6906, given.tokens // 20)), given.topics
    made = corpus(*size, given.tokens)
    return EdgeData.of(("document", "word"), made.document, made.word, {"count": made.count})


def samples(given: argparse.Namespace) -> EdgeData:
    """Make clicks of 30 entries a sample."""
    true = max(1, min(given.features // 20, 10_000))
    return samples_to_edges(clicks(given.samples, given.features, 30, true).split()[0], Linear())


class BenchApp(NamedTuple):
    """An app: its data, its parameters, and the metric by which it is judged."""

    program: type[Program]
    late: str  # the program of bench/late.py; "" if it has no mini-batches
    data: Callable[[argparse.Namespace], EdgeData]
    parameters: Callable[[argparse.Namespace], dict[str, Any]]
    metric: str
    rises: bool


APPS = {
    "lda": BenchApp(
        LDA,
        "LateLDA",
        documents,
        lambda given: {"topics": given.topics, "sampler": "sparse"},
        "loglik_per_token",
        True,
    ),
    "adam": BenchApp(
        Linear,
        "LateLinear",
        samples,
        lambda given: {"solver": "adam", "batch_size": max(2, given.samples // 100)},
        "objective",
        False,
    ),
    "lbfgs": BenchApp(
        Linear, "", samples, lambda given: {"solver": "lbfgs", "tol": 0.0}, "objective", False
    ),
}


class Way(NamedTuple):
    """A way to run an app."""

    name: str
    workers: int
    threads: int = 1
    slack: int = 0
    late: float = 0.0


def records(
    app: BenchApp, edges: EdgeData, way: Way, epochs: int, given: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return the records of a run."""
    parameters = app.parameters(given)
    if app.late:
        program = find(f"{SOURCE}:{app.late}").program(**parameters, length=way.late)
    else:
        program = app.program(**parameters)
    options = RunOptions(
        epochs=epochs,
        workers=way.workers,
        threads=way.threads,
        slack=way.slack,
        deadline=3600.0,
    )
    return run(program, edges, options=options).records


def curves(
    app: BenchApp, edges: EdgeData, ways: Sequence[Way], given: argparse.Namespace
) -> dict[Way, Curve]:
    """Return a curve of each way; the ways take turns after an epoch that is not counted."""
    for way in ways:
        records(app, edges, way, 1, given)
    runs: dict[Way, list[list[dict[str, Any]]]] = {way: [] for way in ways}
    for _ in range(given.runs):
        for way, every in runs.items():
            every.append(records(app, edges, way, given.epochs, given))
    return {way: Curve.of(every, app.metric, rises=app.rises) for way, every in runs.items()}


def parallel(name: str, edges: EdgeData, given: argparse.Namespace) -> list[Panel]:
    """Print an app's lines by layout."""
    app, w, t = APPS[name], given.workers, given.threads
    ways = [
        Way("one thread", 1, 1),
        Way("data parallel", w, 1),
        Way("model parallel", 1, t),
        Way("hybrid", w, t),
    ]
    found = curves(app, edges, ways, given)
    every = list(found.values())
    target, epochs, times = target_of(every), by_epoch(every), by_time(every)
    write(
        f"\n{name}, {app.metric}: figure 10\n{'':<16} {'W x T':>6} "
        + "".join(f"{f'epoch {epoch}':>12}" for epoch in epochs)
        + "".join(f"{f'{seconds:.3g} s':>12}" for seconds in times)
        + f"{'epochs':>8} {'s':>8} {'times':>6}  to {format_number(target)}\n"
    )
    first = every[0].until(target)[1]
    for way, curve in found.items():
        reached, seconds = curve.until(target)
        write(
            f"{way.name:<16} {f'{way.workers} x {way.threads}':>6} "
            + "".join(f"{format_number(curve.after(epoch)):>12}" for epoch in epochs)
            + "".join(f"{format_number(curve.at(moment)):>12}" for moment in times)
            + f"{reached:>8} {seconds:>8.3f} {first / seconds:>6.2f}\n"
        )
    named = {way.name: curve for way, curve in found.items()}
    return [
        Panel(f"{name}, figure 10", "epoch", app.metric, named),
        Panel(f"{name}, figure 10", "seconds", app.metric, named),
    ]


def overlap(name: str, edges: EdgeData, given: argparse.Namespace) -> list[Panel]:
    """Print an app's lines by slack."""
    app = APPS[name]
    if not app.late:
        return []
    panels = []
    for late in (0.0, given.late):
        ways = [Way(f"slack {slack}", given.workers, 1, slack, late) for slack in SLACKS]
        found = curves(app, edges, ways, given)
        target = target_of(list(found.values()))
        told = f"late by {1e3 * late:g} ms in 1 of 8 blocks" if late else "never late"
        write(
            f"\n{name}, {app.metric}, {given.workers} workers, {told}: figure 12a\n{'':<10} "
            f"{'s an epoch':>11} {'times':>6} {'wait, s':>8} {'at the end':>12} {'epochs':>7} "
            f"{'s':>8} {'times':>6}  to {format_number(target)}\n"
        )
        first = found[ways[0]]
        for way, curve in found.items():
            reached, seconds = curve.until(target)
            write(
                f"{way.name:<10} {curve.an_epoch:>11.4f} {first.an_epoch / curve.an_epoch:>6.2f} "
                f"{curve.wait:>8.3f} {format_number(curve.metric[-1]):>12} {reached:>7} "
                f"{seconds:>8.3f} "
                f"{first.until(target)[1] / seconds:>6.2f}\n"
            )
        named = {way.name: curve for way, curve in found.items()}
        panels.append(Panel(f"{name}, figure 12a, {told}", "seconds", app.metric, named))
    return panels


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables, and draw the curves."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--parts", type=names_among(PARTS), default=",".join(PARTS))
    arguments.add_argument("--apps", type=names_among(APPS), default=",".join(APPS))
    arguments.add_argument("--workers", type=int, default=2)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--tokens", type=int, default=467_714)
    arguments.add_argument("--topics", type=int, default=100)
    arguments.add_argument("--samples", type=int, default=200_000)
    arguments.add_argument("--features", type=int, default=50_000)
    arguments.add_argument("--epochs", type=int, default=20)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--late", type=float, default=0.02)
    arguments.add_argument("--plot", type=Path, metavar="FILE")
    given = arguments.parse_args(argv)
    if given.plot:
        check(given.plot)
    write(
        f"{machine()}; {given.epochs} epochs, median of {given.runs}; lda: {given.tokens:,} "
        f"tokens, {given.topics} topics; adam, lbfgs: {given.samples:,} samples, "
        f"{given.features:,} features\n"
    )
    rows = []
    for name in given.apps:
        edges = APPS[name].data(given)
        rows.append(parallel(name, edges, given) if "parallel" in given.parts else [])
        rows[-1] += overlap(name, edges, given) if "overlap" in given.parts else []
    if given.plot:
        plot(given.plot, [row for row in rows if row])


if __name__ == "__main__":
    main()
