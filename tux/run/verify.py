"""Whether a program computes the same on several workers, and as plain Python, as on one worker.

Every setting trains two epochs on a sample of the data, all workers in this process. Fields of
vertices and of the context are compared with those of one worker.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.base.errors import TuxError, UsageError
from tux.cluster.simulated import SimulatedCluster
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import Graph
from tux.graph.partitioned import partitioned
from tux.graph.sample import sample
from tux.program.program import Program
from tux.run.begin import load_for
from tux.run.inputs import Data, Inputs
from tux.run.options import RunOptions
from tux.run.watcher import Silent, Watcher

MOST_EDGES = 2_000
EPOCHS = 2
COMPARED = ("value", "shared", "master")
ROUNDING = {4: 1e-5, 8: 1e-9}
"""By bytes of the program's shortest float: how far sums of the same numbers may be apart, relative
to the largest number of the field.
"""


@dataclass(frozen=True)
class Setting:
    """How a program is run."""

    workers: int = 1
    partitioner: str = "bicut"
    slack: int = 0
    jit: bool = True

    def __str__(self) -> str:
        if self.workers == 1:
            return "1 worker" if self.jit else "1 worker (plain Python)"
        return f"{self.workers} workers ({self.partitioner}, slack {self.slack})"


ONE, PLAIN = Setting(), Setting(jit=False)
SEVERAL = [
    Setting(workers, partitioner, slack)
    for slack in (0, 2)
    for workers in (2, 3)
    for partitioner in ("random", "bicut")
]


@dataclass(frozen=True)
class Difference:
    """A field that one setting leaves with another value than one worker does. `share` is the
    largest difference, relative to the largest number in the field; infinite for NaN.
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
    """What a verification found. `fields` were compared; `refused` settings ran into an error,
    which is the value; `in_place` names shared fields that stages change in place.
    """

    edges: int
    fields: list[str]
    differences: list[Difference]
    refused: dict[Setting, TuxError]
    in_place: list[str]

    def of(self, slack: int, jit: bool = True) -> list[Difference]:
        """The differences in one group of settings, those of rounding left out."""
        return [
            each
            for each in self.differences
            if (each.setting.slack, each.setting.jit) == (slack, jit) and not each.is_rounding
        ]


def verify(
    program: Program,
    data: Data | None = None,
    test: Data | None = None,
    options: RunOptions | None = None,
    watch: Watcher | None = None,
) -> Verified:
    """Run `program` for two epochs on a sample of the data in all settings, with checks of indices,
    and compare. `options` say how files are read, and the seed.

    Raises what `tux.run.session.run` raises, of one worker.
    """
    options, watch = options or RunOptions(), watch or Silent()
    inputs, program = load_for(program, data, test, options, watch)
    if inputs.folder:
        raise UsageError(
            f"{inputs.folder} is cut already, and --verify cuts the data in several ways",
            do="name the file that was partitioned",
        )
    train, held_out = sample(inputs.train, inputs.test, MOST_EDGES, options.seed)
    inputs = replace(inputs, train=train, test=held_out)
    watch.phase(str(ONE))
    expected = dict(_fields(_trained(program, inputs, ONE, options.seed), train))
    rounding = ROUNDING[_shortest(program)]
    differences: list[Difference] = []
    refused: dict[Setting, TuxError] = {}
    for setting in (PLAIN, *SEVERAL):
        watch.phase(str(setting))
        try:
            workers = _trained(program, inputs, setting, options.seed)
        except TuxError as error:
            refused[setting] = error
            continue
        differences += _compared(setting, expected, dict(_fields(workers, train)), train, rounding)
    return Verified(len(train), [*expected], differences, refused, _in_place(program))


def _trained(program: Program, inputs: Inputs, setting: Setting, seed: int) -> list[Worker]:
    """The workers of a run that has ended."""
    common: dict[str, Any] = {"seed": seed, "jit": setting.jit, "check": True}
    if setting.workers == 1:
        worker = Worker(program, Graph.whole(program, inputs.train, inputs.test, seed), **common)
        for _ in Training(worker).epochs(EPOCHS):
            pass
        return [worker]
    parts = partitioned(program, inputs, setting.partitioner, setting.workers, seed).parts
    workers = [
        Worker(
            program,
            Graph.of(program, part),
            rank=rank,
            slack=setting.slack,
            workers=setting.workers,
            **common,
        )
        for rank, part in enumerate(parts)
    ]
    cluster = SimulatedCluster(workers, seed)
    cluster.finish({worker.rank: _ended(Training(worker)) for worker in workers})
    return workers


def _ended(training: Training) -> Iterator[None]:
    """All epochs; yields where the worker waits for a message."""
    for record in training.steps(EPOCHS):
        if record is None:
            yield


def _fields(workers: Sequence[Worker], train: EdgeData) -> Iterator[tuple[str, np.ndarray]]:
    """What all masters hold together, by name: (n, ...) by vertex number; and the context."""
    program = workers[0].program
    for name, vertex in program.vertices.items():
        for field, declared in vertex.fields.items():
            if declared.kind not in COMPARED or declared.ragged:
                continue
            whole: np.ndarray | None = None
            for worker in workers:
                held = worker.graph.vertices[name]
                ids = worker.master_ids(name) if held.cut else held.order[: held.n_train]
                rows = worker.masters(name).arrays[field][: len(ids)]
                if whole is None:
                    whole = np.zeros((len(train.ids[name]), *rows.shape[1:]), rows.dtype)
                whole[ids] = rows
            assert whole is not None
            yield f"{name}.{field}", whole
    tau = workers[0].tables["tau"]
    for field, declared in tau.declared.items():
        if declared.kind in COMPARED:
            yield f"tau.{field}", tau.arrays[field].copy()


def _compared(
    setting: Setting,
    expected: dict[str, np.ndarray],
    values: dict[str, np.ndarray],
    train: EdgeData,
    rounding: float,
) -> Iterator[Difference]:
    """The fields that differ, each with the place where it differs most."""
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


def _in_place(program: Program) -> list[str]:
    """Shared fields of vertices."""
    return [
        f"{name}.{field}"
        for name, vertex in program.vertices.items()
        for field, declared in vertex.fields.items()
        if declared.kind == "shared"
    ]


def _shortest(program: Program) -> int:
    """The bytes of the shortest float that any field holds."""
    types = (*program.vertices.values(), program.edge, program.context)
    declared = [field.dtype for each in types for field in each.fields.values()]
    return min((each.itemsize for each in declared if each.kind == "f"), default=8)
