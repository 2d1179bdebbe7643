"""Groups of vertices that belong together: their file, their order, and blocks of whole ones."""

import gzip

import numpy as np
import pytest
from support.messages import message
from support.programs.programs import Spy, drive, start

from tux import Edge, Program, Vertex, mirror
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.engine.worker import Worker
from tux.graph import local
from tux.graph.cut import cut
from tux.graph.layout import move_to_group_ends
from tux.graph.local import LocalGraph
from tux.graph.orders import order_of
from tux.graph.store import load, save
from tux.inputs.samples import add_groups
from tux.inputs.sizes import count_groups
from tux.partition import bicut
from tux.stages import Exchange, MiniBatch

GROUP = np.array([3, 1, 1, 7, 3, 1, 0, 7, 7, 7, 5, 1])  # of 12 features
SAMPLE, FEATURE = np.arange(60) % 9, np.arange(60) * 7 % 12


class Visits(Program):
    sample = Vertex(seen=mirror("i8"))
    feature = Vertex(seen=mirror("i8"))
    entry = Edge("sample", "feature")


def visit(sample, feature):
    feature.seen += 1


def edges(group=GROUP):
    fields = {} if group is None else {"feature": {"together": group}}
    return EdgeData.of(("sample", "feature"), SAMPLE, FEATURE, {}, vertex_fields=fields)


def runs(values):
    """Return the number of runs of equal values."""
    return 1 + np.count_nonzero(np.diff(values))


# The order of vertices.


@pytest.mark.parametrize("seed", range(4))
def test_vertices_of_a_group_are_neighbours(seed):
    order = order_of(edges(), "feature", seed)
    assert sorted(order) == list(range(12)) and runs(GROUP[order]) == len(set(GROUP))
    assert (order_of(edges(), "sample", seed) == order_of(edges(None), "sample", seed)).all()


def test_groups_and_their_members_are_in_random_order():
    orders = [order_of(edges(), "feature", seed) for seed in range(50)]
    assert len({tuple(GROUP[order]) for order in orders}) > 20
    assert len({tuple(order[GROUP[order] == 7]) for order in orders}) > 12
    assert {int(GROUP[order[0]]) for order in orders} == set(GROUP)


@pytest.mark.parametrize("piece", [1, 5, 1 << 20])
def test_the_order_is_that_of_any_number_of_workers(tmp_path, monkeypatch, piece):
    """Also with held-out edges, which say nothing of groups, and from a folder, of whose arrays a
    piece is read at a time.
    """
    monkeypatch.setattr(local, "CHECKED", piece)
    held = EdgeData.of(("sample", "feature"), [0, 99], [99, 1], {}, against=edges().ids)
    whole = LocalGraph.whole(Visits(), edges(), held, 3).vertices["feature"]
    parts = cut(edges(), held, (SAMPLE % 2).astype(np.int16), 2, 3)
    save(tmp_path, parts, ("sample", "feature"))
    for part in [*parts, load(tmp_path, 1)]:
        graph = LocalGraph.of(Visits(), part)
        assert (graph.vertices["feature"].part.order == whole.order).all()
        found = [graph.vertices["feature"].position_of(index) for index in whole.order]
        assert found == [*range(13)]
        assert (
            graph.groups("feature").tolist()
            == LocalGraph.whole(Visits(), edges(), held, 3).groups("feature").tolist()
        )
    assert whole.order[-1] == 12 and runs(GROUP[whole.order[:12]]) == 5


# Blocks.


def blocks_of(worker, **options):
    """Return the members (dense indices) of each block."""
    batch = MiniBatch(Spy(lambda *_: None), over="feature", keep_groups=True, **options)
    batch = batch.prepare(worker)
    order = worker.graph.vertices["feature"].order
    return [sorted(order[lo:hi]) for lo, hi in zip(batch.cuts[:-1], batch.cuts[1:], strict=True)]


@pytest.mark.parametrize(
    "size",
    [
        {},
        {"vertices": 1},
        {"vertices": 3},
        {"edges": 1},
        {"edges": 14},
        {"blocks": 3},
        {"blocks": 99},
    ],
    ids=str,
)
def test_no_block_cuts_a_group(size):
    for seed in range(5):
        found = blocks_of(start(Visits(), edges(), seed=seed, jit=False), **size)
        assert sorted(sum(found, [])) == list(range(12))
        assert sum(len(set(GROUP[block])) for block in found) == len(set(GROUP))
        if size in ({"vertices": 1}, {"edges": 1}, {"blocks": 99}):
            assert len(found) == len(set(GROUP))
        if not size:
            assert len(found) == 1


def test_vertices_without_a_group_of_several_are_blocks_by_themselves():
    found = blocks_of(
        start(Visits(), edges(np.array([0, 0, 0, *range(1, 10)])), jit=False), vertices=1
    )
    assert sorted(map(len, found)) == [1] * 9 + [3]


def test_a_cut_within_a_group_moves_to_its_end():
    groups = np.array([0, 2, 3, 7, 8])
    assert move_to_group_ends(groups, np.array([0, 2, 4, 5, 6, 8])).tolist() == [0, 2, 7, 8]
    assert move_to_group_ends(groups, np.array([0, 1, 8])).tolist() == [0, 2, 8]


def test_every_worker_has_the_same_blocks():
    parts = cut(edges(), None, bicut(SAMPLE, FEATURE, 3, 0, bipartite=True), 3, 0)
    workers = [
        Worker(Visits(), LocalGraph.of(Visits(), part), rank=rank, workers=3)
        for rank, part in enumerate(parts)
    ]
    batches = [
        MiniBatch(Spy(lambda *_: None), over="feature", keep_groups=True, blocks=3) for _ in workers
    ]
    batches = [batch.prepare(worker) for batch, worker in zip(batches, workers, strict=True)]
    assert len({tuple(batch.cuts) for batch in batches}) == 1 and len(batches[0].cuts) > 2


def test_all_edges_are_walked_once():
    worker = start(Visits(), edges(), jit=False)
    drive(worker, MiniBatch(Exchange(visit), over="feature", keep_groups=True, blocks=3))
    seen = worker.tables["feature"].arrays["seen"][worker.graph.vertices["feature"].row_of]
    assert seen.tolist() == np.bincount(FEATURE).tolist()


def test_without_groups_there_is_nothing_to_keep_together():
    with pytest.raises(DataError, match=message("these-data-do-not-say", "features")):
        blocks_of(start(Visits(), edges(None), jit=False), vertices=1)


# Their file.

IDS = {
    "numbers": [5, 7, 11, 2**62],
    "words": ["age", "sex=f", "sex=m", "town=Bad Ems"],
    "digits": ["5", "7", "x", "y"],
}


def edges_of_features(ids):
    return EdgeData.of(("sample", "feature"), [0, 1, 2, 3], ids, {})


def read(path, ids):
    """Read a file of groups. Return the group of each id by the names of the file, and the
    messages.
    """
    told = []
    known = edges_of_features(ids)
    together = add_groups(known, "feature", path, told.append).vertex_fields["feature"]["together"]
    return dict(zip(known.ids["feature"].values.tolist(), together.tolist(), strict=True)), told


@pytest.mark.parametrize("form", ["tab", "comma", "header", "gz", "parquet"])
def test_forms_of_the_file(tmp_path, form):
    text = {
        "comma": "sex=f,sex\nsex=m,sex\ntown=Bad Ems,place\n",
        "header": "feature,group\nsex=f,sex\ntown=Bad Ems,place\nsex=m,sex\n",
    }
    plain = text.get(form, "# of persons\n\nsex=f\tsex\nsex=m\tsex\ntown=Bad Ems\tplace\n")
    path = tmp_path / ("groups.tsv.gz" if form == "gz" else "groups.csv")
    if form == "parquet":
        from tux.arrays.arrow import write_parquet

        path = tmp_path / "groups.parquet"
        words = np.dtypes.StringDType()
        write_parquet(
            path,
            {
                "group": np.array(["sex", "sex", "place"], words),
                "feature": np.array(IDS["words"][1:], words),
            },
        )
    else:
        path.write_bytes(gzip.compress(plain.encode()) if form == "gz" else plain.encode())
    group, told = read(path, IDS["words"])
    assert not told and group["sex=f"] == group["sex=m"] and len(set(group.values())) == 3


@pytest.mark.parametrize("kind", ["numbers", "digits"])
def test_ids_are_as_the_data_have_them(tmp_path, kind):
    """Numbers of 64 bits; and numbers in the file that are words in the data."""
    first, second, *_ = IDS[kind]
    path = tmp_path / "groups.txt"
    path.write_text(f"{first} 1\n{second} 1\n" + (f"{2**62} 9\n" if kind == "numbers" else ""))
    group, told = read(path, IDS[kind])
    assert not told and group[first] == group[second] and len(set(group.values())) == 3


def test_features_that_the_data_do_not_have_are_counted(tmp_path):
    path = tmp_path / "groups.txt"
    path.write_text("5 a\n8 a\n9 b\n11 a\n8 a\nx7 c\n11 a\n")
    group, told = read(path, IDS["numbers"])
    assert told == ["3 of 5 features of groups.txt are not in the data: left out"]
    assert group[5] == group[11] and len(set(group.values())) == 3


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("5 a\n7 a\n11\n", "1 column", "groups.txt:3"),
        ("5,a\n7,\n", "group is missing", "groups.txt:2"),
        ("1 a\n2 b\n", "no feature of", ""),
        ("5 a\n7 b\n5 b\n", "feature 5 is in two groups, a and b", "groups.txt"),
        ("", "no edge", ""),
        ("5\n7\n", "1 column", "groups.txt:1"),
    ],
)
def test_bad_files_are_told(tmp_path, text, what, where):
    (tmp_path / "groups.txt").write_text(text)
    with pytest.raises(DataError) as caught:
        read(tmp_path / "groups.txt", IDS["numbers"])
    assert what in str(caught.value) and (caught.value.where or "").endswith(where)


def test_bad_rows_may_be_skipped(tmp_path):
    (tmp_path / "groups.txt").write_text("5 a\n7 a\n11\n")
    told = []
    made = add_groups(
        edges_of_features(IDS["numbers"]), "feature", tmp_path / "groups.txt", told.append, "skip"
    )
    assert (
        count_groups(made, "feature") == 1
        and len(told) == 1
        and "1 bad row of groups.txt" in told[0]
        and "groups.txt:3" in told[0]
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("5,a\n7,a\n", []),
        ("feature,group\n5,a\n7,a\n", []),
        ("5,a,1\n7,a,2\n", ["columns of groups.txt: feature from column 1, group from column 2"]),
        ("name,kind\n5,a\n7,a\n", ["columns of groups.txt: feature from name, group from kind"]),
    ],
)
def test_columns_that_are_chosen_are_told(tmp_path, text, told):
    (tmp_path / "groups.txt").write_text(text)
    said = []
    path = tmp_path / "groups.txt"
    made = add_groups(edges_of_features(IDS["numbers"]), "feature", path, said.append)
    assert count_groups(made, "feature") == 1 and said == told


def test_groups_of_several():
    assert count_groups(edges(), "feature") == 3 and count_groups(
        edges(), "sample"
    ) == 0 == count_groups(edges(None), "feature")
