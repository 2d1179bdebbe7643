"""Generate: edges that are in no file. One UDF makes them for each vertex of a block, another walks them; rows come as they are touched."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from tux.errors import ProgramError
from tux.frames import Message
from tux.pulls import Arrays, Home, Kept, joined, listed, placed, share, touched
from tux.replicas import of_kinds
from tux.server import Server
from tux.spool import Spool
from tux.stages.bind import Udf, named, parameters, place
from tux.stages.block import Block
from tux.stages.compile import Injected
from tux.stages.loops import indented
from tux.stages.scope import Scope
from tux.tables import frozen
from tux.worker import Worker

ABREAST = 32
"""Vertices whose lists are made side by side: memory is asked for several at a time, and what is written stays in the first cache."""


class Generate:
    """For each vertex v of the block whose master is here, in each of `rounds` rounds of an epoch:

        make(start, path, noise, topology, p, rng, round)     # `start` is v's number; write those of others into the lists
        pull the rows of all vertices in the lists            # from their masters; those of later blocks meanwhile, as slack allows
        use(path, noise, tau, p, rng, progress, share)        # path[i].page.u[k]: for each v, in the block's order
        push the changes of their shared fields

    `lists` names the lists and gives the most that each can hold, a number or an integer parameter: ``path="length"``. In `make` they are
    int32 arrays, full of -1; what stands before the first -1 is the list. In `use` they are slices of edges: `len`, and by the type's
    name the row at the other end. `topology` is the whole graph (`tux.topology`), `progress` the part of the run that is over, `share`
    the part that masters take of changes to fields declared combine="mean" (`tux.pulls.share`; of other fields all). The type is
    declared ``Vertex(pulled=True)``: with several workers none of its rows stay on a worker. Only inside a MiniBatch, alone.

    If `make` has a parameter `at`, it makes one entry at a time: it is called for each place `at` of the first list in turn, of several
    vertices side by side, so that they wait for memory together. What it must know it reads from the lists; `rng` goes on where it was.

    Without `use` (None) no rows come: the lists are the result. They are kept on disk (`tux.spool`), and `Program.write` gets them at the
    run's end, all in one order.
    """

    def __init__(self, make: Udf, use: Udf | None, over: str, *, rounds: int = 1, **lists: str | int) -> None:
        self.make, self.use, self.over, self.rounds, self.lists = make, use, over, rounds, lists
        self.label = f"Generate({named(make, use)})"
        self.cuts: np.ndarray = np.zeros(2, np.int64)  # of the mini-batch around it, in positions

    def prepare(self, worker: Worker) -> None:
        """Compile both loops; with several workers, be ready to ask and to answer."""
        declared = worker.program.vertices.get(self.over)
        if declared is None or not declared.pulled:
            raise ProgramError(
                f"{self.label}: rows of '{self.over}' do not come as they are touched", do=f"declare {self.over} = Vertex(pulled=True, ...)"
            )
        part = worker.graph.vertices[self.over].part
        self._own = frozen(np.arange(worker.graph.vertices[self.over].known, dtype=np.int32) if part is None else part.masters)
        self._vertices = len(self._own) if part is None else part.vertices
        self._bounds = np.searchsorted(self._own, self.cuts)
        self._widths = {name: self._width(worker, length) for name, length in self.lists.items()}
        self._make = self._compile_make(worker)
        self._made: dict[tuple[int, int], dict[str, np.ndarray]] = {}  # lists of the blocks that are under way
        self._asker = None
        if self.use is not None:
            self._use = self._compile_use(worker, self.use)
            self._asker = Asker(self, worker) if part is not None else None
        elif worker.spool is not None:
            raise ProgramError(f"{self.label} is not the only one without `use`", do="let one make all lists")
        else:
            worker.spool = Spool(self.over, self._widths, worker.scratch)

    def _width(self, worker: Worker, length: str | int) -> int:
        chosen = worker.program.parameters.get(length) if isinstance(length, str) else length
        if not isinstance(chosen, int) or isinstance(chosen, bool):
            raise ProgramError(f"{self.label}: '{length}' is no integer parameter", do="give a list's length as a number or a parameter")
        return chosen

    def _compile_make(self, worker: Worker) -> Callable[..., None]:
        scope = Scope(worker, "exchange", self.label)
        made = f"made(({', '.join(self.lists)},), i)"
        scope.injected["made"] = Injected("row", ("lists", tuple(self.lists)))
        names: dict[str, Callable[[], str]] = {name: lambda name=name: f"{made}.{name}" for name in self.lists}  # type: ignore[misc]
        names |= {"start": lambda: "starts[i]", "round": lambda: "turn", "at": lambda: "at"}
        *seat, call = scope.call(self.make, names, lambda: "starts[i], turn")
        loop = ["for i in range(len(starts)):", *indented([*seat, call])]
        if "at" in parameters(self.make, self.label):
            loop = _abreast(seat, call, next(iter(self.lists)))
        varying: dict[str, Any] = {"starts": frozen(np.zeros(1, np.int32)), "turn": 0, "states": np.zeros(ABREAST, np.uint64)}
        varying |= {name: np.zeros((1, width), np.int32) for name, width in self._widths.items()}
        return scope.kernel(varying, loop)

    def _compile_use(self, worker: Worker, use: Udf) -> Callable[..., None]:
        scope, table = Scope(worker, "exchange", self.label), worker.tables[self.over]

        def edges(name: str) -> Callable[[], str]:
            width = self._widths[name]
            return lambda: scope.generated(table, "rows", f"{name}, (), i * {width}, i * {width} + {name}_counts[i]")

        names = {name: edges(name) for name in self.lists}
        call = scope.call(use, names | {"progress": lambda: "progress", "share": lambda: "share"}, lambda: "starts[i], turn")
        varying: dict[str, Any] = {"rows": table.seen("exchange")[1], "starts": frozen(np.zeros(1, np.int32)), "turn": 0}
        varying |= {"progress": np.float32(0), "share": np.float32(1)}
        for name in self.lists:
            varying |= {name: np.zeros(1, np.int32), f"{name}_counts": np.zeros(1, np.int32)}
        return scope.kernel(varying, ["for i in range(len(starts)):", *indented(call)])

    def expanded(self, worker: Worker) -> list[Any]:
        """The stages that a turn consists of: one here; or what makes the lists, the pull, what uses them, and the push."""
        if self._asker is None:
            return [self]
        pull = SimpleNamespace(travels=True, folds=False, send=self._asker.pull)
        push = SimpleNamespace(travels=True, folds=True, f=None, send=self._asker.push)
        return [SimpleNamespace(run=self.list_edges), pull, SimpleNamespace(run=self._asker.walk), push]

    def last(self) -> list[Any]:
        """After the blocks: a step that touches nothing and waits until the masters hold the changes of all before it."""
        if self._asker is None:
            return []
        pull = SimpleNamespace(travels=True, folds=False, send=self._asker.pull_nothing)
        return [pull, SimpleNamespace(travels=True, folds=True, f=None, send=self._asker.push_nothing)]

    def starts(self, block: Block) -> np.ndarray:
        """The vertices of a block whose masters are here."""
        return self._own[self._bounds[block.number] : self._bounds[block.number + 1]]

    def list_edges(self, worker: Worker, block: Block) -> None:
        """Run `make` for a block and keep its lists."""
        starts = self.starts(block)
        lists = {name: np.full((len(starts), width), -1, np.int32) for name, width in self._widths.items()}
        with worker.timed("compute"):
            self._make(starts, block.round, np.zeros(ABREAST, np.uint64), *lists.values())
            self._refuse_strange(lists)
        self._made[block.number, block.round] = lists

    def _refuse_strange(self, lists: dict[str, np.ndarray]) -> None:
        """ProgramError where a list names a vertex that is not there: its row would be anywhere in memory."""
        for name, made in lists.items():
            if made.size and not (-1 <= made.min() and made.max() < self._vertices):
                wrong = made[(made < -1) | (made >= self._vertices)][0]
                raise ProgramError(
                    f"UDF {named(self.make)} wrote {wrong} into `{name}`, and {self.over}s are numbered 0 to {self._vertices - 1}",
                    where=place(self.make),
                    do=f"write numbers of {self.over}s only; what is not written stays -1",
                )

    def lists_of(self, block: Block) -> dict[str, np.ndarray]:
        """The lists (vertices, width) of a block whose edges have been made."""
        return self._made[block.number, block.round]

    def walk(self, worker: Worker, block: Block, rows: tuple[Any, ...], lists: dict[str, np.ndarray]) -> None:
        """Run `use` for a block, whose `lists` are numbers of `rows`."""
        made = self._made.pop((block.number, block.round))
        counts = {name: listed(array) for name, array in made.items()}
        progress = np.float32((worker.epoch + (block.round + block.share) / self.rounds) / max(worker.most_epochs, 1))
        flattened = [each for name, array in lists.items() for each in (array.reshape(-1), counts[name])]
        with worker.timed("compute"):
            self._use(rows, self.starts(block), block.round, progress, np.float32(share(worker.workers)), *flattened)
        worker.edges_visited += int(next(iter(counts.values())).sum()) if counts else 0

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """With one worker: make the edges of a block and walk them; positions are rows. Without `use`: make and keep the lists."""
        assert block is not None
        self.list_edges(worker, block)
        if worker.spool is not None and self.use is None:
            lists = self._made.pop((block.number, block.round))
            worker.edges_visited += int(np.count_nonzero(next(iter(lists.values())) >= 0)) if lists else 0
            with worker.timed("send"):
                worker.spool.append(self.starts(block), lists)
            return
        self.walk(worker, block, worker.tables[self.over].seen("exchange")[1], self.lists_of(block))


def _abreast(seat: list[str], call: str, first: str) -> list[str]:
    """The loop that calls `make` place by place of the list `first`; each vertex goes on with its own stream of random numbers."""
    keep, go_on = ["states[i - low] = state[0]"] * len(seat), ["state[0] = states[i - low]"] * len(seat)
    return [
        f"for low in range(0, len(starts), {ABREAST}):",
        f"    high = min(low + {ABREAST}, len(starts))",
        *(indented(["for i in range(low, high):", *indented([*seat, *keep])]) if seat else []),
        f"    for at in range({first}.shape[1]):",
        "        for i in range(low, high):",
        *indented(indented(indented([*go_on, call, *keep]))),
    ]


class Asker:
    """A Generate's rows on one of several workers: asks the masters for them, lays them out for the kernel, and sends changes back."""

    folds = False

    def __init__(self, stage: Generate, worker: Worker) -> None:
        part = worker.graph.vertices[stage.over].part
        assert part is not None
        self.stage, self.over, self.table = stage, stage.over, worker.tables[stage.over]
        self._home, self._number, self._workers = frozen(part.home), frozen(part.number), worker.workers
        self._fields = of_kinds(self.table, ("shared",))
        if strange := [f for f, d in self.table.declared.items() if d.kind != "shared"]:
            raise ProgramError(
                f"{stage.over}.{strange[0]} is a {self.table.declared[strange[0]].kind} field", do="what is pulled is shared"
            )
        self._parts = [self._part(worker, f) for f in self._fields]
        masters = worker.server.tables[stage.over]
        self.home = Home([masters.arrays[f] for f in self._fields], worker.workers)
        self._place = np.full(len(self._home), -1, np.int32)
        self._begun, self._steps = 0, dict[tuple[int, int], int]()  # steps so far; those of the blocks under way
        self._ids: dict[int, list[np.ndarray]] = {}  # by step and home: the positions that were asked for
        self._pulled: dict[int, dict[int, tuple[int, Arrays]]] = {}  # by step and home: steps folded, and values
        self._changes: dict[int, list[Arrays]] = {}
        self._kept = Kept()
        self.point = len(worker.points)
        worker.points.append(self)
        self._warm()

    def _part(self, worker: Worker, field: str) -> Any:
        """What part of a field's changes its masters take."""
        declared = self.table.declared[field]
        return declared.dtype.type(share(worker.workers) if declared.combine == "mean" else 1)

    def _warm(self) -> None:
        """Compile, or load, what the first step must not wait for."""
        nothing, none = [frozen(array[:0].copy()) for array in self.home.fields], frozen(np.empty(0, np.int32))
        home, kept = Home([array.copy() for array in nothing], 1), Kept()
        home.pull(0, 0, 0, none)
        home.push(0, 0, nothing)
        kept.keep(0, [none], [nothing])
        kept.add(1, [0], self._place, [array.copy() for array in nothing])
        placed(touched(np.empty(0, np.int32), self._place, self._home, self._workers)[0], self._place)

    def pull(self, worker: Worker, turn: int, block: Block) -> int:
        """Ask every home for the rows that the block's lists touch; returns the number of answers to come."""
        lists = [array.reshape(-1) for array in self.stage.lists_of(block).values()]
        ids, counts = touched(np.concatenate(lists), self._place, self._home, self._workers)
        self._place[ids] = -1
        self._steps[block.number, block.round] = self._begun
        return self._ask(worker, turn, np.split(ids, np.cumsum(counts)[:-1]), worker.slack)

    def pull_nothing(self, worker: Worker, turn: int, block: Block | None) -> int:
        """Ask every home to answer when the changes of all steps before this one are folded."""
        return self._ask(worker, turn, [np.empty(0, np.int32)] * self._workers, 0)

    def _ask(self, worker: Worker, turn: int, ids: list[np.ndarray], slack: int) -> int:
        step, self._begun = self._begun, self._begun + 1
        self._ids[step], self._pulled[step] = ids, {}
        head = np.array([step, max(step - slack, 0)], np.int64)
        for home, asked in enumerate(ids):
            worker.post(Message("pull", worker.rank, home, turn, self.point, [head, self._number[asked]]), self.over)
        return self._workers

    def install(self, worker: Worker, message: Message) -> None:
        """An answer of one home."""
        head, *arrays = message.arrays
        self._pulled[int(head[0])][message.source] = int(head[1]), arrays

    def walk(self, worker: Worker, block: Block) -> None:
        """Lay the rows out, home after home, add what of this worker's own is not in them, walk the edges, and take the changes."""
        step = self._steps.pop((block.number, block.round))
        answers = [answer for _, answer in sorted(self._pulled.pop(step).items())]
        with worker.timed("send"):
            rows = [joined([arrays[j] for _, arrays in answers]) for j in range(len(self._fields))]
            ids = np.concatenate(self._ids[step])
            self._place[ids] = np.arange(len(ids), dtype=np.int32)
            self._kept.add(step, [folded for folded, _ in answers], self._place, rows)
            before = [array.copy() for array in rows]
            made = self.stage.lists_of(block)
            lists = {name: placed(array.reshape(-1), self._place).reshape(array.shape) for name, array in made.items()}
            self._place[ids] = -1
        shaped = tuple(array.reshape(-1, *self.table.arrays[f].shape[1:]) for array, f in zip(rows, self._fields, strict=True))
        self.stage.walk(worker, block, shaped, lists)
        with worker.timed("send"):
            for array, old in zip(rows, before, strict=True):
                np.subtract(array, old, out=old)
            cuts = np.cumsum([len(asked) for asked in self._ids[step]])[:-1]
            self._changes[step] = [[frozen(part) for part in home] for home in zip(*(np.split(old, cuts) for old in before), strict=True)]
        self._steps[block.number, block.round] = step

    def push(self, worker: Worker, turn: int, block: Block) -> int:
        """Send every home the changes of its rows, or the share of them that it takes; no answer comes."""
        step = self._steps.pop((block.number, block.round))
        changes, ids = self._changes.pop(step), self._ids.pop(step)
        if worker.slack:
            self._kept.keep(step, [frozen(each) for each in ids], changes)
        sent = [[each if part == 1 else each * part for each, part in zip(home, self._parts, strict=True)] for home in changes]
        return self._tell(worker, turn, step, sent)

    def push_nothing(self, worker: Worker, turn: int, block: Block | None) -> int:
        """What belongs to `pull_nothing`."""
        step = self._begun - 1
        del self._ids[step], self._pulled[step]
        return self._tell(worker, turn, step, [[array[:0] for array in self.home.fields]] * self._workers)

    def _tell(self, worker: Worker, turn: int, step: int, changes: list[Arrays]) -> int:
        head = np.array([step], np.int64)
        for home, arrays in enumerate(changes):
            worker.post(Message("push", worker.rank, home, turn, self.point, [head, *arrays]), self.over)
        return 0

    def handle(self, server: Server, message: Message) -> list[Message]:
        """On the home: a pull or a push; returns the answers that can be given now."""
        head, *arrays = message.arrays
        if message.kind == "pull":
            answers = self.home.pull(message.source, int(head[0]), int(head[1]), frozen(arrays[0]), message.turn)
        else:
            answers = self.home.push(message.source, int(head[0]), [frozen(array) for array in arrays])
        return [
            Message("pulled", server.rank, a.worker, a.turn, self.point, [np.array([a.step, a.folded], np.int64), *a.arrays])
            for a in answers
        ]
