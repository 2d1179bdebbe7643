"""A case that fails, made as small as it still fails, and printed."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from support.prove.case import DrawnCase
from support.prove.open_changes import leaves_changes
from support.prove.source import write_program
from support.prove.spec import (
    ExchangeSpec,
    GenerateSpec,
    MiniBatchSpec,
    ProgramSpec,
    RepeatSpec,
)


def shrink(case: DrawnCase, fails: Callable[[DrawnCase], bool], most: int = 400) -> DrawnCase:
    """Return a smaller case that `fails`, after at most so many trials: each step that leaves it
    failing is kept, until none does.
    """
    trials, goes_on = 0, True
    while goes_on:
        goes_on = False
        for smaller in reductions(case):
            if smaller.slack and leaves_changes(smaller.program):
                continue  # its results are a matter of the slack
            trials += 1
            if trials > most:
                return case
            if fails(smaller):
                case, goes_on = smaller, True
                break
    return case


def reductions(case: DrawnCase) -> Iterator[DrawnCase]:
    """Yield cases that are one step smaller: first by what removes most."""
    program = case.program
    if case.watched:
        yield case._replace(watched=False)
    if case.load:
        yield case._replace(load=None)
    for loaders in range(1, case.load.loaders if case.load else 0):
        yield case._replace(load=case.load._replace(loaders=loaders))
    for workers in range(2, case.load.workers if case.load else 0):
        yield case._replace(load=case.load._replace(workers=workers))
    if case.moved:
        yield case._replace(moved=0, moved_parts={})
    if case.kept and not case.moved:
        yield case._replace(kept=0)
    if case.epochs > 1:
        yield case._replace(epochs=1, kept=0, moved=0, moved_parts={})
    if case.slack:
        yield case._replace(slack=0)
    if case.threads > 1:
        yield case._replace(threads=1)
    for workers in range(1, case.workers):
        parts = {name: each % workers for name, each in case.parts.items()}
        yield case._replace(workers=workers, parts=parts)
    for moved in range(1, case.moved):
        parts = {name: each % moved for name, each in case.moved_parts.items()}
        yield case._replace(moved=moved, moved_parts=parts)
    for stages in fewer_stages(program.stages):
        yield case._replace(program=program._replace(stages=stages))
    for stages in fewer_stages(program.setup):
        yield case._replace(program=program._replace(setup=stages))
    yield from fewer_edges(case)
    for smaller in simpler_programs(program):
        yield case._replace(program=smaller)


def fewer_stages(stages: tuple) -> Iterator[tuple]:
    """Yield the stages without one, or with one taken out of its Repeat or made smaller."""
    for at, stage in enumerate(stages):
        before, after = stages[:at], stages[at + 1 :]
        yield before + after
        if isinstance(stage, MiniBatchSpec | RepeatSpec):
            if isinstance(stage, RepeatSpec):
                yield before + stage.stages + after
            batch = isinstance(stage, MiniBatchSpec)
            for inside in fewer_stages(stage.stages):
                if any(isinstance(each, ExchangeSpec) for each in inside) or (inside and not batch):
                    yield (*before, stage._replace(stages=inside), *after)
        if isinstance(stage, MiniBatchSpec):
            if stage.size:
                yield (*before, stage._replace(size=()), *after)
            for inside in fewer_lists(stage.stages[0]):
                yield (*before, stage._replace(stages=(inside,)), *after)


def fewer_lists(stage: NamedTuple) -> Iterator[GenerateSpec]:
    """Yield a Generate with fewer rounds, or a list with fewer places."""
    if isinstance(stage, GenerateSpec):
        if stage.rounds > 1:
            yield stage._replace(rounds=1)
        for at, (name, width) in enumerate(stage.lists):
            if width > 1:
                lists = (*stage.lists[:at], (name, width - 1), *stage.lists[at + 1 :])
                yield stage._replace(lists=lists)


def fewer_edges(case: DrawnCase) -> Iterator[DrawnCase]:
    """Yield the case with half of the edges of a type, or without one edge."""
    for name, ends in case.graph.ends.items():
        m = ends.shape[1]
        halves = [np.arange(m // 2), np.arange(m // 2, m)] if m > 3 else []
        for keep in (*halves, *(np.delete(np.arange(m), i) for i in range(m))):
            graph = case.graph._replace(
                ends=case.graph.ends | {name: ends[:, keep]},
                edge_data=case.graph.edge_data
                | {name: {f: each[keep] for f, each in case.graph.edge_data[name].items()}},
            )
            parts, moved_parts = (
                {edges: each[keep] if edges == name else each for edges, each in placed.items()}
                for placed in (case.parts, case.moved_parts)
            )
            yield case._replace(graph=graph, parts=parts, moved_parts=moved_parts)


def simpler_programs(program: ProgramSpec) -> Iterator[ProgramSpec]:
    """Yield the program with a function that has a statement less or an expression that is 1, or
    without a field.
    """
    for name, text in program.functions.items():
        for smaller in simpler_functions(text):
            yield program._replace(functions=program.functions | {name: smaller})
    for number, vertex in enumerate(program.vertices):
        for field in vertex.fields:
            fields = tuple(each for each in vertex.fields if each is not field)
            vertices = list(program.vertices)
            vertices[number] = vertex._replace(fields=fields)
            yield program._replace(vertices=tuple(vertices))


def simpler_functions(text: str) -> Iterator[str]:
    """Yield a function's text with a statement less, or with an expression that is 1."""
    tree = ast.parse(text)
    body = tree.body[0].body
    for at in range(len(body)):
        if len(body) > 1:
            smaller = ast.parse(text)
            del smaller.body[0].body[at]
            yield ast.unparse(smaller)
    count = sum(isinstance(node, ast.BinOp | ast.IfExp | ast.Call) for node in ast.walk(tree))
    for number in range(count):
        yield ast.unparse(_Simplify(number).visit(ast.parse(text)))


def without_unused(program: ProgramSpec) -> ProgramSpec:
    """Return the program without functions that no stage and no function names."""
    stages = repr((program.setup, program.stages, program.vertices, program.context))
    kept = {}
    for name, text in reversed(program.functions.items()):
        if f"'{name}'" in stages or any(f"{name}(" in other for other in kept.values()):
            kept[name] = text
    return program._replace(functions=dict(reversed(kept.items())))


class _Simplify(ast.NodeTransformer):
    """Replaces the expression with a number by 1."""

    def __init__(self, number: int) -> None:
        self.left = number

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.BinOp | ast.IfExp | ast.Call):
            self.left -= 1
            if self.left == -1:
                return ast.Constant(1)
        return super().generic_visit(node)


def describe(case: DrawnCase) -> str:
    """Return the program's file and all conditions of a case as text."""
    lines = [write_program(without_unused(case.program)), ""]
    for name, ends in case.graph.ends.items():
        data = {f: each.tolist() for f, each in case.graph.edge_data[name].items()}
        lines.append(f"# {name}: {ends.T.tolist()} {data or ''} on {case.parts[name].tolist()}")
    lines.append(f"# vertices {case.graph.sizes}")
    for name, fields in case.graph.vertex_data.items():
        lines += [f"# {name}.{f} = {each.tolist()}" for f, each in fields.items()]
    kept = f", goes on from epoch {case.kept}" if case.kept else ""
    if case.moved:
        placed = {name: each.tolist() for name, each in case.moved_parts.items()}
        kept += f" on {case.moved} workers with {placed}"
    if case.load:
        loaders, workers, partitioner, _ = case.load
        kept += f", loaded by {loaders} for {workers} workers by {partitioner}"
    lines.append(
        f"# seed {case.seed}: {case.workers} workers, slack {case.slack}, {case.epochs} epochs"
        f"{kept}, {'compiled' if case.jit else 'plain'}"
        f"{', turns are watched' if case.watched else ''}"
    )
    return "\n".join(lines)
