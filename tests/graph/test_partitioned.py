"""Runs from a partitioned folder: the same model as from the file that was partitioned, and
plain words where the two do not fit.
"""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent
from support.messages import message

from tux import Edge, Program, Vertex, data, value
from tux.apps.mf.mf import MF
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.cli.info import info
from tux.graph import store
from tux.graph.cut import cut
from tux.graph.cut_folder import without_edges
from tux.graph.partitioned import PartitionedGraph
from tux.options.options import RunOptions
from tux.partition import PARTITIONERS
from tux.runs.session import run
from tux.stages import Apply
from tux.synthetic.ratings import ratings


def small_ratings(method="bicut", k=2, seed=0, ends=("user", "item"), name="value"):
    """Return small ratings, held-out ratings, and the parts of the former."""
    train, test = ratings(60, 30, 900, test_share=0.1).split()
    edges = EdgeData.of(ends, train["user"] * 7, train["item"], {name: train["rating"]})
    held = EdgeData.of(
        ends,
        test["user"] * 7,
        np.append(test["item"][1:], 999),
        {name: test["rating"]},
        against=edges.ids,
    )
    return (
        edges,
        held,
        cut(
            edges,
            None,
            PARTITIONERS[method](edges.src, edges.dst, k, seed, bipartite=True),
            k,
            seed,
        ),
    )


@pytest.fixture
def folder(tmp_path):
    """Make a partitioned folder."""

    def make(method="bicut", k=2, **names):
        edges, _, parts = small_ratings(method, k, **names)
        into = tmp_path / "parts"
        into.mkdir()
        store.save(into, parts, edges.ends, digest=edges.digest(), partitioner=method, seed=0)
        return into

    return make


def same_bytes(one, two):
    """Return whether two runs have learned the same bytes."""
    return all(
        np.array_equal(a, two.model.rows(name)[f])
        for name in one.model.sizes
        for f, a in one.model.rows(name).items()
    )


@pytest.mark.long
@pytest.mark.parametrize("held_out", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_model_is_that_of_the_file(folder, held_out, tmp_path):
    edges, held, _ = small_ratings("random")
    test = held if held_out else None
    direct = run(
        MF(rank=3), edges, test, RunOptions(epochs=2, workers=2, partitioner="random", jit=False)
    )
    watch = RecordingSilent()
    stored = run(
        MF(rank=3),
        folder("random"),
        test,
        RunOptions(epochs=2, jit=False, out=tmp_path / "out"),
        watch=watch,
    )
    assert same_bytes(direct, stored) and ("test_rmse" in stored.records[-1]) == held_out
    assert [record.get("test_rmse") for record in direct.records] == [
        record.get("test_rmse") for record in stored.records
    ]
    assert f"{len(edges)} ratings" in " ".join(watch.lines)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "B2SUMS",
        "metrics.jsonl",
        "model",
        "run.json",
        "timeline.jsonl",
    ]


@pytest.mark.long
def test_types_and_fields_go_by_their_places(folder):
    edges, _, _ = small_ratings()
    stored = folder(ends=("source", "target"), name="stars")
    assert same_bytes(
        run(MF(rank=2), edges, options=RunOptions(epochs=1, workers=2, jit=False)),
        run(MF(rank=2), stored, options=RunOptions(epochs=1, jit=False)),
    )


@pytest.mark.long
def test_columns_that_no_program_reads_may_have_any_name():
    edges, _, _ = small_ratings()
    more = replace(
        edges,
        fields=dict(edges.fields) | {"paid in €": np.ones(len(edges))},
        vertex_fields={"user": {"../full name": np.ones(len(edges.ids["user"]))}},
    )
    options = RunOptions(epochs=1, workers=2, jit=False)
    runs = [run(MF(rank=2), data, data, options) for data in (edges, more)]
    assert same_bytes(*runs) and "test_rmse" in runs[1].records[-1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_workers_get_links_to_the_arrays_of_a_folder(folder, tmp_path, dtype):
    made, into = folder(), tmp_path / "job"
    before = {path: path.read_bytes() for path in made.rglob("*.npy")}
    into.mkdir()
    bare = without_edges(made, ("user", "item"), {"value": np.dtype(dtype)})
    PartitionedGraph.from_folder(made, bare, None).write(into, range(2))
    for number in range(2):
        part = into / f"part-{number}"
        links = {path.name for path in part.iterdir() if path.is_symlink()}
        assert {"src.npy", "dst.npy"} <= links
        assert ("fields.value.npy" in links) == (dtype == store.load(made, 0).fields["value"].dtype)
        one, other = store.load(into, number), store.load(made, number)
        assert np.array_equal(one.src, other.src) and np.array_equal(one.dst, other.dst)
        assert np.array_equal(one.fields["value"], other.fields["value"])
    shutil.rmtree(into)
    assert {path: path.read_bytes() for path in made.rglob("*.npy")} == before


def test_another_cut_of_the_same_edges_has_another_digest(folder, tmp_path):
    digests = set()
    for method in ("bicut", "random", "bicut"):
        made = folder(method)
        digests.add(
            PartitionedGraph.from_folder(
                made, without_edges(made, ("user", "item"), {"value": np.dtype("f4")}), None
            ).digests["cut of the data"]
        )
        made.rename(tmp_path / f"used {len(list(tmp_path.iterdir()))}")
    assert len(digests) == 2


@pytest.mark.slow
def test_one_part_is_one_worker(folder):
    result = run(MF(rank=2), folder(k=1), options=RunOptions(epochs=1, jit=False))
    assert result.records[-1]["bytes_sent"] == 0


def keep(v):
    v.x = 1


class OneTypeOfPages(Program):
    page = Vertex(x=value())
    link = Edge("page", "page")

    def stages(self):
        return [Apply("page", keep)]


class Two(MF):
    rating = Edge("user", "item", value=data("f4"), weight=data("f4"))


@pytest.mark.parametrize(
    ("program", "options", "kind", "words"),
    [
        (MF(), {"workers": 3}, UsageError, "has 2 parts.*leave out --workers"),
        (
            MF(),
            {"partitioner": "bicut"},
            UsageError,
            "cut already, by bicut.*leave out --partitioner",
        ),
        (OneTypeOfPages(), {}, DataError, "two types.*one type.*--one-type"),
        (Two(), {}, DataError, "hold value.*wants value, weight.*all columns"),
    ],
)
def test_what_does_not_fit(folder, program, options, kind, words):
    with pytest.raises(kind, match=f"(?s){words}"):
        run(program, folder(), options=RunOptions(**options))


def test_numbers_that_are_not_whole_are_no_counts(folder):
    class CountsRepeats(Program):
        user = item = Vertex()
        link = Edge("user", "item", repeats="count")

    with pytest.raises(DataError, match="value is .*not a whole number"):
        run(CountsRepeats(), folder())


def test_what_info_tells_of_it(folder):
    found = info(str(folder()))
    assert found["partitioned graph"] == "2 parts by bicut, seed 0" and found["edges"].endswith(
        "from user to item, with value"
    )
    assert "60, whole, 1.000 replicas each" in found["user"] and ", cut, " in found["item"]
    assert sum(int(each) for each in found["edges by part"].split(", ")) == int(
        found["edges"].split()[0]
    )


def test_a_folder_that_is_none(tmp_path):
    with pytest.raises(DataError, match=message("the-folder-holds-no-file")):
        run(MF(), tmp_path)


@pytest.mark.long
def test_held_out_edges_from_a_file(folder, tmp_path):
    _, held, _ = small_ratings()
    users, items = held.ids["user"].decode(held.src), held.ids["item"].decode(held.dst)
    rows = zip(users.tolist(), items.tolist(), held.fields["value"].tolist(), strict=True)
    (tmp_path / "test.csv").write_text(
        "user,item,rating\n" + "".join(f"{u},{i},{r}\n" for u, i, r in rows)
    )
    stored = folder()
    runs = [
        run(MF(rank=2), stored, test, RunOptions(epochs=1, jit=False))
        for test in (held, tmp_path / "test.csv")
    ]
    assert runs[0].records[0]["test_rmse"] == runs[1].records[0]["test_rmse"]


def test_held_out_edges_lie_together_in_stored_and_in_loaded_parts(folder):
    _, held, _ = small_ratings()
    stored = folder(k=3)
    bare = without_edges(stored, held.ends, {"value": np.dtype("f4")})
    for end in ("user", "item"):
        for parts in (
            PartitionedGraph.from_folder(stored, bare, held, end).parts,
            PartitionedGraph.from_loaders(stored, bare, held, "bicut", end).parts,
        ):
            homes = {}
            for number, part in enumerate(parts):
                at = part.test_src if end == held.ends[0] else part.test_dst
                for vertex in part.types[end].rows[at].tolist():
                    assert homes.setdefault(vertex, number) == number
            assert len(set(homes.values())) > 1 and len(homes) > 3
