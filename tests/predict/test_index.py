"""Indexes for libraries of approximate search: what is in them, how well they find, and files that
each library reads. Libraries that are not installed are skipped.
"""

import json
from importlib.util import find_spec

import numpy as np
import pytest
from support.messages import message
from support.programs.biased import BiasedProducts, plant_model, scores_of

import tux
from tux.arrays.arrow import read_parquet
from tux.base.errors import DataError, DiskError, UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.predict import index as module
from tux.predict import index_libraries
from tux.predict.index import build_index, index_vectors, lengthen, write_index
from tux.predict.index_libraries import LIBRARIES, IndexLibrary
from tux.program.report import INDEXES, Model
from tux.program.sources import find
from tux.runs.session import run as run_into


class ExactLibrary(IndexLibrary):
    """A library of the test: it looks through the first `ef` of 1,024 parts of the vectors, and has
    links enough to find anything if M is at least `links`.
    """

    name = package = "exact"
    metric = "ip"
    usage = "-"
    version = "1"

    def __init__(self, links=16):
        self.links, self.built, self.shares = links, [], []

    def check(self):
        pass

    def build(self, vectors, build, seed):
        self.built.append(build["M"])
        return vectors

    def tune(self, index, search):
        self.shares.append(search["ef"] / 1024)

    def find(self, index, queries, count):
        if self.built[-1] < self.links:
            return np.full((len(queries), count), -1)
        products = queries @ index[: int(len(index) * self.shares[-1])].T
        order = np.argsort(-products, axis=1)[:, :count]
        return np.pad(order, ((0, 0), (0, count - order.shape[1])), constant_values=-1)

    def save(self, index, path):
        np.save(path.with_suffix(".npy"), index)
        path.with_suffix(".npy").rename(path)


def test_names_of_libraries_are_formats():
    assert tuple(LIBRARIES) == INDEXES


# What is in an index.


@pytest.mark.parametrize("biased", [False, True])
def test_the_inner_product_is_kept_and_all_have_one_length(biased):
    rng = np.random.default_rng(0)
    items, bias = rng.normal(size=(50, 4)).astype("f4"), rng.normal(size=50) if biased else None
    long = lengthen(items, bias).astype(float)
    squares = (items.astype(float) ** 2).sum(1) + (0 if bias is None else bias**2)
    np.testing.assert_allclose((long**2).sum(1), squares.max(), rtol=1e-5)
    query = rng.normal(size=4)
    asked = np.concatenate([query, [1, 0] if biased else [0]])
    expected = items.astype(float) @ query + (0 if bias is None else bias)
    np.testing.assert_allclose(long @ asked, expected, atol=1e-5)
    # by distance the items have the order of their inner products
    distance = ((long - asked) ** 2).sum(1)
    assert np.argsort(distance).tolist() == np.argsort(-(long @ asked)).tolist()


@pytest.mark.parametrize(("of", "kind", "by"), [("", "item", "user"), ("user", "user", "item")])
def test_vectors_of_either_end(of, kind, by):
    model = plant_model(30, 40)
    found = index_vectors(BiasedProducts(), model, of)
    assert (found.kind, found.name, found.by) == (kind, "f", (by, "f"))
    assert found.ids.tolist() == model.ids[kind].tolist() and found.append == (1.0, 0.0)
    scores = scores_of(model) if kind == "item" else scores_of(model).T
    own = model.fields[by]["b"][:, None] + 3.5
    asked = np.column_stack([model.fields[by]["f"], np.ones(len(own)), np.zeros(len(own))])
    np.testing.assert_allclose(asked @ found.vectors.T, scores - own, atol=1e-4)


def test_without_inner_products_vectors_have_the_length_1():
    nodes = np.random.default_rng(1).normal(size=(20, 3)).astype("f4")
    nodes[4] = 0
    model = Model({"node": {"u": nodes, "c": nodes}, "tau": {}}, {"node": np.arange(20)})
    found = index_vectors(tux.DeepWalk(dimensions=3), model)
    length = np.linalg.norm(nodes, axis=1, keepdims=True)
    expected = np.divide(nodes, length, out=np.zeros_like(nodes), where=length > 0)
    np.testing.assert_allclose(found.vectors, expected, rtol=1e-6)
    assert found.unit and found.append == () and found.by == ("node", "u")
    assert index_vectors(tux.DeepWalk(dimensions=3), model, "node.c").name == "c"


def test_what_cannot_be_indexed_is_refused():
    model = plant_model(5, 5)
    with pytest.raises(UsageError, match=message("has-no-end", "did you mean item?")):
        index_vectors(BiasedProducts(), model, "itm")
    model.fields["item"]["f"][2, 1] = np.nan
    with pytest.raises(DataError, match=message("the-vectors-are-not-all", "item.f")):
        index_vectors(BiasedProducts(), model)
    none = Model({"sample": {}, "feature": {"w": np.zeros(3)}, "tau": {}}, {})
    with pytest.raises(UsageError, match=message("the-model-has-no-vectors")):
        index_vectors(tux.BlockPG(), none)


# The recall.


def test_parameters_are_raised_until_the_recall_is_enough():
    found = index_vectors(BiasedProducts(), plant_model(60, 400))
    library = ExactLibrary(links=32)
    judged = build_index(library, found)
    assert library.built == [16, 32]  # an index is built once for each
    assert dict(judged.settings.build)["M"] == 32 and judged.settings.search == {"ef": 1024}
    assert judged.recall == 1
    told = []
    hopeless = build_index(ExactLibrary(links=1000), found, say=told.append)
    assert hopeless.recall == 0 and len(told) == 12 and "M 16, ef_construction 200" in told[0]


def test_the_recall_is_the_share_of_the_best_that_are_found(monkeypatch):
    monkeypatch.setattr(module, "ENOUGH_RECALL", 0.0)
    model = plant_model(50, 400)
    found = index_vectors(BiasedProducts(), model)
    judged = build_index(ExactLibrary(), found)
    scores = scores_of(model) - model.fields["user"]["b"][:, None]
    best = np.argsort(-scores, axis=1)[:, :100]
    searched = 400 * 128 // 1024  # of which the index finds all
    assert judged.recall == pytest.approx((best < searched).mean())


def test_of_equal_items_any_is_right(monkeypatch):
    """All items are the same: those that are found are among the best, whichever they are."""
    monkeypatch.setattr(module, "ENOUGH_RECALL", 0.0)
    model = plant_model(20, 300)
    for name in ("f", "b"):
        model.fields["item"][name][:] = model.fields["item"][name][0]
    found = index_vectors(BiasedProducts(), model)
    assert build_index(ExactLibrary(), found).recall == pytest.approx((300 * 128 // 1024) / 100)


# Files.


def vectors_of_queries(record, vectors):
    """Return rows of queries as index.json says it."""
    if record["unit"]:
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    more = np.tile(record["append"], (len(vectors), 1))
    return np.ascontiguousarray(np.hstack([vectors, more]), np.float32)


def ask_library(folder, record, queries, count):
    """Read an index back by its library, and ask it: rows (Q, count) and inner products."""
    file, library = str(folder / record["index"]), record["library"]
    if library == "hnswlib":
        import hnswlib

        index = hnswlib.Index(space=record["metric"], dim=record["dimension"])
        index.load_index(file)
        index.set_ef(record["search"]["ef"])
        rows, distances = index.knn_query(queries, k=count)
        return rows, 1 - distances
    if library == "usearch":
        from usearch.index import Index

        index = Index.restore(file)
        index.expansion_search = record["search"]["ef"]
        found = index.search(queries, count)
        return np.asarray(found.keys).astype(int), 1 - np.asarray(found.distances)
    import faiss

    index = faiss.read_index(file)
    assert index.nprobe == record["search"]["nprobe"]
    products, rows = index.search(queries, count)
    return rows, products


@pytest.fixture(params=INDEXES)
def library(request):
    if find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return request.param


def test_its_library_finds_the_best_items(library, tmp_path):
    model = plant_model(200, 3000)
    record = write_index(tmp_path / "index", library, BiasedProducts(), model, seed=1)
    assert record == json.loads((tmp_path / "index" / "index.json").read_text())
    assert record["recall@100"] >= 0.95 and record["count"] == 3000 and record["dimension"] == 8
    assert record["recall_queries"] == 200 and record["of"] == "item"
    ids = read_parquet(tmp_path / "index" / "ids.parquet")["id"]
    assert ids.tolist() == model.ids["item"].tolist()
    user = model.fields["user"]
    rows, products = ask_library(
        tmp_path / "index", record, vectors_of_queries(record, user["f"]), 100
    )
    scores = scores_of(model)
    best = np.argsort(-scores, axis=1)[:, :100]
    same = [len({*a} & {*b}) for a, b in zip(rows.tolist(), best.tolist(), strict=True)]
    assert np.mean(same) / 100 == pytest.approx(record["recall@100"], abs=0.03)
    own = user["b"][:, None] + 3.5
    np.testing.assert_allclose(products + own, np.take_along_axis(scores, rows, axis=1), atol=1e-3)


def test_its_library_finds_similar_vertices(library, tmp_path):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, 8))
    vectors = (centres[np.arange(600) % 20] + 0.2 * rng.normal(size=(600, 8))).astype("f4")
    vectors *= rng.lognormal(size=(600, 1)).astype("f4")
    model = Model({"node": {"u": vectors}, "tau": {}}, {"node": np.arange(600) + 7})
    record = write_index(tmp_path / "index", library, tux.DeepWalk(dimensions=8), model)
    assert record["measures"] == "cosine" and record["recall@100"] >= 0.95
    rows, cosines = ask_library(
        tmp_path / "index", record, vectors_of_queries(record, vectors[:40]), 20
    )
    assert rows[:, 0].tolist() == [*range(40)]  # each is the nearest to itself
    np.testing.assert_allclose(cosines[:, 0], 1, atol=1e-4)
    assert (rows % 20 == np.arange(40)[:, None] % 20).mean() > 0.9


def test_few_items_are_all_found(library, tmp_path):
    record = write_index(tmp_path / "index", library, BiasedProducts(), plant_model(3, 5))
    assert record["recall@100"] == 1 and record["count"] == 5


@pytest.mark.parametrize("error", [RuntimeError("disk full"), OSError(28, "No space left")])
def test_a_folder_appears_whole_or_not_at_all(tmp_path, monkeypatch, error):
    class Failing(ExactLibrary):
        def save(self, index, path):
            path.write_bytes(b"half")
            raise error

    monkeypatch.setitem(LIBRARIES, "hnswlib", Failing())
    with pytest.raises(DiskError):
        write_index(tmp_path / "index", "hnswlib", BiasedProducts(), plant_model(9, 9))
    assert [*tmp_path.iterdir()] == []


# The command, and Python.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a model in `run1`; the library is that of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(LIBRARIES, "hnswlib", ExactLibrary())
    rows = [f"{u},i{i},{1 + (u * i) % 5}" for u in range(30) for i in range(40)]
    (tmp_path / "r.csv").write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    options = RunOptions(out="run1", epochs=1, jit=False)
    run_into(find("mf").program(rank=4), "r.csv", options=options)
    return tmp_path


def test_the_command_writes_an_index(folder, capsys):
    assert main("export run1 --format hnswlib --out index1".split()) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "index1: 40 items, inner product, 5 numbers each; recall@100 1.0000 (M 16"
    )
    assert sorted(path.name for path in (folder / "index1").iterdir()) == [
        "ids.parquet",
        "index.hnswlib",
        "index.json",
    ]
    assert main("export run1 --format hnswlib --out index2 --of user".split()) == 0
    assert read_parquet("index2/ids.parquet")["id"].tolist() == [*range(30)]
    with open("index2/index.hnswlib", "rb") as file:
        assert np.load(file).shape == (30, 5)


def test_ids_have_the_types_in_which_they_were_given(folder):
    days = np.datetime64("2026-01-30") + np.repeat(np.arange(12), 3)
    data = {"user": days, "item": np.tile([1, 2, 3], 12), "value": np.arange(36.0) % 5}
    run = tux.run(tux.MF(rank=2), data, epochs=1, jit=False, progress=False, out="dated")
    assert main("export dated --format hnswlib --out index1 --of user".split()) == 0
    run.write_index("index2", "hnswlib", of="user")
    expected = read_parquet("dated/model/user.parquet", ["id"])["id"]
    assert expected.dtype == days.dtype
    for name in ("index1", "index2"):
        found = read_parquet(f"{name}/ids.parquet")["id"]
        assert found.dtype == days.dtype and found.tolist() == expected.tolist()


def test_the_command_tells_a_low_recall(folder, capsys, monkeypatch):
    monkeypatch.setitem(LIBRARIES, "hnswlib", ExactLibrary(links=1000))
    assert main("export run1 --format hnswlib --out index1".split()) == 0
    assert "the index finds 0.000 of the best 100" in capsys.readouterr().err
    assert json.loads((folder / "index1/index.json").read_text())["recall@100"] == 0


def test_a_run_in_memory_writes_it_too(folder):
    record = tux.load("run1").write_index("index1", "hnswlib")
    assert record["count"] == 40 and (folder / "index1" / "index.hnswlib").exists()
    with pytest.raises(UsageError, match=message("no-index-is-made-for", "did you mean hnswlib?")):
        tux.load("run1").write_index("index2", "hnswlb")


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--format hnswlib --out run1", ["output folder run1 exists"]),
        ("--format hnswlib --out a --of film", ["MF has no end 'film'", "user and item"]),
        ("--format hnswlib --out a --labels r.csv", ["--labels colour a picture, not hnswlib"]),
        ("--format hnswlib --out a --from 1", ["--from", "--format gantt"]),
        ("--format arrays --out a.npz --of item", ["--of", "--format hnswlib or faiss"]),
        ("--format hnswlb --out a", ["did you mean hnswlib?", "of its vectors: hnswlib"]),
    ],
)
def test_mistakes(folder, capsys, flags, words):
    before = sorted(folder.iterdir())
    assert main(["export", "run1", *flags.split()]) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in words) and "Traceback" not in said
    assert sorted(folder.iterdir()) == before


def test_a_library_that_is_missing_is_named(folder, capsys, monkeypatch):
    monkeypatch.setattr(index_libraries, "find_spec", lambda name: None)
    assert main("export run1 --format faiss --out a".split()) == 2
    said = capsys.readouterr().err
    assert "needs the library faiss-cpu, which is not installed" in said
    assert "pip install 'tux[faiss]'" in said and not (folder / "a").exists()
