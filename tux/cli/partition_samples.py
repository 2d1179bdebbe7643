"""Labelled samples for ``tux partition``: the flags that are about them, and the job of the
processes that load them in shares.
"""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace

from tux.base.errors import UsageError
from tux.cli.partition_tables import job_with_tables
from tux.graph.partitioned import choose_method
from tux.inputs.loading_jobs import TypeInput, of_samples
from tux.inputs.untyped import SAMPLED
from tux.io.formats.detect import Format
from tux.io.samples.shares import have_weights
from tux.io.source.input_files import input_files
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.loading_job import LoadingJob
from tux.parallel_load.process.sample_rounds import SamplesAsked


def asks_for_samples(args: Namespace) -> bool:
    """Return whether flags say that the graph is labelled samples."""
    named = (args.label, args.weight, args.labels)
    return bool(args.numeric or args.multiclass) or any(each is not None for each in named)


def check_sample_flags(args: Namespace) -> None:
    """Refuse flags about samples that do not go together. UsageError."""
    if args.numeric and args.multiclass:
        raise UsageError(
            "--numeric and --multiclass contradict each other", do="leave one of them out"
        )
    if (args.one_type or args.columns) and asks_for_samples(args):
        raise UsageError(
            "samples with labels have two types of vertices, and no columns of edges",
            do=f"leave {'--one-type' if args.one_type else '--columns'} out",
        )


def are_samples(args: Namespace, format: Format) -> bool:
    """Return whether the graph is labelled samples, by the flags and its format."""
    named = args.one_type or args.columns
    return asks_for_samples(args) or (format is Format.SVM and not named)


def job_of_samples(args: Namespace, format: Format, method: str) -> LoadingJob:
    """Return the job of the loaders of labelled samples, which are not cut. Raises the errors of
    `tux.io.samples.samples.read_samples` about the form and the first rows.
    """
    asked = SamplesAsked(
        label=args.label,
        weight=args.weight,
        numeric=bool(args.numeric),
        multiclass=bool(args.multiclass),
        plain_weights=False,
    )
    path, data = input_files(args.graph), ["label"]
    given = replace(asked.options("stop"), labels=args.labels)
    if have_weights(path, SAMPLED, given, format):
        data.append("weight")
    how = choose_method([SAMPLED], method, args.parts, [SAMPLED[0]])
    cut = args.workers, args.parts, how.name, args.seed, how.bipartite, how.favourite
    what = of_samples(TypeInput(args.graph, {"value": "<f4"}, None, format), asked, args.labels)
    assert what.samples
    plan = LoadingPlan(SAMPLED, *cut, data={SAMPLED[0]: data}, early=what.samples.rounds)
    plan.check()
    return job_with_tables(args, plan, {"": what})
