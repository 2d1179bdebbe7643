"""Metrics that have no value after an evaluation though the program means them to have one: `tux
run` warns of them.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from tux.base.errors import TuxError
from tux.program.computed import Computed
from tux.program.program import Program, stages_of
from tux.program.stage import Cluster, Stage
from tux.stages.analysis.calls import CHANGES, meanings_of, shape_of
from tux.stages.analysis.effects import effects
from tux.stages.analysis.udf_source import definition
from tux.stages.globalsync import GlobalSync
from tux.stages.program_stages import needs_held_out


def lost_metrics(program: Program, cluster: Cluster, record: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each metric that is not in the `record` of an epoch on `cluster` though
    it should be; the one that the program monitors is passed over.

    A metric with a formula should be there unless only held-out data give it. One without should be
    if no function sets it, also with held-out data, and with another value of a parameter that is a
    switch or a choice; or if a function sets it under no condition, and no NaN is written out
    there.
    """
    fields = program.context.fields
    lost = [
        name
        for name, field in fields.items()
        if field.reported and name not in record and name != program.monitor
    ]
    if plain := [name for name in lost if not isinstance(fields[name], Computed)]:
        yield from _lost_without_formula(program, cluster, plain)
    for name in lost:
        field = fields[name]
        if not isinstance(field, Computed) or not field.formula.text:
            continue
        if not needs_held_out(program, cluster, name):
            yield (
                f"{name} has no value after the first evaluation: it is NaN, or no function adds "
                f"to what its formula needs, {', '.join(field.formula.names)}"
            )


def _lost_without_formula(
    program: Program, cluster: Cluster, names: Sequence[str]
) -> Iterator[str]:
    """Yield the sentences about metrics without formulas, those of these names."""
    functions = _functions(program, cluster._replace(has_test=True))
    running = _functions(program, cluster)
    known = _find_changed(program, functions, names)
    known |= _find_changed_otherwise(
        program, cluster, [name for name in names if name not in known]
    )
    for name in names:
        lines = {f: _assignments(f).get(name, -1) for f in functions if f in running}
        if 0 not in lines.values() and (sure := [f for f, line in lines.items() if line > 0]):
            place = f"{sure[0].__code__.co_filename}:{lines[sure[0]]}"
            yield (
                f"{name} has no value after the first evaluation: `{sure[0].__name__}` sets it to "
                f"NaN, at {place}"
            )
    for name in (each for each in names if each not in known):
        yield f"{name} has no value after the first evaluation: no GlobalSync(f) sets it"


def _find_changed(
    program: Program, functions: Iterable[types.FunctionType], names: Sequence[str]
) -> set[str]:
    """Return the metrics of these names that functions may change."""
    shapes = {"tau": shape_of(program, program.context.fields)}
    found = [effects(f, shapes, meanings_of(program)) for f in functions]
    return {name for name in names if any(each.of("tau", name).keys() & CHANGES for each in found)}


def _find_changed_otherwise(program: Program, cluster: Cluster, names: Sequence[str]) -> set[str]:
    """Return the metrics of these names that functions may change where one of the program's
    switches and choices has another value, and the other parameters their defaults.
    """
    out = set[str]()
    for name, declared in program.params.items() if names else ():
        for value in declared.choices or ((False, True) if declared.type is bool else ()):
            with suppress(TuxError):  # values that do not go together
                other = type(program)(**{name: value})
                functions = _functions(other, cluster._replace(has_test=True))
                out |= _find_changed(other, functions, names)
    return out


def _functions(program: Program, cluster: Cluster) -> list[types.FunctionType]:
    """Return the functions of each GlobalSync of an epoch and its evaluation, and those that end a
    Repeat.
    """
    out = list[types.FunctionType]()

    def add(stages: Any) -> None:
        for stage in stages:
            out.extend(f for f in _plain_functions(stage) if isinstance(f, types.FunctionType))
            add(stage.inside)

    for method in ("stages", "evaluate"):
        add(stages_of(program, method, cluster))
    return out


def _plain_functions(stage: Stage) -> tuple[Any, ...]:
    return (stage.f,) if isinstance(stage, GlobalSync) else (getattr(stage, "until", None),)


def _assignments(f: types.FunctionType) -> dict[str, int]:
    """Return the fields of `tau` that each call of `f` sets, with the line; 0 where some line sets
    it to NaN that is written out, or to a name that stands for it.
    """
    out = dict[str, int]()
    tree = definition(f.__code__)
    returned = False
    nans = {"nan", *(name for name, of in f.__globals__.items() if type(of) is float and of != of)}
    for line in tree.body if tree is not None else ():
        nodes = [*ast.walk(line)]
        returned = returned or any(isinstance(node, ast.Return) for node in nodes)
        writes_nan = any(not nans.isdisjoint(_words(node)) for node in nodes)
        if writes_nan:
            nans.update(n.id for n in nodes if isinstance(n, ast.Name) and _is_store(n))
        sure = isinstance(line, ast.Assign | ast.AnnAssign | ast.AugAssign) and not returned
        for node in nodes:
            if isinstance(node, ast.Attribute) and _is_stored(node):
                if writes_nan or out.get(node.attr) == 0:
                    out[node.attr] = 0
                elif sure:
                    out[node.attr] = line.lineno
    return out


def _words(node: ast.AST) -> tuple[str, ...]:
    """Return the words of a node that may name NaN: ``nan``, ``math.nan``, ``float("NaN")``."""
    if isinstance(node, ast.Constant):
        return (str(node.value).lower(),)
    return getattr(node, "id", ""), getattr(node, "attr", "")


def _is_stored(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "tau" and _is_store(node)


def _is_store(node: ast.Attribute | ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
