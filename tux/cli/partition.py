"""The body of ``tux partition``: read a graph, run methods and judge what others have made,
show, and write.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from tux.arrays.edges import EdgeData
from tux.base import disk
from tux.base.errors import DataError, UsageError
from tux.base.parallel import use_threads
from tux.base.text import data_name, plural
from tux.cli import show
from tux.cli.flags import advise_pattern, vertex_tables
from tux.cli.partition_checks import (
    SEE,
    check_graph_flags,
    check_outputs,
    check_volume,
    entries_by_type,
    fill_volume,
)
from tux.cli.partition_samples import asks_for_samples
from tux.cli.partition_shares import partition_in_shares
from tux.cli.partition_types import (
    absolute_files,
    check_methods,
    program_of_types,
    read_typed_graph,
    sides_of_types,
    whole_type,
)
from tux.compare.assignments import read_assignment, write_assignment, write_folder
from tux.compare.partitioners import (
    CutResult,
    Judge,
    comparison_table,
    legend,
    parse_methods,
    refusal_lines,
    report,
)
from tux.figures import figures, plots
from tux.graph.union import Union
from tux.inputs.sizes import COUNTED, untyped_oddities
from tux.inputs.untyped import (
    UntypedGraph,
    read_for_program,
    read_graph,
    read_samples_graph,
)
from tux.inputs.vertices import join_given_tables, read_tables
from tux.io.formats.detect import detect_format
from tux.io.formats.edge_formats import one_type_reason
from tux.io.samples.labels import LabelCountError
from tux.io.source.input_files import absolute_source, input_files
from tux.io.source.text import without_skipping
from tux.io.vertices.table import VertexTable
from tux.program.program import Program

KEPT = "--numeric keeps those that are numbers, --multiclass any number of classes"


def partition(args: Namespace) -> None:
    """Do what the flags of ``tux partition`` say. Raises UsageError, DataError and DiskError."""
    _unify_names(args)
    program = program_of_types(args) if args.program else None
    if args.workers is not None:
        partition_in_shares(args, program)
        return
    fill_volume(args)
    if args.threads is not None:
        use_threads(args.threads)
    if args.method is None:
        args.method = None if args.imports else "all"
    methods = [] if args.method is None else parse_methods(args.method)
    check_methods(methods, program)
    _check(args, program)
    with show.watcher() as watch:
        watch.phase(f"reading {args.graph}")
        graph = read_typed_graph(args, program, watch.warn) if program else _read(args)
        for text in () if program else _oddities(args.graph, graph.edges):
            watch.warn(text)
        for text in _describe_graph(args.graph, graph, args.parts).splitlines():
            watch.say(text)
        tables = read_tables(vertex_tables(args.vertices, [*graph.edges.ids]), graph.edges.ids)
        join_given_tables(graph.edges, tables, watch.warn)  # what is wrong with them is told before
        judge = _judge(args, graph, program)
        rows, best = _compete(judge, methods, args.imports or [], watch)
    show.grid(*comparison_table(rows, best, judge))
    for text in (*judge.explain_losers(rows), *legend(rows), *refusal_lines(rows)):
        show.say(text)
    if best is None:
        raise UsageError(
            "no method has given an assignment",
            do="name others with --method; the lines above say why",
        )
    show.say(f"winner: {judge.reason(best, rows)}")
    _write(args, graph, judge, rows, best, tables)


def _read(args: Namespace) -> UntypedGraph:
    """Read the graph. Every row counts, as an assignment has a line for each."""
    try:
        return _graph(args)
    except DataError as error:
        raise without_skipping(error) from None


def _graph(args: Namespace) -> UntypedGraph:
    """Read the graph, as that of labelled samples if it is one and the flags say nothing else."""
    how = {name: getattr(args, name) for name in ("label", "weight", "labels")}
    kinds = {name: bool(getattr(args, name)) for name in ("numeric", "multiclass")}
    asked = asks_for_samples(args)
    source = input_files(args.graph)
    why, format = "", detect_format(source)
    if asked or not (args.one_type or args.columns):
        try:
            if (
                sampled := read_samples_graph(source, format, asked=asked, **kinds, **how)
            ) is not None:
                return sampled
        except LabelCountError as error:  # a corpus, or numbers to be predicted: good edges
            if asked:
                error.do = KEPT
                raise
            why = error.what
    bipartite = True if args.bipartite else False if args.one_type else None
    graph = read_graph(source, format, bipartite, args.columns)
    return graph._replace(unlabelled=why)


def _oddities(path: str, edges: EdgeData) -> Iterator[str]:
    """Yield lines about what is odd in edges; pairs that repeat are not counted in very many."""
    return untyped_oddities(edges, path, edges.duplicates if len(edges) <= COUNTED else 0)


def _judge(args: Namespace, graph: UntypedGraph, program: Program | None) -> Judge:
    """Return the judge of the cuts of a graph; `program`: of several edge types."""
    whole = whole_type(program) if program else ""
    union = Union.of(graph.edges, whole)
    sides = sides_of_types(graph, union)
    types = sum(map(len, sides)) or 1 + graph.bipartite
    on_target = union.sides and whole in union.sides[1]
    return Judge(
        union.src,
        union.dst,
        args.parts,
        graph.bipartite,
        args.seed,
        args.cap,
        entries_by_type("--row-bytes", args.row_bytes, types),
        [often for often, _ in entries_by_type("--syncs", args.syncs, types)],
        whole or (graph.edges.ends[0] if graph.has_samples else ""),
        "target" if on_target else "source",
        sides,
        graph.edges if program else None,
        program,
    )


def _compete(
    judge: Judge, methods: Sequence[str], imports: Sequence[str], watch: show.PlainLines
) -> tuple[list[CutResult], CutResult | None]:
    """Judge all cuts, and return their rows and the winner; only those that may win keep their
    assignments meanwhile.
    """
    rows: list[CutResult] = []
    for at, name in enumerate([*imports, *methods]):
        if at < len(imports):
            watch.phase(f"reading {name}")
            rows.append(
                judge.judge_parts(
                    os.path.basename(name), read_assignment(name, len(judge.src), judge.k)
                )
            )
        else:
            watch.phase(f"{name} ({at - len(imports) + 1} of {len(methods)})")
            rows.append(judge.run(name, watch.share))
        close = judge.near_best(rows)
        rows = [row if row in close else replace(row, parts=None) for row in rows]
    return rows, judge.best(rows)


def _unify_names(args: Namespace) -> None:
    """Set `graph`, `out` and `parts` of the arguments, whichever way the user has given them."""
    named = [text for text in args.graph if "=" in text] if args.program else []
    others = args.graph[1:] if not named else [text for text in args.graph if "=" not in text]
    typed = [text for text in args.graph if "=" in text and not os.path.lexists(text)]
    if typed and not args.program:
        raise UsageError(
            f"{typed[0]} names an edge type, and no program says what the columns are",
            do="add --program PROG, or name the graph's file alone",
        )
    if len(others) > 1:
        do = f"{advise_pattern(others[1])}{SEE}"
        raise UsageError(f"unknown argument {others[1]}", do=do)
    args.folder = next(iter(others), None)
    args.graph = named or (args.graph[:1] if args.program else args.graph[0])
    if args.folder and args.out:
        raise UsageError(
            f"two folders to write: {args.folder} and --out {args.out}", do="name one of them"
        )
    args.out = args.folder or args.out
    args.parts = args.parts or args.workers
    if args.parts is None:
        raise UsageError("the following arguments are required: --parts", do=SEE)


def _check(args: Namespace, program: Program | None) -> None:
    """Refuse flags that are wrong before anything is read. UsageError and DataError."""
    check_graph_flags(args, program)
    check_volume(args, program)
    if args.vertices and not args.out:
        raise UsageError(
            "--vertices without --out: tables of vertices do not change the cut",
            do="name the folder to write with --out DIR, or leave --vertices out",
        )
    check_outputs(args)
    if args.plot:
        figures.check(args.plot)


def _describe_graph(path: str | list[str], graph: UntypedGraph, k: int) -> str:
    """Return lines about the graph."""
    edges = graph.edges
    if edges.others:
        counts = [len(each) for each in edges.by_type.values()]
        ends = ["-".join(each.ends) for each in edges.by_type.values()]
        told = [f"{count:,} {pair}" for count, pair in zip(counts, ends, strict=True)]
        sizes = ", ".join(plural(len(edges.ids[name]), name) for name in edges.vertex_types)
        return f"edges {', '.join(told)}; {sizes}; {plural(k, 'part')}"
    sizes = " and ".join(plural(len(ids), name) for name, ids in edges.ids.items())
    text = f"{data_name(path)}: {plural(len(edges), 'edge')}, {sizes}, {plural(k, 'part')}"
    if graph.unlabelled:
        text += f"\nlabels are left out: {graph.unlabelled}; {KEPT}"
    if not graph.why:
        return text
    kinds, other = ("two types", "--one-type") if graph.bipartite else ("one type", "--bipartite")
    sure = one_type_reason(graph.format) or graph.has_samples
    doubt = "" if sure else f"; {other} if that is wrong"
    return f"{text}\nvertices of {kinds}, as {graph.why}{doubt}"


def _write(
    args: Namespace,
    graph: UntypedGraph,
    judge: Judge,
    rows: Sequence[CutResult],
    best: CutResult,
    tables: Mapping[str, VertexTable],
) -> None:
    """Write the files that the user has asked for."""
    order = sorted(
        (row for row in rows if row.quality),
        key=lambda row: row.quality.volume if row.quality else 0,
    )
    if args.json:
        about = {
            "graph": absolute_files(args.graph) if args.program else absolute_source(args.graph),
            "parts": judge.k,
            "bipartite": judge.bipartite,
            "seed": judge.seed,
            "cap": judge.cap,
        }
        with disk.replacing(args.json) as part:
            part.write_bytes(
                msgspec.json.format(msgspec.json.encode(report(rows, best, **about)), indent=2)
                + b"\n"
            )
        show.say(f"{args.json}: all figures")
    if args.plot:
        show.phase(f"draw {args.plot}")
        plots.save(args.plot, [(row.name, row.quality) for row in order if row.quality], best.name)
        show.say(f"{args.plot}: pictures of them")
    assert best.parts is not None
    if args.assignment:
        show.phase(f"write {args.assignment}")
        write_assignment(args.assignment, best.parts)
        show.say(f"{args.assignment}: the part of each edge by {best.name}")
    if args.out:
        show.phase(f"read {args.graph} whole")
        whole = (
            graph.edges
            if graph.has_samples or graph.edges.others
            else read_for_program(
                input_files(args.graph), graph.format, graph.bipartite, args.columns
            )
        )
        parts, edges = best.parts, graph.edges
        if len(whole) > len(parts) and not whole.others:  # undirected edges, in both directions now
            parts = np.concatenate([parts, parts[edges.src != edges.dst]])
        whole = join_given_tables(whole, tables, lambda text: None)
        show.phase(f"write {args.out}")
        write_folder(args.out, whole, parts, judge.k, partitioner=best.name, seed=judge.seed)
        show.say(f"{args.out}: cut by {best.name}, for tux run APP {args.out}")
