"""States of the workers of one cut, for those of another: what was known of each vertex and each
edge is known of it afterwards.
"""

import numpy as np
import pytest
from support.programs.redistributing import (
    MADE,
    SEED,
    Away,
    CutPages,
    FieldMeetings,
    fill,
    knowledge,
    link_inputs,
    meet,
    move_trainings,
    note,
    of_vertices,
    rating_inputs,
    report,
    rest,
    train,
    trainings_of,
)

from tux import Context, Vertex, delta, mirror, shared, value
from tux.base.errors import Refused
from tux.engine.shares import are_alike, shares_of
from tux.graph import store
from tux.graph.partitioned import partition_inputs
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Repeat

MOVES = [(1, 2), (2, 1), (3, 2), (2, 3), (1, 4)]


@pytest.mark.slow(after=6)
@pytest.mark.parametrize("kind", [FieldMeetings, CutPages, Away])
@pytest.mark.parametrize(("k", "n"), MOVES)
def test_all_that_was_known_is_known(kind, k, n):
    program, inputs = kind(), MADE[kind]()
    trainings, _ = trainings_of(program, inputs, k)
    fill(program, trainings, np.random.default_rng(k))
    others, _ = move_trainings(program, inputs, trainings, n)
    before = knowledge([training.worker for training in trainings])
    after = knowledge([training.worker for training in others])
    assert after.keys() == before.keys()
    for name, known in before.items():
        assert after[name] == known, name


@pytest.mark.parametrize(("k", "n"), [(1, 2), (3, 1), (2, 3)])
def test_mirrors_start_from_their_masters_and_rows_of_held_out_edges_too(k, n):
    program, inputs = CutPages(), link_inputs()
    trainings, _ = trainings_of(program, inputs, k)
    fill(program, trainings, np.random.default_rng(k))
    others, _ = move_trainings(program, inputs, trainings, n)
    workers = [training.worker for training in others]
    known = of_vertices(workers, "page", "rank", program.vertices["page"].fields["rank"])
    for worker in workers:
        held = worker.graph.vertices["page"]
        for row, vertex in enumerate(held.order):
            if vertex in known:
                assert worker.tables["page"].arrays["rank"][row] == known[vertex]


@pytest.mark.slow(after=3)
@pytest.mark.parametrize(("k", "n"), MOVES)
def test_a_run_goes_on_with_the_same_counts(k, n):
    program, inputs = FieldMeetings(), rating_inputs()
    whole, cluster = trainings_of(program, inputs, 1)
    train(whole, cluster, 5)
    trainings, cluster = trainings_of(program, inputs, k)
    records = train(trainings, cluster, 3)
    others, cluster = move_trainings(program, inputs, trainings, n)
    assert [each["epoch"] for each in train(others, cluster, 5)] == [4, 5]
    expected = knowledge([training.worker for training in whole])
    after = knowledge([training.worker for training in others])
    for name in ("user.met", "item.most", "edges", "tau.all", "tau.n"):
        assert after[name] == expected[name], name
    counts = [training.state().head.counts for training in others]
    assert sum(each.edges_visited for each in counts) == 5 * len(expected["edges"])
    assert records[-1]["epoch"] == 3


@pytest.mark.parametrize(("k", "n"), [(1, 2), (2, 1), (3, 2)])
def test_the_best_model_moves_too(k, n):
    program, inputs = FieldMeetings(), rating_inputs()
    trainings, cluster = trainings_of(program, inputs, k)
    fill(program, trainings, np.random.default_rng(1), unsent=False)
    best = knowledge([each.worker for each in trainings])
    for training in trainings:
        training._best_model.make()
    for training in trainings:
        training.worker.masters("item").arrays["most"][...] = 0
    others, _ = move_trainings(program, inputs, trainings, n)
    for training in others:
        training._best_model.put_back()
    after = knowledge([each.worker for each in others])
    for name in ("item.most", "item.mean", "user.list", "user.size"):
        assert after[name] == best[name], name


class RepeatedMeetings(FieldMeetings):
    """Several workers go twice through repetitions, which one worker does not have."""

    def stages(self, cluster):
        visit, times = Exchange(meet), cluster.workers
        visits = [Repeat(visit, times=times)] * 2 if times > 1 else [visit]
        return [*visits, Apply("item", note), Apply("user", rest), GlobalSync(report)]


def test_repetitions_that_other_numbers_of_workers_have_keep_their_count():
    program, inputs = RepeatedMeetings(), rating_inputs()
    trainings, cluster = trainings_of(program, inputs, 1)
    for k, n, expected in (
        (1, 2, {}),
        (2, 3, {2: 2}),
        (3, 1, {2: 2, 3: 3}),
        (1, 2, {2: 2, 3: 3}),
        (2, 1, {2: 4, 3: 3}),
    ):
        train(trainings, cluster, trainings[0].worker.epoch + 1)
        trainings, cluster = move_trainings(program, inputs, trainings, n)
        known = {}
        for times, count in expected.items():
            label = f"Repeat(Exchange(meet), times={times})"
            known |= {label: count, f"{label} 2": count}  # the two are alike but for their place
        now = trainings[0].state().head.repetitions
        assert {label: count for label, count in now.items() if count} == known, (k, n)
    visits = 1 + 2 * 2 + 2 * 3 + 1 + 2 * 2
    met = trainings[0].worker.tables["user"].arrays["met"]
    assert met.sum() == visits * inputs.train.fields["count"].sum()


def test_a_mean_that_was_not_sent_is_refused():
    program, inputs = FieldMeetings(), rating_inputs()
    trainings, _ = trainings_of(program, inputs, 2)
    trainings[1].worker.tables["item"].arrays["near"][0] += 1
    with pytest.raises(Refused, match=r"changes of item\.near were not sent yet.*mean") as caught:
        move_trainings(program, inputs, trainings, 3)
    assert caught.value.do == "resume on as many workers as before: 2 in all"


def test_replicas_that_differ_in_a_mirror_field_are_refused():
    program, inputs = FieldMeetings(), rating_inputs()
    trainings, _ = trainings_of(program, inputs, 2)
    for rank, training in enumerate(trainings):
        training.worker.tables["item"].arrays["scratch"][...] = rank
    with pytest.raises(Refused, match=r"item\.scratch is a mirror field"):
        move_trainings(program, inputs, trainings, 1)


class ListsOfCut(CutPages):
    """A type that is cut has lists."""

    page = Vertex(rank=value("f8"), sum=delta("f8"), many=mirror("u4", "edges"))


class WiderMeetings(FieldMeetings):
    """A field of the context has another length than before."""

    tau = Context(**{**FieldMeetings.context.fields, "wide": shared("f8", 4)})


class MoreMeetings(FieldMeetings):
    """A type has a field more than before."""

    user = Vertex(whole=True, **FieldMeetings.vertices["user"].fields, more=value("f4"))


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (WiderMeetings, "rows/tau/wide is float64 with other lengths"),
        (MoreMeetings, "rows/user/more is not in it"),
    ],
)
def test_states_of_another_version_of_the_program_are_refused(kind, why):
    inputs = rating_inputs()
    trainings, _ = trainings_of(FieldMeetings(), inputs, 2)
    with pytest.raises(Refused, match=why) as caught:
        move_trainings(kind(), inputs, trainings, 1)
    assert "the version of tux of the run" in caught.value.do


def test_lists_of_a_cut_type_are_refused():
    program, inputs = ListsOfCut(), link_inputs()
    trainings, _ = trainings_of(program, inputs, 1)
    with pytest.raises(Refused, match=r"page\.many has an entry for each edge"):
        move_trainings(program, inputs, trainings, 2)


def test_states_of_two_moments_are_refused():
    program, inputs = FieldMeetings(), rating_inputs()
    trainings, _ = trainings_of(program, inputs, 2)
    trainings[1].worker.epoch = 3
    with pytest.raises(Refused, match="its workers differ in epoch"):
        move_trainings(program, inputs, trainings, 1)


def test_the_digest_of_a_part_is_that_of_its_files(tmp_path):
    program, inputs = FieldMeetings(), rating_inputs()
    parts = partition_inputs(program, inputs, "bicut", 3, SEED)
    store.save(tmp_path, parts.parts, parts.bare.ends)
    shares = shares_of(program, inputs, "bicut", 3, SEED)
    assert shares.digests == [store.digest(tmp_path, rank) for rank in range(3)]
    assert len({*shares.digests}) == 3


class RotatedBlocks(FieldMeetings):
    """Workers are on different blocks at each clock."""

    def stages(self):
        batch = MiniBatch(Exchange(meet), Apply("item", note), vertices=3, order="rotated")
        return [batch, Apply("user", rest), GlobalSync(report)]


def visit(item, edges):
    for edge in edges:
        item.visits += edge.value


class InOneLoop(FieldMeetings):
    """With one worker, all blocks are one clock."""

    def stages(self):
        batch = MiniBatch(
            Exchange(visit, over="item", additive=True), Apply("item", note), vertices=3
        )
        return [batch, Apply("user", rest), GlobalSync(report)]


@pytest.mark.parametrize(
    ("kind", "k", "n", "fits"),
    [
        (FieldMeetings, 2, 3, True),
        (FieldMeetings, 1, 2, True),
        (InOneLoop, 1, 2, False),
        (InOneLoop, 2, 3, True),
        (RotatedBlocks, 2, 3, False),
    ],
)
def test_an_epoch_goes_on_elsewhere_only_if_its_clocks_are_the_same(kind, k, n, fits):
    program, inputs = kind(), rating_inputs()
    cuts = [shares_of(program, inputs, program.by, each, SEED, epoch=1) for each in (k, n)]
    assert are_alike(1, *cuts) == fits
