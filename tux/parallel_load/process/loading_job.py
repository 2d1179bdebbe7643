"""The job of the loaders of a graph: all that each of them must know."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tux.cluster.rendezvous.meeting import Meeting
from tux.engine.memory_limit import limit_of
from tux.io.bags.rare import RareRule
from tux.io.edges.columns import Bare
from tux.io.source.input_files import FilePiece
from tux.io.source.text import OnBadRow
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.bag_rounds import BagsAsked
from tux.parallel_load.process.sample_rounds import SamplesAsked
from tux.parallel_load.process.table_rounds import TableInput


class EdgesInput(msgspec.Struct):
    """The input of one edge type, and the columns to read of it: the `fields` of its edges, by name
    and dtype, and the `columns` named for them. Of its files, which are of one `format`, each
    loader reads its `pieces`; where `data` is only the name of the input in messages, `whole` has
    the pieces of all of it. `samples`: the edges are those of labelled samples; `bags`: of bags of
    columns; `rare`: which columns of them are left out; `bare`: see
    `tux.io.edges.columns.WantedColumns`.
    """

    data: str
    fields: dict[str, str]
    columns: str | None = None
    format: str = ""
    pieces: list[list[FilePiece]] = []
    whole: list[FilePiece] = []
    samples: SamplesAsked | None = None
    bags: BagsAsked | None = None
    rare: RareRule | None = None
    bare: Bare = ""


class LoadingJob(msgspec.Struct):
    """The job of all loaders: the plan, and the input of the `edges` of each type, the first of
    which is "". Each loader uses so many `threads`. Bad rows stop it, or are skipped. `size`: the
    bytes of the input, if it is text and not packed. `meeting`: of the loaders of several machines;
    `held_out`: held-out edges will be added to the parts. `memory`: the bytes that each takes;
    None: its part of what is free. `types`: of the columns, by name, where each machine has its own
    rows; pieces are of its own loaders then. `tables`: of vertices, by type; `groups`: of vertices,
    a pair of ids in each row.
    """

    plan: LoadingPlan
    edges: dict[str, EdgesInput]
    threads: int = 1
    on_bad_row: OnBadRow = "stop"
    size: int = 0
    meeting: Meeting | None = None
    held_out: bool = False
    memory: int | None = None
    types: dict[str, str] | None = None
    tables: dict[str, TableInput] = {}
    groups: EdgesInput | None = None

    def limit(self, folder: Path) -> int | None:
        """Return the memory that this process, a loader, may take; what does not fit lies in a
        folder.
        """
        here = self.meeting.workers_here if self.meeting else self.plan.loaders
        limit = limit_of(self.memory, folder, here)
        return limit.size if limit else None

    @property
    def fields(self) -> dict[str, dict[str, str]]:
        """The fields of each edge type, by name and dtype."""
        return {name: own.fields for name, own in self.edges.items()}

    @property
    def pieces(self) -> list[list[FilePiece]]:
        """The pieces that each loader reads, of one input after the other."""
        read = [
            own.pieces for own in (*self.edges.values(), *([self.groups] if self.groups else []))
        ]
        read += [own.pieces for own in self.tables.values()]
        return [each for own in read for each in own]
