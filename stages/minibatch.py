"""MiniBatch: run stages block by block over one vertex type; each block is one clock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tux.base.errors import ProgramError
from tux.base.random import key, permutation
from tux.base.text import plural_noun
from tux.clock.block import Block
from tux.clock.steps import Blocks, Step
from tux.engine.partition import Partition
from tux.graph.layout import blocks_by_vertices
from tux.program.base_program import AnyProgram, BaseProgram, along, along_end
from tux.program.naming import describe_value
from tux.program.stage import Batch, Stage
from tux.stages.analysis.calling import calls_of
from tux.stages.analysis.replica_rules import refuse_drift
from tux.stages.apply import Apply
from tux.stages.blocks import rotation
from tux.stages.blocks.block_cuts import BlockPlan, Size
from tux.stages.blocks.fused import FusedBlocks, can_be_fused, is_fusion_faster, one_thread_reason
from tux.stages.exchange import Exchange
from tux.stages.generate import Generate
from tux.stages.globalsync import GlobalSync
from tux.stages.repeat import Repeat

ORDERS = ("shuffled", "fixed", "rotated", "pipelined")


class MiniBatch(Stage):
    """For each block b of the enumerated type, in an order shuffled by (seed, epoch or repetition):

        for each stage: run it for b          # one clock

    Blocks are ranges of the type's seeded order, of `vertices` vertices or of about `edges` edges
    each, or about `blocks` of them with equally many edges; otherwise there is one. Their members
    are the same in every epoch. `over` is the enumerated end, by default that of the first Exchange
    inside. Every Exchange inside enumerates it; an Apply inside works on the block's rows of its
    type: the range itself, or the rows of the other end that the block's edges touch.

    `order`: "shuffled", anew in each epoch; "fixed", the seeded order of the vertices; or one of
    the following.

    "rotated": workers are on different blocks at each clock, so that changes in place to a vertex
    are made by one worker after the other instead of by all at once: see
    `tux.stages.blocks.rotation`. What rotates is the end that is cut. Where the partition keeps the
    named end whole and cuts the other one, that one is enumerated; where both are cut, both rotate.
    This needs Exchanges that are called for each edge. With one that is called for each vertex, or
    has `enter` or `leave`, only the named end rotates. For programs that gather deltas instead,
    rotating would only cost messages.

    Sizes in edges are then lowered to give about slack + 2 blocks for each worker, so that a
    block's changes have arrived when the next worker comes to it; a size in vertices is kept. Where
    that makes too few blocks, because few vertices have most edges, empty blocks are added. Where
    vertices have many edges (VISIT), an epoch goes round several times, each with another share of
    the other end's vertices.

    "pipelined": worker w goes through the blocks in the same order as the others, w clocks behind
    the first. So it meets each block as the one before it has left it, and what the workers make of
    a blank start is one whole; for a first pass, since the last clocks of one worker are idle for
    another.

    `keep_groups=True`: no block cuts a group of vertices that belong together
    (`tux.arrays.edges.TOGETHER`); a group larger than a block is one.

    With one worker, where nothing travels, the stages of all blocks are one compiled loop
    (`tux.stages.blocks.fused`), so that blocks may be as small as a vertex. `awake` names a field
    of the enumerated type, of dtype b1. It promises that the stages do nothing to vertices where
    the field is False. The loop leaves out blocks that have no other vertices, unless an Apply
    inside works on the other end.
    """

    def __init__(
        self,
        *stages: Stage,
        vertices: int = 0,
        edges: int = 0,
        blocks: int = 0,
        over: str = "",
        order: str = "shuffled",
        keep_groups: bool = False,
        awake: str = "",
    ) -> None:
        for stage in stages:
            if not isinstance(stage, Stage):
                raise ProgramError(
                    f"MiniBatch is given {describe_value(stage)}, which is no stage",
                    do='e.g. MiniBatch(Exchange(f), Apply("page", g), vertices=100)',
                )
        if not all(isinstance(size, int | np.integer) for size in (vertices, edges, blocks)):
            raise ProgramError(
                "MiniBatch has a size that is no whole number",
                do="give a number; that of a parameter is vertices=self.NAME",
            )
        self.inside, self.over, self.order, self.keep_groups = stages, over, order, keep_groups
        self.awake = awake
        self.size = Size(vertices, edges, blocks)
        self.label = f"MiniBatch({', '.join(stage.label for stage in stages)})"
        for stage in stages:
            if isinstance(stage, Repeat):
                raise ProgramError(
                    f"{stage.label} stands in a MiniBatch",
                    where=stage.where,
                    do="put the MiniBatch into the Repeat",
                )
            if isinstance(stage, Apply) and stage.all and order in ("rotated", "pipelined"):
                raise ProgramError(
                    f"{stage.label} has all=True and stands in a MiniBatch that is {order}: it "
                    "runs once a block, and several workers have more of them than one worker has",
                    where=stage.where,
                    do='put it behind the MiniBatch, or choose order="shuffled"',
                )
            if isinstance(stage, MiniBatch):
                raise ProgramError(
                    f"{stage.label} stands in another MiniBatch",
                    where=stage.where,
                    do="put one after the other",
                )
        if sum(size != 0 for size in self.size) > 1:
            raise ProgramError(
                "MiniBatch has more than one of vertices, edges and blocks", do="give one"
            )
        if min(self.size) < 0:
            raise ProgramError(
                "MiniBatch has a negative size",
                do="give a number of vertices, edges or blocks; 0 is one block",
            )
        if order not in ORDERS:
            raise ProgramError(
                f"MiniBatch has no order {order!r}", do=f"choose one of: {', '.join(ORDERS)}"
            )

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Cut the blocks and prepare the stages inside for them."""
        assert batch is None  # refused above
        partition = partition.along(self._seen_by(partition.program).edge_name)
        generate = next((stage for stage in self.inside if isinstance(stage, Generate)), None)
        if generate is not None:
            return self._prepare_generate(partition, generate)
        exchanges = [stage for stage in self.inside if isinstance(stage, Exchange)]
        _, role = self.inner_scope(partition.program, "")
        by_tile = bool(exchanges) and all(exchange.by_tile for exchange in exchanges)
        self._check_awake(partition.program, role)
        plan = BlockPlan.of(partition, role, self.order, by_tile=by_tile)
        batch = plan.batch(partition, self.size, keep_groups=self.keep_groups)
        can = can_be_fused(partition.program, partition.workers, self.inside, plan.role)
        can = can and not self._races(racing=partition.racing and partition.threads.count > 1)
        if batch.has_several_blocks and can and is_fusion_faster(partition, batch, self.inside):
            return FusedBlocks(partition, self.inside, batch, self.order, self.awake)
        return BatchBlocks(
            partition, plan, batch, [stage.step(partition, batch) for stage in self.inside]
        )

    def _races(self, *, racing: bool) -> bool:
        """Return whether threads race in a stage inside; `racing`: the user lets them."""
        return racing and any(stage.racing for stage in self.inside)

    def is_fused(self, program: BaseProgram, workers: int, *, racing: bool = False) -> bool:
        """Return whether all blocks are one kernel, if there are several. `racing`: the user lets
        threads race.
        """
        program, role = self.inner_scope(program, "")
        several = self._may_have_several and not self._races(racing=racing)
        return several and bool(role) and can_be_fused(program, workers, self.inside, role)

    def one_thread_reason(self, program: BaseProgram) -> str:
        """Return the reason for which blocks of one kernel run on one thread, and under which
        condition they do.
        """
        program, role = self.inner_scope(program, "")
        return one_thread_reason(program, self.inside, role)

    def _check_awake(self, program: BaseProgram, role: str) -> None:
        """Raise ProgramError where `awake` is no field that the enumerated type has."""
        vertex = program.edge.ends[program.edge.roles.index(role)]
        flags = [name for name, f in program.vertices[vertex].fields.items() if f.dtype == "b1"]
        if self.awake and self.awake not in flags:
            raise ProgramError(
                f"{self.label}: awake={self.awake!r} is no field of {vertex} with dtype b1",
                do=f"name one of: {', '.join(flags) or 'none'}",
            )

    def check_replicas(self, program: BaseProgram, role: str = "") -> None:
        """Raise ProgramError where a result would depend on the number of workers, also because no
        block synchronises the context that its functions change.
        """
        super().check_replicas(program, role)
        if self._may_have_several and not any(isinstance(s, GlobalSync) for s in self.inside):
            with self.locate_errors():
                program, role = self.inner_scope(program, role)
                refuse_drift(
                    call for _, _, calls in calls_of(program, self.inside, role) for call in calls
                )

    @property
    def _may_have_several(self) -> bool:
        """True if its size makes several blocks of large data."""
        return any(self.size) and self.size.blocks != 1

    def inner_scope(self, program: AnyProgram, role: str) -> tuple[AnyProgram, str]:
        """Return the program along the edges whose end is enumerated, and this end; "" where edges
        are generated.
        """
        if any(isinstance(stage, Generate) for stage in self.inside):
            return program, ""
        program = self._seen_by(program)
        exchanges = [stage for stage in self.inside if isinstance(stage, Exchange)]
        for stage in self.inside:
            if not isinstance(stage, Apply | Exchange) or stage.over in program.edge.ends:
                continue
            everywhere = ""
            if isinstance(stage, Apply):
                if stage.all:
                    continue
                everywhere = ", or write all=True to have all visited in each block"
            if stage.over in program.vertices:
                raise ProgramError(
                    f"{stage.label} stands in a MiniBatch along {program.edge_name}, of which "
                    f"{stage.over} is no end: its blocks have no {plural_noun(stage.over)}",
                    where=stage.where,
                    do=f"put it behind the MiniBatch{everywhere}",
                )
        return program, self._enumerated_role(program, exchanges)

    def _seen_by(self, program: AnyProgram) -> AnyProgram:
        """Return the program along the edge type of the Exchanges inside, or without any that of
        the ForEachs, or one that ends at `over`. Raise ProgramError for Exchanges of several types.
        """
        inside = [stage for stage in self.inside if isinstance(stage, Exchange)]
        exchanges = [stage for stage in inside if stage.f is not None]
        named = {stage.seen_by(program).edge_name: stage.label for stage in exchanges}
        if len(named) > 1:
            raise ProgramError(
                f"MiniBatch has Exchanges along {' and '.join(named)}: {', '.join(named.values())}",
                do="give each edge type a MiniBatch of its own",
            )
        if named:
            return along(program, next(iter(named)))
        return inside[0].seen_by(program) if inside else along_end(program, self.over)

    def _enumerated_role(self, program: BaseProgram, exchanges: Sequence[Exchange]) -> str:
        """Return the name in UDFs of the end that the program enumerates."""
        if not exchanges and not self.over:
            raise ProgramError(
                "MiniBatch has no Exchange inside and names no end",
                do=f'name one: MiniBatch(..., over="{program.edge.roles[0]}")',
            )
        declared = program.edge
        role = self.over or exchanges[0].role(program)
        if role not in declared.roles and role in declared.ends:
            role = declared.roles[declared.ends.index(role)]
        for exchange in exchanges:
            of_type = declared.ends[declared.roles.index(role)] if role in declared.roles else ""
            if exchange.over and of_type != exchange.over and exchange.role(program) != role:
                raise ProgramError(
                    f"{exchange.label} enumerates {exchange.role(program)} in a MiniBatch over "
                    f"{role}",
                    do="enumerate one",
                )
            if exchange.held_out:
                raise ProgramError(
                    f"{exchange.label} walks held-out edges in a MiniBatch",
                    do="put it into evaluate(), outside a MiniBatch",
                )
        if role not in declared.roles:
            raise ProgramError(
                f"MiniBatch: '{self.over}' is no end of {program.edge_name}",
                do=f"ends: {', '.join(declared.roles)}",
            )
        return role

    def _prepare_generate(self, partition: Partition, generate: Generate) -> Step:
        """Prepare the blocks of a Generate: ranges of the positions of one type; each worker makes
        the edges of those vertices that it masters.
        """
        if any(isinstance(stage, Exchange | Apply) for stage in self.inside) or self.size.edges:
            raise ProgramError(
                f"{generate.label} stands in a MiniBatch with Exchange, Apply or a size in edges",
                do="give it one of its own",
            )
        generate.check(partition)
        vertices = partition.graph.vertices[generate.over]
        n = vertices.part.vertices if vertices.part is not None else vertices.n_train
        cuts = blocks_by_vertices(
            n, -(-n // self.size.blocks) if self.size.blocks else self.size.vertices
        )
        batch = Batch(generate.over, cuts, cuts)
        # Lists that are kept lie in the order of vertices.
        plan = BlockPlan(
            generate.over, self.order if generate.use is not None else "fixed", generate.rounds
        )
        made = generate.prepare_lists(partition, batch)
        steps = [
            step
            for stage in self.inside
            for step in (made.steps() if stage is generate else [stage.step(partition, batch)])
        ]
        return BatchBlocks(partition, plan, batch, steps, made.closing())


class BatchBlocks(Blocks):
    """The blocks of a mini-batch on one worker; `batch.cuts` bound them."""

    def __init__(
        self,
        partition: Partition,
        plan: BlockPlan,
        batch: Batch,
        steps: Sequence[Step],
        closing: Sequence[Step] = (),
    ) -> None:
        self._partition, self.plan, self.batch, self.steps, self.closing = (
            partition,
            plan,
            batch,
            steps,
            closing,
        )

    @property
    def cuts(self) -> np.ndarray:
        """Boundaries (blocks + 1,) in positions of the enumerated type."""
        return self.batch.cuts

    @property
    def rotates(self) -> bool:  # type: ignore[override]
        """True if several workers go round the blocks, each from another one."""
        return self.plan.order == "rotated" and self._partition.workers > 1

    def blocks(self, number: int | None = None) -> Iterator[Block]:
        """Yield this worker's blocks of pass `number`, an epoch or a repetition, in their order;
        None: of the epoch after those that have ended.
        """
        plan, count = self.plan, len(self.cuts) - 1
        for i, (r, block) in enumerate(self._visits(number)):
            yield Block(plan.role, self.batch.local_cuts, block, r, plan.rounds, i % count / count)

    def _visits(self, number: int | None) -> list[tuple[int, int]]:
        """Return the pair (round, block) of each clock."""
        partition, plan, count = self._partition, self.plan, len(self.cuts) - 1
        number = partition.epoch if number is None else number
        order = (
            np.arange(count)
            if plan.order == "fixed"
            else permutation(key(partition.seed, "blocks", number), count)
        )
        if plan.order == "rotated":
            order = rotation.start(order, partition.rank, partition.workers)
        if plan.order == "pipelined" and partition.workers > 1:
            nothing = np.full(partition.workers - 1, count - 1)  # the last block is empty
            order = np.concatenate(
                [nothing[: partition.rank], order[order < count - 1], nothing[partition.rank :]]
            )
        if plan.both_ends:
            return list(
                rotation.both_ends(
                    order, plan.rounds, partition.rank, partition.workers, partition.slack
                )
            )
        return [(r, int(number)) for r in range(plan.rounds) for number in order]
