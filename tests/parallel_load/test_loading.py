"""Loading in shares makes the files that one process makes, byte for byte."""

import numpy as np
import pytest
from support.machines.loaded import cut_up, files, in_shares, one_process

from tux.arrays.arrow import STRING, CodedColumn
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.graph.cut import cut
from tux.graph.store import save
from tux.parallel_load.algorithm.loader import count_edges, rounds_of
from tux.parallel_load.algorithm.plan import IN_SHARES, InputShare, LoadingPlan
from tux.parallel_load.algorithm.turns import IN_TURNS
from tux.partition import PARTITIONERS
from tux.partition.common.some_edges import BY_ENDS

SAME, TWO = ("page", "page"), ("user", "item")


def ids(rng, kind, numbers):
    """Return ids of some kind, one for each of these numbers."""
    if kind == "strings":
        return np.array([f"{number * 7919 % 1000}é{number}" for number in numbers], STRING)
    if kind == "long":
        return np.array([f"https://a.very.long.address/{n}" for n in numbers], STRING)
    scale = {"dense": 1, "negative": -3, "sparse": 10**15, "wide": 2**40}[kind]
    return numbers.astype(np.int64) * scale + (kind == "negative") * 50


def random_graph(rng, kinds):
    """Return columns of ids and two fields of a graph with heavy vertices and repeated edges."""
    m, n = int(rng.integers(1, 300)), int(rng.integers(1, 60))
    first = (n * rng.random(m) ** 3).astype(np.int64)
    second = rng.integers(0, n, m)
    if rng.random() < 0.3:
        second[: m // 3] = first[: m // 3]  # self-loops, where the types are one
    src, dst = (ids(rng, kind, each) for kind, each in zip(kinds, (first, second), strict=True))
    fields = {"value": rng.random(m).astype(np.float32), "often": rng.integers(0, 9, m)}
    return src, dst, fields


@pytest.mark.long(after=4)
@pytest.mark.parametrize("partitioner", IN_SHARES)
@pytest.mark.parametrize("ends", [SAME, TWO])
def test_the_files_are_those_of_one_process(tmp_path, partitioner, ends):
    rng = np.random.default_rng([len(ends[0]), len(partitioner)])
    kinds = ["dense", "negative", "sparse", "strings", "long", "wide"]
    for at, n in enumerate((1, 2, 3, 5)):
        first, second = rng.choice(kinds, 2)
        src, dst, fields = random_graph(rng, (first, second))
        k, seed = int(rng.integers(1, 9)), int(rng.integers(100))
        expected, folder = tmp_path / f"one-{at}", tmp_path / f"shares-{at}"
        edges = one_process(expected, ends, src, dst, fields, k, partitioner, seed)
        plan = LoadingPlan(ends, n, k, partitioner, seed, bipartite=ends[0] != ends[1])
        loaded = in_shares(folder, plan, cut_up(rng, src, dst, fields, n))
        assert files(folder) == files(expected), (n, k, first, second)
        assert sum(sum(own.edges[""].repeated) for own in loaded) == edges.duplicates


def test_a_column_is_of_one_kind_over_all_shares(tmp_path):
    """Integers in some shares, strings in others; negative here, beyond int64 there."""
    texts = ["7", "-3", "12", "x7", "007", "7", "100", "x7"]
    numbers = np.array([7, -3, 12], np.int32)
    shares = [
        InputShare(numbers, numbers[::-1]),
        InputShare(np.empty(0, np.int64), np.empty(0, np.int64)),
        InputShare(CodedColumn(np.array([0, 1, 2]), np.array(["x7", "007", "7"], STRING)), numbers),
        InputShare(np.array(["100", "x7"], STRING), np.array([2**63 + 1, 5], np.uint64)),
    ]
    src = np.array(texts, STRING)
    dst = np.array(["12", "-3", "7", "7", "-3", "12", str(2**63 + 1), "5"], STRING)
    for ends in (SAME, TWO):
        name = f"{len(set(ends))}"
        edges = one_process(tmp_path / name, ends, src, dst, {}, 3, "dbh", 5)
        assert all(each.values.dtype.kind == "T" for each in edges.ids.values())
        plan = LoadingPlan(ends, 4, 3, "dbh", 5, bipartite=ends == TWO)
        given = [InputShare(share.src, share.dst) for share in shares]
        in_shares(tmp_path / f"{name}-shares", plan, given)
        assert files(tmp_path / f"{name}-shares") == files(tmp_path / name)


def test_ids_of_64_bits_without_a_sign(tmp_path):
    src = np.array([2**64 - 1, 3, 2**63, 3, 9], np.uint64)
    dst = np.array([1, 2, 3, 4, 5])
    edges = one_process(tmp_path / "one", SAME, src, dst, {}, 2, "random", 0)
    assert edges.ids["page"].values.dtype == np.uint64
    shares = [InputShare(src[at : at + 2], dst[at : at + 2]) for at in (0, 2, 4)]
    in_shares(tmp_path / "shares", LoadingPlan(SAME, 3, 2, "random"), shares)
    assert files(tmp_path / "shares") == files(tmp_path / "one")


@pytest.mark.parametrize("ends", [SAME, TWO])
def test_vertices_without_edges(tmp_path, ends):
    """They get a home where masters are fewest, and no other row."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 30, 80), rng.integers(0, 30, 80)
    vertices = {ends[0]: np.arange(-5, 60), ends[1]: np.arange(-9, 40)}
    one_process(tmp_path / "one", ends, src, dst, {}, 4, "grid", 1, vertices)
    for n in (1, 3):
        shares = cut_up(rng, src, dst, {}, n)
        shares[-1].vertices = vertices
        in_shares(
            tmp_path / f"{n}", LoadingPlan(ends, n, 4, "grid", 1, bipartite=ends == TWO), shares
        )
        assert files(tmp_path / f"{n}") == files(tmp_path / "one")


def test_whole_vertices_of_one_type_have_no_routes(tmp_path):
    """No vertex is cut where there is one part."""
    src, dst = np.arange(9), np.arange(9)[::-1]
    one_process(tmp_path / "one", SAME, src, dst, {}, 1, "dbh", 0)
    shares = [InputShare(src[:4], dst[:4]), InputShare(src[4:], dst[4:])]
    in_shares(tmp_path / "shares", LoadingPlan(SAME, 2, 1, "dbh"), shares)
    assert files(tmp_path / "shares") == files(tmp_path / "one")


def test_no_loader_gets_more_than_a_few_times_its_share(tmp_path):
    """The bytes that a loader gets in a round have a bound: the largest of its share, its part and
    its range of ids. No round brings it the whole graph, whatever the number of loaders.
    """
    rng = np.random.default_rng(8)
    m, n = 60_000, 6
    src, dst = (5000 * rng.random(m) ** 2).astype(np.int64), rng.integers(0, 20_000, m)
    fields = {"value": rng.random(m).astype(np.float32)}
    most = [0] * n

    def watch(me, inbox):
        size = sum(array.nbytes for message in inbox for array in message)
        most[me] = max(most[me], size)

    bounds = np.arange(n + 1) * m // n
    shares = [
        InputShare(src[lo:hi], dst[lo:hi], {"value": fields["value"][lo:hi]})
        for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    loaded = in_shares(
        tmp_path / "shares", LoadingPlan(TWO, n, n, "dbh", 0, bipartite=True), shares, watch
    )
    assert count_edges(loaded)[""] == m
    row = 4 + 4 + 4
    part = max(max(own.edges[""].counts) for own in loaded) * row
    assert part < 1.5 * m / n * row
    # an id comes once from each share that has it, with two counts; a draw with three numbers
    assert max(most) <= 2 * max(part, m / n * row), (most, part)


@pytest.mark.parametrize("name", sorted(set(PARTITIONERS) - set(IN_SHARES)))
def test_a_partitioner_that_needs_all_edges_is_refused(name):
    with pytest.raises(UsageError) as caught:
        LoadingPlan(SAME, 2, 2, name).check()
    assert name in caught.value.what
    assert "tux partition" in caught.value.do
    assert "dbh" in caught.value.do


def test_each_partitioner_of_the_list_has_its_rule():
    assert set(IN_SHARES) == {*BY_ENDS, *IN_TURNS}


@pytest.mark.long
def test_more_ids_than_a_row_group_of_parquet(tmp_path):
    rng = np.random.default_rng(8)
    src, dst = rng.integers(0, 1 << 50, 1_200_000), rng.integers(0, 9, 1_200_000)
    one_process(tmp_path / "one", SAME, src, dst, {}, 3, "source", 1)
    in_shares(
        tmp_path / "shares", LoadingPlan(SAME, 4, 3, "source", 1), cut_up(rng, src, dst, {}, 4)
    )
    assert files(tmp_path / "shares") == files(tmp_path / "one")


@pytest.mark.parametrize("partitioner", ["aweto", "bicut"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_one_type_of_which_one_side_stays_whole(tmp_path, partitioner, side):
    """A vertex as a source and the same as a target are two for the partitioner."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 40, 300) ** 2, rng.integers(0, 40, 300)
    edges = EdgeData.of(SAME, src, dst, {})
    parts = PARTITIONERS[partitioner](edges.src, edges.dst, 3, 2, bipartite=True, favourite=side)
    (tmp_path / "one").mkdir()
    how = {"partitioner": partitioner, "seed": 2, "digest": edges.digest()}
    save(tmp_path / "one", cut(edges, None, parts, 3, 2), SAME, **how)
    plan = LoadingPlan(SAME, 4, 3, partitioner, 2, True, side)
    loaded = in_shares(tmp_path / "shares", plan, cut_up(rng, src, dst, {}, 4))
    assert files(tmp_path / "shares") == files(tmp_path / "one")
    assert sum(sum(own.edges[""].repeated) for own in loaded) == edges.duplicates


@pytest.mark.parametrize("partitioner", ["dbh", "pds", "aweto"])
@pytest.mark.parametrize("n", [1, 3])
def test_the_number_of_rounds_is_known_before(tmp_path, partitioner, n):
    rng, taken = np.random.default_rng(0), []
    src, dst = rng.integers(0, 9, 50), rng.integers(0, 9, 50)
    plan = LoadingPlan(SAME, n, 3, partitioner)
    shares = cut_up(rng, src, dst, {}, n)
    in_shares(tmp_path / "shares", plan, shares, lambda at, inbox: taken.append(at))
    assert taken.count(0) == taken.count(n - 1) == rounds_of(plan, 0)
