"""Programs, which users write: a `Program` declares parameters, vertex and edge types, a context,
and its sequence of stages.

The engine reads the class once; an instance is the program with its parameters chosen, and is not
changed by a run.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, Self, TypeVar

import numpy as np

from tux.base.callers import warn_caller
from tux.base.errors import ProgramError, UsageError
from tux.base.text import did_you_mean, plural
from tux.program.base_program import BaseProgram
from tux.program.checks import (
    check_formulas,
    check_input,
    check_lengths,
    check_members,
    check_monitor,
    check_names,
    check_types,
    check_vertex_params,
    complete_param,
)
from tux.program.computed import Computed
from tux.program.hooks import check_hooks
from tux.program.input import Points
from tux.program.naming import describe_value, place, place_of_member
from tux.program.params import (
    Param,
    formers,
    mark_internal,
    settable,
    take_internal,
    use_present_names,
)
from tux.program.report import Records, Report
from tux.program.stage import Cluster, Stage
from tux.program.types import Context, Edge, Vertex

PLAIN = (bool, int, float, str)
"""Types of values of parameters."""
_DERIVED = ("edge", "edge_types", "context")  # set on each class by Program itself


class Program(BaseProgram):
    """Base class of all programs. Subclasses declare; see the module's text and docs/program.md."""

    def __init_subclass__(cls) -> None:
        try:
            hints = typing.get_type_hints(cls)
        except NameError as error:
            raise ProgramError(
                f"{cls.__name__}: an annotation cannot be read: {error}", where=place(cls)
            ) from None
        inherited = {
            n: p
            for base in reversed(cls.__mro__[1:])
            for n, p in getattr(base, "params", {}).items()
        }
        check_names(cls, Program, [*inherited, *formers(inherited)])
        _rename_defaults(cls, inherited)
        members = {
            name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()
        }
        for name, member in members.items():
            # `rank = 64` in a subclass: another default
            if name in inherited and isinstance(member, PLAIN):
                members[name] = _replace_default(cls, name, inherited[name], member)
        cls.params = {
            n: complete_param(cls, n, hints.get(n), v)
            for n, v in members.items()
            if isinstance(v, Param)
        }
        cls.vertices = {n: v for n, v in members.items() if isinstance(v, Vertex)}
        own = {
            n: v
            for n, v in members.items()
            if v is not getattr(Program, n, None) and n not in _DERIVED or n in vars(cls)
        }
        edges = {n: v for n, v in own.items() if isinstance(v, Edge)}
        points = isinstance(cls.input, Points) and bool(cls.vertices)
        if points and not edges:  # the engine knows a type of edges, of which there are none
            only = next(iter(cls.vertices))
            edges = {f"{only}_pair": Edge(only, only)} if len(cls.vertices) == 1 else {}
        contexts = {n: v for n, v in own.items() if isinstance(v, Context)}
        check_types(cls, Program, edges, contexts)
        check_members(cls, Program)
        check_hooks(cls)
        if edges:
            cls.edge_name, cls.edge = next(iter(edges.items()))
            cls.edge_types = edges
        if contexts:
            cls.context = next(iter(contexts.values()))
        if cls.edge_name or points:
            check_input(cls, cls.input)
            check_lengths(cls)
            check_formulas(cls)
            check_monitor(cls)
            check_vertex_params(cls)

    def __init__(self, *nameless: Any, **parameters: Any) -> None:
        if nameless:
            name = type(self).__name__
            first = next(iter(settable(self.params)), "")
            example = f"{name}({first}={nameless[0]!r})" if first else f"{name}()"
            raise UsageError(
                f"{name} takes its parameters by name, not {nameless[0]!r} alone",
                do=f"write {example}; parameters: {', '.join(settable(self.params)) or 'none'}",
            )
        parameters = use_present_names(self.params, parameters, _warn)
        unknown = [name for name in parameters if name not in self.params]
        if unknown:
            known = settable(self.params)
            near = did_you_mean(unknown[0], known)
            raise UsageError(
                f"{type(self).__name__} has no parameter {unknown[0]}",
                do=f"{near}parameters: {', '.join(known) or 'none'}",
            )
        parameters = take_internal(self.params, parameters, type(self).__name__)
        if not self.edge_name:
            raise ProgramError(
                f"{type(self).__name__} declares no edge type",
                where=place(type(self)),
                do='e.g. link = Edge("page", "page")',
            )
        self.parameters = {
            name: p.check(name, parameters.get(name, p.default)) for name, p in self.params.items()
        }
        for name, chosen in self.parameters.items():
            setattr(self, name, chosen)

    def replace_parameters(self, **changed: Any) -> Self:
        """Return this program with other values of some parameters, internal ones too: for the
        method `specialise` of an input.
        """
        return rebuild(type(self), self.parameters | changed)

    def setup(self) -> list[Stage]:
        """Return stages that run once before the first epoch, timed: initial values, degrees.

        This method, `setup_from`, `stages` and `evaluate` may have a parameter `cluster`, a
        `tux.program.stage.Cluster`: how many workers the run has, its slack, and whether it has
        held-out edges, or begins with a model.
        """
        return []

    def setup_from(self) -> list[Stage]:
        """Return the stages that run in place of those of `setup` where a run begins with the model
        of another (`--from`), which no run of a program without this method can. Before them, the
        fields of the model's vertices and of its context have the model's values, and all others,
        also of vertices that the model does not know, their initial ones.
        """
        return []

    def stages(self) -> list[Stage]:
        """Return the stages of one epoch, in order."""
        raise ProgramError(
            f"{type(self).__name__} has no stages()",
            where=place(type(self)),
            do="return a list of stages",
        )

    def evaluate(self) -> list[Stage]:
        """Return stages that measure the model after an epoch, outside training time;
        `Exchange(..., held_out=True)` walks the test edges.
        """
        return []

    def converged(self, metrics: dict[str, float]) -> bool:
        """Return whether the run may end after an evaluated epoch with these metrics."""
        return False

    def predict(self) -> Stage | None:
        """Return the stage behind `tux predict`, e.g. ``Score(rate)``; None: the program predicts
        nothing.
        """
        return None

    def fold_in(self, role: str) -> list[Stage]:
        """Return the stages behind `tux predict --fold-in`: of new vertices of the end `role`,
        with their edges to vertices of the model, which are held out. The last is a Score over
        `role` whose width and name are those of the field that it finds, e.g.
        ``Score(solve, role, width="rank", name="f")``, and whose `last` names the field of a bias;
        [] if there are none.
        """
        return []


AnyProgram = TypeVar("AnyProgram", bound=Program)


def rebuild(kind: type[AnyProgram], parameters: Mapping[str, Any]) -> AnyProgram:
    """Return the program of a run by all its `parameters`, internal ones too."""
    return kind(**mark_internal(kind.params, parameters))


def _rename_defaults(cls: type[Program], inherited: dict[str, Param]) -> None:
    """Give the other defaults of a subclass, such as `rank = 64`, the present names of parameters.
    UsageError where both names have one.
    """
    given = {name: value for name, value in vars(cls).items() if isinstance(value, PLAIN)}
    present = use_present_names(inherited, given, _warn)
    for name in given.keys() - present.keys():
        delattr(cls, name)
    for name in present.keys() - given.keys():
        setattr(cls, name, present[name])


def _replace_default(cls: type[Program], name: str, declared: Param, default: Any) -> Param:
    """Return a parameter with another default, which a subclass gives. UsageError for an internal
    one.
    """
    if declared.internal:
        raise UsageError(
            f"{cls.__name__} gives {name} a default, which each run sets",
            where=place_of_member(cls, name),
            do=f"leave {name} out",
        )
    return replace(declared, default=default)


def _warn(text: str) -> None:
    """Warn of a former name, at the user's line."""
    warn_caller(text, FutureWarning)


def choose_monitor(program: Program, app: type[Program], name: str) -> None:
    """Have a program, of the class `app` or a subclass, monitor the metric `name`, unless the
    subclass names one itself.
    """
    if type(program).monitor == app.monitor:
        program.monitor = name


STAGED = ("setup", "stages", "evaluate")
"""The methods of a program that return stages."""


def returned_stages(program: Program, method: str, cluster: Cluster) -> list[Stage]:
    """Call `program`'s method ("setup", "stages" or "evaluate") for workers of a `cluster` and
    return its stages. Raise ProgramError if it returns no list of stages.
    """
    if method == "setup" and cluster.from_model:
        method = "setup_from"
    function = getattr(type(program), method)
    asks = "cluster" in signature(function).parameters
    returned = getattr(program, method)(**({"cluster": cluster} if asks else {}))
    return check_stages(returned, type(program), method)


def check_stages(returned: Any, kind: type[Program], method: str) -> list[Stage]:
    """Return what a program's method has returned, if it is a list of stages, else raise
    ProgramError.
    """
    function = getattr(kind, method)
    what = f"{kind.__name__}.{method}() must return a list of stages, not "
    do = "e.g. return [Exchange(f), Apply('page', g)]"
    if not isinstance(returned, list | tuple):
        raise ProgramError(what + describe_value(returned), where=place(function), do=do)
    for stage in returned:
        if not isinstance(stage, Stage):
            raise ProgramError(
                f"{what}one with {describe_value(stage)} in it", where=place(function), do=do
            )
    return [*returned]


def stages_of(program: Program, method: str, cluster: Cluster) -> list[Stage]:
    """Return the stages of `program`'s method ("setup", "stages" or "evaluate"), for workers of a
    `cluster`: those that it returns, and those that numbers of the context ask for.
    """
    stages = returned_stages(program, method, cluster)
    computed = [each for each in program.context.fields.values() if isinstance(each, Computed)]
    for complete in dict.fromkeys(each.complete for each in computed if each.complete):
        stages = complete(program, method, cluster, stages)
    return stages


def begins_with_model(program: Program | type[Program]) -> bool:
    """Return whether a run of the program can begin with the model of another."""
    kind = program if isinstance(program, type) else type(program)
    return kind.setup_from is not Program.setup_from


def evaluates(program: Program | type[Program]) -> bool:
    """Return whether a program measures the model after an epoch."""
    kind = program if isinstance(program, type) else type(program)
    return kind.evaluate is not Program.evaluate or any(
        isinstance(field, Computed) and field.gather is not None and bool(field.gather.truth)
        for field in kind.context.fields.values()
    )


def may_race(program: Program, *, from_model: bool = False) -> bool:
    """Return whether the program says of a stage that threads may run it in no order; of a run that
    begins with a model, `from_model`.
    """
    cluster = Cluster(has_test=True, from_model=from_model)

    def any_of(stages: Iterable[Stage]) -> bool:
        return any(stage.racing or any_of(stage.inside) for stage in stages)

    return any(any_of(stages_of(program, method, cluster)) for method in STAGED)


def uses_held_out(program: type[Program]) -> bool:
    """Return whether a program uses edges that are held out: it evaluates or judges."""
    report = type(program.report)
    return evaluates(program) or report.judge is not Report.judge


NOT_CONVERGED = "the run has not converged"
"""The beginning of the remark of a run that has ended too early."""


def remark_on_end(program: Program, records: Records, goals: dict[str, float]) -> list[str]:
    """Return the remark that a run has ended before it has converged, if so: for `Report.remarks`.
    `goals`: the parameters that tell when it has; of some above 0, these.
    """
    last = dict(records[-1]) if records else {}
    if not last.get("epoch") or has_converged(program, last):
        return []
    ended = plural(last["epoch"], "epoch")
    above = {name: value for name, value in goals.items() if value > 0} or goals
    wanted = " or ".join(f"--{name} {value:g}" for name, value in above.items())
    return [
        f"{NOT_CONVERGED}: it has ended after {ended}, before it reached {wanted}; "
        "raise that, or --epochs (and --patience, if it is given)"
    ]


def has_converged(program: Program, metrics: dict[str, float]) -> bool:
    """Call `program.converged` and return its answer. Raise ProgramError if it is neither True nor
    False.
    """
    try:
        returned = program.converged(metrics)
    except KeyError as error:
        declared = program.context.fields.get(str(error.args[0]))
        if declared is None or not declared.reported:
            raise
        raise ProgramError(
            f"{type(program).__name__}.converged() reads {error.args[0]!r}, which has no value in "
            f"this epoch; others: {', '.join(metrics) or 'none'}",
            where=place(program.converged),
            do="a metric that is NaN is left out: read it by metrics.get(name, default)",
        ) from None
    if not isinstance(returned, bool | np.bool_):
        raise ProgramError(
            f"{type(program).__name__}.converged() must return True or False, not "
            f"{describe_value(returned)}",
            where=place(program.converged),
            do="e.g. return metrics['loss'] < 0.1; return False to go on",
        )
    return bool(returned)


def score_of(program: Program) -> Any:
    """Return the `tux.stages.Score` that `program.predict()` returns. Raise ProgramError if it is
    none.
    """
    stage: Any = program.predict()
    name = type(program).__name__
    if stage is None:
        raise ProgramError(f"{name} predicts nothing", do="give it predict(), e.g. Score(f)")
    check_score(stage, program, "predict", "e.g. return Score(f)")
    return stage


def check_score(stage: Any, program: Program, method: str, do: str) -> None:
    """Raise ProgramError unless a stage that a program's method has returned is a Score."""
    # This package does not know the class, only what it has alone.
    if not isinstance(stage, Stage) or not hasattr(stage, "enumerated_role"):
        raise ProgramError(
            f"{type(program).__name__}.{method}() must return a Score, not {describe_value(stage)}",
            where=place(getattr(program, method)),
            do=do,
        )


def stages_to_fold_in(program: Program, role: str) -> list[Stage]:
    """Return the stages that find vectors of new vertices of an end: those of the program's
    ``fold_in``, else its prediction, if this is for each vertex of that end; else []. ProgramError
    if ``fold_in`` returns no list of stages, or none that ends with a Score.
    """
    stages = check_stages(program.fold_in(role), type(program), "fold_in")
    if stages:
        check_score(stages[-1], program, "fold_in", "end it with a Score")
        return stages
    stage = None if program.predict() is None else score_of(program)
    return [stage] if stage is not None and stage.enumerated_role(program) == role else []
