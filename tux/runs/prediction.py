"""Predicts what an epoch costs on other numbers of machines: the run is rehearsed on this one
(`tux.cluster.rehearsal`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tux.base.text import plural
from tux.cluster.job import job_folder
from tux.cluster.job.prepare import write_job
from tux.cluster.rehearsal.network import NetworkLink
from tux.cluster.rehearsal.rehearse import rehearse
from tux.graph.partitioned import PartitionedGraph, partition_inputs
from tux.inputs.load import Inputs
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher, Watcher
from tux.program import sources
from tux.program.program import Program
from tux.runs.begin import choose_partitioner, keeps_best

EPOCHS = 3
"""Epochs of a rehearsal. The first is not counted: it compiles, and tells the rows of messages."""

MOST_AHEAD = 16
"""Epochs that a rehearsed worker may be ahead; with more slack than that it seldom waits."""

PAYS = 0.7
"""The speed-up for each machine from which on more of them pay."""

SAVES = 0.9
"""The share of an epoch's time to which a slack must bring it to be advised."""

SHORT_SECONDS = 0.02
"""Seconds of an epoch below which a rehearsal tells little: what a run does between epochs, and
other processes of a machine, are not in it.
"""

LEAST_SHOWN = 0.0005
"""Seconds that a table shows as more than 0."""

SLACKS = (0, 1, 2, 4)
"""Slacks that are tried, those that are not the run's own."""

COLUMNS = ("machines", "seconds", "speed-up", "compute", "masters", "packing", "waiting", "MB sent")
"""The columns of a table of predictions."""


@dataclass(frozen=True)
class EpochPrediction:
    """The costs of an epoch on `workers` machines at a `slack`: seconds, and bytes that all
    machines send; of its seconds those in which a worker computed, applied, packed and waited,
    means over the workers.
    """

    workers: int
    seconds: float
    sent: float
    compute: float
    apply: float
    pack: float
    wait: float
    slack: int | str = 0

    def speed_up(self, first: EpochPrediction, *, grows: bool = False) -> float:
        """Return how many times as fast this is as the `first` costs; `grows`: the data grow with
        the machines.
        """
        times = first.seconds / self.seconds
        return times * self.workers / first.workers if grows else times

    def cells(self, first: EpochPrediction, *, grows: bool = False) -> list[str]:
        """Return the cells of a line of a table with `COLUMNS`."""
        spent = (self.compute, self.apply, self.pack, self.wait)
        return [
            str(self.workers),
            f"{self.seconds:.3g}",
            f"{self.speed_up(first, grows=grows):.2f}",
            *(f"{each:.3g}" if each >= LEAST_SHOWN else "0" for each in spent),
            f"{self.sent / 1e6:.3g}",
        ]


def predict_epoch(
    program: Program,
    inputs: Inputs,
    options: RunOptions,
    workers: int,
    link: NetworkLink,
    *,
    cores: int,
    epochs: int = EPOCHS,
    watch: Watcher | None = None,
) -> EpochPrediction:
    """Predict the costs of an epoch of `program` on so many machines with a worker each, joined by
    a link, by a rehearsal of `epochs` whose first is not counted, or of more, where clocks of
    several are under way at once; of a run that has only one, by that epoch, rehearsed twice.
    `options` are those of the run.

    All parts are in the memory of this process at once. The errors are those of a run.
    """
    options = replace(options, workers=workers, threads=options.threads or cores)
    watch = watch or NullWatcher()
    plan = choose_partitioner(options.plan_for(program), program, inputs, watch)

    def cut(total: int) -> PartitionedGraph:
        return partition_inputs(program, inputs, plan.partitioner, total, options.seed)

    one = (options.epochs or program.epochs) == 1
    watch.phase(f"rehearse {plural(workers, 'machine')}")
    folders = job_folder.make(None)
    try:
        job, _ = write_job(
            sources.source_of(program).name,
            program.parameters,
            cut,
            folders,
            workers=workers,
            threads=plan.threads,
            keep_best=keeps_best(program, inputs, options),
            **plan.job_options(),
        )
        records = rehearse(job, link, cores=cores, epochs=1 if one else epochs).records
        ahead = epochs_ahead(records, options.slack)
        if len(records) == 1:  # that epoch does all the work, and has compiled now
            records = rehearse(job, link, cores=cores, epochs=1).records
        elif ahead > 1:
            many = 2 + max(epochs, ahead)
            records = rehearse(job, link, cores=cores, epochs=many, ahead=ahead).records
    finally:
        job_folder.remove(folders[0])
    return _mean_costs(workers, records, options.slack)


def epochs_ahead(records: Sequence[Mapping[str, Any]], slack: int | str) -> int:
    """Return how many epochs a worker may be ahead of one that all have finished, by the records of
    a rehearsal; 1 if clocks do not go on over the end of an epoch, or no further than the next.

    With many ahead, the first record has the costs of all epochs that have begun by then. In the
    middle of a long rehearsal each record has those of one; and workers wait for answers at one of
    slack + 1 clocks, so as many are to be counted.
    """
    clocks = records[0]["clock"]
    if isinstance(slack, str) or not clocks or records[-1]["max_staleness"] < clocks:
        return 1
    return min(max(math.ceil(slack / clocks), 1), MOST_AHEAD)


def _mean_costs(workers: int, records: list[dict[str, Any]], slack: int | str) -> EpochPrediction:
    """Return the costs of an epoch: means over all but the first, or of the only one."""
    first, last = records[0], records[-1]
    counted, epochs = records[1:] or records, max(len(records) - 1, 1)
    begun = first["seconds"] if len(records) > 1 else 0.0

    def mean(name: str) -> float:
        return sum(record[name] for record in counted) / epochs

    return EpochPrediction(
        workers,
        (last["seconds"] - begun) / epochs,
        mean("bytes_sent"),
        mean("compute_s"),
        mean("apply_s"),
        mean("send_s"),
        mean("wait_s"),
        slack,
    )


def most_that_pays(found: Sequence[EpochPrediction]) -> EpochPrediction:
    """Return the costs of the largest number of machines that pays beside each smaller one; they
    are in ascending order.
    """
    best = found[0]
    for each in found[1:]:
        if best.seconds / each.seconds < PAYS * each.workers / best.workers:
            break
        best = each
    return best


def advise_on_machines(
    found: Sequence[EpochPrediction],
    best: EpochPrediction,
    slacks: Sequence[EpochPrediction],
    parameters: Mapping[str, Any],
    threads: int,
) -> Iterator[str]:
    """Yield advice, a line each: how many machines, with which slack and mini-batches. `slacks`:
    the costs of as many machines as the `best` with other slacks; `parameters`: the program's;
    `threads`: of a worker.
    """
    machines, times = plural(best.workers, "machine"), found[0].seconds / best.seconds
    beside = f", {times:.1f} times as fast as {found[0].workers}" if best != found[0] else ""
    last = found[-1]
    if len(found) > 1:
        yield f"advice: {machines}, a worker of {plural(threads, 'thread')} on each{beside}"
    if found[0].seconds < SHORT_SECONDS:
        yield f"an epoch of {1e3 * found[0].seconds:.2g} ms is short: its run may take far longer"
    if best != last:
        yield (
            f"{last.workers} machines do not pay: of {last.seconds:.3g} s, a worker computes for "
            f"{last.compute:.3g} s"
        )
    fastest = min([best, *slacks], key=lambda each: each.seconds)
    if fastest.seconds <= SAVES * best.seconds:
        older = "; as values are older, more epochs may be needed"
        yield (
            f"with --slack {fastest.slack} an epoch takes {fastest.seconds:.3g} s"
            f"{older if float(fastest.slack) > float(best.slack) else ''}"
        )
    if last.workers > 1 and last.pack + last.wait > last.compute and parameters.get("batch_size"):
        yield "larger mini-batches (--batch-size) send less, and wait less often"
