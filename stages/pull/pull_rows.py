"""Rows that come when they are touched: the worker's side of the pull protocol. The masters' side
is `tux.sync.pull`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.integers import index_dtype
from tux.base.errors import ProgramError
from tux.base.random import key
from tux.clock.block import Block
from tux.clock.trace import ClockEvent
from tux.engine.partition import Partition
from tux.messages.encoding import Arrays
from tux.messages.message import Kind, Message, checking
from tux.messages.pull_payloads import FieldRows, PullAnswer, PullRequest, Push
from tux.rows.table import freeze
from tux.sync.fields import of_kinds
from tux.sync.master_tables import MasterTables
from tux.sync.pull import PullServer, UnackedChanges, share
from tux.sync.pulled_rows import add_to_rows, find_touched, look_up_rows, tabulate
from tux.sync.row_window import RowWindow, StepRows, order_by_home

OFTEN = 2
"""A step touches a row often if more than so many times as often as its rows on average."""


class AskedRows(NamedTuple):
    """The rows of a step that one home was asked for: the positions of their vertices, their places
    in the window, and how many of them each field has, the first ones.
    """

    positions: np.ndarray
    places: np.ndarray
    counts: np.ndarray


MOST_LISTS = 100
"""Lists of a Generate whose rows are pulled: levels of rows are kept in a byte."""


class PullClient:
    """A Generate's rows on one of several workers: asks the masters for them, keeps them for the
    kernel, and sends changes back. `fields_of`: the fields that the kernel uses, by list.
    """

    def __init__(
        self, partition: Partition, over: str, fields_of: Mapping[str, Collection[str]]
    ) -> None:
        part = partition.graph.vertices[over].part
        assert part is not None
        self.partition, self.over, self.table = partition, over, partition.tables[over]
        self._home, self._number, self._workers = (
            freeze(np.asarray(part.home)),
            freeze(np.asarray(part.number)),
            partition.workers,
        )
        self._order, self._kind = part.order, index_dtype(len(part.ids))
        self._none = freeze(np.empty(0, part.masters.dtype))
        declared = self.table.declared
        self._fields = of_kinds(self.table, ("shared",))
        if strange := [f for f, d in declared.items() if d.kind != "shared"]:
            raise ProgramError(
                f"{over}.{strange[0]} is a {declared[strange[0]].kind} field",
                do="what is pulled is shared",
            )
        self._parts = [self._part(partition, f) for f in self._fields]
        masters = partition.server.tables[over]
        self.server = PullServer(
            [masters.arrays[f] for f in self._fields],
            len(part.masters),
            partition.workers,
            [declared[f].wire == "i1" for f in self._fields],
        )
        if len(fields_of) > MOST_LISTS:
            raise ProgramError(
                f"a Generate of {over} has {len(fields_of)} lists, and at most {MOST_LISTS} are "
                "told apart",
                do="make one list of several",
            )
        # those with most fields first: the rows of a field are then the first ones
        self._lists = sorted(fields_of, key=lambda name: -len(fields_of[name]))
        self._last = [
            max((i for i, name in enumerate(self._lists) if f in fields_of[name]), default=-1)
            for f in self._fields
        ]
        self._begun, self._steps = 0, dict[tuple[int, int], int]()  # steps so far; of each block
        self._window: RowWindow | None = None  # the one that takes in rows
        self._touched: dict[int, StepRows] = {}  # by step
        self._asked: dict[int, list[AskedRows]] = {}  # by step and home
        self._pulled: dict[int, dict[int, PullAnswer]] = {}  # by step and home
        self._unacked = UnackedChanges()
        self.sync_id = -1  # of the step that pulls
        if partition.trace:
            self.server.note_fold = self._note_fold
        self._warm()

    def _part(self, partition: Partition, field: str) -> Any:
        """Return the part of a field's changes that its masters take, as a number of the field's
        dtype.
        """
        declared = self.table.declared[field]
        return declared.dtype.type(
            share(partition.workers) if declared.combine == "sqrt_mean" else 1
        )

    def _warm(self) -> None:
        """Compile or load the functions that the first step calls, so that it does not wait for
        them: go through a step of one row that nobody has.
        """
        fields = [array[:1].copy() for array in self.server.fields]
        masters = len(fields[0]) if fields else 0
        server = PullServer(fields, masters, 1, self.server.wire.coded)
        numbers = freeze(np.arange(masters, dtype=np.int32))
        rows = FieldRows(numbers, freeze(np.full(len(fields), masters, np.int32)))
        (reply,) = server.pull(0, 0, PullRequest(0, 0, rows))
        changes = self._warm_window(fields, masters, reply.answer)
        sent = server.wire.pack_changes(changes, [np.uint64(0)] * len(fields))
        server.push(0, Push(0, rows, [freeze(each) for each in sent]))

    def _warm_window(self, fields: Arrays, masters: int, answer: PullAnswer) -> Arrays:
        """Go through a window of that step; return the changes."""
        window = RowWindow(0, fields, [0] * len(fields), self._none)
        lists = np.zeros(masters, self._none.dtype)
        positions, levels, times = find_touched(lists, np.array([masters]))
        touched = window.touch(positions, levels, times > 1, ends=True)
        order_by_home(positions, levels, self._home, self._workers, 1)
        look_up_rows(positions, window.slots)
        window.make_room()
        for f, array in enumerate(fields):
            self.server.wire.write_values(f, answer.values, array)
            add_to_rows(array, tabulate(positions), positions, freeze(array.copy()))
            window.put_values(f, touched.places, array)
        return [freeze(window.take_changes(f, touched.places)) for f in range(len(fields))]

    def pull(self, clock: int, block: Block, lists: dict[str, np.ndarray]) -> int:
        """Ask every home for the rows that the block's lists touch and that are not kept; return
        the number of answers to come.
        """
        slack, step = self.partition.slack, self._begun
        flat = [lists[name].reshape(-1) for name in self._lists]
        positions, levels, times = find_touched(
            np.concatenate(flat), np.cumsum([len(each) for each in flat])
        )
        window = self._window
        if window is None:
            window = self._window = RowWindow(step, self.server.fields, self._last, self._none)
        ends = step == window.first + slack
        often = times > OFTEN * int(times.sum()) / max(len(times), 1)
        touched = window.touch(positions, levels, often, ends=ends)
        if ends:
            self._window = None
        self._steps[block.number, block.round] = step
        self._touched[step] = touched
        asked = self._by_home(positions, touched.places, levels, touched.asked)
        least = max(window.first, step - 1)
        if self.partition.is_asynchronous:
            least = max(step - self.partition.most_apart, 0)
        return self._ask(clock, asked, least)

    def pull_nothing(self, clock: int) -> int:
        """Ask every home to answer when the changes of all steps before this one are folded."""
        return self._ask(clock, self._nothing(), self._begun)

    def _nothing(self) -> list[AskedRows]:
        none = np.zeros(len(self._fields), np.int32)
        return [AskedRows(self._none, np.empty(0, np.int64), none)] * self._workers

    def _by_home(
        self, positions: np.ndarray, places: np.ndarray, levels: np.ndarray, chosen: Any = ...
    ) -> list[AskedRows]:
        """Return those rows that are `chosen`, by home, with what each field has of them."""
        positions, places, levels = positions[chosen], places[chosen], levels[chosen]
        order, counts = order_by_home(
            positions, levels, self._home, self._workers, max(len(self._lists), 1)
        )
        cuts = np.cumsum(counts.sum(axis=1))[:-1]
        of_fields = [
            np.array([of_level[: last + 1].sum() for last in self._last], np.int32)
            for of_level in counts
        ]
        return [
            AskedRows(*each)
            for each in zip(
                np.split(positions[order], cuts),
                np.split(places[order], cuts),
                of_fields,
                strict=True,
            )
        ]

    def _ask(self, clock: int, asked: list[AskedRows], least_folded: int) -> int:
        step, self._begun = self._begun, self._begun + 1
        self._asked[step], self._pulled[step] = asked, {}
        for home, rows in enumerate(asked):
            request = PullRequest(step, least_folded, self._numbers(rows))
            self._send(Kind.PULL_REQUEST, home, clock, request.arrays(), len(rows.positions))
        return self._workers

    def _numbers(self, rows: AskedRows) -> FieldRows:
        return FieldRows(freeze(self._number[rows.positions]), freeze(rows.counts))

    def install(self, message: Message) -> None:
        """Take an answer of one home. Its bytes are counted here, by who has asked: the home may
        send it when its own worker is in the next epoch, or not there yet.
        """
        home, wire = message.source, self.server.wire
        asked = {
            step: self._asked[step][home].counts.tolist()
            for step, pulled in self._pulled.items()
            if home not in pulled
        }
        counts = {step: wire.counts(rows) for step, rows in asked.items()}
        answer = PullAnswer.read(message, wire.like, counts)
        self._pulled[answer.step][home] = answer
        if len(self._asked[answer.step][home].positions) and home != self.partition.rank:
            self.partition.bytes_sent[self.over] += message.nbytes
            self.partition.spans.pulled[home] += message.nbytes

    def lay_out(
        self, block: Block, made: dict[str, np.ndarray]
    ) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
        """Return the rows that the worker keeps, those of a block among them, with all changes of
        this worker; and the block's lists as numbers of rows.
        """
        step = self._steps[block.number, block.round]
        window, pulled = self._touched[step].window, self._pulled.pop(step)
        with self.partition.timing("send"):
            window.make_room()
            for f in range(len(self._fields)):
                self._put_field(f, step, window, [pulled[home] for home in range(self._workers)])
            del self._asked[step]
            lists = {
                name: look_up_rows(array.reshape(-1), window.slots).reshape(array.shape)
                for name, array in made.items()
            }
        return window.rows, lists

    def _put_field(
        self, field: int, step: int, window: RowWindow, answers: list[PullAnswer]
    ) -> None:
        """Put the values of a field that a step has pulled into its window."""
        own, asked = self.server.fields[field], self._asked[step]
        counts = [int(rows.counts[field]) for rows in asked]
        values = np.empty((sum(counts), own.shape[1]), own.dtype)
        at = np.cumsum([0, *counts])
        for home, answer in enumerate(answers):
            self.server.wire.write_values(field, answer.values, values[at[home] : at[home + 1]])
        folded = [answer.folded for answer in answers]
        if self._unacked.forget(folded):
            positions = np.concatenate(
                [rows.positions[:count] for rows, count in zip(asked, counts, strict=True)]
            )
            self._unacked.add_to(field, values, tabulate(positions), step=step, folded=folded)
        places = [rows.places[:count] for rows, count in zip(asked, counts, strict=True)]
        window.put_values(field, np.concatenate(places), values)

    def shape_fields(self, rows: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Return the fields of pulled rows in the shapes that UDFs see."""
        return tuple(
            array.reshape(-1, *self.table.arrays[f].shape[1:])
            for array, f in zip(rows, self._fields, strict=True)
        )

    def ids_of(self, block: Block) -> np.ndarray:
        """Return the dense index of each row that is kept, (r,)."""
        window = self._touched[self._steps[block.number, block.round]].window
        return freeze(self._order[window.positions].astype(self._kind))

    def push(self, clock: int, block: Block) -> int:
        """Send every home the changes that go at the end of a block's step; no answer comes."""
        step = self._steps.pop((block.number, block.round))
        touched = self._touched.pop(step)
        touched.window.note_changes(touched)
        ends = step == touched.window.first + self.partition.slack
        chosen = None if ends else touched.places[touched.sent]
        with self.partition.timing("send"):
            of = self.partition.pass_number, block.round, block.number
            return self._push_changes(clock, step, touched.window, chosen, of)

    def push_kept(self, clock: int) -> int:
        """Send every home all changes that are kept, as a step of its own. Windows begin anew."""
        step, window, self._window = self._begun, self._window, None
        self._begun += 1
        if window is None:
            return self._push_none(clock, step)
        return self._push_changes(clock, step, window, None, ("kept", step))

    def push_nothing(self, clock: int) -> int:
        """Send every home no changes: the push of the step that `pull_nothing` began."""
        step = self._begun - 1
        del self._pulled[step], self._asked[step]
        return self._push_none(clock, step)

    def _push_none(self, clock: int, step: int) -> int:
        none = [array[:0] for array in self.server.wire.like]
        return self._push(clock, step, self._nothing(), [none] * self._workers)

    def _push_changes(
        self,
        clock: int,
        step: int,
        window: RowWindow,
        chosen: np.ndarray | None,
        of: Sequence[object],
    ) -> int:
        """Send the changes of the chosen rows of a window, or of all: the share of them that
        masters take. Coins follow from what they are changes `of`.
        """
        places, levels = window.unsent(chosen)
        rows = self._by_home(window.positions[places], places, levels)
        changes = [
            [
                freeze(window.take_changes(f, each.places[:count]))
                for f, count in enumerate(each.counts)
            ]
            for each in rows
        ]
        if self.partition.slack:
            self._unacked.note(step, [freeze(each.positions) for each in rows], changes)
        sent = [
            self.server.wire.pack_changes(
                [
                    each if part == 1 else freeze(each * part)
                    for each, part in zip(of_home, self._parts, strict=True)
                ],
                [self._stream(of, home, f) for f in self._fields],
            )
            for home, of_home in enumerate(changes)
        ]
        return self._push(clock, step, rows, sent)

    def _stream(self, of: Sequence[object], home: int, field: str) -> np.uint64:
        """Return the random stream of a message's coins. Steps are not part of it where a run at
        slack 0 goes on from a kept state, as they are counted anew.
        """
        partition = self.partition
        return key(partition.seed, "wire", self.sync_id, field, partition.rank, home, *of)

    def _push(self, clock: int, step: int, rows: list[AskedRows], changes: Sequence[Arrays]) -> int:
        for home, arrays in enumerate(changes):
            push = Push(step, self._numbers(rows[home]), arrays)
            self._send(Kind.PUSH, home, clock, push.arrays(), len(rows[home].positions))
        return 0

    def _send(self, kind: Kind, home: int, clock: int, arrays: Arrays, rows: int) -> None:
        """Send a message about so many rows. One about none does not count: those that close the
        blocks before a state is kept have none, and records are the same without them.
        """
        message = Message(kind, self.partition.rank, home, clock, self.sync_id, arrays)
        self.partition.enqueue(message, self.over, counted=rows > 0)

    def _note_fold(self, worker: int, clock: int) -> None:
        """Note that the home has folded what a worker has pushed in a clock."""
        assert self.partition.trace
        self.partition.trace.note(ClockEvent.FOLDED, clock, worker, self.sync_id, Kind.PUSH)

    def handle(self, server: MasterTables, message: Message) -> list[Message]:
        """Answer a pull or a push on the home; return the answers that can be given now."""
        fields = len(self._fields)
        with checking(message):
            replies = (
                self.server.pull(message.source, message.clock, PullRequest.read(message, fields))
                if message.kind is Kind.PULL_REQUEST
                else self.server.push(message.source, Push.read(message, fields))
            )
        return [
            Message(
                Kind.PULL_ANSWER,
                server.rank,
                reply.worker,
                reply.clock,
                self.sync_id,
                reply.answer.arrays(),
            )
            for reply in replies
        ]
