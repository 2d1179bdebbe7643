"""A comparison of a program's results on several workers, as plain Python, and with the edges of
its vertices in shares, with those on one worker.

Every setting trains two epochs, or as few as the program has, on a sample of the data, all workers
in this process. Fields of vertices and of the context that belong to the model are compared with
those of one worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import TuxError, UsageError
from tux.base.text import plural
from tux.cluster.simulated import SimulatedCluster
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.sample import sample
from tux.inputs.load import Data, Inputs
from tux.inputs.sizes import describe_edges, sizes_of
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher, Watcher
from tux.program.fields import Field
from tux.program.program import Program
from tux.program.vertex_params import vertex_numbers
from tux.runs.begin import load_for
from tux.runs.workers_here import make_workers, read_field
from tux.stages.analysis.schedules import has_shares
from tux.stages.analysis.suspects import Suspect, order_dependent_fields, suspects

MOST_EDGES = 2_000
EPOCHS = 2
"""The most epochs of each run."""
COMPARED = ("value", "shared", "master")
ROUNDING = {4: 1e-3, 8: 1e-9}
"""By bytes of the program's shortest float: how far results may be apart, relative to the largest
number of the field, if numbers are added up in another order. Solutions of linear equations
multiply that difference: factors of `als` are up to 2e-4 apart.
"""


@dataclass(frozen=True)
class Setting:
    """One way to run a program."""

    workers: int = 1
    partitioner: str = "bicut"
    slack: int = 0
    jit: bool = True
    shares: bool = False  # of each vertex's edges, as many as the program allows

    def __str__(self) -> str:
        if self.shares:
            return "1 worker (edges in shares)"
        if self.workers == 1:
            return "1 worker" if self.jit else "1 worker (plain Python)"
        return f"{self.workers} workers ({self.partitioner}, slack {self.slack})"

    def is_of(self, slack: int, jit: bool = True, shares: bool = False) -> bool:
        """Return whether it is one of a group of settings."""
        return (self.slack, self.jit, self.shares) == (slack, jit, shares)


ONE, PLAIN, SHARES = Setting(), Setting(jit=False), Setting(shares=True)
SEVERAL = [
    Setting(workers, partitioner, slack)
    for slack in (0, 2)
    for workers in (2, 3)
    for partitioner in ("random", "bicut")
]


@dataclass(frozen=True)
class Difference:
    """A field whose value in one setting differs from that on one worker. `share` is the largest
    difference, relative to the largest number in the field; infinite for NaN.
    """

    setting: Setting
    field: str  # "page.rank", or "tau.change"
    share: float
    is_rounding: bool
    vertex: Any  # the id of the vertex where it is largest; None for the context
    on_one: Any
    here: Any


@dataclass(frozen=True)
class Verified:
    """The result of a verification. `sizes` of the sample in words, and the `epochs` of each run.
    `fields` were compared, of the settings `compared`; `refused` are those that cannot run the
    program, such as a cut that it does not allow, and `failed` those whose run has failed, with the
    error. `in_place` names the shared fields that stages change in place; `suspects` are lines that
    may be the reason of differences.
    """

    sizes: str
    epochs: int
    edges: int
    fields: list[str]
    differences: list[Difference]
    compared: list[Setting]
    refused: dict[Setting, TuxError]
    failed: dict[Setting, TuxError]
    in_place: list[str]
    suspects: list[Suspect]

    @property
    def several(self) -> bool:
        """True if several workers were compared at all."""
        return any(setting.workers > 1 for setting in self.compared)

    def of(self, slack: int, jit: bool = True, shares: bool = False) -> list[Difference]:
        """Return the differences in one group of settings, those of rounding left out."""
        return [
            each
            for each in self.differences
            if each.setting.is_of(slack, jit, shares) and not each.is_rounding
        ]


def verify(
    program: Program,
    data: Data | None = None,
    test: Data | None = None,
    options: RunOptions | None = None,
    watch: Watcher | None = None,
) -> Verified:
    """Run `program` for two epochs, or as few as it or `options` say, on a sample of the data in
    all settings, with checks of indices, and compare. `options` say how files are read, and the
    seed.

    Raises the errors of `tux.runs.session.run` on one worker.
    """
    options, watch = options or RunOptions(), watch or NullWatcher()
    watch.phase("load")
    inputs, program = load_for(program, data, test, options, watch)
    if inputs.folder:
        raise UsageError(
            f"{inputs.folder} is cut already, and --verify cuts the data in several ways",
            do="name the file that was partitioned",
        )
    inputs = _sample(program, inputs, options.seed)
    train = inputs.train
    epochs = min(EPOCHS, program.epochs if options.epochs is None else options.epochs)
    watch.phase(str(ONE))
    workers = _workers(program, inputs, ONE, options.seed)
    expected = _train(workers, options.seed, epochs)
    verified = Verified(
        _sizes(program, train),
        epochs,
        len(train),
        [*expected],
        differences=[],
        compared=[],
        refused={},
        failed={},
        in_place=order_dependent_fields(program),
        suspects=suspects(program),
    )
    rounding = ROUNDING[_shortest(program)]
    for setting in (PLAIN, *([SHARES] if has_shares(program) else []), *SEVERAL):
        watch.phase(str(setting))
        try:
            workers = _workers(program, inputs, setting, options.seed)
        except TuxError as error:
            (verified.refused if setting.workers > 1 else verified.failed)[setting] = error
            continue
        try:
            values = _train(workers, options.seed, epochs)
        except TuxError as error:
            verified.failed[setting] = error
            continue
        verified.compared.append(setting)
        verified.differences.extend(_compare_fields(setting, expected, values, train, rounding))
    return verified


def _sample(program: Program, inputs: Inputs, seed: int) -> Inputs:
    """Return at most `MOST_EDGES` of the edges, with the vertices that parameters name."""
    named = _named_vertices(program, inputs.train)
    train, test = sample(inputs.train, inputs.test, MOST_EDGES, seed, named)
    return replace(inputs, train=train, test=test)


def _sizes(program: Program, train: EdgeData) -> str:
    """Write the numbers of vertices and edges in words."""
    sizes = [plural(len(train.ids[name]), name) for name in program.vertices]
    edges = describe_edges(sizes_of(train, None, repeats=program.edge.repeats), program)
    return ", ".join([*sizes, *([edges] if edges else [])])


def _named_vertices(program: Program, train: EdgeData) -> dict[str, list[int]]:
    """Return the numbers of the vertices that parameters name, by type."""
    numbers = vertex_numbers(program, lambda name: (train.ids[name], len(train.ids[name])))
    out: dict[str, list[int]] = {}
    for name, number in numbers.items():
        out.setdefault(str(program.params[name].vertex), []).append(number)
    return out


def _workers(program: Program, inputs: Inputs, setting: Setting, seed: int) -> list[Training]:
    """Make the workers of a setting, prepared. TuxError if they cannot run the program."""
    workers = make_workers(
        program,
        replace(inputs),  # the next setting needs the edges, too
        setting.workers,
        setting.partitioner,
        seed,
        slack=setting.slack,
        jit=setting.jit,
        check=True,
        cuts_few=setting.shares,
    )
    return [Training(worker) for worker in workers]


def _train(trainings: Sequence[Training], seed: int, epochs: int) -> dict[str, np.ndarray]:
    """Run all epochs of the workers. Return the values of `_fields` after them."""
    workers = [each.worker for each in trainings]
    SimulatedCluster(workers, seed).finish(
        {rank: _run_epochs(each, epochs) for rank, each in enumerate(trainings)}
    )
    return dict(_fields(workers))


def _run_epochs(training: Training, epochs: int) -> Iterator[None]:
    """Run all epochs of one worker; yield where the worker waits for a message."""
    for record in training.steps(epochs):
        if record is None:
            yield


def _fields(workers: Sequence[Worker]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the values that all masters hold together, by name: (n, ...) by vertex number; and the
    context.
    """
    program = workers[0].program
    for name, vertex in program.vertices.items():
        for field, declared in vertex.fields.items():
            if not _is_compared(declared) or declared.is_ragged:
                continue
            values = read_field(workers, name, field)
            assert isinstance(values, np.ndarray)
            yield f"{name}.{field}", values
    tau = workers[0].tables["tau"]
    for field, declared in tau.declared.items():
        if _is_compared(declared):
            yield f"tau.{field}", tau.arrays[field].copy()


def _is_compared(field: Field) -> bool:
    """Return whether a field is the same for any number of workers, in a program that is right.
    Fields that are not kept may hold leftovers of a computation that one worker makes otherwise.
    """
    return field.kind in COMPARED and field.kept is not False


def _compare_fields(
    setting: Setting,
    expected: dict[str, np.ndarray],
    values: dict[str, np.ndarray],
    train: EdgeData,
    rounding: float,
) -> Iterator[Difference]:
    """Yield the fields that differ, each with the place where it differs most."""
    for field, one in expected.items():
        here = values[field]
        with np.errstate(invalid="ignore"):
            apart = np.abs(here.astype("f8") - one.astype("f8"))
            apart[(here == one) | (np.isnan(here) & np.isnan(one))] = 0.0
        if not apart.any():
            continue
        apart[np.isnan(apart)] = np.inf
        finite = np.abs(one[np.isfinite(one)].astype("f8"))
        share = float(apart.max()) / (float(finite.max(initial=0.0)) or 1.0)
        at = np.unravel_index(int(apart.argmax()), apart.shape)
        kind = field.split(".")[0]
        yield Difference(
            setting,
            field,
            share,
            one.dtype.kind == "f" and share <= rounding,
            None if kind == "tau" else train.ids[kind].values[at[0]],
            one[at].item(),
            here[at].item(),
        )


def _shortest(program: Program) -> int:
    """Return the bytes of the shortest float that any field holds."""
    types = (*program.vertices.values(), program.edge, program.context)
    declared = [field.dtype for each in types for field in each.fields.values()]
    return min((each.itemsize for each in declared if each.kind == "f"), default=8)
