"""The gain when types, samples, and masters and mirrors may differ: BlockPG as four programs, on
four workers of one thread each.

usage: python -m bench.heterogeneity [--entries N] [--passes N] [--runs N] [--workers N]

    (a) AlikeBlockPG      one layout for all vertices; every field is synchronised, and samples are
                          cut and brought together like features
    (a') AlikeBlockPG     the same where no sample is cut: it is tracked all the same
    (b) UntrackedBlockPG  the same layout; samples, which are whole, are not brought together: what
                          is theirs never travels
    (c) CompactBlockPG    features hold nothing that is a sample's
    (d) PlainBlockPG      the app: masters hold what mirrors don't, mirrors what masters don't, and
                          neither travels

All take the same steps. Seconds and bytes are those of a pass (of the messages between workers,
which hold what has changed), the least and the mean of several runs in turn. `dense`: bytes of the
same rows if all of their values travelled, as in engines that send rows whole. `TUX2`: seconds of
an iteration of the four programs in figure 9 of Xiao et al., NSDI 2017, on 32 servers, and their
share of the first.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.blockpg.coordinate import scatter, step
from tux.apps.blockpg.samples import add_to_margins, pass_on
from tux.apps.blockpg.span import ALL, KEPT, add_displacement
from tux.arrays.edges import EdgeData
from tux.inputs.samples import samples_to_edges
from tux.options.options import RunOptions
from tux.program.fields import data, delta, shared, value
from tux.program.sources import find
from tux.program.stage import Cluster
from tux.program.types import Vertex
from tux.runs.session import run
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch
from tux.synthetic.clicks import clicks

NEVER = 100_000
PROGRAMS = {
    "a": ("AlikeBlockPG", "hdrf"),
    "a'": ("AlikeBlockPG", "source"),
    "b": ("UntrackedBlockPG", "source"),
    "c": ("CompactBlockPG", "source"),
    "d": ("PlainBlockPG", "source"),
}
PAPER = {"a'": 136, "b": 120, "c": 114, "d": 97}
"""Seconds of TUX2."""


def step_and_tell(feature, tau, p):  # type: ignore[no-untyped-def]
    """`step`; the master says which weight mirrors have used."""
    feature.used = feature.w
    step(feature, tau, p)


def scatter_from_master(feature, edges):  # type: ignore[no-untyped-def]
    """`scatter`, of which the master has said where the change begins."""
    d = feature.w - feature.used
    if d == 0:
        return
    for edge in edges:
        edge.sample.m += edge.value * d
        edge.sample.r += edge.sample.h * (edge.value * d)


def touch_sample(sample):  # type: ignore[no-untyped-def]
    """Change nothing but what bringing together does by itself."""
    sample.near += 0


TOLD: dict[Any, Any] = {step: step_and_tell, scatter: scatter_from_master, pass_on: add_to_margins}


def let_masters_tell(stages: Sequence[Any]) -> list[Any]:
    """Return the stages in a form in which no mirror keeps what it has used, and no master has
    fields that mirrors do not have: masters tell mirrors all.
    """
    out: list[Any] = []
    for stage in stages:
        if isinstance(stage, MiniBatch):
            out.append(MiniBatch(*let_masters_tell(stage.inside), blocks=stage.size.blocks))
        elif isinstance(stage, Exchange) and stage.f in TOLD:
            out.append(Exchange(TOLD[stage.f], additive=True))
        elif isinstance(stage, Apply):
            out.append(Apply(stage.over, TOLD.get(stage.f, stage.f)))
        # writes what mirrors have too
        elif isinstance(stage, GlobalSync) and stage.aggregate is add_displacement:
            out += [Apply("feature", add_displacement), GlobalSync(stage.f)]
        else:
            out.append(stage)
    return out


def track_samples(stages: Sequence[Any]) -> list[Any]:
    """Return the stages in a form in which all changes of samples are brought together, and masters
    do what is done to samples.
    """
    out: list[Any] = []
    for stage in stages:
        if isinstance(stage, MiniBatch):
            out.append(
                MiniBatch(*stage.inside, Apply("sample", touch_sample), blocks=stage.size.blocks)
            )
        elif isinstance(stage, Exchange) and stage.enter:
            out.append(Apply("sample", stage.enter))
        else:
            out += (
                [stage, Apply("sample", touch_sample)]
                if isinstance(stage, Exchange) and stage.f is add_to_margins
                else [stage]
            )
    return out


def fields(**own: Any) -> dict[str, Any]:
    """Return all fields of either type, synchronised; `own` are those that differ."""
    numbers = {name: value("f8") for name in ("w", "used", "c", "m", "before")} | {
        name: value("f4") for name in ("r", "h", "u")
    }
    all_ = {
        **numbers,
        "active": value("b1"),
        "near": value("i4"),
        "moved": value("f8", ALL),
        "rests": value("i1"),
        "g": delta("f8"),
        "s": delta("f8"),
    }
    return all_ | own


class PlainBlockPG(BlockPG):
    """(d) The app, without its evaluation."""

    def evaluate(self) -> list[Any]:
        """Return no stages."""
        return []


class CompactBlockPG(PlainBlockPG):
    """(c) Types of their own; masters and mirrors of features alike."""

    feature = Vertex(
        w=value("f8"),
        active=value("b1"),
        g=delta("f8"),
        s=delta("f8"),
        used=value("f8"),
        before=value("f8"),
        moved=value("f8", KEPT),
        rests=value("i1"),
    )

    def setup(self, cluster: Cluster) -> list[Any]:
        """Return the app's stages, in which masters tell mirrors all."""
        return let_masters_tell(super().setup(cluster))

    def stages(self, cluster: Cluster) -> list[Any]:
        """Return the app's stages, in which masters tell mirrors all."""
        return let_masters_tell(super().stages(cluster))


class UntrackedBlockPG(CompactBlockPG):
    """(b) Features have all fields; samples are not brought together."""

    feature = Vertex(**fields())


class AlikeBlockPG(CompactBlockPG):
    """(a) Both types have all fields, and both are brought together."""

    feature = Vertex(**fields(), label=value("f4"), weight=value("f4"))
    sample = Vertex(
        **fields(m=shared("f8"), r=shared("f4"), near=shared("i4")),
        label=data("f4"),
        weight=data("f4"),
    )

    def setup(self, cluster: Cluster) -> list[Any]:
        """Return the stages, in which changes of samples are brought together."""
        return track_samples(super().setup(cluster))

    def stages(self, cluster: Cluster) -> list[Any]:
        """Return the stages, in which changes of samples are brought together."""
        return track_samples(super().stages(cluster))


def make_clicks(entries: int) -> EdgeData:
    """Make clicks of 40 entries a sample."""
    samples = max(100, entries // 40)
    return samples_to_edges(
        clicks(samples, 2 * samples, 40, max(10, samples // 100)).split()[0], BlockPG()
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--entries", type=int, default=4_000_000)
    arguments.add_argument("--passes", type=int, default=12)
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--workers", type=int, default=4)
    given = arguments.parse_args(argv)
    if given.passes < 2:
        arguments.error("--passes: the first of at least 2 is not timed")
    write, edges = sys.stdout.write, make_clicks(given.entries)
    write(
        f"BlockPG, clicks of {len(edges):,} entries, l1 2, {given.workers} workers, slack 0; a "
        f"pass, of {given.passes}\n"
    )
    seconds: dict[str, list[float]] = {letter: [] for letter in PROGRAMS}
    last: dict[str, list[dict[str, Any]]] = {}
    for _ in range(given.runs):
        for letter, (name, cut) in PROGRAMS.items():
            program = find(f"{Path(__file__)}:{name}").program(l1=2.0, tol=0.0)
            last[letter] = run(
                program,
                edges,
                options=RunOptions(
                    epochs=given.passes,
                    eval_every=NEVER,
                    workers=given.workers,
                    threads=1,
                    partitioner=cut,
                ),
            ).records
            seconds[letter].append(
                (last[letter][-1]["seconds"] - last[letter][0]["seconds"]) / (given.passes - 1)
            )
    write(
        f"{'program':<14} {'objective':>14} {'bytes sent':>12} {'dense':>12} {'seconds':>8} "
        f"{'mean':>8}"
    )
    write(
        "".join(f" {f'of ({first})':>7}" for first in ("a", "a'")) + f"{'TUX2':>6} {'of 136':>7}\n"
    )
    for letter, (name, _) in PROGRAMS.items():
        records, taken = last[letter], seconds[letter]
        sent, dense = (
            sum(r[what] for r in records) / len(records) for what in ("bytes_sent", "bytes_dense")
        )
        write(
            f"{f'({letter}) {name}':<14} {records[-1]['objective']:>14.6f} {sent:>12,.0f} "
            f"{dense:>12,.0f} "
        )
        write(f"{min(taken):>8.3f} {statistics.mean(taken):>8.3f} ")
        write("".join(f" {min(taken) / min(seconds[first]):>7.2f}" for first in ("a", "a'")))
        told, most = PAPER.get(letter), PAPER["a'"]
        write(f"{told:>6} {told / most:>7.2f}\n" if told else f"{'-':>6} {'-':>7}\n")


if __name__ == "__main__":
    main()
