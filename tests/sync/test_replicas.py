"""Mirrors and masters of one cut type against a slow model that remembers all changes."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.machines.team import all_dirty, mirrors_of, relaxed, unpack_message

from tux.messages.encoding import NEVER, pack, pick_changed_fields, unpack
from tux.program.fields import delta, master, mirror, shared, value
from tux.rows.table import RowTable
from tux.sync.masters import NO_EDGES, Masters

ROWS = 4
NONE = np.empty(0, np.int32)
CHANNEL = (0, 0)


def table(count, /, **fields):
    """Return a table whose fields all start at 0, or at their identities."""
    sized = {name: field.resolve({}) for name, field in fields.items()}
    new = RowTable.allocate("item", sized, count)
    for name, field in new.declared.items():
        new.arrays[name][...] = field.identity if field.kind == "delta" else 0
    return new


def rows(*numbers):
    return np.array(numbers, np.int32)


def install(mirrors, at, down, channel=CHANNEL):
    """Install a packed answer about the rows `at`."""
    mirrors.install(channel, unpack(down, mirrors.down, at))


def dirty(masters, *values):
    """Return changes of row 0 in all fields of `masters`."""
    packed = all_dirty(
        *(np.array(each, own.dtype) for each, own in zip(values, masters.up, strict=True))
    )
    return unpack(packed, masters.up, rows(0))


class ReplicaModel:
    """The values that replicas must show, from first principles: the answered value of the master
    plus all own changes it does not contain.

    Every worker holds all rows and one home masters them. A worker's n-th send belongs to round n;
    the home serves a round when it has heard from all, and answers for the rows that anyone sent.
    """

    def __init__(self, workers):
        fields = {
            "x": shared("i8", 2),
            "seen": value("i8"),
            "n": delta("i8"),
            "low": delta("i8", combine="min"),
        }
        fields |= {"high": delta("i8", combine="max"), "own": mirror("i8"), "kept": master("i8")}
        self.tables = [table(ROWS, **fields) for _ in range(workers)]
        self.mirrors = [mirrors_of(each) for each in self.tables]
        self.home = Masters(table(ROWS, **fields))
        self.deltas = [fields[name] for name in ("n", "low", "high")]
        self.changes = [[] for _ in range(workers)]  # [row, column, amount, round or None]
        self.heard = defaultdict(dict)  # round -> worker -> (rows, arrays)
        self.answers = [[] for _ in range(workers)]  # (round, rows, arrays, masters' x)
        self.rounds = [0] * workers
        self.served = 0
        self.truth = np.zeros((ROWS, 2), np.int64)
        # the master's x of the last answer
        self.below = [self.truth.copy() for _ in range(workers)]
        self.seen = [np.zeros(ROWS, np.int64) for _ in range(workers)]
        # row -> what went into its deltas since the last send
        self.since = [defaultdict(list) for _ in range(workers)]

    def up(self, of):
        return [of.arrays[name] for name in ("x", "n", "low", "high")]

    def change(self, w, row, column, amount):
        self.tables[w].arrays["x"][row, column] += amount
        self.tables[w].arrays["own"][row] += amount
        self.tables[w].arrays["n"][row] += amount
        for name, best in (("low", min), ("high", max)):
            self.tables[w].arrays[name][row] = best(self.tables[w].arrays[name][row], amount)
        self.changes[w].append([row, column, amount, None])
        self.since[w][row].append(amount)

    def send(self, w, sent):
        up = self.mirrors[w].pack(sent, CHANNEL)
        self.heard[self.rounds[w]][w] = (sent, up)
        for change in self.changes[w]:
            if change[3] is None and change[0] in sent:
                change[3] = self.rounds[w]
        said = unpack_message(up, self.up(self.tables[w]), sent)
        for j, row in enumerate(sent.tolist()):
            n, low, high = (
                values[j] if dirty[j] else field.identity
                for (values, dirty), field in zip(said[1:], self.deltas, strict=True)
            )
            gone = self.since[w].pop(row, [])
            assert (
                n == sum(gone)
                and low == min(gone, default=2**63 - 1)
                and high == max(gone, default=-(2**63))
            )
        assert (self.tables[w].arrays["n"][sent] == 0).all() and (
            self.tables[w].arrays["low"][sent] == 2**63 - 1
        ).all()
        self.rounds[w] += 1
        if len(self.heard[self.served]) == len(self.tables):
            self.serve()

    def serve(self):
        heard = [self.heard[self.served][w] for w in range(len(self.tables))]
        self.home.fold((sent, unpack(up, self.home.up, sent), None) for sent, up in heard)
        for w, _ in enumerate(heard):
            for row, column, amount, number in self.changes[w]:
                self.truth[row, column] += amount if number == self.served else 0
        assert np.array_equal(self.home.table.arrays["x"], self.truth)
        touched = np.unique(np.concatenate([sent for sent, _ in heard]))
        for row in touched:
            here = [
                unpack_message(up, self.up(self.home.table), sent)[1:]
                for sent, up in heard
                if row in sent
            ]
            at = [sent.tolist().index(row) for sent, _ in heard if row in sent]
            for number, (name, best) in enumerate((("n", sum), ("low", min), ("high", max))):
                sent_values = [
                    said[number][0][j]
                    for said, j in zip(here, at, strict=True)
                    if said[number][1][j]
                ]
                expected = best(sent_values) if sent_values else self.deltas[number].identity
                assert self.home.table.arrays[name][row] == expected
        with self.home.changing(touched):
            # every second round changes nothing
            self.home.table.arrays["seen"][touched] = self.served // 2 * 10 + touched
        self.home.table.clear_deltas(touched)
        for answers in self.answers:
            down = self.home.pack_values(touched)
            answers.append((self.served, touched, down, self.truth.copy()))
        self.home.clear_dirty()
        self.served += 1

    def install(self, w):
        number, touched, down, truth = self.answers[w].pop(0)
        install(self.mirrors[w], touched, down)
        self.changes[w] = [change for change in self.changes[w] if change[3] != number]
        self.below[w][touched] = truth[touched]
        self.seen[w][touched] = number // 2 * 10 + touched

    def check(self):
        for w, shown in enumerate(self.tables):
            expected = self.below[w].copy()
            for row, column, amount, _ in self.changes[w]:
                expected[row, column] += amount
            assert np.array_equal(shown.arrays["x"], expected) and np.array_equal(
                shown.arrays["seen"], self.seen[w]
            )
            assert not shown.arrays["kept"].any()
        assert not self.home.table.arrays["own"].any()


actions = st.one_of(
    st.tuples(
        st.just("change"),
        st.integers(0, 2),
        st.integers(0, ROWS - 1),
        st.integers(0, 1),
        st.integers(-5, 5),
    ),
    st.tuples(st.just("send"), st.integers(0, 2), st.sets(st.integers(0, ROWS - 1))),
    st.tuples(st.just("install"), st.integers(0, 2)),
)


@settings(relaxed, max_examples=examples(150))
@given(st.integers(1, 3), st.lists(actions, max_size=40))
def test_a_mirror_shows_the_masters_value_and_its_own_unanswered_changes(workers, script):
    model = ReplicaModel(workers)
    for what, who, *rest in script:
        w = who % workers
        if what == "change":
            model.change(w, *rest)
        elif what == "send":
            model.send(w, rows(*sorted(rest[0])))
        elif model.answers[w]:
            model.install(w)
        model.check()
    while min(model.rounds) < max(model.rounds):  # all send what they owe, then all send everything
        model.send(int(np.argmin(model.rounds)), rows(*range(ROWS)))
    for w in range(workers):
        model.send(w, rows(*range(ROWS)))
    for w in range(workers):
        while model.answers[w]:
            model.install(w)
        assert not model.mirrors[w].pending["x"].any() and np.array_equal(
            model.tables[w].arrays["x"], model.truth
        )
    model.check()


bits = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(
    lambda x: x != 0 or str(x) == "0.0"
)


@relaxed
@given(bits, bits, bits, st.booleans())
def test_the_masters_value_arrives_to_the_bit_when_nothing_is_pending(before, after, now, sent):
    shown = table(1, x=shared("f4"))
    shown.arrays["x"][:] = before
    mirrors = mirrors_of(shown)
    shown.arrays["x"][:] = after if sent else before
    mirrors.pack(rows(0), CHANNEL)
    install(mirrors, rows(0), all_dirty(np.array([now], np.float32)))
    assert shown.arrays["x"].tobytes() == np.float32(now).tobytes() == mirrors.base["x"].tobytes()


def test_own_changes_after_the_send_stay_on_top_of_the_answer():
    shown = table(1, x=shared("f8"))
    mirrors, x = mirrors_of(shown), shown.arrays["x"]
    x += 1
    first = mirrors.pack(rows(0), CHANNEL)
    x += 10
    second = mirrors.pack(rows(0), CHANNEL)
    x += 100
    sent = [unpack_message(up, [x], rows(0))[0][0].tolist() for up in (first, second)]
    assert sent == [[1], [10]]
    # the master: 1000 of others and the first change
    install(mirrors, rows(0), all_dirty([1001.0]))
    assert x.tolist() == [1111]
    install(mirrors, rows(0), all_dirty([2011.0]))
    third = mirrors.pack(rows(0), CHANNEL)
    assert x.tolist() == [2111] and unpack_message(third, [x], rows(0))[0][0].tolist() == [100]


@pytest.mark.parametrize("changed", [(), (1,), (0, 1, 2)], ids=str)
def test_what_is_handed_over_is_what_would_be_sent(changed):
    fields = {"x": shared("i8", 2), "y": value("i8"), "n": delta("i8")}
    at, shown, kept = rows(0, 1, 2), [], []
    for in_place in (True, False):
        mirrors, masters = mirrors_of(table(3, **fields)), Masters(table(3, **fields))
        own = mirrors.table.arrays
        own["x"][list(changed), 1], own["n"][list(changed)] = 5, 7
        taken = mirrors.take(at, CHANNEL)
        if in_place:
            sent = pick_changed_fields(taken, at)
            assert [each is NEVER for each in sent] == [not changed] * 2
        else:
            sent = unpack(pack(taken), masters.up, at)
        masters.fold([(at, sent, None)])
        with masters.changing(at):
            masters.table.arrays["y"][list(changed)] += 3
        mirrors.install(
            CHANNEL,
            pick_changed_fields(masters.values_and_flags(at), at)
            if in_place
            else unpack(masters.pack_values(at), mirrors.down, at),
        )
        masters.clear_dirty()
        shown.append([array.tolist() for array in own.values()])
        kept.append([array.tolist() for array in masters.table.arrays.values()])
        own["x"] += 1  # what was handed over does not change with the rows
        assert all(not each.values.flags.writeable for each in sent)
    assert shown[0] == shown[1] and kept[0] == kept[1]


def test_answers_of_two_homes_and_two_synchronisations_are_kept_apart():
    shown = table(2, x=shared("i8"))
    mirrors, x = mirrors_of(shown), shown.arrays["x"]
    x += [1, 2]
    for channel, row in (((0, 0), 0), ((0, 1), 1), ((5, 0), 0)):
        mirrors.pack(rows(row), channel)
    install(mirrors, rows(0), all_dirty([30]), (5, 0))
    # the first synchronisation is not answered: its change is still pending
    assert x.tolist() == [31, 2]
    install(mirrors, rows(1), all_dirty([40]), (0, 1))
    install(mirrors, rows(0), all_dirty([31]))
    assert x.tolist() == [31, 40] and not mirrors.pending["x"].any()


def test_an_answer_may_bring_rows_that_were_not_sent():
    shown = table(3, x=shared("i8"), y=value("i8"))
    mirrors = mirrors_of(shown)
    shown.arrays["x"][2] += 7
    mirrors.pack(rows(0), CHANNEL)
    install(mirrors, rows(0, 2), all_dirty([5, 6], [8, 9]))
    assert shown.arrays["x"].tolist() == [5, 0, 13] and shown.arrays["y"].tolist() == [8, 0, 9]


@relaxed
@given(st.lists(st.floats(-1e9, 1e9, width=32), min_size=1, max_size=5))
def test_rounding_leaves_nothing_pending_when_all_is_answered(steps):
    shown = table(1, x=shared("f4"))
    mirrors = mirrors_of(shown)
    for step in steps:
        shown.arrays["x"] += np.float32(step)
        mirrors.pack(rows(0), CHANNEL)
    for number in range(len(steps)):
        install(mirrors, rows(0), all_dirty(np.float32([number + 0.1])))
    assert (
        mirrors.pending["x"].tolist() == [0]
        and shown.arrays["x"].tobytes() == np.float32([len(steps) - 0.9]).tobytes()
    )


def test_reset_takes_what_is_shown_for_the_masters():
    shown = table(2, x=shared("f4"))
    mirrors = mirrors_of(shown)
    shown.arrays["x"][:] = [1, 2]
    mirrors.reset()
    up = mirrors.pack(rows(0, 1), CHANNEL)
    assert not unpack_message(up, [shown.arrays["x"]], rows(0, 1))[0][1].any()


@relaxed
@given(
    st.lists(
        st.tuples(st.sets(st.integers(0, 2)), st.lists(st.integers(0, 4), min_size=3, max_size=3)),
        max_size=4,
    )
)
def test_mean_weighs_changes_by_local_edges(contributions):
    masters = Masters(table(3, x=shared("f8", 2, combine="mean"), n=delta("i8")))
    assert masters.needs_weights
    rng, folded = np.random.default_rng(0), []
    total, weight = np.zeros((3, 2)), np.zeros(3)
    for held, edges in contributions:
        mine, local = rows(*sorted(held)), np.array(edges, np.float32)[sorted(held)]
        changes = rng.integers(-9, 9, (len(mine), 2)).astype(float)
        sent = all_dirty(changes, np.ones(len(mine), np.int64))
        folded.append((mine, unpack(sent, masters.up, mine), local))
        # where all replicas have no edges, each counts the same
        for row, change, n in zip(mine, changes, np.maximum(local, NO_EDGES), strict=True):
            total[row] += n * change
            weight[row] += n
    masters.fold(folded)
    expected = np.divide(total, weight[:, None], out=np.zeros((3, 2)), where=weight[:, None] > 0)
    np.testing.assert_allclose(masters.table.arrays["x"], expected, rtol=1e-14)
    assert masters.table.arrays["n"].tolist() == [
        sum(row in held for held, _ in contributions) for row in range(3)
    ]


def test_mean_of_float32_fields_and_scalars():
    masters = Masters(table(1, x=shared("f4", combine="mean"), y=shared("f4")))
    masters.table.arrays["x"][:] = 10
    masters.fold(
        [
            (rows(0), dirty(masters, [change], [change]), np.float32([edges]))
            for change, edges in ((1, 1), (4, 2))
        ]
    )
    assert masters.table.arrays["x"].tolist() == [13] and masters.table.arrays["y"].tolist() == [5]


@pytest.mark.parametrize(
    ("combine", "dtype"),
    [("min", "f4"), ("max", "f4"), ("min", "u1"), ("max", "b1"), ("sum", "f8")],
)
def test_combination_of_nothing_is_the_identity(combine, dtype):
    field = delta(dtype, combine=combine)
    masters = Masters(table(2, d=field))
    nothing = unpack(all_dirty(np.empty(0, dtype)), masters.up, NONE)
    masters.fold([(NONE, nothing, None)] * 3)
    assert (masters.table.arrays["d"] == field.identity).all() and not masters.needs_weights


@pytest.mark.parametrize(
    "kind", [value, *(lambda *spec, c=c: shared(*spec, combine=c) for c in ("sum", "mean")), delta]
)
def test_a_field_may_have_no_width(kind):
    bare = kind("f4", 0)
    mirrors, masters = mirrors_of(table(2, x=bare)), Masters(table(2, x=bare))
    sent = unpack(mirrors.pack(rows(0, 1), CHANNEL), masters.up, rows(0, 1))
    masters.fold([(rows(0, 1), sent, np.ones(2, np.float32))])
    install(mirrors, rows(0, 1), masters.pack_values(rows(0, 1)))


def test_sums_are_folded_in_the_order_of_contributions():
    """Sums in floating point depend on their order, so the order is fixed: 1 + 1e-8 + ... is
    lost bit by bit, the reverse is not.
    """
    numbers = np.float32([1, 3e-8, 3e-8, 3e-8])
    for order in (numbers, numbers[::-1]):
        masters = Masters(table(1, x=shared("f4")))
        masters.fold([(rows(0), dirty(masters, order[i : i + 1]), None) for i in range(4)])
        expected = np.float32(0)
        for number in order:
            expected += number
        assert masters.table.arrays["x"][0] == expected
    assert expected != 1
