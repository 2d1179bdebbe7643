"""Payloads of messages: they come back as they were sent; arrays that cannot be the payload are
refused in one line that names the sender, whatever they are.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from support.machines.team import all_dirty

from tux.messages.encoding import DENSE, ELEMENTS, ROWS
from tux.messages.frames import DTYPES, decode, encode
from tux.messages.message import BadMessage, Kind, Message
from tux.messages.payloads import (
    Answer,
    Contribution,
    EvalRows,
    ModelRows,
    Totals,
)
from tux.messages.piece import Piece
from tux.messages.pull_payloads import FieldRows, PullAnswer, PullRequest, Push
from tux.messages.touched import AGAIN, FIRST, ONCE, RoutePlaces, RowsByBlock, kept_rows_arrays
from tux.program.fields import mirror, shared, total, value
from tux.rows.table import RowTable


class Route:
    """Rows 1, 3 and 4 of a type, whatever the block, of three blocks."""

    numbers = range(3)

    def __init__(self, *, masked):
        self.masked = masked
        self.told = RowsByBlock()

    def up(self, home, numbers):
        return np.array([1, 3, 4], np.int32)

    def down(self, worker, numbers):
        return np.array([1, 3, 4], np.int32)


def table(name, n, fields):
    sized = {f: declared.resolve({}) for f, declared in fields.items()}
    return RowTable.allocate(name, sized, n, np.full(n, 4))


BLOCK, TOUCHED = Route(masked=False), Route(masked=True)
X, N = np.zeros((5, 2), np.float32), np.zeros(5, np.int64)
FIELDS = [X, N]
THREE = all_dirty(np.ones((3, 2), np.float32), np.ones(3, np.int64))
TWO = [array[:2] if i else array for i, array in enumerate(THREE)]
SUM = [np.zeros((1, 2), np.float64)]
WEIGHTS = np.array([1, 2, 3], np.float32)
HEAD = np.array([2, 7, 0], np.int32)
HERE, BITS = np.uint8([ONCE]), np.uint8([0b10100000])
TABLES = [
    table("user", 5, {"x": shared("f4", 2)}),
    table("bag", 5, {"held": mirror("u2", "edges", kept=True), "n": value("i4")}),
    table("tau", 1, {"mean": value("f8"), "sum": total("f8")}),
]
ONES = np.ones((2, 2), np.float32)
IDS = np.array([4, 0])
MODEL_BAG = [IDS, np.array([1, 2]), np.uint16([7, 8, 9]), np.int32([[3], [4]])]

# by name: the kind, what reads it, and arrays that it accepts
TWO_ROWS = FieldRows(np.array([4, 1], np.int32), np.array([1, 2], np.int32))

READERS = {
    "contribution": (
        Kind.CONTRIBUTION,
        lambda m: Contribution.read(m, BLOCK, FIELDS, gather=True, weighted=True),
        [HEAD, WEIGHTS, *THREE],
    ),
    "touched": (
        Kind.CONTRIBUTION,
        lambda m: Contribution.read(m, TOUCHED, FIELDS, gather=True, weighted=False),
        [HEAD, HERE, BITS, *TWO],
    ),
    "not gathered": (
        Kind.CONTRIBUTION,
        lambda m: Contribution.read(m, TOUCHED, FIELDS, gather=False, weighted=True),
        [
            HEAD,
            HERE,
            BITS,
            WEIGHTS[:0],
            *(array[:0] if i else array for i, array in enumerate(THREE)),
        ],
    ),
    "totals": (Kind.TOTALS, lambda m: Totals.read(m, SUM), all_dirty(np.ones((1, 2)))),
    "answer": (
        Kind.ANSWER,
        lambda m: Answer.read(m, BLOCK, FIELDS),
        [np.array([0, 2], np.int32), *THREE],
    ),
    "answer of touched rows": (
        Kind.ANSWER,
        lambda m: Answer.read(m, TOUCHED, FIELDS),
        [np.array([1], np.int32), HERE, BITS, *TWO],
    ),
    "evaluation": (
        Kind.EVAL_ROWS,
        lambda m: EvalRows.read(m, FIELDS, [2, 3]),
        [ONES, np.ones((3, 1), np.int64)],
    ),
    "model": (Kind.MODEL_ROWS, lambda m: ModelRows.read(m, TABLES, [5, 5]), [IDS, ONES]),
    "piece": (Kind.PIECE, lambda m: Piece.read(m, 10), [np.zeros(10, np.uint8)]),
    "request": (
        Kind.PULL_REQUEST,
        lambda m: PullRequest.read(m, 2),
        PullRequest(3, 1, TWO_ROWS).arrays(),
    ),
    "pulled": (
        Kind.PULL_ANSWER,
        lambda m: PullAnswer.read(m, FIELDS, {3: [2, 2]}),
        PullAnswer(3, 2, [ONES, np.zeros((2, 1), np.int64)]).arrays(),
    ),
    "push": (
        Kind.PUSH,
        lambda m: Push.read(m, 2),
        Push(3, TWO_ROWS, [ONES, np.zeros((2, 1), np.int64)]).arrays(),
    ),
}


def carrying(name, arrays, **numbers):
    return Message(READERS[name][0], 1, 0, **{"clock": 0, "sync_id": 0, **numbers}, arrays=arrays)


def read(name, arrays, **numbers):
    return READERS[name][1](carrying(name, arrays, **numbers))


def replace_arrays(name, at, *arrays):
    """Return the accepted arrays of `name`, of which the one at `at` is replaced by others, or by
    none.
    """
    good = READERS[name][2]
    return [*good[:at], *arrays, *good[at + 1 :]]


def test_what_is_written_is_read():
    said = RoutePlaces(np.array([0, 2]), 3).message_arrays(keep=False)
    arrays = Contribution.arrays((2, 7, 1), said, None, TWO)
    sent = read("touched", arrays)
    assert sent[:3] == (2, 7, 1) and sent.rows.tolist() == [1, 4] and sent.weights is None
    assert [each.rows.tolist() for each in sent.fields] == [[1, 4], [1, 4]]
    sent = read("contribution", Contribution.arrays((0, 0, 0), [], WEIGHTS, THREE))
    assert sent.rows.tolist() == [1, 3, 4] and sent.weights.tolist() == [1, 2, 3]
    arrays = Answer.arrays(np.array([1], np.int32), said, TWO)
    assert [each.rows.tolist() for each in read("answer of touched rows", arrays).fields] == [
        [1, 4],
        [1, 4],
    ]
    request = read("request", READERS["request"][2])
    assert request[:2] == (3, 1) and request.rows.numbers.tolist() == [4, 1]
    assert [request.rows.of_field(f).tolist() for f in (0, 1)] == [[4], [4, 1]]


def test_touched_rows_are_told_once_for_each_sender_and_block():
    route = Route(masked=True)

    def contribution(said, number, source):
        arrays = Contribution.arrays((number, 0, 0), said, None, TWO)
        message = Message(Kind.CONTRIBUTION, source, 0, 0, 0, arrays)
        return Contribution.read(message, route, FIELDS, gather=True, weighted=False).rows.tolist()

    first = RoutePlaces(np.array([0, 2]), 3).message_arrays(keep=True)
    other = RoutePlaces(np.array([1, 2]), 3).message_arrays(keep=True)
    assert contribution(first, 2, 1) == [1, 4] and contribution(other, 2, 3) == [3, 4]
    assert contribution(kept_rows_arrays(), 2, 1) == [1, 4]
    assert contribution(kept_rows_arrays(), 2, 3) == [3, 4]
    with pytest.raises(BadMessage, match="rows of block 1 have not been told"):
        contribution(kept_rows_arrays(), 1, 1)
    with pytest.raises(BadMessage, match="rows of block 2 are told a second time"):
        contribution(first, 2, 1)
    answer = Message(
        Kind.ANSWER, 1, 0, 0, 0, Answer.arrays(np.array([2], np.int32), kept_rows_arrays(), TWO)
    )
    with pytest.raises(BadMessage, match="rows of block 2 have not been told"):
        Answer.read(answer, route, FIELDS)


def test_parts_of_the_model_by_field():
    part = read("model", MODEL_BAG, sync_id=1)
    assert part.ids.tolist() == [4, 0] and part.columns["n"].tolist() == [[3], [4]]
    assert [each.tolist() for each in part.lists["held"]] == [[1, 2], [7, 8, 9]]
    last = read("model", [np.ones((1, 1))], sync_id=2, clock=1)
    assert last.columns["mean"].tolist() == [[1]] and last.ids.tolist() == [0]


def test_an_answer_for_the_context_comes_from_worker_0():
    arrays = all_dirty(np.ones((1, 2)))
    (picked,) = Answer.of_context(Message(Kind.ANSWER, 0, 1, arrays=arrays), SUM).fields
    assert picked.values.tolist() == [[1, 1]]
    with pytest.raises(BadMessage, match="worker 1 was refused: only worker 0 answers"):
        Answer.of_context(Message(Kind.ANSWER, 1, 0, arrays=arrays), SUM)


@pytest.mark.parametrize("name", READERS)
def test_the_accepted_arrays_are_accepted(name):
    read(name, READERS[name][2])


i4, i8, f4 = np.int32, np.int64, np.float32
HOSTILE = [
    # blocks, epochs, rounds
    ("contribution", [], "an array is missing"),
    ("contribution", replace_arrays("contribution", 0), "not 3 numbers"),
    ("contribution", replace_arrays("contribution", 0, HEAD[:2]), "not 3 numbers"),
    ("contribution", replace_arrays("contribution", 0, HEAD.astype(i8)), "not 3 numbers"),
    ("contribution", replace_arrays("contribution", 0, HEAD.reshape(3, 1)), "not 3 numbers"),
    ("contribution", replace_arrays("contribution", 0, i4([3, 0, 0])), "no block 3"),
    ("contribution", replace_arrays("contribution", 0, i4([-1, 0, 0])), "no block -1"),
    ("contribution", replace_arrays("contribution", 0, i4([-(2**31), 0, 0])), "no block"),
    ("contribution", replace_arrays("contribution", 0, i4([0, -1, 0])), "negative"),
    ("contribution", replace_arrays("contribution", 0, i4([0, 0, -1])), "negative"),
    # weights
    ("contribution", replace_arrays("contribution", 1), "weights are uint8"),
    ("contribution", replace_arrays("contribution", 1, WEIGHTS[:2]), "weights are float32"),
    (
        "contribution",
        replace_arrays("contribution", 1, WEIGHTS.astype("f8")),
        "weights are float64",
    ),
    ("contribution", replace_arrays("contribution", 1, WEIGHTS * f4(np.nan)), "not finite"),
    ("contribution", replace_arrays("contribution", 1, WEIGHTS * f4(np.inf)), "not finite"),
    ("contribution", replace_arrays("contribution", 1, -WEIGHTS), "negative"),
    ("not gathered", replace_arrays("not gathered", 3, WEIGHTS), "weights are float32"),
    # how touched rows are said, and bitmaps
    ("touched", replace_arrays("touched", 1), "how it says its rows is uint8 (1,)"),
    ("touched", [HEAD], "how it says its rows is float64 (0,)"),
    ("touched", [HEAD, HERE], "an array is missing"),
    ("touched", replace_arrays("touched", 1, np.uint8([3])), "how it says its rows"),
    ("touched", replace_arrays("touched", 1, np.uint8([FIRST, FIRST])), "how it says its rows"),
    ("touched", replace_arrays("touched", 1, i4([FIRST])), "how it says its rows is int32"),
    ("touched", replace_arrays("touched", 1, np.uint8([AGAIN])), "have not been told"),
    ("touched", replace_arrays("touched", 2), "its bitmap is uint8 (2,)"),
    ("touched", replace_arrays("touched", 2, np.uint8([1, 2])), "its bitmap"),
    ("touched", replace_arrays("touched", 2, np.int8([1])), "its touched rows are int8"),
    ("touched", replace_arrays("touched", 2, i4([[0, 2]])), "its touched rows are int32 (1, 2)"),
    ("touched", replace_arrays("touched", 2, i4([2, 0])), "do not ascend"),
    ("touched", replace_arrays("touched", 2, i4([0, 0])), "do not ascend"),
    ("touched", replace_arrays("touched", 2, i4([-1, 0])), "not in 0..2"),
    ("touched", replace_arrays("touched", 2, i4([0, 3])), "not in 0..2"),
    ("touched", replace_arrays("touched", 2, np.uint8([255])), "values"),
    # fields
    ("contribution", replace_arrays("contribution", 2, np.uint8([DENSE])), "1 forms"),
    ("contribution", replace_arrays("contribution", 2, np.uint8([DENSE, 9])), "form 9"),
    ("contribution", replace_arrays("contribution", 4), "an array is missing"),
    ("contribution", [*READERS["contribution"][2], X], "more arrays"),
    ("contribution", replace_arrays("contribution", 3, X), "values for 3 rows"),
    ("contribution", replace_arrays("contribution", 3, X[:3].astype("f8")), "values are float64"),
    (
        "contribution",
        replace_arrays("contribution", 2, np.uint8([ROWS, DENSE]), np.uint8([0b11000000])),
        "its bitmap has others",
    ),
    ("totals", [np.uint8([ELEMENTS]), np.uint16([2]), np.ones(1)], "beyond the last row"),
    ("totals", [np.uint8([ELEMENTS]), np.uint16([1, 1]), np.ones(2)], "not ascending"),
    ("totals", [], "an array is missing"),
    ("totals", all_dirty(np.ones((2, 2))), "values for 1 rows"),
    # answers
    ("answer", replace_arrays("answer", 0), "numbers of blocks"),
    ("answer", replace_arrays("answer", 0, i4([])), "numbers of blocks"),
    ("answer", replace_arrays("answer", 0, i4(1)), "numbers of blocks"),
    ("answer", replace_arrays("answer", 0, f4([1])), "numbers of blocks"),
    ("answer", replace_arrays("answer", 0, i4([-1])), "do not exist"),
    ("answer", replace_arrays("answer", 0, i4([0, 3])), "do not exist"),
    ("answer", replace_arrays("answer", 0, i4([1, 1])), "do not ascend"),
    ("answer", replace_arrays("answer", 0, i4([1, 0, 2])), "do not ascend"),
    (
        "answer of touched rows",
        replace_arrays("answer of touched rows", 2, np.uint8([])),
        "its bitmap",
    ),
    # rows of an evaluation
    ("evaluation", [], "0 arrays for 2"),
    ("evaluation", replace_arrays("evaluation", 0, ONES[:1]), "its values are float32 (1, 2)"),
    ("evaluation", replace_arrays("evaluation", 0, f4(1)), "its values are float32 ()"),
    ("evaluation", replace_arrays("evaluation", 0, ONES.astype("f8")), "its values are float64"),
    ("evaluation", replace_arrays("evaluation", 1, ONES, ONES), "3 arrays"),
    # the model
    ("model", [], "an array is missing"),
    ("model", replace_arrays("model", 0, np.array([-1, 0])), "outside 0..4"),
    ("model", replace_arrays("model", 0, np.array([5, 0])), "outside 0..4"),
    ("model", replace_arrays("model", 0, np.array([2**62, 0])), "outside 0..4"),
    ("model", replace_arrays("model", 0, np.array([3, 3])), "comes twice"),
    ("model", replace_arrays("model", 0, np.array([3])), "its values"),
    ("model", replace_arrays("model", 0, np.array([0.0, 1.0])), "not dense indices"),
    ("model", replace_arrays("model", 0, IDS.reshape(2, 1)), "not dense indices"),
    ("model", replace_arrays("model", 1, ONES[:, :1]), "its values are float32 (2, 1)"),
    ("model", replace_arrays("model", 1, ONES, ONES), "more arrays"),
    # a piece of a file
    ("piece", [], "an array is missing"),
    ("piece", [np.zeros(0, np.uint8)], "0 bytes"),
    ("piece", [np.zeros(11, np.uint8)], "11 bytes"),
    ("piece", [np.zeros(8, np.int8)], "array of bytes"),
    ("piece", [np.zeros(8, np.uint8)] * 2, "array of bytes"),
    # pulls
    ("request", [], "an array is missing"),
    ("request", replace_arrays("request", 0, np.array([3])), "not 2 numbers"),
    ("request", replace_arrays("request", 0, np.array([3.0, 1.0])), "not 2 numbers"),
    ("request", replace_arrays("request", 0, np.array([3, 4])), "cannot need 4 steps"),
    ("request", replace_arrays("request", 0, np.array([3, -1])), "cannot need -1 steps"),
    ("request", replace_arrays("request", 1), "an array is missing"),
    ("request", replace_arrays("request", 2, f4([[4, 1]])), "not numbers of rows"),
    ("request", replace_arrays("request", 1, i4([1, 3])), "has 2 rows, and other numbers"),
    ("pulled", replace_arrays("pulled", 0, np.array([[3, 1]])), "not 2 numbers"),
    ("pulled", replace_arrays("pulled", 0, np.array([4, 1])), "waits for no answer"),
    ("pulled", replace_arrays("pulled", 0, np.array([3, 4])), "cannot be folded"),
    ("pulled", replace_arrays("pulled", 0, np.array([3, -1])), "cannot be folded"),
    ("pulled", replace_arrays("pulled", 1, ONES[:1]), "its values"),
    ("pulled", replace_arrays("pulled", 2), "1 arrays for 2"),
    ("push", replace_arrays("push", 0), "not 1 numbers"),
    ("push", replace_arrays("push", 0, i4([3])), "not 1 numbers"),
    ("push", replace_arrays("push", 2, f4([4, 1])), "not numbers of rows"),
]


@pytest.mark.parametrize(("name", "arrays", "why"), HOSTILE)
def test_hostile_arrays_are_refused_by_name(name, arrays, why):
    with pytest.raises(BadMessage) as error:
        read(name, arrays)
    kind, what = READERS[name][0], error.value.what
    assert what.startswith(f"a {kind.name} message of worker 1 was refused: ") and why in what
    assert "\n" not in what and error.value.source == 1 and error.value.exit_code == 7


@pytest.mark.parametrize(
    ("arrays", "numbers", "why"),
    [
        ([IDS, ONES], {"sync_id": 3}, "no table 3"),
        ([IDS, ONES], {"sync_id": 2**32 - 1}, "no table"),
        ([np.ones((2, 1))], {"sync_id": 2, "clock": 1}, "its values"),
        ([np.ones((1, 1)), IDS], {"sync_id": 2, "clock": 1}, "more arrays"),
        ([IDS, *MODEL_BAG[2:]], {"sync_id": 1}, "lengths of lists are uint16"),
        ([IDS, np.array([1, 1]), *MODEL_BAG[2:]], {"sync_id": 1}, "together"),
        ([IDS, np.array([4, -1]), *MODEL_BAG[2:]], {"sync_id": 1}, "negative or too large"),
        ([IDS, np.array([2**62] * 2), *MODEL_BAG[2:]], {"sync_id": 1}, "negative or too large"),
        ([IDS, np.array([3]), *MODEL_BAG[2:]], {"sync_id": 1}, "lengths of lists"),
        ([IDS, np.array([1.0, 2.0]), *MODEL_BAG[2:]], {"sync_id": 1}, "lengths of lists"),
        (
            [IDS, np.array([1, 2]), np.int16([7, 8, 9]), MODEL_BAG[3]],
            {"sync_id": 1},
            "values of its lists are int16",
        ),
    ],
)
def test_hostile_parts_of_the_model_are_refused(arrays, numbers, why):
    with pytest.raises(BadMessage, match="worker 1 was refused") as error:
        read("model", arrays, **numbers)
    assert why in error.value.what


def test_shapes_without_elements_take_no_memory():
    """A shape with a 0 may have any other length."""
    huge = np.lib.stride_tricks.as_strided(np.zeros(0, np.float32), (2**40, 0), (0, 0))
    assert decode(encode(Message(Kind.PUSH, 1, 0, arrays=[huge]), 7), 7, 2).arrays[0].nbytes == 0
    for name, (_, _, good) in READERS.items():
        for at in range(len(good)):
            try:
                read(name, replace_arrays(name, at, huge))
            except BadMessage:
                pass


shapes = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
anything = st.sampled_from(DTYPES).flatmap(lambda dtype: arrays_of.arrays(dtype, shapes))


@st.composite
def hostile(draw):
    """Draw the name of a reader, and accepted arrays of which some are replaced or missing."""
    name = draw(st.sampled_from(sorted(READERS)))
    arrays = list(READERS[name][2])
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(arrays)))
        new = draw(st.lists(anything, max_size=2))
        if at < len(arrays) and draw(st.booleans()):  # the same shape with other numbers
            old = arrays[at]
            new = [draw(arrays_of.arrays(old.dtype, old.shape))]
        arrays[at : at + 1] = new
    return name, arrays


@given(hostile(), st.sampled_from([0, 1, 2, 3]), st.integers(0, 1))
def test_random_arrays_are_refused_or_read(what, sync_id, clock):
    """Through the bytes that a member sends: whatever they are, nothing else is raised."""
    name, arrays = what
    message = Message(READERS[name][0], 1, 0, clock, sync_id, arrays)
    try:
        READERS[name][1](decode([bytes(each) for each in encode(message, 7)], 7, 2))
    except BadMessage as error:
        assert "of worker 1 was refused" in error.what and "\n" not in error.what
