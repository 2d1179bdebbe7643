"""A mini-batch of which nothing travels, as one compiled loop over its blocks: a block may be
less work than a call from Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.base.random import key, permutation
from tux.clock.block import Block
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.engine.profile import Meter
from tux.program.base_program import BaseProgram
from tux.program.stage import Batch, Stage
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.plan import ThreadPlan, joint_claims
from tux.stages.apply import Apply
from tux.stages.blocks.walk import Walk
from tux.stages.check.sample import SampledKernel
from tux.stages.exchange import Exchange
from tux.stages.kernel.bind import parameters
from tux.stages.kernel.compile import InjectedGlobal
from tux.stages.kernel.gauge import Touched
from tux.stages.kernel.merges import compile_merges
from tux.stages.kernel.scope import Scope
from tux.stages.kernel.thread_loop import compile_kernel, indent_lines
from tux.sync.row_sets import TouchedRows, row_set

MAX_FUSED_EDGES = 1_000_000
"""Edges of a block up to which its Applies on the other end are part of the loop. In larger ones it
pays that all threads share them (`tux.stages.kernel.shared_kernel.ALONE_SECONDS`).
"""


def can_be_fused(program: BaseProgram, workers: int, stages: Sequence[Stage], role: str) -> bool:
    """Return whether all of a mini-batch's stages work on rows that are known here: one worker, no
    tiles, no GlobalSync, and no random numbers for rows that several blocks touch.
    """
    own = _vertex_type(program, role)
    rows = [
        isinstance(s, Exchange)
        and not (s.by_tile or s.active)
        or isinstance(s, Apply)
        and s.f is not None
        and not s.all
        and (s.over == own or s.over in program.edge.ends and "rng" not in parameters(s.f, s.label))
        for s in stages
    ]
    return workers == 1 and bool(rows) and all(rows)


def touches_others(program: BaseProgram, stages: Sequence[Stage], role: str) -> bool:
    """Return whether one of the `stages` is an Apply on the end that is not enumerated."""
    own = _vertex_type(program, role)
    return any(isinstance(stage, Apply) and stage.over != own for stage in stages)


def is_fusion_faster(partition: Partition, batch: Batch, stages: Sequence[Stage]) -> bool:
    """Return whether blocks are so small that one loop on one thread is faster."""
    touches = touches_others(partition.program, stages, batch.role)
    return not touches or len(partition.graph.edges) <= MAX_FUSED_EDGES * (
        len(batch.local_cuts) - 1
    )


def one_thread_reason(program: BaseProgram, stages: Sequence[Stage], role: str) -> str:
    """Return the reason for which a mini-batch that can be fused runs on one thread, and under
    which condition it does.
    """
    limit = (
        f", if they have at most {MAX_FUSED_EDGES:,} edges"
        if touches_others(program, stages, role)
        else ""
    )
    return f"blocks run one after the other{limit}"


def _vertex_type(program: BaseProgram, role: str) -> str:
    """Return the vertex type of an end."""
    return program.edge.ends[program.edge.roles.index(role)]


def neighbours(blocks: int) -> int:
    """Return the number of small blocks that make a run. One kernel works through the blocks and
    shuffles whole runs of neighbours: so memory is read in streams, at twice the speed.
    """
    return max(1, min(64, blocks // 16))


# of a block; for few vertices awake, calling the stages for the others would take most of the time
ANY_AWAKE = (
    "some = False",
    "for j in range(lo, hi):",
    "    some = some or awake[j]",
    "if not some:",
    "    continue",
)

EACH_BLOCK = (
    "for i in range(len(order)):",
    "    for b in range(runs[order[i]], runs[order[i] + 1]):",
)


def title_of(stages: Sequence[Stage]) -> str:
    """Return the name of the kernel of all stages."""
    return f"MiniBatch({', '.join(stage.label for stage in stages)})"


class FusedVisits(NamedTuple):
    """The edges and vertices that one stage visits in all blocks, what it touches there, and the
    names of its functions.
    """

    edges: int
    vertices: int
    touched: Touched
    functions: list[str]


class FusedBlocks(Step):
    """For each block b, rows lo..hi, in which a vertex is `awake` (without that field: for each):
    the loop of each stage, then, after an Apply, its deltas cleared. An Apply on the other end
    visits the rows that the block's edges touch, and then no block is left out.
    """

    own_clock = True

    def __init__(
        self,
        partition: Partition,
        stages: Sequence[Stage],
        batch: Batch,
        order: str,
        awake: str = "",
    ) -> None:
        """Write and compile the loop; `stages` are those of `can_be_fused`."""
        self._partition, self._batch, self._order, self.walks = (
            partition,
            batch,
            order,
            list[Walk](),
        )
        self._purposes: list[np.uint64] = []
        self._bound: list[tuple[Any, ...]] = []
        self._visits: list[FusedVisits] = []
        role = batch.role
        self._claims = joint_claims(
            [
                c
                for s in stages
                if isinstance(s, CallingStage)
                for c in s.calls(partition.program, role)
            ]
        )
        layout = {"runs": self._neighbours(), "cuts": batch.local_cuts.astype(np.int64)}
        # an Apply on the other end is called although nothing has been gathered
        awake = "" if touches_others(partition.program, stages, role) else awake
        if awake:
            layout["awake"] = partition.tables[partition.graph.of_role(batch.role).name].arrays[
                awake
            ]
        self._layout = tuple(layout.values())
        names, injected = ["order", *layout], dict[str, InjectedGlobal]()
        before: list[str] = []
        block = ["lo, hi = cuts[b], cuts[b + 1]", *(ANY_AWAKE if awake else ())]
        for number, stage in enumerate(stages):
            scope, inside, varying = self._stage(partition, stage, f"s{number}_")
            before += scope.before
            block += inside
            injected |= scope.injected
            self._visits.append(self._visits_of(stage, scope, varying, inside))
            names += [*varying, f"{scope.prefix}key", *scope.arguments]
            self._purposes.append(scope.purpose)
            self._bound.append((tuple(varying.values()), tuple(scope.arguments.values())))
        self._meter = self._make_meter(stages)
        self._kernel = compile_kernel(
            partition,
            title_of(stages),
            names,
            (np.zeros(1, np.int64), *self._layout, *self._arguments(0)),
            [*before, *EACH_BLOCK, *indent_lines(indent_lines(block))],
            injected,
            partition.tables["tau"],
            self._meter,
        )

    def _make_meter(self, stages: Sequence[Stage]) -> Meter | None:
        """Return the meter of the kernel, in a run with a profile."""
        partition, visits = self._partition, self._visits
        if partition.profile is None:
            return None
        why = one_thread_reason(partition.program, stages, self._batch.role)
        udfs = [name for each in visits for name in each.functions]
        held = sum(each.touched.held for each in visits)
        return partition.profile.meter(title_of(stages), udfs, why, held)

    def _visits_of(
        self, stage: Stage, scope: Scope, varying: dict[str, Any], lines: list[str]
    ) -> FusedVisits:
        """Return how much a stage visits in all blocks, and what it touches there."""
        edges, vertices = 0, int(self._batch.local_cuts[-1])
        if isinstance(stage, Exchange):
            edges = int(self.walks[-1].layout.bounds[vertices])
        elif f"{scope.prefix}rows" in varying:
            vertices = len(varying[f"{scope.prefix}rows"])
        return FusedVisits(edges, vertices, scope.count_bytes(varying, lines), scope.functions)

    def _stage(
        self, partition: Partition, stage: Any, prefix: str
    ) -> tuple[Scope, list[str], dict[str, Any]]:
        """Return one stage's scope, lines over rows lo..hi, and arguments beside the scope's."""
        plan = ThreadPlan(claims=self._claims)
        if isinstance(stage, Exchange):
            self.walks.append(stage.walk(partition, self._batch, self._batch.role, plan))
            loops, along = stage.loops(partition, self.walks[-1], plan, prefix)
            return loops.scope, along, loops.varying
        scope = Scope(partition, stage.access, stage.label, plan, prefix=prefix)
        if stage.gather:
            compile_merges(partition, stage.over)
        rows = row_set(partition, stage.over, self._batch)
        varying: dict[str, Any] = {}
        head = ["for j in range(lo, hi):"]
        if isinstance(rows, TouchedRows):
            varying |= {f"{prefix}bounds": rows.bounds, f"{prefix}rows": rows.rows.astype(np.int32)}
            head = [
                f"for t in range({prefix}bounds[b], {prefix}bounds[b + 1]):",
                f"    j = {prefix}rows[t]",
            ]
        lines = [*head, *indent_lines(stage.calls_of_row(scope, "j"))]
        for field, declared in partition.tables[stage.over].declared.items():
            if declared.kind == "delta" and stage.gather:
                array = partition.tables[stage.over].arrays[field]
                varying |= {
                    f"{prefix}old_{field}": array,
                    f"{prefix}none_{field}": array.dtype.type(declared.identity),
                }
                # rows anywhere in memory are cleared while they are in the cache; those of a range
                # in a loop of its own, as assigning to a slice costs more than a short loop
                lines += () if isinstance(rows, TouchedRows) else head
                lines.append(f"    {prefix}old_{field}[j] = {prefix}none_{field}")
        return scope, lines, varying

    def _arguments(self, pass_number: int) -> list[Any]:
        out: list[Any] = []
        for purpose, (varying, bound) in zip(self._purposes, self._bound, strict=True):
            out += [*varying, purpose ^ np.uint64(pass_number), *bound]
        return out

    @property
    def cuts(self) -> np.ndarray:
        """Boundaries (blocks + 1,) in positions of the enumerated type."""
        return self._batch.cuts

    def _neighbours(self) -> np.ndarray:
        """Return the boundaries (runs + 1,), in blocks, of the runs that are shuffled."""
        count = len(self.cuts) - 1
        runs = 1 if self._order == "fixed" else -(-count // neighbours(count))
        length, longer = divmod(count, runs)
        return np.cumsum([0, *[length + 1] * longer, *[length] * (runs - longer)])

    def _shuffle_runs(self) -> np.ndarray:
        """Return the random order of runs in this pass."""
        partition, count = self._partition, len(self._layout[0]) - 1
        return permutation(key(partition.seed, "blocks", partition.pass_number), count).astype(
            np.int64
        )

    def _run(self, arguments: tuple[Any, ...]) -> None:
        """Run the kernel, and measure it in a run with a profile."""
        kernel, visits = self._kernel, self._visits
        if isinstance(kernel, SampledKernel):
            kernel = kernel.choose(arguments)
        if self._meter is None:
            kernel(*arguments)
            return
        with self._meter:
            kernel(*arguments)
        size = sum(each.touched.size(each.edges, each.vertices) for each in visits)
        edges, vertices = (sum(counts) for counts in zip(*(v[:2] for v in visits), strict=True))
        self._meter.count(edges, vertices, size)

    def run(self, block: Block | None = None) -> None:
        """Run all blocks; each is a clock."""
        partition, cuts = self._partition, self._batch.local_cuts
        with partition.timing("compute"):
            arguments = self._arguments(partition.pass_number)
            self._run((self._shuffle_runs(), *self._layout, *arguments))
        partition.clock += len(cuts) - 2
        for walk in self.walks:
            partition.edges_visited += int(walk.layout.bounds[cuts[-1]])
