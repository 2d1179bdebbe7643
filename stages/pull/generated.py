"""The steps of a Generate on one worker: make lists, pull the rows that they name, walk them,
push the changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tux.clock.block import Block
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.program.stage import Batch
from tux.stages.pull.pull_rows import PullClient
from tux.stages.pull.pull_steps import (
    ClosingPull,
    ClosingPush,
    PullRows,
    PushChanges,
    PushKept,
)
from tux.sync.pull import list_lengths, share

Lists = dict[str, np.ndarray]


class Kernels(NamedTuple):
    """The compiled loops; `use` is None where the lists are the result, and `ids` says whether it
    reads the numbers of vertices.
    """

    make: Callable[..., None]
    use: Callable[..., None] | None
    ids: bool = False


class GeneratedLists:
    """Lists that are made for the vertices of a block whose masters are here, and the steps that
    make and use them.
    """

    def __init__(
        self,
        partition: Partition,
        over: str,
        rounds: int,
        kernels: Kernels,
        widths: dict[str, int],
        own: np.ndarray,
        batch: Batch,
        client: PullClient | None,
    ) -> None:
        self.partition, self.over, self.rounds, self.kernels, self.widths = (
            partition,
            over,
            rounds,
            kernels,
            widths,
        )
        self.own, self.client = own, client
        self._bounds = np.searchsorted(own, batch.cuts)
        self._made: dict[tuple[int, int], Lists] = {}  # lists of the blocks that are under way

    def steps(self) -> list[Step]:
        """Return the steps of a block: one step here; or, between workers, those that make the
        lists, pull the rows, use the lists, and push the changes.
        """
        if self.client is None:
            return [KeepLists(self) if self.kernels.use is None else WalkHere(self)]
        pull = PullRows(self.client, self.lists_of)
        return [MakeLists(self), pull, WalkPulled(self, self.client), PushChanges(self.client)]

    def closing(self) -> list[Step]:
        """Return the steps after the blocks: a clock that pushes what workers still keep, and waits
        until the masters hold all changes.
        """
        if self.client is None:
            return []
        kept = [PushKept(self.client)] if self.partition.slack else []
        return [*kept, ClosingPull(self.client), ClosingPush(self.client)]

    def starts(self, block: Block) -> np.ndarray:
        """Return the vertices of a block whose masters are here."""
        return self.own[self._bounds[block.number] : self._bounds[block.number + 1]]

    def make(self, block: Block) -> None:
        """Run `make` for a block and keep its lists."""
        starts = self.starts(block)
        lists = {
            name: np.full((len(starts), width), -1, self.own.dtype)
            for name, width in self.widths.items()
        }
        with self.partition.timing("compute"):
            self.kernels.make(starts, block.round, *lists.values())
        self._made[block.number, block.round] = lists

    def lists_of(self, block: Block) -> Lists:
        """Return the lists (vertices, width) of a block, which `make` has made."""
        return self._made[block.number, block.round]

    def take_lists(self, block: Block) -> Lists:
        """Return the lists of a block as `lists_of` does, and forget them: nobody needs them
        again.
        """
        return self._made.pop((block.number, block.round))

    def use(self, block: Block, rows: tuple[Any, ...], lists: Lists) -> None:
        """Run `use` for a block, whose `lists` are numbers of `rows`."""
        assert self.kernels.use is not None
        partition = self.partition
        counts = {name: list_lengths(array) for name, array in self.take_lists(block).items()}
        progress = np.float32(
            (partition.pass_number + (block.round + block.share) / self.rounds)
            / max(partition.most_epochs, 1)
        )
        flattened = [
            each for name, array in lists.items() for each in (array.reshape(-1), counts[name])
        ]
        with partition.timing("compute"):
            self.kernels.use(
                rows,
                self.starts(block),
                block.round,
                progress,
                np.float32(share(partition.workers)),
                *flattened,
            )
        partition.edges_visited += int(next(iter(counts.values())).sum()) if counts else 0


class _ListStep(Step):
    """A step on the lists of one block."""

    def __init__(self, generated: GeneratedLists) -> None:
        self.generated = generated

    def run(self, block: Block | None = None) -> None:
        """Run `make` on a block, and then go on with its lists."""
        assert block is not None
        self.generated.make(block)
        self.go_on(block)

    def go_on(self, block: Block) -> None:
        """Do with the lists what is to be done at once: here nothing."""


class MakeLists(_ListStep):
    """Make the lists; a later step uses them."""


class WalkHere(_ListStep):
    """Make the edges of a block and walk them, with one worker; positions are rows."""

    def go_on(self, block: Block) -> None:
        """Walk the edges."""
        made = self.generated
        table, ids = made.partition.tables[made.over], made.kernels.ids
        made.use(block, table.visible_fields("exchange", ids=ids)[1], made.lists_of(block))


class KeepLists(_ListStep):
    """Make the lists of a block and keep them on disk."""

    def go_on(self, block: Block) -> None:
        """Append the lists to the worker's spool."""
        made, partition = self.generated, self.generated.partition
        assert partition.spool is not None
        lists = made.take_lists(block)
        partition.edges_visited += (
            int(np.count_nonzero(next(iter(lists.values())) >= 0)) if lists else 0
        )
        with partition.timing("send"):
            partition.spool.append(made.starts(block), lists)


class WalkPulled(Step):
    """Walk the edges of a block, whose rows have come."""

    def __init__(self, generated: GeneratedLists, client: PullClient) -> None:
        self._generated, self._client = generated, client

    def run(self, block: Block | None = None) -> None:
        """Run `use` on a block: lay the rows out, and walk the edges."""
        assert block is not None
        made, client = self._generated, self._client
        rows, lists = client.lay_out(block, made.lists_of(block))
        ids = (client.ids_of(block),) if made.kernels.ids else ()
        made.use(block, (*client.shape_fields(rows), *ids), lists)
