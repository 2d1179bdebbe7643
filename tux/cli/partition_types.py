"""``tux partition TYPE=FILE .. --program PROG``: edges of several types, cut as one graph."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from tux.base.errors import DataError, UsageError
from tux.base.text import plural
from tux.graph.partitioned import FAVOURING, CutMethod, choose_method, whole_types
from tux.graph.union import Union, two_sides
from tux.inputs.by_type import split_by_type
from tux.inputs.load import load
from tux.inputs.untyped import UntypedGraph
from tux.io.formats.detect import Format
from tux.io.source.input_files import absolute_source
from tux.io.source.text import without_skipping
from tux.options.partitioners import check_named_type
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.partition.method_of_type import MethodOfType
from tux.program import sources
from tux.program.base_program import first_edge, other_types
from tux.program.program import Program

NOT_FOR_TYPES = {
    "bipartite": "--bipartite",
    "one_type": "--one-type",
    "columns": "--columns",
    "label": "--label",
    "weight": "--weight",
    "labels": "--labels",
    "numeric": "--numeric",
    "multiclass": "--multiclass",
}
"""Flags of graphs of which no program is named."""


def program_of_types(args: Namespace) -> Program:
    """Return the program that the flags name. UsageError unless it has several edge types, and for
    flags that have no use with it.
    """
    program = sources.find(args.program).program()
    if len(program.edge_types) < 2:
        raise UsageError(
            f"--program {args.program}: it has one edge type, {program.edge_name}",
            do="leave --program out: tux partition GRAPH --parts K",
        )
    for name, flag in NOT_FOR_TYPES.items():
        if getattr(args, name):
            raise UsageError(
                f"{flag} with --program, which says what the columns are", do=f"leave {flag} out"
            )
    return program


def read_typed_graph(
    args: Namespace, program: Program, warn: Callable[[str], None]
) -> UntypedGraph:
    """Read the edges of all types, with the columns that the program reads. Raises the errors of
    `tux.inputs.load.load`.
    """
    check_names(args, program)
    try:
        edges = load(program, args.graph, warn=warn).train
    except DataError as error:
        raise without_skipping(error) from None
    return UntypedGraph(edges, Format.TEXT, bool(Union.of(edges).sides), "")


def check_methods(methods: Sequence[str], program: Program | None) -> None:
    """Raise UsageError for a method that is to place edges of a type alone (``aweto:rating``) which
    is none of the program's, or where no program is named.
    """
    for name in methods:
        if program:
            check_named_type(program, name)
        elif MethodOfType.parse(name).edges:
            raise UsageError(
                f"{name} names an edge type, and no program says which there are",
                do="add --program PROG",
            )


def check_names(args: Namespace, program: Program) -> None:
    """Raise UsageError unless the files are named by edge types of the program."""
    if split_by_type(program, args.graph) is None:
        files = " ".join(f"{name}=FILE" for name in program.edge_types)
        raise UsageError(
            f"{args.graph[0]} names no edge type of {type(program).__name__}",
            do=f"tux partition {files} --program {args.program} --parts K",
        )


def plan_of_types(args: Namespace, program: Program, method: str) -> LoadingPlan:
    """Return the plan by which loaders make the folder that one process makes."""
    others = {name: edge.ends for name, edge in other_types(program).items()}
    how, alone = _method_of(program, method, args.parts)
    given = args.workers, args.parts, how.name, args.seed, how.bipartite, how.favourite
    plan = LoadingPlan(program.edge.ends, *given, others, whole_type(program))
    if alone is None:
        return plan
    return replace(plan, alone=alone, whole_types=whole_types(program), told=method)


def _method_of(program: Program, text: str, parts: int) -> tuple[CutMethod, str | None]:
    """Return how the edges of all types are cut, or those of one type alone, and the name of that
    one in `EdgeData.by_type`, None if there is none.
    """
    method, named = MethodOfType.parse(text)
    if named:
        ends = program.edge_types[named].ends
        own = [kind for kind in whole_types(program) if kind in ends]
        key = "" if named == first_edge(program) else named
        return choose_method([ends], method, parts, own), key
    sides = two_sides([edge.ends for edge in program.edge_types.values()])
    favourite, whole = "auto", whole_type(program)
    if whole and method in FAVOURING:
        favourite = "target" if sides and whole in sides[1] else "source"
    return CutMethod(method, bool(sides), favourite), None


def describe_types(plan: LoadingPlan, counts: Mapping[str, int], ids: Mapping[str, int]) -> str:
    """Return a line about the edges of all types and their vertices, of which there are so many."""
    told = [f"{counts[name]:,} {'-'.join(ends)}" for name, ends in plan.by_type.items()]
    sizes = ", ".join(plural(count, name) for name, count in ids.items())
    return f"edges {', '.join(told)}; {sizes}; {plural(plan.parts, 'part')}"


def sides_of_types(graph: UntypedGraph, union: Union) -> list[Mapping[str, int]]:
    """Return the numbers of vertices by type on each side of a union, or of all types where it has
    no sides; none of a graph of one edge type.
    """
    if not graph.edges.others:
        return []
    ids = graph.edges.ids
    return [
        {name: len(ids[name]) for name in side}
        for side in union.sides or (graph.edges.vertex_types,)
    ]


def whole_type(program: Program) -> str:
    """Return the vertex type that a program wants whole, "" if none."""
    return next(iter(whole_types(program)), "")


def absolute_files(texts: Sequence[str]) -> list[str]:
    """Return texts TYPE=FILE with absolute names of files."""
    pairs = (text.partition("=") for text in texts)
    return [f"{name}={absolute_source(file)}" for name, _, file in pairs]
