"""A mini-batch of which nothing travels, as one compiled loop over its blocks: a block may be
less work than a call from Python.

Threads go through the list of blocks side by side: of each CHUNK blocks one thread after the other
has its own. A block that has rows of the other end which an earlier one has too begins when that
one has ended, so results are those of one block after the other. Vertices with many edges come
first, if the program lets threads divide their edges (`tux.stages.shares`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tux.base.random import key, permutation
from tux.engine.worker import Worker
from tux.program.program import Program
from tux.program.stage import Batch, Stage
from tux.protocol.block import Block
from tux.protocol.steps import Step
from tux.rows.turns import FAILED, STRIDE, side_by_side
from tux.stages.apply import Apply
from tux.stages.compile import Injected
from tux.stages.exchange import Exchange
from tux.stages.loops import EdgeLoops
from tux.stages.plan import Plan
from tux.stages.sample import Looked
from tux.stages.scope import Scope, compiled, indented
from tux.stages.shared_kernel import SHORT, scratch_apart
from tux.stages.shares import Shares
from tux.stages.waits import last_shared
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


CHUNK = 8
"""Neighbouring blocks that one thread has: vertices of a cache line."""


def neighbours(blocks: int) -> int:
    """Small blocks that one kernel works through are shuffled in runs of neighbours: memory is
    read in streams, at twice the speed, and threads wait for each other only at their ends.
    """
    return max(1, min(512, blocks // 16))


def runs(count: int, order: str) -> np.ndarray:
    """Boundaries (runs + 1,), in `count` blocks, of the runs that are shuffled."""
    parts = 1 if order == "fixed" else -(-count // neighbours(count))
    length, longer = divmod(count, max(parts, 1))
    return np.cumsum([0, *[length + 1] * longer, *[length] * (parts - longer)])


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
        self.walks = list[Walk]()
        self._loops: EdgeLoops | None = None  # of an Exchange along edges
        self._threads = worker.threads.count if worker.jit and plan.threads else 1
        self._rate = 1.0  # seconds of a block: those of the last call
        made = [self._stage(worker, stage, f"s{i}_") for i, stage in enumerate(stages)]
        scopes, inside = [scope for scope, *_ in made], [line for each in made for line in each[1]]
        varying = [each for *_, each in made]
        self._layout: dict[str, Any] = {
            "runs": runs(len(batch.local_cuts) - 1, order),
            "cuts": batch.local_cuts.astype(np.int64),
        }
        if awake:
            own = worker.graph.of_role(batch.role).name
            self._layout["awake"] = worker.tables[own].arrays[awake]
        shares = Shares(worker, stages, batch, plan, self._threads)
        first = self._many(shares, "awake" if awake else "")
        self._scopes, self._varying = [*scopes, *shares.scopes], [*varying, *shares.varying]
        before = [line for scope in self._scopes for line in scope.before]
        lines = [*before, *first, *_in_order(inside, awake=bool(awake), many=bool(first))]
        injected: dict[str, Injected] = {}
        for scope in self._scopes:
            injected |= scope.injected
        title = f"MiniBatch({', '.join(stage.label for stage in stages)})"
        arguments = self._arguments(1)
        self._built = compiled(
            worker, title, list(arguments), tuple(arguments.values()), lines, injected
        )

    def _many(self, shares: Shares, awake: str) -> list[str]:
        """What the kernel needs for threads; the lines for vertices with many edges, if any."""
        loops, layout, cuts = self._loops, self._layout, self._batch.local_cuts
        none = np.zeros(len(cuts) - 1, bool)
        layout |= {"waits": np.zeros(len(none), np.int32), "apart": none}
        if loops is None:
            return []
        others, rows = loops.other_ends(), loops.other_rows()
        if self._plan.shares:
            layout["apart"] = shares.find(loops.layout.bounds, others, rows)
        if self._threads > 1:
            edges, alone = loops.layout.bounds[cuts].astype(np.int64), layout["apart"]
            layout["waits"] = last_shared(edges, alone, layout["runs"], others, rows)
        if not layout["apart"].any():
            return []
        lines = shares.lines(awake)
        layout |= shares.layout
        layout["many_runs"] = runs(len(layout["many"]), self._order)
        return lines

    def _stage(
        self, worker: Worker, stage: Any, prefix: str
    ) -> tuple[Scope, list[str], dict[str, Any]]:
        """One stage's scope, lines over rows lo..hi, and arguments beside the scope's."""
        plan = self._plan
        if isinstance(stage, Exchange):
            self.walks.append(stage.walk(worker, self._batch, self._batch.role, plan))
            loops, along = stage.loops(worker, self.walks[-1], plan, prefix)
            if stage.f is not None:
                self._loops = loops
            return loops.scope, along, loops.varying
        scope = Scope(worker, stage.access, stage.label, plan, prefix=prefix)
        lines: list[str] = stage.loop(scope)
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

    def _arguments(self, threads: int) -> dict[str, Any]:
        """The arguments of the first of so many threads by name, for this pass."""
        number, prefixed = np.uint64(self._worker.pass_number), dict[str, Any]()
        for scope, varying in zip(self._scopes, self._varying, strict=True):
            prefixed |= {**varying, f"{scope.prefix}key": scope.purpose ^ number}
            prefixed |= scope.arguments
        orders = {"order": self._shuffled("blocks", len(self._layout["runs"]) - 1)}
        if "many" in self._layout:
            orders["many_order"] = self._shuffled("many", len(self._layout["many_runs"]) - 1)
        state = {"thread": 0, "threads": threads, "turns": side_by_side(threads)}
        seen = {"seen": np.zeros(threads, np.int64)}
        return state | seen | orders | self._layout | prefixed

    def _of_thread(self, thread: int, first: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of another thread."""
        own: dict[str, Any] = {
            name: scratch_apart(first[name]) for s in self._scopes for name in s.scratch
        }
        own |= {"thread": thread, "seen": np.zeros_like(first["seen"])}
        return tuple((first | own).values())

    @property
    def cuts(self) -> np.ndarray:
        """Boundaries (blocks + 1,) in positions of the enumerated type."""
        return self._batch.cuts

    def _shuffled(self, what: str, count: int) -> np.ndarray:
        """The order of runs in this pass."""
        worker = self._worker
        return permutation(key(worker.seed, what, worker.pass_number), count).astype(np.int64)

    def run(self, block: Block | None = None) -> None:
        """Run all blocks; each is a clock."""
        worker, cuts = self._worker, self._batch.local_cuts
        with worker.timed("compute"):
            self._run(self._threads if self._rate * len(cuts) >= SHORT else 1)
        worker.clock += len(cuts) - 2
        for walk in self.walks:
            worker.edges_visited += int(walk.layout.bounds[cuts[-1]])

    def _run(self, threads: int) -> None:
        kernel, pool = self._built, self._worker.threads
        threads = threads if pool.here() else 1
        first = self._arguments(threads)
        if isinstance(kernel, Looked):
            suspicious = kernel.is_wrong(tuple(first.values()))
            kernel = kernel.checked() if suspicious else kernel.run
            first["threads"] = threads = 1 if suspicious else threads
        start = time.perf_counter()
        if threads > 1:
            others = [self._of_thread(thread, first) for thread in range(1, threads)]

            def stop() -> None:
                first["turns"][FAILED * STRIDE] = 1

            each = [tuple(first.values()), *others]
            pool.run(partial(_call, kernel, each), stop)
        else:
            kernel(*first.values())
        self._rate = (time.perf_counter() - start) * threads / len(self._batch.local_cuts)


def _call(kernel: Callable[..., None], arguments: Sequence[tuple[Any, ...]], thread: int) -> None:
    kernel(*arguments[thread])


def _in_order(inside: list[str], *, awake: bool, many: bool) -> list[str]:
    """The loop over runs of blocks, and in each over this thread's blocks; `many`: vertices with
    many edges come before.
    """
    block = [
        *(["if apart[b]:", "    continue"] if many else []),
        "lo, hi = cuts[b], cuts[b + 1]",
        *(ANY_AWAKE if awake else ()),
        "if threads > 1 and not passed(turns, seen, thread, threads, base + waits[b]):",
        "    return",
        *inside,
        "if threads > 1:",
        "    tell(turns, thread, base + b + 1 - begin)",
    ]
    run = [
        "begin, end = runs[order[i]], runs[order[i] + 1]",
        "if threads > 1 and not passed(turns, seen, thread, threads, base):",
        "    return",
        f"tell(turns, thread, base + min({CHUNK} * thread, end - begin))",
        f"for c in range(begin + {CHUNK} * thread, end, {CHUNK} * threads):",
        f"    for b in range(c, min(c + {CHUNK}, end)):",
        *indented(indented(block)),
        "    if threads > 1:",
        f"        tell(turns, thread, base + min(c + {CHUNK} * threads, end) - begin)",
        "base += end - begin",
        "tell(turns, thread, base)",
    ]
    return ["base = ended" if many else "base = 0", "for i in range(len(order)):", *indented(run)]
