"""Tables of vertices for ``tux partition --workers``."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace

from tux.base.parallel import cores
from tux.cli.flags import vertex_tables
from tux.inputs.loading_jobs import TypeInput, loading_job
from tux.inputs.tables_in_shares import whole_tables
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.loading_job import LoadingJob


def job_with_tables(
    args: Namespace, plan: LoadingPlan, inputs: Mapping[str, TypeInput]
) -> LoadingJob:
    """Return the job of the loaders of a plan, with the tables of vertices that the flags name.
    Raises the errors of `tux.inputs.tables_in_shares.whole_tables`.
    """
    tables = whole_tables(vertex_tables(args.vertices, plan.types) or {}, plan)
    names = {kind: [field.name for field in own.fields] for kind, own in tables.items()}
    threads = args.threads or max(1, cores() // args.workers)
    return loading_job(replace(plan, tables=names), inputs, threads, tables=tables)
