"""Figures of PS2 (Zhang et al., SIGMOD 2019) in small: where Adam's update of a feature is made,
and what more features cost.

usage: python -m bench.ps2 [--parts update,link,features] [--samples N] [--features N]
       [--entries N] [--epochs N] [--runs N] [--workers N] [--link MBIT] [--sizes N,..]

`update` (figure 9): logistic regression by Adam in three ways (bench/adam_ways.py): on a driver, to
which all gradients go; on a worker, which gets w, m and v and sends their changes back; and on the
masters. All take the same steps, of a hundredth of the samples each, so seconds and bytes to a loss
are those of --epochs passes; a run in which they end with other losses is an error. `MB` is what
the workers have sent each other, and only what has changed is sent. The last line is what a driver
would send that does not leave out what has not changed, as Spark's.

`link`: the same, by half as many workers on each of two machines, which are network namespaces with
a link of --link Mbit/s between them; it needs root, iproute2 and a small file of samples. In
`update` the workers are processes of one machine, whose messages cost little.

`features` (figure 13b): milliseconds of a step on the masters as there are more features, with as
many samples and entries, in mini-batches of a hundredth of the samples and of all of them.

Seconds are those of training, the median of N runs (default 3); a run before them, or the first
epoch of each run of `features`, is not counted. Workers have a thread each. Figure 13c, failing
tasks, is what `make faults` plays: see docs/reliability.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.arguments import names_among
from bench.linked import Link
from bench.machine import machine
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.inputs.samples import samples_to_edges
from tux.options.options import RunOptions
from tux.program.program import Program
from tux.program.sources import find
from tux.runs.session import run
from tux.synthetic.clicks import Clicks, clicks, write_clicks

PARTS = ("update", "link", "features")
WAYS = {"a driver": "OnDriver", "a worker": "OnWorker", "the masters": "OnMasters"}
PAPER = {"a driver": 15.7, "a worker": 4.7, "the masters": 1.0}
"""Seconds on KDDB, times those of PS2, whose update is on the servers."""
GROWTH = {"PS2": 8.5, "MLlib": 168.0}
"""Seconds of a step with 60 M features, times those with 40 K."""
STEPS = 100  # of an epoch
SAME = 1e-6
SOURCE = Path(__file__).with_name("adam_ways.py")
NEVER = 100_000  # epochs between evaluations: only the last one is judged


def write(text: str) -> None:
    """Write to the terminal."""
    sys.stdout.write(text)
    sys.stdout.flush()


class EpochCosts(NamedTuple):
    """The costs of some epochs: seconds and bytes sent; and the mean loss after them."""

    seconds: float
    sent: float
    loss: float

    @classmethod
    def of(cls, records: Sequence[dict[str, Any]]) -> EpochCosts:
        """Return the costs in a run's records."""
        sent = sum(record["bytes_sent"] for record in records)
        return cls(records[-1]["seconds"], sent, records[-1]["loss"])


def draw_clicks(samples: int, features: int, entries: int) -> Clicks:
    """Draw clicks of `entries` entries a sample."""
    return clicks(samples, features, entries, max(1, min(features // 20, 10_000)))


def all_features(made: Clicks) -> EdgeData:
    """Return the samples with all features, those that never occur too."""
    samples, _ = made.split()
    names = Ids(np.arange(1, len(made.weights) + 1))
    ids = {**samples.edges.ids, "feature": names}
    edges = replace(samples.edges, ids=ids, dst=made.feature - 1)
    return samples_to_edges(samples._replace(edges=edges), program("OnMasters", 1, 1))


def program(name: str, samples: int, features: int, steps: int = STEPS) -> Program:
    """Return one of the ways, with so many mini-batches an epoch."""
    more = {"features": features} if name == "OnDriver" else {}
    return find(f"{SOURCE}:{name}").program(batch=max(1, samples // steps), **more)


def medians(every: Sequence[EpochCosts]) -> EpochCosts:
    """Return the median of runs that are the same but for their seconds."""
    return every[-1]._replace(seconds=statistics.median(each.seconds for each in every))


def check(taken: Iterable[EpochCosts]) -> float:
    """Return the loss that all have come to; end the program if they differ."""
    losses = [each.loss for each in taken]
    if not max(losses) - min(losses) <= SAME * max(losses):
        sys.exit(f"the ways end with other losses: {losses}")
    return losses[0]


def table(taken: dict[str, EpochCosts], features: int, given: argparse.Namespace) -> None:
    """Print a line for each way, beside the paper's; and what whole vectors take."""
    loss, least = check(taken.values()), taken["the masters"]
    sent = max(least.sent, 1.0)
    write(
        f"{f'to the loss {loss:.5f}':<24} {'s':>8} {'MB':>10} {'s, times':>10} {'MB, times':>10} "
        f"{'PS2: s, times':>15}\n"
    )
    for way, each in taken.items():
        write(
            f"{f'update on {way}':<24} {each.seconds:>8.2f} {each.sent / 1e6:>10.1f} "
            f"{each.seconds / least.seconds:>10.2f} {each.sent / sent:>10.2f} {PAPER[way]:>15.1f}\n"
        )
    # a gradient from each other worker and weights to it, in each step
    whole = 8 * features * 2 * (given.workers - 1) * STEPS * given.epochs
    write(f"{'a driver, whole vectors':<24} {'-':>8} {whole / 1e6:>10,.0f} {'-':>10}")
    write(f" {whole / sent:>10.2f}\n")


def update(given: argparse.Namespace) -> None:
    """Print what the three ways take on the workers of one machine."""
    edges = all_features(draw_clicks(given.samples, given.features, given.entries))
    write(
        f"\nlogistic regression by Adam: {given.samples:,} samples, {given.features:,} features, "
        f"{len(edges):,} entries, {given.workers} workers, slack 0, {given.epochs} epochs of "
        f"{STEPS} steps; median of {given.runs}\n"
    )
    every: dict[str, list[EpochCosts]] = {way: [] for way in WAYS}
    for _ in range(given.runs + 1):
        for way, name in WAYS.items():
            options = RunOptions(
                epochs=given.epochs,
                workers=given.workers,
                threads=1,
                eval_every=NEVER,
                deadline=3600.0,
            )
            each = program(name, given.samples, given.features)
            every[way].append(EpochCosts.of(run(each, edges, options=options).records))
    table({way: medians(runs[1:]) for way, runs in every.items()}, given.features, given)


def link(given: argparse.Namespace) -> None:
    """Print what they take on two machines."""
    if why := Link.missing():
        return write(f"\nno link: {why}\n")
    made = draw_clicks(given.samples, given.features, given.entries)
    occurring = len(np.unique(made.feature))
    with tempfile.TemporaryDirectory() as folder, Link(given.link) as joined:
        path, every = Path(folder, "samples.svm"), {way: list[EpochCosts]() for way in WAYS}
        write_clicks(made, path)
        for number in range(given.runs + 1):
            for way, name in WAYS.items():
                flags = {
                    "--batch": max(1, given.samples // STEPS),
                    "--epochs": given.epochs,
                    **({"--features": occurring} if name == "OnDriver" else {}),
                }
                command = [f"{SOURCE}:{name}", path]
                out = Path(folder, f"{name}-{number}")
                every[way].append(
                    EpochCosts.of(joined.records(command, flags, given.workers // 2, out))
                )
    write(
        f"\nthe same on two machines with {given.workers // 2} workers each and a link of "
        f"{given.link} Mbit/s: {given.samples:,} samples, {occurring:,} features that occur\n"
    )
    table({way: medians(runs[1:]) for way, runs in every.items()}, occurring, given)


def step(edges: EdgeData, samples: int, steps: int, given: argparse.Namespace) -> float:
    """Return the seconds of a step on the masters."""
    options = RunOptions(
        epochs=given.epochs + 1, workers=given.workers, threads=1, eval_every=NEVER, deadline=3600.0
    )
    seconds = []
    for _ in range(given.runs):
        records = run(program("OnMasters", samples, 0, steps), edges, options=options).records
        ends = [each["seconds"] for each in records]
        seconds.append((ends[-1] - ends[0]) / given.epochs / steps)
    return statistics.median(seconds)


def features(given: argparse.Namespace) -> None:
    """Print what a step takes by the number of features."""
    write(
        f"\nms of a step on the masters: {given.samples:,} samples of {given.entries} entries, "
        f"{given.workers} workers; median of {given.runs}\n"
        f"{'features':>12} {'that occur':>12} {'1/100':>9} {'times':>7} {'all':>9} {'times':>7}\n"
    )
    first: list[float] = []
    for size in given.sizes:
        edges = all_features(draw_clicks(given.samples, size, given.entries))
        taken = [step(edges, given.samples, steps, given) for steps in (STEPS, 1)]
        first = first or taken
        write(f"{size:>12,} {len(np.unique(edges.dst)):>12,}")
        for seconds, least in zip(taken, first, strict=True):
            write(f" {1e3 * seconds:>9.3f} {seconds / least:>7.2f}")
        write("\n")
    told = ", ".join(f"{name} {times:g} times" for name, times in GROWTH.items())
    write(f"the paper, from 40 K to 60 M features: {told}\n")


def sizes(text: str) -> list[int]:
    """Parse numbers with commas between them."""
    return [int(each) for each in text.split(",")]


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--parts", type=names_among(PARTS), default=",".join(PARTS))
    arguments.add_argument("--samples", type=int, default=100_000)
    arguments.add_argument("--features", type=int, default=1_000_000)
    arguments.add_argument("--entries", type=int, default=30, help="of a sample")
    arguments.add_argument("--epochs", type=int, default=2)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--workers", type=int, default=4)
    arguments.add_argument("--link", type=int, default=200, metavar="MBIT")
    arguments.add_argument("--sizes", type=sizes, default="40000,400000,4000000,10000000")
    given = arguments.parse_args(argv)
    if given.workers < 2 and {"update", "link"} & set(given.parts):
        arguments.error("--workers: at least 2, which send each other something")
    write(f"{machine()}\n")
    for name, part in (("update", update), ("link", link), ("features", features)):
        if name in given.parts:
            part(given)


if __name__ == "__main__":
    main()
