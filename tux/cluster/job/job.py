"""A job: all that a worker process must know, as a file in the job's folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tux.arrays.disk_columns import rows_to_come
from tux.checkpoint.saved import SavedState
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.segments import ListSegment, list_file_name
from tux.checkpoint.spool import Scratch, SpooledLists
from tux.clock.trace import Trace, trace_name
from tux.cluster.rendezvous.meeting import Rendezvous
from tux.cluster.transport.control import Welcome
from tux.engine.memory_limit import NO_ROWS, MemoryLimit, count_row_bytes, limit_of
from tux.engine.model_shares import ModelTables
from tux.engine.start_model import StartModel, model_reader
from tux.engine.transport import NOBODY, Transport
from tux.engine.worker import Worker
from tux.graph import store
from tux.graph.local import LocalGraph
from tux.program import sources
from tux.program.program import rebuild


class Job(Rendezvous, dict=True, kw_only=True):
    """The facts that a worker must know: `job.json` in the job's folder."""

    graph: str  # folder of the parts
    cut: str = ""  # the partitioned folder of the user in which orders of edges are kept
    app: str  # as `tux.program.sources.find` takes it
    parameters: dict[str, Any]
    seed: int
    slack: int | str
    racing: bool = False
    from_run: str | None = None  # the folder of the run with whose model this one begins
    known: dict[str, int] = {}  # the vertices of each type that this model has
    memory: int | None = None  # bytes that a worker takes; None: its part of what is free
    profile: bool = False
    trace_clocks: bool = False
    trace_folder: str = ""  # on machine 0, where all traces lie in the end
    attempt: int = 1  # the number of this start of the workers, in the names of traces
    run: bytes = b""  # the id of the run, for traces; other machines get it from machine 0
    jit: bool
    check: bool
    epochs: int
    eval_every: int
    patience: int
    keep_best: bool  # the model is that of the best epoch, not of the last
    threads: int = 1  # of each worker on this machine
    # lists that no stage uses are "spooled" to `list_file`, "sent" to the launcher of machine 0
    # too, or dropped ("")
    lists: str = ""
    lists_folder: str = ""  # on machine 0, where lists are a part of the states that are kept
    checkpoint_every: CheckpointInterval | None = None
    restarts: int = 0  # how often all workers are started again when one is lost
    # the workers' files, by rank, of the checkpoint that it goes on from; without a path: it is the
    # launcher's, which sends it
    resume: list[SavedState] = []

    @staticmethod
    def read(folder: Path) -> Job:
        """Read the job of a folder."""
        return msgspec.json.decode((folder / "job.json").read_bytes(), type=Job)

    def write(self, folder: Path) -> None:
        """Write the job into a folder."""
        (folder / "job.json").write_bytes(msgspec.json.encode(self))

    def welcome(self) -> Welcome:
        """Make the answer of the launcher of machine 0 to a machine that joins."""
        return Welcome(self.nonce, [each.digest for each in self.resume], self.run)

    def join(self, answer: Welcome) -> Job:
        """Make the job of a machine that machine 0 has welcomed. The launcher has the files of the
        states from which it goes on.
        """
        resume = [SavedState("", digest) for digest in answer.resume]
        if len(resume) != self.workers:  # none, or of other numbers of workers, which Hello tells
            resume = []
        return msgspec.structs.replace(self, nonce=answer.nonce, resume=resume, run=answer.run)

    @cached_property
    def source(self) -> sources.Source:
        """The program and its place."""
        return sources.find(self.app)

    @cached_property
    def limit(self) -> MemoryLimit | None:
        """The memory that this process, a worker, may take."""
        return limit_of(self.memory, Path(self.graph), self.workers_here)

    def worker(
        self, rank: int, transport: Transport = NOBODY, *, most: int | None = None
    ) -> Worker:
        """Make the worker of one part, its rows initialised. With `most` it is to be compiled for
        alone: its rows have no values, and its graph is the `beginning` of the part.
        """
        program = rebuild(self.source.program, self.parameters)
        part = store.load(Path(self.graph), rank)
        kept = Path(self.cut, f"part-{rank}") if self.cut and self.limit else None
        graph = (
            LocalGraph.of(program, part, kept)
            if most is None
            else LocalGraph.beginning(program, part, most)
        )
        rows = NO_ROWS
        if most is None and self.limit:
            rows = count_row_bytes(program, {n: len(each) for n, each in graph.vertices.items()})
            held = graph.edge_memory()
            self.limit.check(rows, f"worker {rank}", held.bytes - held.on_disk)
        options: dict[str, Any] = {
            "seed": self.seed,
            "jit": self.jit,
            "check": self.check,
            "slack": self.slack,
            "threads": self.threads,
            "racing": self.racing,
            "profile": self.profile and most is None,
        }
        if self.from_run:
            options["start"] = StartModel(self.known, model_reader(self.from_run))
        with rows_to_come(rows.total):
            worker = Worker(
                program,
                graph,
                rank=rank,
                workers=self.workers,
                transport=transport,
                fills=most is None,
                **options,
            )
        worker.scratch = self._scratch(rank) if self.lists else None
        if self.trace_clocks and most is None:
            path, apart = self.trace_file(rank), worker.most_apart
            worker.trace_to(Trace(path, rank, self.workers, apart, self.run))
        return worker

    def _scratch(self, rank: int) -> Scratch:
        """Make the scratch to which a worker writes its lists."""
        if self.lists_folder:
            return Scratch.in_folder(Path(self.lists_folder), rank, self.nonce)
        path, name = self.list_file(rank), list_file_name(rank, self.nonce)
        return Scratch(lambda: open(path, "wb+"), name if self.checkpoint_every else "")

    def model_tables(self, sizes: Mapping[str, int]) -> ModelTables:
        """Describe the tables of the model; `sizes`: the vertices of each type that training
        knows.
        """
        return ModelTables(rebuild(self.source.program, self.parameters), sizes, self.seed)

    def ids_file(self, kind: str) -> Path:
        """Return the Parquet file that has the ids of a vertex type, those of training first."""
        return store.ids_file(Path(self.graph), kind)

    def state_file(self, rank: int) -> Path:
        """Return the path of a state that goes to the launcher of another machine, or comes from
        there.
        """
        return Path(self.graph, f"state-{rank}")

    def list_file(self, rank: int) -> Path:
        """Return the path to which a worker of this machine, or its launcher for it, writes
        lists.
        """
        if self.lists_folder:
            return Path(self.lists_folder, list_file_name(rank, self.nonce))
        return Path(self.graph, f"lists-{rank}")

    def trace_file(self, rank: int) -> Path:
        """Return the path to which a worker of this machine, or its launcher for it, writes the
        trace of its clocks.
        """
        if self.trace_folder:
            return Path(self.trace_folder, trace_name(self.attempt, rank))
        return Path(self.graph, f"trace-{rank}")

    def all_lists(
        self, earlier: Mapping[int, Sequence[ListSegment]], here: int
    ) -> SpooledLists | None:
        """Open the lists of all workers at the end, if there are any and they are wanted; `earlier`
        as for `lists_of`, by worker; `here`: a worker of this machine, whose part is there.
        """
        parts = [self.lists_of(rank, earlier.get(rank, [])) for rank in range(self.workers)]
        if not self.lists or not any(parts):
            return None
        types = store.load(Path(self.graph), here).types
        orders = {name: np.asarray(each.order)[: each.vertices] for name, each in types.items()}
        return SpooledLists.from_files(parts, orders)

    def lists_of(self, rank: int, earlier: Sequence[ListSegment]) -> list[tuple[Path, int]]:
        """List the files of a worker's lists at the end, and the number of bytes of each;
        `earlier`: the segments of the state from which it went on.
        """
        parts = [(Path(self.lists_folder, each.name), each.size) for each in earlier]
        if (path := self.list_file(rank)).exists():
            parts.append((path, path.stat().st_size))
        return parts
