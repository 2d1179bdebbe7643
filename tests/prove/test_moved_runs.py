"""Runs that go on on another number of workers: what the interpreter moves, by cases that are
computed by hand; and the engine's states of random programs, dealt to other workers.
"""

import pytest
from support.prove.case import draw_case
from support.prove.check import check_case
from support.prove.engine import run_case
from support.prove.moving import MoveRefused
from support.prove.ratings import ADD, FINISH, GIVE, KEEP, items, run_ratings, value
from support.prove.shrink import describe, reductions
from support.prove.spec import ApplySpec, ExchangeSpec, FieldSpec, GlobalSyncSpec

from tux.base.errors import ProgramError

MOVES = [(1, 2), (2, 1), (2, 2)]
SHARED = FieldSpec("s", "shared")
DELTA = FieldSpec("d", "delta")


@pytest.mark.parametrize(("workers", "then"), MOVES)
def test_deltas_that_were_not_taken_are_taken_after_the_move(workers, then):
    stages = [ExchangeSpec("add"), ApplySpec("item", "keep"), ExchangeSpec("add")]
    item = (DELTA, value("x"))
    out = run_ratings(stages, ADD, KEEP, workers=workers, then=then, epochs=2, item=item)
    assert items(out, "x") == [10 * 3 + 6, 10 * 1 + 2, 0]


@pytest.mark.parametrize(("workers", "then", "seen"), [(1, 2, 9), (2, 1, 9), (2, 2, 2 * 3)])
def test_changes_that_were_not_sent_show_on_the_first_worker_with_the_vertex(workers, then, seen):
    """Of three changes of item 0, two edges on worker 0 see all, and the one on worker 1 none. On
    one worker there are none that were not sent.
    """
    out = run_ratings(
        [ExchangeSpec("see"), ApplySpec("item", "keep"), ExchangeSpec("give")],
        "def see(user, item): item.d += item.s",
        KEEP,
        GIVE,
        workers=workers,
        then=then,
        epochs=2,
        item=(SHARED, DELTA, value("x")),
    )
    assert items(out, "x") == [seen, 1, 0]
    assert items(out, "s") == ([6, 2, 0] if then == 1 else [3, 1, 0])


@pytest.mark.parametrize(("workers", "then"), MOVES)
def test_totals_that_were_not_taken_are_taken_once(workers, then):
    out = run_ratings(
        [GlobalSyncSpec("finish"), ExchangeSpec("count")],
        "def count(user, item, tau): tau.n += 1",
        FINISH,
        workers=workers,
        then=then,
        epochs=2,
        tau=(FieldSpec("n", "total"), value("kept")),
    )
    assert out.context["kept"] == 4


@pytest.mark.parametrize(("workers", "then"), MOVES)
def test_edges_keep_their_fields(workers, then):
    out = run_ratings(
        [ExchangeSpec("see"), ApplySpec("item", "keep")],
        "def see(user, item, rating): item.d += rating.seen; rating.seen += rating.stars",
        KEEP,
        workers=workers,
        then=then,
        epochs=2,
        item=(DELTA, value("x")),
        rating=(FieldSpec("seen", "mirror"),),
    )
    assert items(out, "x") == [1 + 2 + 8, 4, 0]


def test_a_mirror_field_is_that_of_all_new_replicas():
    out = run_ratings(
        [ExchangeSpec("write"), ApplySpec("item", "keep")],
        "def write(item, rating): item.d += item.m; item.m += rating.stars",
        KEEP,
        workers=1,
        then=2,
        epochs=2,
        item=(FieldSpec("m", "mirror"), DELTA, value("x")),
        seed=None,
    )
    first = 1 + (1 + 2)
    assert items(out, "x") == [10 * first + 11 + (11 + 1) + 11, 4, 0]


@pytest.mark.parametrize(
    ("field", "change"),
    [
        (FieldSpec("m", "mirror"), "item.m += rating.stars"),
        (FieldSpec("m", "shared", "f8", combine="mean"), "item.m += 1"),
    ],
)
def test_what_other_workers_cannot_have_is_refused(field, change):
    function = f"def write(item, rating): {change}"
    options = {"epochs": 2, "item": (field,)}
    with pytest.raises(MoveRefused) as caught:
        run_ratings([ExchangeSpec("write")], function, workers=2, then=1, **options)
    assert caught.value.fields == ["item.m"]
    run_ratings([ExchangeSpec("write")], function, workers=1, then=2, **options)


def test_random_programs_go_on_on_other_workers_or_are_refused():
    """Of the programs with a checkpoint, most can go on; a few have mirror fields that differ."""
    moved = [case for case in map(draw_case, range(120)) if case.moved]
    assert {case.moved for case in moved} == {1, 2, 3, 4, 5}
    assert all(case.kept and case.moved != case.workers for case in moved)
    outcomes = [bool(run_case(case).moved.outcome) for case in moved[:8]]
    assert sum(outcomes) > 2


def is_refused(case):
    """Return whether a case cannot go on on its other workers; False if it cannot begin."""
    try:
        return bool(run_case(case).moved.refused)
    except ProgramError:
        return False


@pytest.mark.slow
def test_some_programs_cannot_go_on():
    moved = [case for case in map(draw_case, range(400)) if case.moved]
    refused = [case for case in moved if is_refused(case)]
    assert 0 < len(refused) < len(moved) / 2
    for case in refused:
        check_case(case)


def test_a_case_that_is_moved_is_made_smaller():
    case = next(case for case in map(draw_case, range(100)) if case.moved > 1)
    smaller = [*reductions(case)]
    assert any(not each.moved and each.kept for each in smaller)
    assert any(0 < each.moved < case.moved for each in smaller)
    for each in smaller:
        for name, ends in each.graph.ends.items():
            if each.moved:
                assert len(each.moved_parts[name]) == ends.shape[1]
                assert (each.moved_parts[name] < each.moved).all()
    assert f"from epoch {case.kept} on {case.moved} workers" in describe(case)
