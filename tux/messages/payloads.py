"""The meaning of the arrays of messages, as named fields. Arrays that came from another member are
checked here before anything else uses them.

Each class is the payload of a kind of message. `read` makes it of a message, and raises
BadMessage, which names the sender, for arrays that cannot be one. `arrays` makes the arrays of a
message. A worker and its own server may send each other the payload itself (`Message.payload`).

    kind           sender      receiver     decoded by            what is checked
    CONTRIBUTION   worker      server       Contribution.read     block, pass, round; touched rows;
                                                                  weights; fields
    CONTRIBUTION   server      server of    Totals.read           fields of the context's row
    (context)                  worker 0
    TOTALS         worker      own server   Totals.read           the same
    ANSWER         server      worker       Answer.read           blocks, ascending; touched rows;
                                                                  fields
    ANSWER         server of   worker       Answer.of_context     fields of the context's row
    (context)      worker 0
    EVAL_ROWS      worker      worker       EvalRows.read         types and shapes of all arrays
    MODEL_ROWS     worker      launcher     ModelRows.read        vertex type; dense indices, each
                                                                  once; types and shapes; lengths
                                                                  of lists and their sum
    PIECE          worker or   launcher or  Piece.read            one array of bytes, not too many;
                   launcher    worker                             what it is of
    TAKEN          launcher    worker or    content_of            what it is of
                   or worker   launcher
    PIECE          loader      loader       RoundPiece.read       a size and an array of bytes, not
                                                                  too many
    CONTROL        any         any          control.unpack        size; the type of each field
    PULL_REQUEST   worker      server       PullRequest.read      steps; row numbers are integers
    PULL_ANSWER    server      worker       PullAnswer.read       step; types and shapes
    PUSH           worker      server       Push.read             step is a number

"fields" means: the form of each field, its value type, and that rows and elements are within those
that the message is about, each at most once (`tux.messages.encoding.unpack`).

Some checks need what the receiver remembers, so the receiver makes them: a contribution comes once
(`PendingContributions.add`), an answer comes once and was waited for (`ClockLoop`), a vertex of the
model was asked for and comes once (`ModelAnswer`), rows that are pulled exist and come once, and
changes fit what was pulled (`PullServer`), a piece is waited for, and its file has no more bytes
than was told (`tux.cluster.checkpoint.pieces`); that a piece between loaders comes next, and its
message has as many bytes as was told (`tux.parallel_load.algorithm.transfer`).
`tux.cluster.transport.control` has `unpack`, and `tux.messages.piece` has `Piece`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from tux.arrays.integers import distinct_integers
from tux.messages.encoding import Arrays, FieldElements, unpack
from tux.messages.message import Message, checking
from tux.messages.touched import RowsByBlock
from tux.rows.table import RowTable, in_model

ROW = np.zeros(1, np.int32)
"""The context's only row."""


class Rows(Protocol):
    """The rows of a vertex type that messages of an Apply are about. Both ends know them by the
    numbers of blocks.

    `numbers`: the numbers that a block may have. `masked`: a message says which of the rows it is
    about. `told`: rows that a message need not name again.
    """

    numbers: range
    masked: bool
    told: RowsByBlock

    def up(self, home: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return this worker's rows in these blocks whose masters are on `home`."""

    def down(self, worker: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the masters here of which `worker` has replicas in these blocks: the rows that its
        `up` returns.
        """


class Contribution(NamedTuple):
    """The changes that a worker sends to one home for a clock of an Apply."""

    number: int  # of its block
    pass_number: int  # the epoch, or the repetition of steps that are repeated
    round: int
    rows: np.ndarray  # (r,) masters, of the block or touched in it
    # (r,) float32: local edges in the block, where a field is combined by "mean"
    weights: np.ndarray | None
    fields: list[FieldElements]

    @staticmethod
    def arrays(
        head: tuple[int, int, int],
        touched: Arrays,
        weights: np.ndarray | None,
        fields: Arrays,
    ) -> Arrays:
        """Make the arrays of a message: block, pass and round; the `touched` rows of the route, if
        the receiver does not know them; weights; the arrays that `Mirrors.pack` made.
        """
        out: Arrays = [np.array(head, np.int32), *touched]
        out += [weights] if weights is not None else []
        return [*out, *fields]

    @staticmethod
    def read(
        message: Message, rows: Rows, fields: Arrays, *, gather: bool, weighted: bool
    ) -> Contribution:
        """Read the contribution that a message carries. Without `gather`, it has no row of
        `fields`.
        """
        with checking(message):
            (number, pass_number, round_number), rest = take_numbers(message.arrays, 3, np.int32)
            demand(number in rows.numbers, f"there is no block {number}")
            demand(pass_number >= 0 and round_number >= 0, "its pass or round is negative")
            masters = rows.down(message.source, (number,))
            if rows.masked:
                masters, rest = rows.told.read_rows(message, number, masters, rest)
            sent = masters if gather else masters[:0]
            weights = None
            if weighted:
                weights, rest = take_first(rest)
                _check_weights(weights, len(sent))
            return Contribution(
                number, pass_number, round_number, masters, weights, unpack(rest, fields, sent)
            )


class Totals(NamedTuple):
    """The totals that a worker has gathered in the context, alone or together with its server."""

    fields: list[FieldElements]

    @staticmethod
    def read(message: Message, fields: Arrays) -> Totals:
        """Read the totals that a message carries."""
        with checking(message):
            return Totals(unpack(message.arrays, fields, ROW))


class Answer(NamedTuple):
    """The values of the masters after a synchronisation, of an Apply or of the context."""

    fields: list[FieldElements]

    @staticmethod
    def arrays(numbers: np.ndarray, touched: Arrays, fields: Arrays) -> Arrays:
        """Make the arrays of a message: ascending numbers of blocks (b,) int32; the `touched` rows
        of the route, if the receiver does not know them; the arrays that `Masters.pack_values`
        made.
        """
        return [numbers, *touched, *fields]

    @staticmethod
    def read(message: Message, rows: Rows, fields: Arrays) -> Answer:
        """Read the answer to an Apply that a message carries."""
        with checking(message):
            numbers, rest = take_first(message.arrays)
            demand(
                numbers.dtype == np.int32 and numbers.ndim == 1 and len(numbers) > 0,
                "its first array is not the numbers of blocks",
            )
            demand(
                int(numbers[0]) in rows.numbers
                and int(numbers[-1]) in rows.numbers
                and (len(numbers) == 1 or bool((numbers[1:] > numbers[:-1]).all())),
                "its blocks do not exist, or do not ascend",
            )
            own = rows.up(message.source, numbers)
            if rows.masked:
                own, rest = rows.told.read_rows(message, int(numbers[0]), own, rest)
            return Answer(unpack(rest, fields, own))

    @staticmethod
    def of_context(message: Message, fields: Arrays) -> Answer:
        """Read the context's new value that a message carries."""
        with checking(message):
            demand(message.source == 0, "only worker 0 answers for the context")
            return Answer(unpack(message.arrays, fields, ROW))


class EvalRows(NamedTuple):
    """Rows of masters that only held-out edges need at the receiver."""

    values: Arrays  # (r, width) by field

    @staticmethod
    def read(message: Message, like: Arrays, counts: Sequence[int]) -> EvalRows:
        """Read the rows that a message carries: so many (`counts`) of each of the fields `like`."""
        with checking(message):
            return EvalRows(check_values(message.arrays, like, counts))


class ModelRows(NamedTuple):
    """A part of the model: some vertices of a type, or the context."""

    table: int  # number of the vertex type; that of the context comes after them
    ids: np.ndarray  # (r,) dense indices
    columns: dict[str, np.ndarray]  # (r, width) by field
    lists: dict[str, tuple[np.ndarray, np.ndarray]]  # lengths (r,) and values, by ragged field

    @staticmethod
    def read(message: Message, tables: Sequence[RowTable], sizes: Sequence[int]) -> ModelRows:
        """Read the part that a message carries, of one of `tables`, which have so many vertices
        (`sizes`). The last table is the context's.
        """
        with checking(message):
            number, last = message.sync_id, len(tables) - 1
            demand(number <= last, f"the model has no table {number}")
            table, rest = tables[number], message.arrays
            if number == last:
                ids = np.zeros(1, np.int64)
            else:
                ids, rest = take_first(rest)
                _check_ids(ids, sizes[number])
            columns, lists = {}, {}
            for name in in_model(table):
                array, rest = take_first(rest)
                if table.declared[name].is_ragged:
                    values, rest = take_first(rest)
                    _check_lists(array, values, len(ids), table.arrays[name].dtype)
                    lists[name] = array, values
                else:
                    (columns[name],) = check_values([array], [table.arrays[name]], [len(ids)])
            demand(not rest, "there are more arrays than the model has fields")
            return ModelRows(number, ids, columns, lists)


def demand(is_so: bool, why: str) -> None:  # noqa: FBT001
    """Raise ValueError with the reason `why`, unless it is so. Checks whose reasons tell types of
    arrays do without it: to write these texts for every message takes time.
    """
    if not is_so:
        raise ValueError(why)


def take_first(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, Arrays]:
    """Return the first of some arrays, and the others."""
    demand(len(arrays) > 0, "an array is missing")
    return arrays[0], list(arrays[1:])


def take_numbers(arrays: Sequence[np.ndarray], count: int, dtype: type) -> tuple[list[int], Arrays]:
    """Return the numbers in the first of some arrays, and the other arrays."""
    first, rest = take_first(arrays)
    if first.dtype != dtype or first.shape != (count,):
        raise ValueError(f"its first array is {first.dtype} {first.shape}, not {count} numbers")
    return first.tolist(), rest


def check_values(
    arrays: Sequence[np.ndarray], like: Sequence[np.ndarray], counts: Sequence[int]
) -> Arrays:
    """Return `arrays`; they must be so many rows (count, width) of each of the fields `like`."""
    demand(len(arrays) == len(like), f"it has {len(arrays)} arrays for {len(like)} fields")
    for array, field, count in zip(arrays, like, counts, strict=True):
        shape = count, math.prod(field.shape[1:])
        if array.dtype != field.dtype or array.shape != shape:
            raise ValueError(
                f"its values are {array.dtype} {array.shape}, not {field.dtype} {shape}"
            )
    return list(arrays)


def _check_weights(weights: np.ndarray, count: int) -> None:
    """Check that these are numbers of edges of so many rows."""
    if weights.dtype != np.float32 or weights.shape != (count,):
        raise ValueError(f"its weights are {weights.dtype} {weights.shape}, for {count} rows")
    # a NaN is in no range
    demand(
        count == 0 or (weights.min() >= 0 and weights.max() < np.inf),
        "a weight is negative or not finite",
    )


def _check_ids(ids: np.ndarray, n: int) -> None:
    """Check that these are dense indices of vertices, each once."""
    demand(ids.ndim == 1 and ids.dtype.kind == "i", "its first array is not dense indices")
    check_range(ids, n)
    demand(len(distinct_integers(ids)) == len(ids), "a dense index comes twice")


def check_range(ids: np.ndarray, n: int) -> None:
    """Check that dense indices are those of n vertices."""
    demand(
        len(ids) == 0 or (int(ids.min()) >= 0 and int(ids.max()) < n),
        f"a dense index is outside 0..{n - 1}",
    )


def _check_lists(counts: np.ndarray, values: np.ndarray, n: int, dtype: np.dtype) -> None:
    """Check that these are the lengths of n lists, and the values of all."""
    demand(
        counts.shape == (n,) and counts.dtype.kind == "i",
        f"its lengths of lists are {counts.dtype} {counts.shape}, for {n} lists",
    )
    demand(
        values.ndim == 1 and values.dtype == dtype,
        f"the values of its lists are {values.dtype} {values.shape}, not {dtype}",
    )
    # each length first, so that the sum does not overflow
    demand(
        n == 0 or (int(counts.min()) >= 0 and int(counts.max()) <= len(values)),
        "a length of a list is negative or too large",
    )
    demand(
        int(counts.sum(dtype=np.int64)) == len(values),
        f"its lists do not have {len(values)} values together",
    )
