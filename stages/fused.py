"""A mini-batch of which nothing travels, as one compiled loop over its blocks: a block may be
less work than a call from Python. Where blocks seldom share rows, threads go through them side by
side (`tux.stages.side_by_side`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tux.base.random import key, permutation
from tux.engine.worker import Worker
from tux.program.program import Program
from tux.program.stage import Batch, Stage
from tux.protocol.block import Block
from tux.protocol.steps import Step
from tux.rows.turns import side_by_side
from tux.stages.apply import Apply
from tux.stages.compile import Injected
from tux.stages.exchange import Exchange
from tux.stages.loops import EdgeLoops
from tux.stages.plan import Plan
from tux.stages.scope import Scope, compiled, indented
from tux.stages.shared_kernel import scratch_apart
from tux.stages.side_by_side import STATE, SideBySide, last_shared, of_each_thread, seldom_shared
from tux.stages.side_by_side import state as state_of
from tux.stages.walk import Walk


def can_be_fused(program: Program, workers: int, stages: Sequence[Stage], role: str) -> bool:
    """Whether all of a mini-batch's stages work on the block's own vertices, here: one worker,
    no tiles, no GlobalSync.
    """
    declared = program.edge
    own = declared.ends[declared.roles.index(role)]
    rows = [
        isinstance(s, Exchange)
        and not s.by_tile
        or isinstance(s, Apply)
        and s.over == own
        and s.f is not None
        and not s.all
        for s in stages
    ]
    return workers == 1 and bool(rows) and all(rows)


def neighbours(blocks: int, *, threads: bool = False) -> int:
    """Small blocks that one kernel works through are shuffled in runs of neighbours: memory is
    read in streams, at twice the speed. `threads`: if these go through them, they wait for each
    other at the end of each run.
    """
    return max(1, min(512 if threads else 64, blocks // 16))


# of a block; for few vertices awake, calling the stages for the others would take most of the time
ANY_AWAKE = (
    "some = False",
    "for j in range(lo, hi):",
    "    some = some or awake[j]",
    "if not some:",
    "    continue",
)


class FusedBlocks(Step):
    """For each block b, rows lo..hi, in which a vertex is `awake` (without that field: for each):
    the loop of each stage, then, after an Apply, its deltas cleared.
    """

    own_clock = True

    def __init__(
        self,
        worker: Worker,
        stages: Sequence[Stage],
        batch: Batch,
        plan: Plan,
        order: str,
        awake: str = "",
    ) -> None:
        """Write and compile the loop; `stages` are those of `can_be_fused`."""
        self._worker, self._batch, self._plan, self._order = worker, batch, plan, order
        self.walks, self._scopes = list[Walk](), list[Scope]()
        self._varying: list[tuple[Any, ...]] = []
        self._bound: dict[int, list[tuple[Any, ...]]] = {}
        self._along: EdgeLoops | None = None  # edges, if a stage goes along them
        before: list[str] = []
        inside: list[str] = []
        names, injected = list[str](), dict[str, Injected]()
        for number, stage in enumerate(stages):
            scope, lines, varying = self._stage(worker, stage, f"s{number}_")
            before += scope.before
            inside += lines
            injected |= scope.injected
            names += [*varying, f"{scope.prefix}key", *scope.arguments]
            self._scopes.append(scope)
            self._varying.append(tuple(varying.values()))
        threads = plan.threads and self._seldom_shared()
        layout = {"runs": self._runs(threads=threads), "cuts": batch.local_cuts.astype(np.int64)}
        if awake:
            layout["awake"] = worker.tables[worker.graph.of_role(batch.role).name].arrays[awake]
        if threads:
            layout["waits"] = self._waits(layout["runs"])
        self._layout = tuple(layout.values())
        first = ["lo, hi = cuts[b], cuts[b + 1]", *(ANY_AWAKE if awake else ())]
        title = f"MiniBatch({', '.join(stage.label for stage in stages)})"
        loop = of_each_thread(inside, first) if threads else _one_by_one([*first, *inside])
        names = [*(STATE if threads else ()), "order", *layout, *names]
        state = state_of(0, 1, side_by_side(1)) if threads else ()
        examples = (*state, np.zeros(1, np.int64), *self._layout, *self._arguments(0))
        self._kernel = compiled(worker, title, names, examples, [*before, *loop], injected)
        self._shared = SideBySide(self._kernel, worker.threads, jit=worker.jit) if threads else None

    def _seldom_shared(self) -> bool:
        """Whether threads pay: this depends on the graph alone, as the order of blocks does."""
        if self._along is None:
            return False
        edges = int(self._along.layout.bounds[self._batch.local_cuts[-1]])
        return seldom_shared(edges, len(self.cuts) - 1, self._along.other_rows())

    def _waits(self, runs: np.ndarray) -> np.ndarray:
        """What threads wait for before each block; with one thread, for nothing."""
        cuts, along = self._batch.local_cuts, self._along
        if self._worker.threads.count == 1 or along is None:
            return np.zeros(len(cuts) - 1, np.int32)
        edges = along.layout.bounds[cuts].astype(np.int64)
        return last_shared(edges, runs, along.other_ends(), along.other_rows())

    def _stage(
        self, worker: Worker, stage: Any, prefix: str
    ) -> tuple[Scope, list[str], dict[str, Any]]:
        """One stage's scope, lines over rows lo..hi, and arguments beside the scope's."""
        plan = self._plan
        if isinstance(stage, Exchange):
            self.walks.append(stage.walk(worker, self._batch, self._batch.role, plan))
            loops, lines = stage.loops(worker, self.walks[-1], plan, prefix)
            self._along = self._along if stage.f is None else loops
            return loops.scope, lines, loops.varying
        scope = Scope(worker, stage.access, stage.label, plan, prefix=prefix)
        lines = stage.loop(scope)
        varying: dict[str, Any] = {}
        for field, declared in worker.tables[stage.over].declared.items():
            if declared.kind == "delta" and stage.gather:
                array = worker.tables[stage.over].arrays[field]
                varying |= {
                    f"{prefix}old_{field}": array,
                    f"{prefix}none_{field}": array.dtype.type(declared.identity),
                }
                lines += [
                    "for j in range(lo, hi):",  # assigning to a slice costs more than a short loop
                    f"    {prefix}old_{field}[j] = {prefix}none_{field}",
                ]
        return scope, lines, varying

    def _arguments(self, pass_number: int, thread: int = 0) -> list[Any]:
        """The arguments of the stages in this pass, for one thread."""
        if thread not in self._bound:
            self._bound[thread] = [_of_thread(scope, thread) for scope in self._scopes]
        out: list[Any] = []
        each = zip(self._scopes, self._varying, self._bound[thread], strict=True)
        for scope, varying, bound in each:
            out += [*varying, scope.purpose ^ np.uint64(pass_number), *bound]
        return out

    @property
    def cuts(self) -> np.ndarray:
        """Boundaries (blocks + 1,) in positions of the enumerated type."""
        return self._batch.cuts

    def _runs(self, *, threads: bool) -> np.ndarray:
        """Boundaries (runs + 1,), in blocks, of the runs that are shuffled."""
        count = len(self.cuts) - 1
        runs = 1 if self._order == "fixed" else -(-count // neighbours(count, threads=threads))
        length, longer = divmod(count, runs)
        return np.cumsum([0, *[length + 1] * longer, *[length] * (runs - longer)])

    def _shuffled(self) -> np.ndarray:
        """The order of runs in this pass."""
        worker, count = self._worker, len(self._layout[0]) - 1
        return permutation(key(worker.seed, "blocks", worker.pass_number), count).astype(np.int64)

    def run(self, block: Block | None = None) -> None:
        """Run all blocks; each is a clock."""
        worker, cuts = self._worker, self._batch.local_cuts
        with worker.timed("compute"):
            layout, number = (self._shuffled(), *self._layout), worker.pass_number
            if self._shared is None:
                self._kernel(*layout, *self._arguments(number))
            else:
                self._shared(len(cuts) - 1, lambda t: (*layout, *self._arguments(number, t)))
        worker.clock += len(cuts) - 2
        for walk in self.walks:
            worker.edges_visited += int(walk.layout.bounds[cuts[-1]])


def _one_by_one(block: Sequence[str]) -> list[str]:
    """The loop over the runs of an order, and over the blocks b of each."""
    return [
        "for i in range(len(order)):",
        "    for b in range(runs[order[i]], runs[order[i] + 1]):",
        *indented(indented(block)),
    ]


def _of_thread(scope: Scope, thread: int) -> tuple[Any, ...]:
    """What a scope has bound, as one thread gets it."""
    own = {name: scratch_apart(scope.arguments[name]) for name in scope.scratch if thread}
    return tuple((scope.arguments | own).values())
