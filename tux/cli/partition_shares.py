"""``tux partition --workers N``: one method, by several processes that load the graph in shares."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from tux.arrays import stores
from tux.arrays.piped import is_read_once
from tux.base.errors import DataError, MustReadWhole, UsageError
from tux.base.text import data_name, plural
from tux.cli import show
from tux.cli.partition_checks import check_graph_flags, check_outputs
from tux.cli.partition_samples import are_samples, job_of_samples
from tux.cli.partition_tables import job_with_tables
from tux.cli.partition_types import (
    check_methods,
    check_names,
    describe_types,
    plan_of_types,
    whole_type,
)
from tux.compare.partitioners import describe_cut_type, parse_methods
from tux.graph.cut_folder import without_edges
from tux.graph.union import two_sides
from tux.inputs.by_type import check_types_given, sources_by_type
from tux.inputs.loaded_graph import (
    add_rows_read,
    odd_ids_lines,
    read_bare_graph,
    totals_of_types,
)
from tux.inputs.loading_jobs import TypeInput, input_of_bags, inputs_of_types
from tux.inputs.sizes import oddities_by_type, sizes_of, untyped_oddities
from tux.inputs.tables_in_shares import table_lines
from tux.inputs.untyped import ONE, TWO, classes_in_words, has_numbers, types_by_format
from tux.inputs.wrapping import wrap_data
from tux.io.edges.request import EdgeRequest
from tux.io.formats.detect import Format, detect_format
from tux.io.source.input_files import (
    FilePiece,
    Files,
    Source,
    input_files,
    list_files,
    pieces_of,
    source_name,
)
from tux.io.source.input_shares import read_share
from tux.io.source.text import without_skipping
from tux.options.options import Reading
from tux.parallel_load.algorithm.loader import count_edges
from tux.parallel_load.algorithm.plan import IN_SHARES, LoadingPlan
from tux.parallel_load.process.bag_rounds import BAG_ROUNDS
from tux.parallel_load.process.loading import LoadedGraph, load_in_shares
from tux.parallel_load.process.loading_job import LoadingJob
from tux.partition.method_of_type import MethodOfType
from tux.program.program import Program

NOT_IN_SHARES = {
    "imports": "--import",
    "cap": "--cap",
    "json": "--json",
    "plot": "--plot",
    "assignment": "--assignment",
    "row_bytes": "--row-bytes",
    "syncs": "--syncs",
}
"""Flags that need all edges in one process."""

METHODS = {True: "aweto", False: "dbh"}
"""The method where none is named: for two sides of vertices, or a type that is to be whole; and for
one kind of vertices."""


def partition_in_shares(args: Namespace, program: Program | None = None) -> None:
    """Do what the flags say; `program`: of several edge types. Raises UsageError, DataError,
    DiskError and PeerLost.
    """
    _check(args, program)
    with show.watcher() as watch:
        watch.phase(f"looking at {data_name(args.graph)}")
        job, why = (_job_of_types(args, program), "") if program else _job(args)
        watch.say(f"cut by {job.plan.method}, in shares by {plural(args.workers, 'process')}")
        try:
            graph = load_in_shares(args.out, job, watch=watch)
        except DataError as error:
            raise without_skipping(error) from None
        except MustReadWhole as error:
            raise UsageError(error.what, do="leave --workers out") from None
        for text in (*_edge_lines(args, job, graph, program), *table_lines(graph, job.tables)):
            watch.warn(text)
    for text in _describe_cut(args, job, why, graph):
        show.say(text)
    show.say(f"{args.out}: cut by {job.plan.method}, for tux run APP {args.out}")


def _check(args: Namespace, program: Program | None) -> None:
    """Refuse flags that are wrong before anything is read. UsageError."""
    for name, flag in NOT_IN_SHARES.items():
        if getattr(args, name) is not None:
            raise UsageError(
                f"{flag} needs all edges in one process", do=f"leave --workers out, or {flag}"
            )
    check_graph_flags(args, program)
    if not args.out:
        raise UsageError("--workers without a folder to write", do="name it with --out DIR")
    if args.method is not None:
        methods = parse_methods(args.method)
        if len(methods) > 1:
            raise UsageError(
                f"--method {args.method} with --workers: one method can be named",
                do=f"name one of {', '.join(IN_SHARES)}; or leave --workers out to compare methods",
            )
        (args.method,) = methods
        _plan(args, bipartite=False, method=MethodOfType.parse(args.method).method).check()
        check_methods(methods, program)
    check_outputs(args)


def _plan(args: Namespace, *, bipartite: bool, method: str) -> LoadingPlan:
    ends = TWO if bipartite else ONE
    return LoadingPlan(ends, args.workers, args.parts, method, args.seed, bipartite)


def _job(args: Namespace) -> tuple[LoadingJob, str]:
    """Return the job of the loaders, and why there are one or two types of vertices."""
    source = input_files(args.graph)
    format = _format_of(args.graph, args)
    if are_samples(args, format):
        return job_of_samples(args, format, args.method or METHODS[True]), ""
    if format.bags:
        return _job_of_bags(args, format)
    bipartite, why = args.bipartite, ""
    if not args.bipartite and not args.one_type:
        told, why = types_by_format(source, format, args.columns)
        if told is None:
            raise UsageError(
                f"whether the vertices of {args.graph} are of one type or two is not known before "
                "it is read",
                do="say --bipartite or --one-type",
            )
        bipartite = told
    plan = _plan(args, bipartite=bipartite, method=args.method or METHODS[bipartite])
    plan.check()
    many = args.columns.count(",") > 1 if args.columns else _have_numbers(source, format)
    fields = {"value": "<f4"} if many else {}
    inputs = {"": TypeInput(args.graph, fields, args.columns, format)}
    return job_with_tables(args, plan, inputs), why


def _job_of_bags(args: Namespace, format: Format) -> tuple[LoadingJob, str]:
    """Return the job of the loaders of bags of columns, and why there are two types of vertices."""
    _, why = types_by_format(args.graph, format, args.columns)
    plan = _plan(args, bipartite=not args.one_type, method=args.method or METHODS[True])
    plan.check()
    given = TypeInput(args.graph, {"value": "<f4"}, args.columns, format)
    bags = input_of_bags(given, plan.ends, Reading(columns=args.columns))
    plan = replace(plan, early=BAG_ROUNDS)
    return job_with_tables(args, plan, {"": bags}), "" if args.bipartite else why


def _job_of_types(args: Namespace, program: Program) -> LoadingJob:
    """Return the job of the loaders of edges of several types."""
    check_names(args, program)
    data = wrap_data(program, args.graph)
    check_types_given(program, data, every=True)
    formats = {name: _format_of(own) for name, own in sources_by_type(program, data).items()}
    sides = two_sides([edge.ends for edge in program.edge_types.values()])
    whole = whole_type(program)
    plan = plan_of_types(args, program, args.method or METHODS[bool(sides or whole)])
    plan.check()
    return job_with_tables(args, plan, inputs_of_types(program, data, formats))


def _format_of(data: Source, args: Namespace | None = None) -> Format:
    """Return the format of an input, of one edge type if there are `args`. Raise UsageError unless
    it can be read in shares.
    """
    labels = getattr(args, "labels", None)
    for path in [*(file.path for file in list_files(data)), *([labels] if labels else [])]:
        if not stores.is_uri(path) and is_read_once(path):
            raise UsageError(
                f"{path} can be read only once, so not in shares",
                do="write it to a file first, or leave --workers out",
            )
    format = detect_format(input_files(data))
    if args is not None and format.bags:
        if format is not Format.DOCWORD or not are_samples(args, format):
            return format
    if format not in (Format.TEXT, Format.PARQUET, *([Format.NPZ] if labels else [])):
        raise UsageError(
            f"{source_name(data)} is a {format.value} file, which is read whole",
            do="leave --workers out: shares are those of tables, text or Parquet, and libsvm text",
        )
    return format


def _have_numbers(source: str, format: Format) -> bool:
    """Return whether the edges seem to have a number each. Of Parquet, no row is read to know
    that.
    """
    if format is not Format.PARQUET:
        return has_numbers(source, format)
    nothing = Files.of(source, [FilePiece(pieces_of(source)[0].path, 0, 0)])
    try:
        read_share(nothing, EdgeRequest(source, ONE, {"value": "f4"}), format)
    except DataError:
        return False
    return True


def _edge_lines(
    args: Namespace, job: LoadingJob, graph: LoadedGraph, program: Program | None
) -> Iterator[str]:
    """Yield the lines that reading the whole says of the edges."""
    folder = Path(args.out)
    how = {
        "tables": not (job.edges[""].samples or job.edges[""].bags),
        "every": len(job.edges) == 1 and not job.tables,
    }
    if program:
        data = wrap_data(program, args.graph)
        formats = {name: Format(own.format) for name, own in job.edges.items()}
        read = read_bare_graph(folder, program, graph, **how)
        yield from odd_ids_lines(folder, program, read, data, formats, None)
        counted = totals_of_types(graph, program.edge.repeats)
        sizes = sizes_of(read, None, counted, program.edge.repeats)
        yield from oddities_by_type(program, sizes, (read, data), (None, ""), counted)
        return
    numbers = {name: np.dtype(dtype) for name, dtype in job.fields[""].items()}
    bare = without_edges(folder, job.plan.ends, numbers)
    read = add_rows_read(bare, folder, graph, **how)
    yield from untyped_oddities(read, args.graph, graph.repeated_edges())


def _describe_cut(args: Namespace, job: LoadingJob, why: str, graph: LoadedGraph) -> list[str]:
    """Return lines about the graph and its cut."""
    edges, k = sum(graph.edges), job.plan.parts
    if job.edges[""].samples:
        kinds = classes_in_words(graph.ended[0].loaded.classes) or "by numbers"
        why = f"they are samples, labelled {kinds}"
    ids = {name: graph.ended[0].loaded.types[name].ids for name in job.plan.types}
    lines = [_describe_graph(args, job, graph, ids)]
    if why:
        lines.append(f"vertices of {'two types' if job.plan.bipartite else 'one type'}, as {why}")
    rows = sum(sum(each.loaded.types[name].rows) for each in graph.ended for name in ids)
    replicas = rows / max(sum(ids.values()), 1)
    largest = max(graph.edges) * k / edges
    lines.append(f"RF {replicas:.3f}, the largest part has {largest:.3f} of the mean")
    whole = job.plan.whole
    if whole and any(each.loaded.types[whole].cut for each in graph.ended):
        lines.append(describe_cut_type(whole))
    most = max(graph.ended, key=lambda each: each.peak)
    part = max(_part_sizes(Path(args.out), k))
    lines.append(
        f"memory: at most {most.peak / 1e6:,.0f} MB in a process, {most.before / 1e6:,.0f} of them "
        f"before it read; the largest part has {part / 1e6:,.1f} MB"
    )
    return lines


def _describe_graph(
    args: Namespace, job: LoadingJob, graph: LoadedGraph, ids: Mapping[str, int]
) -> str:
    """Return a line about the graph; `ids`: the number of vertices of each type."""
    if job.plan.others:
        return describe_types(job.plan, count_edges([each.loaded for each in graph.ended]), ids)
    sizes = " and ".join(
        f"{count:,} {'vertices' if name == 'vertex' else name + 's'}" for name, count in ids.items()
    )
    edges, parts = plural(sum(graph.edges), "edge"), plural(job.plan.parts, "part")
    return f"{os.path.basename(args.graph)}: {edges}, {sizes}, {parts}"


def _part_sizes(folder: Path, parts: int) -> list[int]:
    """Return the bytes of each part's files."""
    return [
        sum(path.stat().st_size for path in (folder / f"part-{part}").iterdir())
        for part in range(parts)
    ]
